"""Rooted patterns: patterns whose first vertices are given. Tables of local counts count these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from motiflux.conditions import Condition
from motiflux.graph import VertexFilter
from motiflux.plan.bind import BoundEdge, BoundPattern, Codes


@dataclass(frozen=True, slots=True)
class VertexKind:
    """The conditions of a query vertex on a data vertex, without its edges."""

    labels: Codes
    narrowing: VertexFilter | None


@dataclass(frozen=True, slots=True)
class EdgeKind:
    """The conditions of a query edge on a data edge, without its ends."""

    labels: Codes
    either: bool
    where: Condition | None


Edge = tuple[int, int, int]
"""Source, target and kind; an edge that may go either way has ``source < target``."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of vertices and edges of one pattern; its parts and quotients refer to them by number."""

    directed: bool
    vertices: tuple[VertexKind, ...]
    edges: tuple[EdgeKind, ...]

    def bound(self, pattern: Rooted) -> BoundPattern:
        """Return a rooted pattern as a pattern to search for."""
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


@dataclass(frozen=True, slots=True)
class Rooted:
    """A pattern whose first `roots` vertices are given.

    Parameters
    ----------
    vertices
        The kind of each vertex.
    edges
        The edges, each once, ascending.
    roots
        Number of roots: 0, 1, or 2 that are joined by exactly one edge.
    below
        Vertices whose images are less than the image of the first vertex; none if there are two roots.
    """

    vertices: tuple[int, ...]
    edges: tuple[Edge, ...]
    roots: int
    below: frozenset[int] = frozenset()

    @property
    def fixed(self) -> int:
        """Number of vertices at the start that keep their numbers: the roots, and the greatest vertex."""
        return max(self.roots, 1 if self.below else 0)

    def neighbors(self, vertex: int) -> set[int]:
        """Return the vertices joined to `vertex`."""
        return {u + v - vertex for u, v, _ in self.edges if vertex in (u, v)}

    def components(self) -> list[list[int]]:
        """Return the connected components of the pattern without its roots."""
        return self.connected(set(range(self.roots, len(self.vertices))))

    def connected(self, vertices: set[int]) -> list[list[int]]:
        """Return the connected components of `vertices`."""
        remaining = set(vertices)
        found = []
        while remaining:
            component, frontier = [], [min(remaining)]
            remaining.discard(frontier[0])
            while frontier:
                vertex = frontier.pop()
                component.append(vertex)
                fresh = self.neighbors(vertex) & remaining
                remaining -= fresh
                frontier += fresh
            found.append(sorted(component))
        return found

    def induced(self, kept: Sequence[int], roots: int) -> Rooted:
        """Return the pattern that the vertices `kept` induce, in this order."""
        place = {vertex: at for at, vertex in enumerate(kept)}
        edges = [(place[u], place[v], kind) for u, v, kind in self.edges if u in place and v in place]
        below = frozenset(place[v] for v in self.below if v in place)
        return Rooted(tuple(self.vertices[v] for v in kept), ordered_edges(edges), roots, below)

    def renumbered(self, order: Sequence[int], roots: int, either: frozenset[int]) -> Rooted:
        """Return the pattern with its vertices reordered; edges of a kind in `either` go either way."""
        place = {vertex: at for at, vertex in enumerate(order)}
        edges = [(place[u], place[v], kind) for u, v, kind in self.edges]
        below = frozenset(place[v] for v in self.below)
        return Rooted(tuple(self.vertices[v] for v in order), ordered_edges(edges, either), roots, below)


def ordered_edges(edges: Iterable[Edge], either: frozenset[int] = frozenset()) -> tuple[Edge, ...]:
    """Return edges ascending, each once; those of a kind in `either` go from the lesser vertex."""
    turned = ((v, u, kind) if kind in either and u > v else (u, v, kind) for u, v, kind in edges)
    return tuple(sorted(set(turned)))
