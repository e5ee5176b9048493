"""Patterns and graphs with something left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.fuzz.scenario import DataGraph, EdgeChoice, Query


def without_vertex(query: Query, position: int) -> Query | None:
    """Return the pattern without a vertex and its edges; None if that is no pattern."""
    edges = [edge for edge in query.edges if position not in (edge.source, edge.target)]
    return _checked(
        Query(
            query.vertices[:position] + query.vertices[position + 1 :],
            tuple(
                replace(edge, source=_moved(edge.source, position), target=_moved(edge.target, position))
                for edge in edges
            ),
            tuple(
                (_moved(u, position), _moved(v, position))
                for u, v in query.coinciding
                if position not in (u, v)
            ),
        )
    )


def without_edge(query: Query, position: int) -> Query | None:
    """Return the pattern without an edge; None if it is not connected then."""
    return _checked(replace(query, edges=query.edges[:position] + query.edges[position + 1 :]))


def _checked(query: Query) -> Query | None:
    size = len(query.vertices)
    return query if size > 1 and _is_connected(size, query.edges) else None


def _is_connected(size: int, edges: Iterable[EdgeChoice]) -> bool:
    reached, pairs = {0}, [{edge.source, edge.target} for edge in edges]
    while new := [pair for pair in pairs if len(reached & pair) == 1]:
        reached.update(*new)
    return len(reached) == size


def _moved(vertex: int, gone: int) -> int:
    return vertex - (vertex > gone)


def without_data_edges(graph: DataGraph, gone: set[int]) -> DataGraph:
    """Return the graph without the edges in these rows."""
    rows = [row for row in range(len(graph.edges)) if row not in gone]
    labels, values = graph.edge_labels, graph.edge_values
    return replace(
        graph,
        edges=tuple(graph.edges[row] for row in rows),
        edge_labels=None if labels is None else tuple(labels[row] for row in rows),
        edge_values=None if values is None else tuple(values[row] for row in rows),
    )


def without_data_vertex(graph: DataGraph, gone: int) -> DataGraph:
    """Return the graph without a vertex and its edges."""
    rest = without_data_edges(graph, {row for row, edge in enumerate(graph.edges) if gone in edge})
    kept = [vertex for vertex in range(len(graph.ids)) if vertex != gone]
    labels, values = graph.vertex_labels, graph.vertex_values
    counted = graph.ids == tuple(range(len(graph.ids)))
    return replace(
        rest,
        ids=tuple(range(len(kept))) if counted else tuple(graph.ids[vertex] for vertex in kept),
        edges=tuple((_moved(u, gone), _moved(v, gone)) for u, v in rest.edges),
        vertex_labels=None if labels is None else tuple(labels[vertex] for vertex in kept),
        vertex_values=None if values is None else tuple(values[vertex] for vertex in kept),
    )


def without_anchor(query: Query, gone: int) -> Query | None:
    """Return the pattern for a graph without a vertex; None if it asks for that vertex alone."""
    vertices = []
    for vertex in query.vertices:
        if vertex.anchors is not None:
            left = frozenset(_moved(anchor, gone) for anchor in vertex.anchors if anchor != gone)
            if not left:
                return None
            vertex = replace(vertex, anchors=left)
        vertices.append(vertex)
    return replace(query, vertices=tuple(vertices))
