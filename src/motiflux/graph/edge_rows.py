"""Copies of edges that have attributes, and the arcs they belong to.

Rows are kept sorted by edge, so that the copies of an edge follow each other and no map from edges to rows
is needed beyond the number of copies. Edges are in the order of `Graph.to_edges`: that of the forward arcs,
of which an undirected graph has two for each edge and the one to the greater vertex comes first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.graph.csr import Csr


def row_starts(forward: Csr, *, directed: bool) -> NDArray[np.int64] | None:
    """Return the first row of each edge, int64 [edges]; None where each edge has one row."""
    if forward.copies is None:
        return None
    ends = np.cumsum(forward.copies if directed else forward.copies[_first_arcs(forward)], dtype=np.int64)
    return np.concatenate([np.zeros(1, dtype=np.int64), ends])[:-1]


def edges_of_arcs(forward: Csr) -> NDArray[np.uint32]:
    """Return the edge of each arc of an undirected graph, uint32 [arcs]."""
    first = _first_arcs(forward)
    edges = np.empty(len(first), dtype=np.uint32)
    edges[first] = np.arange(len(first) // 2, dtype=np.uint32)
    # The order of the other arcs by (target, source, label) is that of the first arcs by (source, target,
    # label).
    edges[~first] = np.argsort(forward.neighbors[first], kind="stable")
    return edges


def edges_by_target(forward: Csr) -> NDArray[np.uint32]:
    """Return the edge of each arc of a directed graph's reverse rows, uint32 [arcs]."""
    return np.argsort(forward.neighbors, kind="stable").astype(np.uint32)


def edges_with_any(marked: NDArray[np.bool_], starts: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return which edges have a marked row, from bool [rows] and the result of `row_starts`."""
    return marked if starts is None or not len(starts) else np.logical_or.reduceat(marked, starts)


def _first_arcs(forward: Csr) -> NDArray[np.bool_]:
    return forward.sources() < forward.neighbors
