"""Graphs as peers are given them, and reading them from files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np

Kinds = frozenset[int]
"""Labels of the edges from one vertex to another."""


@dataclass(frozen=True)
class Network:
    """A graph as peers are given it: vertices 0..n-1, and each pair once.

    Labels of vertices, and the kinds of edges beside the pairs, are there if they are to be compared. A pair
    of a query falls on a pair of the data that has at least its kinds: parallel edges witness one embedding.
    """

    size: int
    edges: list[tuple[int, int]]
    labels: list[int] | None = None
    directed: bool = False
    kinds: list[Kinds] | None = None


def read_query(path: Path, *, directed: bool = False) -> Network:
    """Read a query; all labels of vertices, or of edges, are wildcards, or none."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    labels = [int(line[2]) for line in lines if line[0] == "v"]
    edges = [(int(line[1]), int(line[2])) for line in lines if line[0] == "e"]
    kinds = [frozenset([int(line[3])]) for line in lines if line[0] == "e" and len(line) > 3]
    if len({label < 0 for label in labels}) > 1 or len(kinds) not in (0, len(edges)):
        raise ValueError(f"{path}: expected labels everywhere or nowhere")
    return Network(len(labels), edges, None if labels[0] < 0 else labels, directed, kinds or None)


def read_data(path: Path, query: Network) -> Network:
    """Read a graph as a query looks at it: with labels and kinds where the query has them."""
    with np.load(path) as file:
        edges = file["edges"].astype(np.int64)
        labels = file["vertex_labels"].tolist() if "vertex_labels" in file else None
        kinds = file["edge_labels"] if query.kinds is not None and "edge_labels" in file else None
        size = int(file["num_vertices"])
    if not query.directed:
        edges = np.sort(edges, axis=1)
    data = Network(size, [], labels if query.labels is not None else None, query.directed)
    if kinds is None:
        return replace(data, edges=[(u, v) for u, v in np.unique(edges, axis=0).tolist()])
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for (source, target), kind in zip(edges.tolist(), kinds.tolist(), strict=True):
        found[source, target].add(kind)
    return replace(data, edges=list(found), kinds=[frozenset(there) for there in found.values()])


def comparable(query: Network, data: Network) -> Network:
    """Return a query without the labels and kinds that the data does not have."""
    return replace(
        query,
        labels=query.labels if data.labels is not None else None,
        kinds=query.kinds if data.kinds is not None else None,
    )


def narrowed(data: Network, query: Network) -> Network:
    """Leave out edges of kinds that the query does not ask for."""
    if data.kinds is None or query.kinds is None:
        return data
    asked = frozenset().union(*query.kinds)
    kept = [
        (edge, kinds & asked) for edge, kinds in zip(data.edges, data.kinds, strict=True) if kinds & asked
    ]
    return replace(data, edges=[edge for edge, _ in kept], kinds=[kinds for _, kinds in kept])


def order_conditions(query: Network) -> list[tuple[int, int]]:
    """Give pairs (u, v) such that f(u) < f(v) keeps one of each subgraph's embeddings f."""
    labels = query.labels or [0] * query.size
    kinds = query.kinds or [frozenset()] * len(query.edges)
    edges = edges_of(query, dict(zip(query.edges, kinds, strict=True)))
    group = [
        image
        for image in permutations(range(query.size))
        if all(labels[vertex] == labels[image[vertex]] for vertex in range(query.size))
        and {(image[u], image[v], kind) for u, v, kind in edges} == edges
    ]
    conditions = []
    for fixed in range(query.size):
        orbit = {image[fixed] for image in group}
        conditions += [(fixed, other) for other in sorted(orbit - {fixed})]
        group = [image for image in group if image[fixed] == fixed]
    return conditions


def edges_of(query: Network, kinds: dict[tuple[int, int], Kinds]) -> set[tuple[int, int, Kinds]]:
    """Give the edges with their kinds, both ways if there is no direction."""
    there = {(u, v, kind) for (u, v), kind in kinds.items()}
    return there if query.directed else there | {(v, u, kind) for u, v, kind in there}


def length(items: Iterable[object]) -> int:
    """Count what an iterator gives."""
    return sum(1 for _ in items)
