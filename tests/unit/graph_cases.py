"""What the tests of graphs share."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.graph.csr import Csr

Edge = tuple[Any, Any, Any]
"""Source, target, label."""

TRIANGLE = [(0, 1), (1, 2), (2, 0)]


def edge_counts(graph: mf.Graph) -> Counter[Edge]:
    """Give every edge with its multiplicity; the ends of an undirected one in ascending order."""
    sources, targets, labels, copies = graph.to_edges()
    kinds = [0] * len(sources) if labels is None else labels.tolist()
    rows = zip(sources.tolist(), targets.tolist(), kinds, copies.tolist(), strict=True)
    return Counter({edge(graph.directed, u, v, label): many for u, v, label, many in rows})


def edge(directed: bool, source: Any, target: Any, label: Any = 0) -> Edge:
    return (source, target, label) if directed else (*sorted((source, target)), label)


def arcs(rows: Csr) -> list[tuple[int, int, int]]:
    """Give the arcs of the rows as (first vertex, neighbour, label code)."""
    labels = np.zeros_like(rows.neighbors) if rows.labels is None else rows.labels
    return list(zip(rows.sources().tolist(), rows.neighbors.tolist(), labels.tolist(), strict=True))


def arrays_of(graph: mf.Graph) -> list[NDArray[Any]]:
    labels = [] if graph.vertex_labels is None else [graph.vertex_labels]
    return [graph.vertex_ids, *labels, *graph.forward.arrays(), *graph.reverse.arrays()]


def same(first: mf.Graph, second: mf.Graph) -> bool:
    pairs = zip(arrays_of(first), arrays_of(second), strict=True)
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs)
