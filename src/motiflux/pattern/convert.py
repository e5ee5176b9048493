"""Patterns from what users have: text, and graphs of networkx, which is not imported for it."""

from __future__ import annotations

from typing import Any

from motiflux.errors import ArgumentError, PatternError
from motiflux.pattern.elements import QueryEdge, QueryVertex, label_set
from motiflux.pattern.pattern import Pattern

_NETWORKX = ("nodes", "edges", "is_directed", "is_multigraph")
"""What a graph of networkx is known by."""


def as_pattern(
    value: object, argument: str = "pattern", expected: str = "a motiflux.Pattern, or its text"
) -> Pattern:
    """Return a pattern as it is, and text parsed.

    Parameters
    ----------
    argument, expected
        What errors call it, and say it is to be.

    Raises
    ------
    ArgumentError
        It is neither.
    PatternSyntaxError
        The text is malformed.

    Examples
    --------
    >>> from motiflux.pattern import as_pattern
    >>> as_pattern("(a)--(b)")
    Pattern(2 vertices, 1 edges)
    """
    if isinstance(value, Pattern):
        return value
    if isinstance(value, str):
        return Pattern.parse(value)
    raise ArgumentError(argument, expected, value)


def from_networkx(
    graph: Any,
    *,
    vertex_label: str | None = "label",
    edge_label: str | None = "label",
    directed: bool | None = None,
    name: str = "",
) -> Pattern:
    """Return a graph of networkx as a pattern; see `Pattern.from_networkx`."""
    if not all(hasattr(graph, attribute) for attribute in _NETWORKX):
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
    return Pattern(vertices, edges, name)


def _label(attributes: Any, key: str | None) -> Any:
    return None if key is None else attributes.get(key)
