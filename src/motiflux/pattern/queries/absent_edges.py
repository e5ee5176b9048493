"""Patterns of the embeddings that have no optional edge, of which no two have the same embedding.

An edge to a new vertex is missing where all of its possible ends are images of the embedding already. So for
each set of vertices of the shape there is a pattern with an edge to each of them, where the vertex at the
other end has no further possible end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from motiflux.pattern.elements import QueryVertex
from motiflux.pattern.negated import AnyVertex, NegatedEdge, PossibleEnd
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.gluing import both_vertices
from motiflux.pattern.queries.shapes import Absent


@dataclass(frozen=True, slots=True, repr=False)
class WithAllEnds(Pattern):
    """A pattern with an edge to each of the vertices that its negated edges leave out (`besides`).

    Their images differ. So a vertex has no such edge to others if it has as many such neighbours as there are
    of these vertices.
    """


NoOthers = Callable[[Pattern, int, tuple[int, ...]], Pattern]
"""Returns a pattern in which a vertex has no possible ends but some vertices, to which it has edges."""


def known_end(absent: Absent) -> int:
    """Return the vertex of the shape at one end of an edge to a new vertex."""
    (start,) = (at for at in absent.ends if at is not None)
    return start


def new_vertex(absent: Absent) -> QueryVertex:
    """Return the new vertex at the other end."""
    return absent.edge.vertices[absent.ends.index(None)]


def with_no_end(
    pattern: Pattern, absent: Absent, no_others: NoOthers, *, homomorphic: bool
) -> Iterator[Pattern]:
    """Yield the patterns of the embeddings that have no edge to a new vertex.

    Parameters
    ----------
    homomorphic
        Whether the new vertex may have the image of another one.
    """
    start = known_end(absent)
    others = [] if homomorphic else [at for at in absent.before if at != start]
    for size in range(len(others) + 1):
        for chosen in combinations(others, size):
            whole = with_edges(pattern, absent, chosen)
            if whole is not None:
                yield no_others(whole, start, chosen)


def negating(absent: Absent) -> NoOthers:
    """Return the function that negates edges to all vertices but the chosen ones."""

    def no_others(pattern: Pattern, start: int, chosen: tuple[int, ...]) -> Pattern:
        del start
        negated = (*pattern.negated, negated_edge(absent, frozenset(chosen)))
        parts = pattern.vertices, pattern.edges, pattern.name, pattern.may_coincide, pattern.comparisons
        return WithAllEnds(*parts, negated)

    return no_others


def with_edges(pattern: Pattern, absent: Absent, chosen: Sequence[int]) -> Pattern | None:
    """Return a pattern with the optional edge to each of some vertices; None if one cannot be its end.

    Without vertices to choose, the edge is between the vertices that it names.
    """
    vertices, edges, negated = list(pattern.vertices), list(pattern.edges), list(pattern.negated)
    (edge,) = absent.edge.edges
    edge = replace(edge, name="")
    new = absent.ends.index(None) if None in absent.ends else None
    ends = [absent.ends] if new is None else [_filled(absent.ends, vertex) for vertex in chosen]
    for pair in ends:
        source, target = pair[edge.source], pair[edge.target]
        assert source is not None
        assert target is not None
        edges.append(replace(edge, source=source, target=target))
        negated += [one.between([end for end in pair if end is not None]) for one in absent.edge.negated]
    if new is not None:
        for at in chosen:
            whole = both_vertices(vertices[at], absent.edge.vertices[new])
            if whole is None:
                return None
            vertices[at] = whole
    return replace(pattern, vertices=tuple(vertices), edges=tuple(edges), negated=tuple(negated))


def negated_edge(absent: Absent, besides: frozenset[int] = frozenset()) -> NegatedEdge:
    """Return an optional edge that is not there as a negated edge: with `besides`, to no other vertices."""
    (edge,) = absent.edge.edges
    ends: list[int | AnyVertex] = []
    for end in (edge.source, edge.target):
        vertex, place = absent.edge.vertices[end], absent.ends[end]
        if place is not None:
            ends.append(place)
            continue
        asked = vertex.labels, vertex.where, vertex.ids
        places = [int(at == end) for at in range(2)]
        negated = tuple(one.between(places) for one in absent.edge.negated)
        ends.append(PossibleEnd(*asked, negated) if negated else AnyVertex(*asked))
    return NegatedEdge(ends[0], ends[1], edge.labels, edge.directed, edge.where, besides)


def _filled(ends: Sequence[int | None], vertex: int) -> tuple[int, ...]:
    return tuple(vertex if at is None else at for at in ends)
