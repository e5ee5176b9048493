"""Searches by wedges: patterns with a vertex of two edges that one comparison joins to all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from motiflux.conditions import Operator
from motiflux.plan.bind import BoundPattern
from motiflux.plan.comparisons.bound import BoundComparisons
from motiflux.plan.comparisons.copy_walk import CopyWalk, possible_copy_walks
from motiflux.types import Semantics

_BY_ORDER = {Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST}
_WEDGE_EDGES = 2
_FEWEST_EDGES = _WEDGE_EDGES + 1


@dataclass(frozen=True, slots=True)
class WedgeWalk:
    """A search by wedges, and the matching order that it needs."""

    walk: CopyWalk
    order: tuple[int, ...]


def possible_wedge_walks(
    bound: BoundPattern, comparisons: BoundComparisons, semantics: Semantics
) -> Sequence[WedgeWalk]:
    """Return the searches by wedges of a pattern, from each end of each wedge.

    All edges are compared by order, in one attribute each, without a span. The comparisons of the wedge and
    those of all other edges form forests, and exactly one is between the two.
    """
    variables = comparisons.variables
    if comparisons.span is not None or comparisons.count_choices or len(variables) < _FEWEST_EDGES:
        return ()
    if any(one.edge is None or len(one.columns) != 1 for one in variables):
        return ()
    if any(one.operator not in _BY_ORDER or one.left == one.right for one in comparisons.comparisons):
        return ()
    if not possible_copy_walks(bound, comparisons, semantics):
        return ()
    return list(_Wedges(bound, comparisons).walks())


class _Wedges:
    def __init__(self, bound: BoundPattern, comparisons: BoundComparisons) -> None:
        self._ends: dict[int, tuple[int, int]] = {}
        for at, variable in enumerate(comparisons.variables):
            assert variable.edge is not None
            edge = bound.edges[variable.edge]
            self._ends[at] = (edge.source, edge.target)
        self._size = bound.size
        self._joined = [(one.left, one.right) for one in comparisons.comparisons]

    def walks(self) -> Iterator[WedgeWalk]:
        if any(first == second for first, second in self._ends.values()):
            return
        for middle in range(self._size):
            wedge = [at for at, ends in self._ends.items() if middle in ends]
            if len(wedge) != _WEDGE_EDGES or not self._is_joined_once(wedge):
                continue
            for first, second in (wedge, wedge[::-1]):
                start, end = (next(v for v in self._ends[at] if v != middle) for at in (first, second))
                core = self._core(start, wedge)
                if start == end or core is None:
                    continue
                edges, vertices = core
                walk = CopyWalk(edges[0], start, (*edges, first, second), wedges=True)
                yield WedgeWalk(walk, (*vertices, middle))

    def _is_joined_once(self, wedge: Sequence[int]) -> bool:
        between = [pair for pair in self._joined if (pair[0] in wedge) != (pair[1] in wedge)]
        parts: dict[int, int] = {at: at for at in self._ends}

        def part(at: int) -> int:
            while parts[at] != at:
                at = parts[at]
            return at

        for left, right in self._joined:
            if (left, right) in between:
                continue
            if part(left) == part(right):
                return False
            parts[part(left)] = part(right)
        return len(between) == 1

    def _core(self, start: int, wedge: Sequence[int]) -> tuple[list[int], list[int]] | None:
        """Return the edges of the core in order from `start`, and its vertices; None if it is not whole."""
        rest = [at for at in self._ends if at not in wedge]
        edges: list[int] = []
        vertices = [start]
        while rest:
            touching = [at for at in rest if set(self._ends[at]) & set(vertices)]
            if not touching:
                return None
            closing = [at for at in touching if set(self._ends[at]) <= set(vertices)]
            at = (closing or touching)[0]
            rest.remove(at)
            edges.append(at)
            vertices += [vertex for vertex in self._ends[at] if vertex not in vertices]
        return (edges, vertices) if len(vertices) == self._size - 1 else None
