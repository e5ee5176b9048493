"""Facade over the native CPU search: a plan and a graph in, totals or rows out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from motiflux import _native
from motiflux.errors import InternalError
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.plan import Plan
from motiflux.plan.ir import StepShape
from motiflux.types import VertexArray

Progress = Callable[[int, int, int], None]
"""Called with (root arcs done, root arcs in all, embeddings found) from the calling thread."""

_NO_REUSE = -1
_METHODS = {"auto": 0, "merge": 1, "gallop": 2}
_DIRECTIONS = {Direction.OUT: 0, Direction.IN: 1, Direction.EITHER: 2}
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


def prepare(
    graph: Graph, plan: Plan, *, intersect: str, threads: int, space: _native.Space | None = None
) -> Search:
    """Narrow the graph's adjacency to what `plan` uses and check the two against each other.

    Parameters
    ----------
    space
        The candidate space, where `plan` searches one.
    """
    out = (graph.forward.offsets, graph.forward.neighbors)
    into = (graph.reverse.offsets, graph.reverse.neighbors)
    if space is not None:
        problem = _native.Problem(
            steps=[_step(shape, bounds=False) for shape in plan.shape.steps],
            bounds=[(0, 0)] * len(plan.order),
            space=space,
            order=plan.order,
            source_edges=[edge for args in plan.args.steps for edge in args.edges],
            out=out,
            in_=into,
            method=_METHODS[intersect],
        )
        return Search(problem, plan)
    slots: dict[AdjacencyKey, int] = {}
    problem = _native.Problem(
        steps=[_step(shape) for shape in plan.shape.steps],
        bounds=[(args.min_out_degree, args.min_in_degree) for args in plan.args.steps],
        source_slots=[
            slots.setdefault(key, len(slots)) for args in plan.args.steps for key in args.adjacencies
        ],
        slots=[graph.adjacency(key, threads) for key in slots],
        out=out,
        in_=into,
        method=_METHODS[intersect],
    )
    return Search(problem, plan)


def _step(shape: StepShape, *, bounds: bool = True) -> _native.Step:
    return _native.Step(
        source_levels=[source.level for source in shape.sources],
        source_directions=[_DIRECTIONS[source.direction] for source in shape.sources],
        reuse=_NO_REUSE if shape.reuse is None else shape.reuse,
        anchor=shape.anchor,
        after=_mask(shape.after),
        before=_mask(shape.before),
        distinct=_mask(shape.distinct),
        not_out=_mask(shape.not_out),
        not_in=_mask(shape.not_in),
        bounds_out=bounds and shape.bounds_out,
        bounds_in=bounds and shape.bounds_in,
    )


def count(
    search: Search, *, threads: int, limit: int | None, timeout: float | None, progress: Progress | None
) -> tuple[int, Stop]:
    """Return the number of embeddings the search found, multiplier not applied, and why it ended.

    With a `limit` the search ends once more than that many are known.
    """
    native_limit = None if limit is None or limit > _LARGEST_LIMIT else limit
    try:
        total, reason = _native.count(search.problem, threads, native_limit, timeout, progress)
    except OverflowError as error:
        raise InternalError(f"{error}; count with a limit") from error
    return total, Stop(reason)


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


def _mask(levels: Iterable[int]) -> int:
    return sum(1 << level for level in levels)
