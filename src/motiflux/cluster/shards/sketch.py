"""The sketch of a sharded graph, as a `Graph` that plans are made on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.rows import Piece
from motiflux.graph import Graph
from motiflux.graph.arrays import Shares
from motiflux.graph.csr import Csr


def joined_sketch(pieces: Sequence[Piece]) -> Piece:
    """Return the sketch of all shards, in their order."""
    kinds = [one.kinds for one in pieces if one.kinds is not None]
    return Piece.of(
        np.concatenate([one.ids for one in pieces]),
        np.concatenate([one.labels for one in pieces]),
        np.concatenate([one.lengths for one in pieces]),
        np.concatenate([one.neighbors for one in pieces]),
        np.concatenate(kinds) if kinds else None,
    )


def sketch_of(layout: Layout, piece: Piece) -> Graph:
    """Return the graph of some entries, with all labels of the sharded graph."""
    neighbors = np.array(piece.neighbors)
    rows = piece.ids.astype(np.uint32)
    ids = np.unique(np.concatenate([rows, neighbors]))
    offsets = np.concatenate([[0], piece.ends]).astype(np.uint64)
    kinds = piece.kinds
    _native.to_positions(ids, rows)
    _native.to_positions(ids, neighbors)
    labels = of_edges = None
    if len(layout.vertex_label_table) > 1:
        assert kinds is not None
        labels = np.zeros(len(ids), np.uint32)
        labels[rows] = piece.labels
        labels[neighbors] = layout.label_of_neighbor(kinds)
    if len(layout.edge_label_table) > 1:
        assert kinds is not None
        of_edges = layout.edge_label_of(kinds)
    csrs = []
    for sides in _sides(layout, kinds):
        made = _native.partial_rows(rows, offsets, neighbors, of_edges, sides, len(ids))
        csrs.append(Csr(*made, None))
    external: Any = ids.astype(np.int64)  # no row shows them
    sketch = Graph(
        layout.directed,
        external,
        csrs[0],
        csrs[-1],
        labels,
        layout.vertex_label_table,
        layout.edge_label_table,
    )
    if sketch.num_edges in (0, layout.num_edges):
        return sketch
    shares = Shares(sketch.num_edges / layout.num_edges, sketch.num_vertices / layout.num_vertices)
    return replace(sketch, sketched=shares)


def _sides(layout: Layout, kinds: NDArray[Any] | None) -> Iterator[NDArray[np.uint8] | None]:
    """Yield which ends of the entries the arcs of forward and of reverse rows leave."""
    if not layout.directed:
        yield None
        return
    assert kinds is not None
    into = layout.side_of(kinds)
    yield (1 + into).astype(np.uint8)
    yield (2 - into).astype(np.uint8)
