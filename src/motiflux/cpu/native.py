"""Facade over the native CPU search: a plan and a graph in, totals or rows out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import CountOverflowError
from motiflux.graph import Adjacency, AdjacencyKey, Graph
from motiflux.plan import Plan
from motiflux.plan.native_plan import native_problem
from motiflux.types import VertexArray

Progress = Callable[[int, int, int], None]
"""Called with (root arcs done, root arcs in all, embeddings found) from the calling thread."""

ProgressOfEach = Callable[[int, int, list[int]], None]
"""The same for several searches of one pass: embeddings found by each."""

_LARGEST_LIMIT = 2**64 - 1


class Stop(IntEnum):
    """Why a search ended."""

    NONE = 0
    LIMIT = 1
    TIMEOUT = 2
    CANCELLED = 3


@dataclass(frozen=True, slots=True)
class Search:
    """A plan made ready to run over a graph."""

    problem: _native.NativePlan
    plan: Plan


def prepare(
    graph: Graph,
    plan: Plan,
    *,
    intersect: str,
    threads: int,
    simd: str = "auto",
    rows: dict[AdjacencyKey, Adjacency] | None = None,
    backjump: str = "off",
) -> Search:
    """Bring together `plan` and the rows or the candidate space that it searches.

    Searches of one pass are given the same `rows`, which is filled. For `backjump`, see
    `motiflux.plan.native_plan.native_problem`.
    """
    problem = native_problem(
        graph,
        plan,
        intersect=intersect,
        simd=simd,
        threads=threads,
        rows=rows,
        backjump=backjump,
        adaptive=True,
        again=True,
    )
    return Search(problem, plan)


def count(
    search: Search,
    *,
    threads: int,
    limit: int | None,
    timeout: float | None,
    progress: Progress | None,
    brief: bool = False,
) -> tuple[int, Stop, list[int]]:
    """Return the number of embeddings the search found, multiplier not applied, why it ended, and its sizes.

    The sizes are the partial embeddings up to each level but the last.

    With a `limit` the search ends once more than that many are known. What is expected to be `brief` is tried
    on the calling thread first, for about 100 us.
    """
    with _overflow_explained():
        total, reason, sizes = _native.count(
            search.problem, threads, _native_limit(limit), timeout, progress, brief
        )
    return total, Stop(reason), sizes


def count_arcs(search: Search, *, threads: int, timeout: float | None) -> NDArray[np.uint64] | None:
    """Return the number of embeddings for each root arc, multiplier not applied; None if time was up.

    Raises
    ------
    OverflowError
        One of them exceeds 64 bits.
    """
    counts, reason = _native.count_arcs(search.problem, threads, timeout)
    return counts if Stop(reason) is Stop.NONE else None


def count_together(
    searches: Sequence[Search],
    *,
    threads: int,
    limits: Sequence[int | None],
    timeout: float | None,
    progress: ProgressOfEach | None,
) -> list[tuple[int, Stop]]:
    """Return the number of embeddings that each search of one pass found, and why it ended.

    The searches share two levels (`motiflux.plan.passes.shared_prefix`). Each has its limit, as in `count`.
    """
    problems = [search.problem for search in searches]
    native_limits = [_native_limit(limit) for limit in limits]
    with _overflow_explained():
        found = _native.count_together(problems, threads, native_limits, timeout, progress)
    return [(total, Stop(reason)) for total, reason in found]


def _native_limit(limit: int | None) -> int | None:
    return None if limit is None or limit > _LARGEST_LIMIT else limit


@contextmanager
def _overflow_explained() -> Iterator[None]:
    try:
        yield
    except OverflowError as error:
        raise CountOverflowError(f"{error}; limit= ends a count as soon as it is reached") from error


class Rows:
    """Embeddings in internal ids, block by block, in the pattern's vertex order."""

    def __init__(
        self, search: Search, *, threads: int, block_rows: int, limit: int | None, timeout: float | None
    ) -> None:
        self._rows = _native.Rows(
            search.problem, search.plan.order, threads, block_rows, _native_limit(limit), timeout
        )

    def next(self, progress: Progress | None) -> VertexArray | None:
        """Return the next block, uint32 [rows, k], or None at the end."""
        return self._rows.next(progress)

    def close(self) -> None:
        """Stop the search; blocks not taken are dropped."""
        self._rows.close()

    @property
    def stop(self) -> Stop:
        """Why the search ended."""
        return Stop(self._rows.reason)
