"""Patterns some of whose vertices are given: what a table of local counts counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from motiflux.conditions import Condition
from motiflux.graph import VertexFilter
from motiflux.plan.bind import BoundEdge, BoundPattern, Codes
from motiflux.plan.local_counts.canonical import canonical


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
    below
        Vertices whose images are less than that of the first vertex; none where there are two roots.
    """

    vertices: tuple[int, ...]
    edges: tuple[Edge, ...]
    roots: int
    below: frozenset[int] = frozenset()

    @property
    def fixed(self) -> int:
        """How many vertices, the first ones, are told apart from all others."""
        return max(self.roots, 1 if self.below else 0)

    def neighbors(self, vertex: int) -> set[int]:
        """Return the vertices joined to one."""
        return {u + v - vertex for u, v, _ in self.edges if vertex in (u, v)}

    def components(self) -> list[list[int]]:
        """Return the parts that fall apart without the roots."""
        return self.connected(set(range(self.roots, len(self.vertices))))

    def connected(self, vertices: set[int]) -> list[list[int]]:
        """Return the parts that some vertices fall into."""
        left = set(vertices)
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
        below = frozenset(place[v] for v in self.below if v in place)
        return Rooted(tuple(self.vertices[v] for v in kept), _ordered(edges), roots, below)


def _ordered(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(set(edges)))


_MOST_CANONICAL = 10_000
_canonical: dict[frozenset[int], dict[Rooted, Rooted]] = {}
"""Canonical patterns of so many that were looked at, by the kinds of edges that go either way: what else
kinds are changes nothing. Dictionary operations are atomic, and what two threads compute is the same."""


class Family:
    """The rooted patterns that come of one pattern: its parts and quotients.

    Parameters
    ----------
    injective
        Whether different query vertices have different images.
    """

    def __init__(self, bound: BoundPattern, *, injective: bool = True) -> None:
        kinds = [VertexKind(*pair) for pair in zip(bound.labels, bound.filters, strict=True)]
        of_edges = [EdgeKind(edge.labels, edge.either, edge.where) for edge in bound.edges]
        self._directed = bound.directed
        self._vertex_kinds = list(dict.fromkeys(kinds))
        self._edge_kinds = tuple(dict.fromkeys(of_edges))
        self._either = frozenset(at for at, kind in enumerate(self._edge_kinds) if kind.either)
        if sum(map(len, list(_canonical.values()))) >= _MOST_CANONICAL:
            _canonical.clear()
        self._canonical = _canonical.setdefault(self._either, {})
        self.injective = injective
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

    def _normal(
        self,
        vertices: tuple[int, ...],
        edges: Iterable[Edge],
        roots: int,
        below: frozenset[int] = frozenset(),
    ) -> Rooted:
        turned = ((v, u, kind) if kind in self._either and u > v else (u, v, kind) for u, v, kind in edges)
        return Rooted(vertices, _ordered(turned), roots, below)

    def renumbered(self, pattern: Rooted, order: Sequence[int], roots: int) -> Rooted:
        """Return the pattern with its vertices in another order."""
        place = {vertex: at for at, vertex in enumerate(order)}
        return self._normal(
            tuple(pattern.vertices[v] for v in order),
            [(place[u], place[v], kind) for u, v, kind in pattern.edges],
            roots,
            frozenset(place[v] for v in pattern.below),
        )

    def merged(self, pattern: Rooted, pairs: Sequence[tuple[int, int]]) -> Rooted | None:
        """Return the pattern with the vertices of each pair made one; None if that can be no vertex.

        The first of each stays; it may stay in several pairs, and goes in none.
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
        below = frozenset(place[into[v]] for v in pattern.below)
        if 0 in below:
            return None
        return self._normal(tuple(kinds[v] for v in left), edges, pattern.roots, below)

    def canonical(self, pattern: Rooted) -> Rooted:
        """Return the pattern with its vertices renumbered, the same for isomorphic ones; roots stay."""
        known = self._canonical.get(pattern)
        if known is None:
            if len(self._canonical) >= _MOST_CANONICAL:
                self._canonical.clear()
            known = self._canonical[pattern] = canonical(pattern, self)
        return known


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


def partitions(size: int, apart: frozenset[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield all ways to merge some of so many vertices, none that are `apart`, as pairs: what stays first.

    Pairs that are apart are given with the lesser first.
    """
    blocks: list[list[int]] = []

    def extend(vertex: int) -> Iterator[list[tuple[int, int]]]:
        if vertex == size:
            pairs = [(block[0], other) for block in blocks for other in block[1:]]
            if pairs:
                yield pairs
            return
        for block in list(blocks):
            if all((other, vertex) not in apart for other in block):
                block.append(vertex)
                yield from extend(vertex + 1)
                block.pop()
        blocks.append([vertex])
        yield from extend(vertex + 1)
        blocks.pop()

    yield from extend(0)
