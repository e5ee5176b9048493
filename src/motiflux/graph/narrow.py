"""The rows of a graph, narrowed to the arcs that a query edge may use."""

from __future__ import annotations

from collections.abc import Sequence

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


def allowed_vertices(
    graph: GraphArrays, labels: Sequence[int] | None, where: VertexFilter | None
) -> NDArray[np.uint8] | None:
    """Return a byte for each vertex, 1 for those with one of some labels that satisfy a filter; None: all."""
    filtered = _vertex_mask(graph, where)
    allowed = mask(labels, len(graph.vertex_label_table))
    if allowed is None:
        return filtered
    codes = graph.vertex_labels
    labelled = np.full(graph.num_vertices, allowed[0]) if codes is None else allowed[codes]
    return labelled if filtered is None else labelled & filtered


def _vertex_mask(graph: GraphArrays, where: VertexFilter | None) -> NDArray[np.uint8] | None:
    if where is None:
        return None
    named = mask(where.ids, graph.num_vertices)
    if not where.has_mask:
        return named
    holds = filter_mask(graph, where)
    return holds if named is None else holds & named


def filter_mask(graph: GraphArrays, where: VertexFilter) -> NDArray[np.uint8]:
    """Return a byte for each vertex, 1 if it satisfies the conditions of a filter, its ids aside."""
    holds = None if where.condition is None else graph.vertex_mask(where.condition)
    for key in where.without:
        lone = _lone_mask(graph, key)
        holds = lone if holds is None else holds & lone
    return np.ones(graph.num_vertices, np.uint8) if holds is None else holds


def _lone_mask(graph: GraphArrays, key: AdjacencyKey) -> NDArray[np.uint8]:
    """Return a byte for each vertex, 1 if no arc that `key` names leaves it."""

    def make() -> NDArray[np.uint8]:
        offsets, _ = narrow(key, graph, 1)
        lone: NDArray[np.uint8] = (offsets[1:] == offsets[:-1]).astype(np.uint8)
        lone.flags.writeable = False
        return lone

    found: NDArray[np.uint8] = graph.memo.get_sized("masks", ("no arc", key), make, graph.cache_bytes())
    return found
