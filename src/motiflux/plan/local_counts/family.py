"""The rooted patterns that arise from one pattern, and ways to pair and merge vertices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from motiflux.plan.bind import BoundPattern
from motiflux.plan.local_counts.canonical import canonical
from motiflux.plan.rooted import EdgeKind, Kinds, Rooted, VertexKind, ordered_edges


class Undecided(Exception):  # noqa: N818 - no error: the pattern is counted in another way
    """No formula is known for this pattern."""


_MOST_CANONICAL = 10_000
_canonical: dict[frozenset[int], dict[Rooted, Rooted]] = {}
"""Canonical patterns by the kinds of edges that go either way, then by pattern; other properties of kinds
make no difference. Dictionary operations are atomic, and two threads compute the same results."""


class Family:
    """The rooted patterns that arise from one pattern: its parts and quotients.

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
        edges = [
            (edge.source, edge.target, self._edge_kinds.index(kind))
            for edge, kind in zip(bound.edges, of_edges, strict=True)
        ]
        vertices = tuple(self._vertex_kinds.index(kind) for kind in kinds)
        self.whole = Rooted(vertices, ordered_edges(edges, self._either), 0)

    @property
    def kinds(self) -> Kinds:
        """All kinds that occurred so far."""
        return Kinds(self._directed, tuple(self._vertex_kinds), self._edge_kinds)

    def is_either(self, edge_kind: int) -> bool:
        """Return whether edges of a kind may go either way."""
        return edge_kind in self._either

    def edge(self, pattern: Rooted, start: int, end: int) -> tuple[int, bool, bool]:
        """Return the kind of the edge between two vertices, whether it goes either way, and from `start`."""
        for u, v, kind in pattern.edges:
            if {u, v} == {start, end}:
                either = self.is_either(kind)
                return kind, either, either or u == start
        raise AssertionError("no such edge")

    def _common(self, first: int, second: int) -> int | None:
        """Return the kind of a data vertex that has both kinds; None if no vertex has."""
        if first == second:
            return first
        one, other = self._vertex_kinds[first], self._vertex_kinds[second]
        labels = one.labels if other.labels is None else other.labels
        if one.labels is not None and other.labels is not None:
            labels = tuple(sorted(set(one.labels).intersection(other.labels)))
            if not labels:
                return None
        if None not in (one.narrowing, other.narrowing) and one.narrowing != other.narrowing:
            raise Undecided("vertices with different conditions")
        common = VertexKind(labels, one.narrowing or other.narrowing)
        if common not in self._vertex_kinds:
            self._vertex_kinds.append(common)
        return self._vertex_kinds.index(common)

    def renumbered(self, pattern: Rooted, order: Sequence[int], roots: int) -> Rooted:
        """Return the pattern with its vertices in another order."""
        return pattern.renumbered(order, roots, self._either)

    def merged(self, pattern: Rooted, pairs: Sequence[tuple[int, int]]) -> Rooted | None:
        """Return the pattern with the vertices of each pair merged; None if no data vertex can be both.

        The first vertex of a pair stays; it may be the first of several pairs, and the second of none.
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
        vertices = tuple(kinds[v] for v in left)
        return Rooted(vertices, ordered_edges(edges, self._either), pattern.roots, below)

    def canonical(self, pattern: Rooted) -> Rooted:
        """Return the pattern renumbered, equally for isomorphic patterns; roots keep their numbers."""
        known = self._canonical.get(pattern)
        if known is None:
            if len(self._canonical) >= _MOST_CANONICAL:
                self._canonical.clear()
            known = self._canonical[pattern] = canonical(pattern, self._either)
        return known

    def with_more_roots(self, pattern: Rooted) -> list[Rooted]:
        """Return the pattern with its roots, and with further ones: each choice once, up to isomorphism."""
        if pattern.below:
            return [pattern if pattern.roots else replace(pattern, roots=1)]
        options = [pattern] if pattern.roots else []
        frontier = [pattern]
        for _ in range(pattern.roots, 2):
            frontier = list(
                dict.fromkeys(
                    self.canonical(self.with_root(one, vertex))
                    for one in frontier
                    for vertex in _next_roots(one)
                )
            )
            options += frontier
        return options

    def with_root(self, pattern: Rooted, vertex: int) -> Rooted:
        """Return the pattern with one vertex as a further root, after the others."""
        roots = range(pattern.roots)
        order = [*roots, vertex, *(v for v in range(pattern.roots, len(pattern.vertices)) if v != vertex)]
        return self.renumbered(pattern, order, pattern.roots + 1)


def _next_roots(pattern: Rooted) -> list[int]:
    """Return the vertices that may be a further root: any for the first, then neighbours by one edge."""
    if pattern.roots == 0:
        return list(range(len(pattern.vertices)))
    edges = Counter(u + v for u, v, _ in pattern.edges if 0 in (u, v))
    return sorted(vertex for vertex, number in edges.items() if number == 1)


def matchings(ours: Sequence[int], theirs: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """Yield all ways to pair at least one of `ours` with different members of `theirs`."""

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
    """Yield all ways to merge some of `size` vertices, as pairs of a vertex that stays and a removed one.

    No two vertices of a pair in `apart` are merged; these pairs have the lesser vertex first.
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
