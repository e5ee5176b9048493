"""The graph and the pattern of a call."""

from __future__ import annotations

from typing import Any, TypeAlias

from motiflux.graph import Graph
from motiflux.pattern import Pattern, PatternLike, as_pattern

GraphLike: TypeAlias = Graph | Any
"""A `Graph`, or a value that `motiflux.as_graph` takes: a path, a table, a graph of another library."""


def subject_of(graph: GraphLike, pattern: PatternLike) -> tuple[Graph, Pattern]:
    """Return the graph and the pattern of a call, made of its arguments."""
    return data_graph(graph), as_pattern(pattern)


def data_graph(graph: GraphLike) -> Graph:
    """Return a graph as it is, and anything else as `motiflux.as_graph` reads it.

    The graph is not kept: files and objects of other libraries may change between two calls.

    Raises
    ------
    ArgumentError
        It is nothing that a graph can be made of.
    MotifluxError
        The errors of the reader or the importer.
    """
    if isinstance(graph, Graph):
        return graph
    from motiflux.io import as_graph

    return as_graph(graph)
