"""Patterns some of whose vertices are given: what a table of local counts counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, permutations, product
from math import factorial, prod

from motiflux.conditions import Condition
from motiflux.graph import VertexFilter
from motiflux.plan.bind import BoundEdge, BoundPattern, Codes

# Renumberings compared to find the canonical one; patterns with more keep the numbers that they have.
_MOST_RENUMBERINGS = 720


@dataclass(frozen=True, slots=True)
class VertexKind:
    """What a query vertex asks of a data vertex, but for its edges."""

    labels: Codes
    narrowing: VertexFilter | None


@dataclass(frozen=True, slots=True)
class EdgeKind:
    """What a query edge asks of a data edge, but for its ends."""

    labels: Codes
    either: bool
    where: Condition | None


Edge = tuple[int, int, int]
"""Source, target and kind; an edge that may go either way has ``source < target``."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of vertices and edges of one pattern, which its parts and quotients name by number."""

    directed: bool
    vertices: tuple[VertexKind, ...]
    edges: tuple[EdgeKind, ...]

    def bound(self, pattern: Rooted) -> BoundPattern:
        """Return a rooted pattern as one to be searched for."""
        return BoundPattern(
            self.directed,
            tuple(self.vertices[kind].labels for kind in pattern.vertices),
            tuple(
                BoundEdge(u, v, self.edges[kind].labels, self.edges[kind].either, self.edges[kind].where)
                for u, v, kind in pattern.edges
            ),
            None,
            frozenset(),
            tuple(self.vertices[kind].narrowing for kind in pattern.vertices),
        )


class Undecided(Exception):  # noqa: N818 - no error: the pattern is counted in another way
    """No formula is known for this pattern."""


@dataclass(frozen=True, slots=True)
class Rooted:
    """A pattern whose first `roots` vertices are given.

    Parameters
    ----------
    vertices
        The kind of each vertex.
    edges
        Each once, ascending.
    roots
        None, one, or two joined by exactly one edge.
    """

    vertices: tuple[int, ...]
    edges: tuple[Edge, ...]
    roots: int

    def neighbors(self, vertex: int) -> set[int]:
        """Return the vertices joined to one."""
        return {u + v - vertex for u, v, _ in self.edges if vertex in (u, v)}

    def components(self) -> list[list[int]]:
        """Return the parts that fall apart without the roots."""
        left = set(range(self.roots, len(self.vertices)))
        found = []
        while left:
            part, frontier = [], [min(left)]
            left.discard(frontier[0])
            while frontier:
                vertex = frontier.pop()
                part.append(vertex)
                fresh = self.neighbors(vertex) & left
                left -= fresh
                frontier += fresh
            found.append(sorted(part))
        return found

    def part(self, kept: Sequence[int], roots: int) -> Rooted:
        """Return the pattern of some vertices, in that order, with the edges among them."""
        place = {vertex: at for at, vertex in enumerate(kept)}
        edges = [(place[u], place[v], kind) for u, v, kind in self.edges if u in place and v in place]
        return Rooted(tuple(self.vertices[v] for v in kept), _ordered(edges), roots)


def _ordered(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(set(edges)))


