"""Which rows a search may open: the reach of a plan from its first query vertex.

The rows of a *cover* are read: query vertices of which every query edge has an end, joined to each other
through the cover. Where edges must be absent (induced matching, negated edges), each such pair has an end in
the cover too. Then a graph of the arcs that lead from images of the cover to images of their neighbours has
all embeddings, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.layout import Layout
from motiflux.plan import Plan
from motiflux.plan.bind import BoundPattern
from motiflux.plan.passes.symmetry import closure
from motiflux.types import Semantics

_MOST_COMPARED = 12
"""Query vertices of a pattern whose covers are all compared."""
_GROWTH = 8.0
"""Assumed ratio of rows that are read at one distance from the root to those at the distance before."""


@dataclass(frozen=True, eq=False, slots=True)
class Lead:
    """A query edge as it leads from a vertex of the cover: the allowed kinds of entries."""

    source: int
    target: int
    kinds: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Reach:
    """The order in which candidates of query vertices are gathered.

    Parameters
    ----------
    root, second
        The query vertices of the plan's levels 0 and 1.
    root_labels
        Codes of the labels that the root may have; None: any.
    cover
        Query vertices whose rows are read, in order; the root is the first.
    leads
        For each vertex of the cover, in the same order: the edges to vertices whose candidates are not known
        before its rows are read.
    all_of, above, below
        For each query vertex of the cover, a mask of the query vertices with whose candidates arcs are kept:
        whatever the order of their images is, if that of the other is greater, or less.
    less
        Pairs of query vertices: the id of the first one's image is less than that of the second.
    downward
        Whether parts are numbered against the order of ids, so that the image that is the least in the search
        has the greatest id of all: of the embeddings of a root, other images have lower degrees.
    """

    size: int
    root: int
    second: int
    downward: bool
    root_labels: tuple[int, ...] | None
    cover: tuple[int, ...]
    leads: tuple[tuple[Lead, ...], ...]
    all_of: tuple[int, ...]
    above: tuple[int, ...]
    below: tuple[int, ...]
    less: frozenset[tuple[int, int]]

    def side(self, one: int, other: int) -> int:
        """Return 1 if the image of `other` has a greater id than that of `one`, -1 if less, 0 if unknown."""
        return 1 if (one, other) in self.less else -1 if (other, one) in self.less else 0

    @property
    def mask_type(self) -> np.dtype[np.unsignedinteger]:
        """The type of a mask of query vertices."""
        return np.dtype(np.uint8 if self.size <= 8 else np.uint16 if self.size <= 16 else np.uint32)


def reach_of(bound: BoundPattern, plan: Plan, layout: Layout) -> Reach:
    """Return the reach of a plan."""
    root, second = plan.order[0], plan.order[1]
    pairs = _compared_pairs(bound, plan.semantics)
    cover = _ordered(bound, root, _cover(bound, plan, pairs))
    known: set[int] = {root}
    leads: list[tuple[Lead, ...]] = []
    for vertex in cover:
        assert vertex in known
        found = []
        for edge in bound.incident[vertex]:
            other = edge.other(vertex)
            if other in cover and cover.index(other) < cover.index(vertex):
                continue  # it led here
            found.append(Lead(vertex, other, layout.allowed_kinds(edge, vertex, bound.labels[other])))
            known.add(other)
        leads.append(tuple(found))
    downward = not _is_clique(bound)
    less = closure(plan.restrictions)
    if downward:
        less = frozenset((greater, smaller) for smaller, greater in less)
    masks = {"all": [0] * bound.size, "above": [0] * bound.size, "below": [0] * bound.size}
    for one, other in pairs:
        for start, end in ((one, other), (other, one)):
            way = "above" if (start, end) in less else "below" if (end, start) in less else "all"
            if start in cover:
                masks[way][start] |= 1 << end
    return Reach(
        bound.size,
        root,
        second,
        downward,
        bound.labels[root],
        cover,
        tuple(leads),
        all_of=tuple(masks["all"]),
        above=tuple(masks["above"]),
        below=tuple(masks["below"]),
        less=less,
    )


def _is_clique(bound: BoundPattern) -> bool:
    return all(len(near) == bound.size - 1 for near in bound.neighbors)


def _compared_pairs(bound: BoundPattern, semantics: Semantics) -> set[tuple[int, int]]:
    """Return the pairs of query vertices between which it matters which arcs there are."""
    if semantics is Semantics.INDUCED:
        return set(combinations(range(bound.size), 2))
    edges = (*bound.edges, *bound.negated)
    return {(min(edge.source, edge.target), max(edge.source, edge.target)) for edge in edges}


def _cover(bound: BoundPattern, plan: Plan, pairs: set[tuple[int, int]]) -> frozenset[int]:
    """Return the cover with the fewest and nearest vertices; for large patterns one that the plan gives."""
    root = plan.order[0]
    if bound.size > _MOST_COMPARED:
        return frozenset(plan.order[:-1])
    covers = (one for one in _subsets(bound.size, root) if all(u in one or v in one for u, v in pairs))
    costs = ((_cost(bound, root, one), sorted(one)) for one in covers)
    return frozenset(min((one for one in costs if one[0] is not None), key=lambda one: (one[0], one[1]))[1])


def _subsets(size: int, root: int) -> Iterator[frozenset[int]]:
    others = [vertex for vertex in range(size) if vertex != root]
    for number in range(size):
        for chosen in combinations(others, number):
            yield frozenset((root, *chosen))


def _cost(bound: BoundPattern, root: int, cover: frozenset[int]) -> float | None:
    """Return the expected number of rows that are read; None if the cover is not joined."""
    distances = _distances(bound, root, cover)
    return sum(_GROWTH ** distances[one] for one in cover) if len(distances) == len(cover) else None


def _distances(bound: BoundPattern, root: int, cover: frozenset[int]) -> dict[int, int]:
    distances, frontier = {root: 0}, [root]
    for vertex in frontier:
        for other in sorted(bound.neighbors[vertex]):
            if other in cover and other not in distances:
                distances[other] = distances[vertex] + 1
                frontier.append(other)
    return distances


def _ordered(bound: BoundPattern, root: int, cover: frozenset[int]) -> tuple[int, ...]:
    """Return the cover by distance from the root; the dictionary has this order."""
    return tuple(_distances(bound, root, cover))
