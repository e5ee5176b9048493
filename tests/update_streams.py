"""Streams drawn from a seed: a graph with hubs, patterns, and insertions and deletions of its edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import motiflux as mf

Edge = tuple[int, int, int]
"""Source, target and label."""


@dataclass(frozen=True)
class Stream:
    """What the drawing starts from; `symmetry`, `semantics` and `duplicates` are the options of a monitor."""

    seed: int
    vertices: int
    directed: bool
    vertex_kinds: int
    edge_kinds: int
    sizes: tuple[int, ...]
    updates: int
    symmetry: str
    semantics: str
    duplicates: str

    def options(self) -> dict[str, Any]:
        return {"symmetry": self.symmetry, "semantics": self.semantics}

    @cached_property
    def random(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @cached_property
    def labels(self) -> list[int]:
        return [int(label) for label in self.random.integers(0, self.vertex_kinds, self.vertices)]

    def edge(self) -> Edge:
        """Draw an edge; small numbers are hubs."""
        u, v = (int(self.vertices * self.random.random() ** 2) for _ in range(2))
        v = v if u != v else (u + 1) % self.vertices
        u, v = (u, v) if self.directed or u < v else (v, u)
        return u, v, int(self.random.integers(self.edge_kinds))

    @cached_property
    def first(self) -> Counter[Edge]:
        return Counter(self.edge() for _ in range(2 * self.vertices))

    @cached_property
    def changes(self) -> list[tuple[bool, Edge]]:
        """Updates, of which some insert copies and some delete what is not there."""
        there: list[Edge] = sorted(self.first.elements())
        drawn = []
        for _ in range(self.updates):
            inserts = not there or bool(self.random.random() < 0.5)
            if inserts or self.random.random() < 0.1:
                edge = self.edge()
            else:
                place = int(self.random.integers(len(there)))
                there[place], there[-1] = there[-1], there[place]
                edge = there.pop()
            drawn.append((inserts, edge))
            if inserts:
                there.append(edge)
        return drawn

    @cached_property
    def patterns(self) -> list[mf.Pattern]:
        found: dict[mf.Pattern, None] = {}
        for size in self.sizes:
            found[self.pattern(size)] = None
        return list(found)

    def pattern(self, size: int) -> mf.Pattern:
        """Draw a connected pattern, with a label on most of its vertices and edges."""
        edges = {(int(self.random.integers(v)), v) for v in range(1, size)}
        more = int(self.random.integers(0, size))
        edges |= {(u, v) for u, v in self.random.integers(0, size, (more, 2)).tolist() if u < v}
        labels = [self.label(self.vertex_kinds) for _ in range(size)]
        kinds = [self.label(self.edge_kinds) for _ in edges]
        return mf.Pattern.from_edges(sorted(edges), vertex_labels=labels, edge_labels=kinds)

    def label(self, kinds: int) -> Any:
        """Draw a label, a wildcard, or a set of labels."""
        one, other = self.random.integers(0, kinds, 2).tolist()
        return (one, one, one, None, {one, other})[int(self.random.integers(5))]

    def graph(self, edges: Counter[Edge], *, vertices: int | None = None) -> mf.Graph:
        """Make the graph of these edges, by default with all vertices."""
        rows = np.array(sorted(edges.elements()), dtype=np.int64).reshape(-1, 3)
        return mf.Graph.from_edges(
            rows[:, :2],
            directed=self.directed,
            num_vertices=vertices or self.vertices,
            vertex_labels=self.labels[:vertices],
            edge_labels=rows[:, 2],
        )

    def states(self) -> Iterator[Counter[Edge]]:
        """Give the copies of edges at the start and after each update; one object, which changes."""
        edges = Counter(dict.fromkeys(self.first, 1)) if self.duplicates == "ignore" else Counter(self.first)
        yield edges
        for inserts, edge in self.changes:
            if inserts and not (self.duplicates == "ignore" and edges[edge]):
                edges[edge] += 1
            elif not inserts and edges[edge]:
                edges[edge] -= 1
            yield edges

    @cached_property
    def graphs(self) -> list[mf.Graph]:
        """The graph at the start and after each update."""
        return [self.graph(+edges) for edges in self.states()]

    @cached_property
    def counts(self) -> list[list[int]]:
        """Of each pattern, the matches at the start and after each update."""
        return [
            [int(mf.count(graph, pattern, **self.options())) for graph in self.graphs]
            for pattern in self.patterns
        ]

    def columns(self) -> mf.Updates:
        rows = np.array([edge for _, edge in self.changes], dtype=np.int64)
        return mf.Updates(np.array([inserts for inserts, _ in self.changes]), *rows.T.copy())
