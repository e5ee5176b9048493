"""Functions that call the native trawl: samples of a few levels, and searches for their extensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.native_plan import native_problem
from motiflux.plan.passes.adaptive_order import adaptive_order_of

LEAST_DEPTH = 3
"""Minimum number of sampled levels in the paper; only larger patterns are counted first or trawled."""
CHUNK = 64
"""Slots that share a budget. This and the numbers below mirror ``csrc/sample/trawl.hpp``."""
UNFINISHED = {"deepen": 0, "sample": 1, "drop": 2}
_LOOK_EVERY = 1024
"""Search steps between two tests of the budget and the clock; they take about a microsecond."""
DEAD, SEARCHED, SAMPLED, DROPPED = range(4)


class Slots(NamedTuple):
    """The results of slots of a trawl, one entry per slot.

    Parameters
    ----------
    weights
        Estimate of the slot, divided by two to the power `motiflux.statistics.UNIT_BITS`. Its mean over all
        seeds is the count.
    outcomes
        `DEAD`, `SEARCHED` (the search finished), `SAMPLED` (the sample was extended to the last level) or
        `DROPPED`.
    depths
        Number of sampled levels.
    work
        Work of the searches: candidates visited and elements of sets read.
    """

    weights: NDArray[np.float64]
    outcomes: NDArray[np.uint8]
    depths: NDArray[np.uint8]
    work: NDArray[np.uint64]

    @classmethod
    def empty(cls) -> Slots:
        """Return the results of no slots."""
        return cls(np.empty(0), np.empty(0, np.uint8), np.empty(0, np.uint8), np.empty(0, np.uint64))


def searches_of(
    graph: Graph, plan: Plan, threads: int, switches: Mapping[str, str]
) -> list[_native.NativePlan]:
    """Return the search that extends a sample of each depth, from 1 to the last level but one.

    Over a candidate space, a search matches the query vertex with the fewest candidates left next, and skips
    levels that did not contribute to a failure.
    """
    apart = any(step.not_out or step.not_in for step in plan.shape.steps)
    if plan.space is not None and not apart:
        plan = replace(plan, adaptive_order=adaptive_order_of(plan.shape, plan.args, always=True))
    problem = native_problem(
        graph,
        plan,
        intersect=switches["intersect"],
        simd=switches["simd"],
        threads=threads,
        backjump="off" if switches["backjump"] == "off" else "on",
        adaptive=True,
    )
    return [problem] * (len(plan.order) - 1)


class Trawl:
    """Slots of one plan, and its exact count. Any thread may call `end`.

    Parameters
    ----------
    look_every
        Number of search steps between two tests of the budget and the clock.
    """

    def __init__(
        self,
        candidates: _native.SampleGraph,
        searches: list[_native.NativePlan],
        *,
        look_every: int = _LOOK_EVERY,
    ) -> None:
        self._native = _native.Trawl(candidates, searches, look_every)

    def run(
        self,
        seed: int,
        first: int,
        count: int,
        *,
        nodes: int,
        unfinished: str,
        threads: int,
        least: int = LEAST_DEPTH,
        timeout: float | None = None,
    ) -> Slots:
        """Return slots ``first .. first + count - 1``, where `first` is a multiple of `CHUNK`.

        A slot depends only on the plan, the seed, its number, the parameters and the earlier slots of its
        chunk, unless `end` or the timeout comes before all searches are done.

        Parameters
        ----------
        nodes
            Maximum work of searches per slot of a chunk.
        unfinished
            The treatment of a sample whose search exceeds the budget: a key of `UNFINISHED`.
        least
            Minimum number of sampled levels.

        Raises
        ------
        KeyboardInterrupt
            Within 100 ms of Ctrl-C, if this thread receives it.
        """
        return Slots(
            *self._native.run(seed, first, count, least, nodes, UNFINISHED[unfinished], threads, timeout)
        )

    def count_all(self, nodes: int, timeout: float | None = None, threads: int = 1) -> int | None:
        """Return the number of embeddings; None if it takes more work than `nodes`, or more time.

        The search is divided into at most 64 pieces. A later call with more `nodes` repeats only unfinished
        pieces. Whether `nodes` suffice does not depend on the number of threads.
        """
        return self._native.count_all(nodes, threads, timeout)

    def end(self) -> None:
        """Stop searches. Other samples are extended to the last level, which takes microseconds each."""
        self._native.end()
