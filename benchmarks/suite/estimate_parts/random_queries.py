"""Queries that are drawn from a graph, always the same for the same randomness."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

import motiflux as mf

_WALKS = 200
"""Walks of which the densest makes a dense query."""


def read_labelled(path: Path, labels: int | None, seed: int) -> mf.Graph:
    """Return a graph as undirected; with `labels`, vertices get as many random labels, from `seed`."""
    graph = mf.read_graph(path, directed=False)
    if labels is None:
        return graph
    rows = graph.forward
    sources = np.repeat(np.arange(graph.num_vertices), np.diff(rows.offsets).astype(np.int64))
    edges = np.column_stack([sources, rows.neighbors])[sources < rows.neighbors]
    drawn = np.random.default_rng(seed).integers(0, labels, graph.num_vertices)
    return mf.Graph.from_edges(edges, vertex_labels=drawn)


def dense_query(graph: mf.Graph, vertices: int, randomness: random.Random) -> mf.Pattern:
    """Return the densest subgraph of the vertices of two hundred random walks."""
    walks = (_walked(graph, vertices, randomness) for _ in range(_WALKS))
    return _pattern_of(graph, max(walks, key=len))


def sparse_query(graph: mf.Graph, vertices: int, randomness: random.Random) -> mf.Pattern:
    """Return the subgraph of a random walk, with edges left out until the mean degree is below 3."""
    edges = _walked(graph, vertices, randomness)
    randomness.shuffle(edges)
    tree, rest = _tree_first(edges)
    return _pattern_of(graph, tree + rest[: max(0, 3 * vertices // 2 - 1 - len(tree))])


def tree_query(graph: mf.Graph, vertices: int, randomness: random.Random) -> mf.Pattern:
    """Return a spanning tree of the subgraph of a random walk."""
    edges = _walked(graph, vertices, randomness)
    randomness.shuffle(edges)
    return _pattern_of(graph, _tree_first(edges)[0])


def _tree_first(edges: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the edges that join parts when they are added one by one, and the others."""
    tree, rest, parts = [], [], {v: {v} for edge in edges for v in edge}
    for v, w in edges:
        if w in parts[v]:
            rest.append((v, w))
            continue
        tree.append((v, w))
        joined = parts[v] | parts[w]
        parts.update(dict.fromkeys(joined, joined))
    return tree, rest


def _walked(graph: mf.Graph, vertices: int, randomness: random.Random) -> list[tuple[int, int]]:
    """Return the edges between the first vertices that a random walk meets."""
    rows = graph.forward
    while True:
        vertex = randomness.randrange(graph.num_vertices)
        met = [vertex]
        for _ in range(20 * vertices):
            begin, end = int(rows.offsets[vertex]), int(rows.offsets[vertex + 1])
            if begin == end:
                break
            vertex = int(rows.neighbors[randomness.randrange(begin, end)])
            if vertex not in met:
                met.append(vertex)
            if len(met) == vertices:
                return _edges_between(graph, met)


def _edges_between(graph: mf.Graph, vertices: list[int]) -> list[tuple[int, int]]:
    rows = graph.forward

    def joined(v: int, w: int) -> bool:
        row = rows.neighbors[rows.offsets[v] : rows.offsets[v + 1]]
        place = int(np.searchsorted(row, w))
        return place < len(row) and int(row[place]) == w

    return [(v, w) for i, v in enumerate(vertices) for w in vertices[i + 1 :] if joined(v, w)]


def _pattern_of(graph: mf.Graph, edges: list[tuple[int, int]]) -> mf.Pattern:
    """Return the pattern of edges between data vertices, with their labels."""
    number: dict[int, int] = {}
    for edge in edges:
        for vertex in edge:
            number.setdefault(vertex, len(number))
    codes, table = graph.vertex_labels, graph.vertex_label_table
    labels = None if codes is None else [table.values[int(codes[vertex])] for vertex in number]
    return mf.Pattern.from_edges(
        [(number[v], number[w]) for v, w in edges], num_vertices=len(number), vertex_labels=labels
    )
