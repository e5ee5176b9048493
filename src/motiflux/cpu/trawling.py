"""Facade over the native trawl: samples of a few levels, and searches of what is left."""

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
from motiflux.plan.passes.adaptive_order import free_order
from motiflux.types import Semantics

LEAST_DEPTH = 3
"""Levels that are sampled at least in the paper."""
CHUNK = 64
"""Slots that share a budget; mirrors ``csrc/sample/trawl.hpp``, as the numbers below do."""
UNFINISHED = {"deepen": 0, "sample": 1, "drop": 2}
_LOOK_EVERY = 1024
"""About a microsecond."""
DEAD, SEARCHED, SAMPLED, DROPPED = range(4)


class Haul(NamedTuple):
    """What slots of a trawl came to, one entry each.

    Parameters
    ----------
    weights
        What the slot is worth, divided by two to the power `motiflux.statistics.UNIT_BITS`: on average over
        all seeds the count.
    outcomes
        Whether the sample died, a search finished, the sample went on to its end, or was left out.
    depths
        Levels that were sampled.
    work
        Of searches: candidates met and elements of sets read.
    """

    weights: NDArray[np.float64]
    outcomes: NDArray[np.uint8]
    depths: NDArray[np.uint8]
    work: NDArray[np.uint64]


class Stream(NamedTuple):
    """One of the two streams of slots that are trawled by the clock.

    Parameters
    ----------
    haul
        Its slots: as many as it began, or as the other one did if that is more; those are samples.
    begun
        How many it began.
    """

    haul: Haul
    begun: int


def searches_of(
    graph: Graph, plan: Plan, threads: int, switches: Mapping[str, str]
) -> list[_native.NativePlan]:
    """Return the search to go on with at each depth, from 1 to the last level but one.

    Over a candidate space they match next what has the fewest candidates left, and leave levels that have no
    part in a failure: samples whose rest was easy are answered by sampling already.
    """
    if plan.space is not None and plan.semantics is not Semantics.INDUCED:
        plan = replace(plan, free=free_order(plan.shape, plan.args, always=True))
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
    """Slots of one plan. `end` may come from another thread than `run`.

    Parameters
    ----------
    look_every
        Steps of a search between looks at its budget and the clock.
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
    ) -> Haul:
        """Return slots ``first .. first + count - 1``, where `first` is a multiple of `CHUNK`.

        Each is a function of the plan, the seed, its number, the parameters and the slots before it in its
        chunk, unless the end comes before all searches are done.

        Parameters
        ----------
        nodes
            Work that searches may take for each slot of a chunk.
        unfinished
            What becomes of a sample whose search takes more: a key of `UNFINISHED`.
        least
            Levels that are sampled at least.

        Raises
        ------
        KeyboardInterrupt
            Within 100 ms of Ctrl-C, if this is the thread that gets it.
        """
        return Haul(
            *self._native.run(seed, first, count, least, nodes, UNFINISHED[unfinished], threads, timeout)
        )

    def count_all(self, nodes: int, timeout: float | None = None, threads: int = 1) -> int | None:
        """Return the number of embeddings; None if that takes more work than `nodes`, or more time.

        Asked again with more, it goes on: of 64 pieces at most, those that are done stay done. Whether
        `nodes` do is the same on any number of threads.
        """
        return self._native.count_all(nodes, threads, timeout)

    def end(self) -> None:
        """End searches; the samples that are left go on to their ends, which takes microseconds each."""
        self._native.end()

    def begin(
        self,
        seed: int,
        first: int,
        most: int,
        *,
        nodes: int,
        unfinished: str,
        threads: int,
        least: int = LEAST_DEPTH,
        whole: int = 0,
    ) -> None:
        """Begin to trawl by the clock, on threads that need no interpreter; `finish` waits for them.

        There are two streams of slots, each searched by half the threads, in turns where there is one. What
        a stream comes to is the mean of as many slots as the *other* one began: the mean of those that it
        began itself would be too great, since searches that find much take long.

        Parameters
        ----------
        first
            Number of the first slot of each stream.
        most
            Slots of a stream, at most.
        nodes
            Work that searches may take for each of the first slots of a thread; up to 64 times as much later.
        threads
            1, or an even number.
        whole
            Work that counting all may take, on a thread of its own; 0 where it is not tried.
        """
        self._native.begin(seed, first, most, least, nodes, UNFINISHED[unfinished], threads, whole)

    def turn(self) -> None:
        """Go over to the other stream, where one thread serves both."""
        self._native.turn()

    def finish(self) -> tuple[Stream, Stream]:
        """End searches, which takes microseconds, and return the streams that have begun."""
        first, second = self._native.finish()
        return Stream(Haul(*first[:4]), first[4]), Stream(Haul(*second[:4]), second[4])

    @property
    def whole(self) -> int | None:
        """The number of embeddings, once counting all beside the slots has come to it."""
        return self._native.whole
