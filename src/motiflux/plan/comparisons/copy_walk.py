"""Searches of compared edges in other ways than level by level: where they can, and where they begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motiflux.plan.bind import BoundPattern
from motiflux.plan.comparisons.bound import BoundComparisons
from motiflux.types import Semantics

_MOST_VARIABLES = 64
"""Limit of the native code."""


@dataclass(frozen=True, slots=True)
class CopyWalk:
    """A search from copy to copy, from pair to pair, or by wedges.

    From copy to copy it chooses one copy of an edge after the other, always of the edge with the fewest left.
    From pair to pair it matches edges in a fixed order, and keeps all choices of copies of those matched.
    By wedges it gathers the paths over the last vertex first, then matches all other edges in a fixed order.

    Parameters
    ----------
    root
        The position in `BoundComparisons.variables` of the edge whose copies the search begins with.
    vertex
        The query vertex, one of the ends of this edge, whose copies are looked at together.
    order
        From pair to pair: the positions of all edges. Empty: from copy to copy.
    leaves
        How many of the last edges may be counted without being matched: up to 2.
    together
        From copy to copy: the most partial matches that are continued together.
    narrowed
        Whether the rows of these edges have no vertices but those that the edges may lead to.
    wedges
        Whether the search goes by wedges: the last two edges of the order are those of the last vertex, which
        begin and end there.
    """

    root: int
    vertex: int
    order: tuple[int, ...] = ()
    leaves: int = 0
    together: int = 1
    narrowed: bool = False
    wedges: bool = False


def possible_copy_walks(
    bound: BoundPattern, comparisons: BoundComparisons, semantics: Semantics, *, together: int = 1
) -> Sequence[CopyWalk]:
    """Return the searches from copy to copy of a pattern; none if it has edges that are not compared.

    Each continues up to `together` partial matches together. Searches come first whose edge
    is compared with the fewest others.
    """
    edges = [at for at, variable in enumerate(comparisons.variables) if variable.edge is not None]
    named = {comparisons.variables[at].edge for at in edges}
    negates = semantics is Semantics.INDUCED or bool(bound.negated)
    if negates or len(comparisons.variables) > _MOST_VARIABLES:
        return ()
    if len(named) < len(bound.edges) or not all(comparisons.variables[at].columns for at in edges):
        return ()

    def compared(at: int) -> int:
        return sum(at in (one.left, one.right) for one in comparisons.comparisons)

    found = []
    for at in sorted(edges, key=compared):
        edge = comparisons.variables[at].edge
        assert edge is not None
        ends = bound.edges[edge].source, bound.edges[edge].target
        found += [CopyWalk(at, vertex, together=together) for vertex in ends]
    return found
