"""Checks of the graph and the pattern of a call."""

from __future__ import annotations

from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, as_pattern


def check_subject(graph: object, pattern: object) -> Pattern:
    """Return the pattern, parsed if it is text; refuse what is no graph or no pattern."""
    check_graph(graph)
    return as_pattern(pattern)


def check_graph(graph: object) -> None:
    """Refuse what is no graph."""
    if not isinstance(graph, Graph):
        reading = ", which motiflux.read_graph reads from a file" if isinstance(graph, str) else ""
        raise ArgumentError("graph", f"a motiflux.Graph{reading}", graph)
