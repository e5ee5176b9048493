"""Query vertices and query edges from a graph of networkx, which is not imported here."""

from __future__ import annotations

from typing import Any

from motiflux.errors import PatternError
from motiflux.pattern.elements import QueryEdge, QueryVertex, label_set

_ATTRIBUTES = ("nodes", "edges", "is_directed", "is_multigraph")
"""An object that has these attributes is taken as a graph of networkx."""


def read_networkx(
    graph: Any, vertex_label: str | None, edge_label: str | None, directed: bool | None
) -> tuple[tuple[QueryVertex, ...], tuple[QueryEdge, ...]]:
    """Return the query vertices and query edges of a graph; see `Pattern.from_networkx`."""
    if not all(hasattr(graph, attribute) for attribute in _ATTRIBUTES):
        raise PatternError(f"graph: expected a graph of networkx, found {type(graph).__name__}")
    arcs = bool(graph.is_directed()) if directed is None else directed
    positions = {node: position for position, node in enumerate(graph.nodes)}
    vertices = tuple(
        QueryVertex(str(node), label_set(_label(attributes, vertex_label)))
        for node, attributes in graph.nodes(data=True)
    )
    edges = tuple(
        QueryEdge(positions[source], positions[target], label_set(_label(attributes, edge_label)), arcs)
        for source, target, attributes in graph.edges(data=True)
    )
    return vertices, edges


def _label(attributes: Any, key: str | None) -> Any:
    return None if key is None else attributes.get(key)
