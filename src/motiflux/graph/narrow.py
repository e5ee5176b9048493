"""The rows of a graph, narrowed to the arcs that a query edge may use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.graph.adjacency import Adjacency, AdjacencyKey, Direction, VertexFilter
from motiflux.graph.arrays import GraphArrays
from motiflux.graph.labels import mask


def narrow(key: AdjacencyKey, graph: GraphArrays, threads: int) -> Adjacency:
    """Return the rows of the arcs that `key` names.

    Raises
    ------
    PatternError
        A condition is on an attribute that does not exist, or compares it with a value of another type.
    """
    directions = [key.direction]
    if key.direction is Direction.EITHER:
        directions = [Direction.OUT, Direction.IN] if graph.directed else [Direction.OUT]
    chosen = [graph.reverse if way is Direction.IN else graph.forward for way in directions]
    if key.lets_all_through and len(chosen) == 1 and chosen[0].labels is None:
        return chosen[0].offsets, chosen[0].neighbors
    offsets, neighbors = _native.filter_rows(
        [
            (rows.offsets, rows.neighbors, rows.labels, _arc_mask(graph, key.edge_where, way))
            for rows, way in zip(chosen, directions, strict=True)
        ],
        mask(key.edge_labels, len(graph.edge_label_table)),
        mask(key.source_labels, len(graph.vertex_label_table)),
        mask(key.target_labels, len(graph.vertex_label_table)),
        graph.vertex_labels,
        _vertex_mask(graph, key.source_where),
        _vertex_mask(graph, key.target_where),
        threads,
    )
    offsets.flags.writeable = False
    neighbors.flags.writeable = False
    return offsets, neighbors


def _arc_mask(graph: GraphArrays, where: Condition | None, way: Direction) -> NDArray[np.uint8] | None:
    return None if where is None else graph.arc_mask(where, "in" if way is Direction.IN else "out")


def _vertex_mask(graph: GraphArrays, where: VertexFilter | None) -> NDArray[np.uint8] | None:
    if where is None:
        return None
    named = mask(where.ids, graph.num_vertices)
    if where.condition is None:
        return named
    holds = graph.vertex_mask(where.condition)
    return holds if named is None else holds & named