class Family:
    """The rooted patterns that come of one pattern: its parts and quotients."""

    def __init__(self, bound: BoundPattern) -> None:
        kinds = [VertexKind(*pair) for pair in zip(bound.labels, bound.filters, strict=True)]
        of_edges = [EdgeKind(edge.labels, edge.either, edge.where) for edge in bound.edges]
        self._directed = bound.directed
        self._vertex_kinds = list(dict.fromkeys(kinds))
        self._edge_kinds = tuple(dict.fromkeys(of_edges))
        self._either = frozenset(at for at, kind in enumerate(self._edge_kinds) if kind.either)
        self.whole = self._normal(
            tuple(self._vertex_kinds.index(kind) for kind in kinds),
            [
                (edge.source, edge.target, self._edge_kinds.index(kind))
                for edge, kind in zip(bound.edges, of_edges, strict=True)
            ],
            0,
        )

    @property
    def kinds(self) -> Kinds:
        """All kinds that came up so far."""
        return Kinds(self._directed, tuple(self._vertex_kinds), self._edge_kinds)

    def is_either(self, edge_kind: int) -> bool:
        """Return whether edges of a kind may go either way."""
        return edge_kind in self._either

    def _common(self, first: int, second: int) -> int | None:
        """Return the kind of a data vertex that is of both; None if no vertex is."""
        if first == second:
            return first
        one, other = self._vertex_kinds[first], self._vertex_kinds[second]
        labels = one.labels if other.labels is None else other.labels
        if one.labels is not None and other.labels is not None:
            labels = tuple(sorted(set(one.labels).intersection(other.labels)))
            if not labels:
                return None
        if None not in (one.narrowing, other.narrowing) and one.narrowing != other.narrowing:
            raise Undecided("vertices that ask for different things")
        common = VertexKind(labels, one.narrowing or other.narrowing)
        if common not in self._vertex_kinds:
            self._vertex_kinds.append(common)
        return self._vertex_kinds.index(common)

    def _normal(self, vertices: tuple[int, ...], edges: Iterable[Edge], roots: int) -> Rooted:
        turned = ((v, u, kind) if kind in self._either and u > v else (u, v, kind) for u, v, kind in edges)
        return Rooted(vertices, _ordered(turned), roots)

    def renumbered(self, pattern: Rooted, order: Sequence[int], roots: int) -> Rooted:
        """Return the pattern with its vertices in another order."""
        place = {vertex: at for at, vertex in enumerate(order)}
        return self._normal(
            tuple(pattern.vertices[v] for v in order),
            [(place[u], place[v], kind) for u, v, kind in pattern.edges],
            roots,
        )

    def merged(self, pattern: Rooted, pairs: Sequence[tuple[int, int]]) -> Rooted | None:
        """Return the pattern with the vertices of each pair made one; None if that can be no vertex.

        The pairs have no vertex in common; the first of each stays.
        """
        kinds = list(pattern.vertices)
        into = list(range(len(kinds)))
        for kept, gone in pairs:
            kind = self._common(kinds[kept], kinds[gone])
            if kind is None:
                return None
            kinds[kept], into[gone] = kind, kept
        left = [v for v in range(len(kinds)) if into[v] == v]
        place = {vertex: at for at, vertex in enumerate(left)}
        edges = []
        for u, v, kind in pattern.edges:
            a, b = place[into[u]], place[into[v]]
            if a == b:
                return None
            edges.append((a, b, kind))
        return self._normal(tuple(kinds[v] for v in left), edges, pattern.roots)

    def canonical(self, pattern: Rooted) -> Rooted:
        """Return the pattern with its vertices renumbered, the same for isomorphic ones; roots stay."""
        classes = _alike(pattern, self._either)
        if prod(factorial(len(members)) for members in classes) > _MOST_RENUMBERINGS:
            return pattern
        first = range(pattern.roots)
        orders = ([*first, *chain.from_iterable(choice)] for choice in product(*map(permutations, classes)))
        return min(
            (self.renumbered(pattern, order, pattern.roots) for order in orders),
            key=lambda one: (one.vertices, one.edges),
        )


def _alike(pattern: Rooted, either: frozenset[int]) -> list[list[int]]:
    """Return the vertices that are no roots, in classes that no automorphism mixes."""
    size = len(pattern.vertices)
    colors: list[object] = [
        (v if v < pattern.roots else pattern.roots, pattern.vertices[v]) for v in range(size)
    ]
    for _ in range(3):
        looks = []
        for vertex in range(size):
            around = sorted(
                (kind, vertex == u and kind not in either, colors[u + v - vertex])
                for u, v, kind in pattern.edges
                if vertex in (u, v)
            )
            looks.append((colors[vertex], around))
        ranks = {look: rank for rank, look in enumerate(sorted({repr(look) for look in looks}))}
        colors = [(v if v < pattern.roots else pattern.roots, ranks[repr(looks[v])]) for v in range(size)]
    classes: dict[object, list[int]] = {}
    for vertex in range(pattern.roots, size):
        classes.setdefault(colors[vertex], []).append(vertex)
    return [classes[color] for color in sorted(classes)]  # type: ignore[type-var]


def matchings(ours: Sequence[int], theirs: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """Yield all ways to pair some of `ours`, at least one, with different ones of `theirs`."""

    def extend(at: int, free: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
        if at == len(ours):
            yield []
            return
        yield from extend(at + 1, free)
        for one in free:
            for rest in extend(at + 1, tuple(other for other in free if other != one)):
                yield [(one, ours[at]), *rest]

    return (pairs for pairs in extend(0, tuple(theirs)) if pairs)
