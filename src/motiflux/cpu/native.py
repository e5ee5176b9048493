"""Facade over the native CPU search: a plan and a graph in, totals or rows out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from motiflux import _native
from motiflux.errors import InternalError
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.problem import native_problem
from motiflux.types import VertexArray

Progress = Callable[[int, int, int], None]
"""Called with (root arcs done, root arcs in all, embeddings found) from the calling thread."""

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

    problem: _native.Problem
    plan: Plan


def prepare(graph: Graph, plan: Plan, *, intersect: str, threads: int) -> Search:
    """Bring together `plan` and the rows or the candidate space that it searches."""
    return Search(native_problem(graph, plan, intersect=intersect, threads=threads), plan)


def count(
    search: Search, *, threads: int, limit: int | None, timeout: float | None, progress: Progress | None
) -> tuple[int, Stop, list[int]]:
    """Return the number of embeddings the search found, multiplier not applied, why it ended, and its sizes.

    The sizes are the partial embeddings up to each level but the last.

    With a `limit` the search ends once more than that many are known.
    """
    native_limit = None if limit is None or limit > _LARGEST_LIMIT else limit
    try:
        total, reason, sizes = _native.count(search.problem, threads, native_limit, timeout, progress)
    except OverflowError as error:
        raise InternalError(f"{error}; count with a limit") from error
    return total, Stop(reason), sizes


class Rows:
    """Embeddings in internal ids, block by block, in the pattern's vertex order."""

    def __init__(
        self, search: Search, *, threads: int, block_rows: int, limit: int | None, timeout: float | None
    ) -> None:
        native_limit = None if limit is None or limit > _LARGEST_LIMIT else limit
        self._rows = _native.Rows(
            search.problem, search.plan.order, threads, block_rows, native_limit, timeout
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
