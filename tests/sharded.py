"""Graphs as sharded rows in memory, without a cluster."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.cluster.shards.ids import VertexIds
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.rows import RowArrays


def last_rows(graph: mf.Graph, number: int) -> RowArrays | None:
    """Return the rows of the last vertices, as each node has them; None for none."""
    layout, (rows,) = sharded(graph, 1)
    if number == 0:
        return None
    first = max(0, layout.num_vertices - number)
    piece = rows.take(np.arange(first, layout.num_vertices)).packed()
    offsets = np.concatenate([[0], piece.ends]).astype(np.uint64)
    labels = None if rows.labels is None else piece.labels
    return RowArrays(first, offsets, piece.neighbors, piece.kinds, labels)


def ids_of(graph: mf.Graph, layout: Layout) -> VertexIds:
    """Return the ids of a graph that `sharded` numbered."""
    sizes = np.zeros(graph.num_vertices, np.int64)
    for rows in [graph.forward, graph.reverse] if graph.directed else [graph.forward]:
        sizes += np.bincount(rows.sources(), minlength=graph.num_vertices)
    ids = np.asarray(graph.vertex_ids)[np.argsort(sizes, kind="stable")].astype(np.int64)

    def of_shard(first: int, last: int) -> Callable[[NDArray[Any]], Callable[[], NDArray[Any]]]:
        return lambda places: lambda: ids[first:last][places]

    return VertexIds(layout, [of_shard(first, last) for first, last in pairwise(layout.starts.tolist())])


def sharded(graph: mf.Graph, shards: int) -> tuple[Layout, list[RowArrays]]:
    """Return the layout of a graph and its rows in some shards; vertices may be numbered otherwise."""
    sides = [graph.forward, graph.reverse] if graph.directed else [graph.forward]
    of_vertices = (
        np.zeros(graph.num_vertices, np.int64) if graph.vertex_labels is None else graph.vertex_labels
    )
    number = len(graph.vertex_label_table)
    own, other, kinds = [], [], []
    for side, rows in enumerate(sides):
        labels = np.zeros(rows.num_arcs, np.int64) if rows.labels is None else rows.labels.astype(np.int64)
        own.append(rows.sources().astype(np.int64))
        other.append(rows.neighbors.astype(np.int64))
        kinds.append((labels * len(sides) + side) * number + of_vertices[rows.neighbors])
    from_, to, kind = np.concatenate(own), np.concatenate(other), np.concatenate(kinds)
    sizes = np.bincount(from_, minlength=graph.num_vertices)
    order = np.argsort(sizes, kind="stable")
    new = np.empty_like(order)
    new[order] = np.arange(len(order))
    from_, to = new[from_], new[to]
    sorted_ = np.lexsort((kind, to, from_))
    from_, to, kind = from_[sorted_], to[sorted_], kind[sorted_]
    degrees, vertices = np.unique(sizes, return_counts=True)
    starts = np.linspace(0, graph.num_vertices, shards + 1).astype(np.int64)
    layout = Layout(
        graph.directed,
        graph.num_edges,
        graph.vertex_label_table,
        graph.edge_label_table,
        degrees.astype(np.int64),
        vertices.astype(np.int64),
        starts,
    )
    parts = []
    for first, last in pairwise(starts):
        begin, end = np.searchsorted(from_, [first, last])
        offsets = np.searchsorted(from_[begin:end], np.arange(first, last + 1)).astype(np.uint64)
        type_ = layout.kind_type
        parts.append(
            RowArrays(
                int(first),
                offsets,
                to[begin:end].astype(np.uint32),
                None if type_ is None else kind[begin:end].astype(type_),
                None if number == 1 else of_vertices[order[first:last]].astype(np.uint32),
            )
        )
    return layout, parts
