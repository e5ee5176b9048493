"""Graphs of igraph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.interop.columns import GraphColumns
from motiflux.interop.libraries.records import Wanted, ids_of, split_records

_SHAPE = ("vs", "es", "get_edgelist", "is_directed")
_NAME = "name"


def is_igraph(graph: object) -> bool:
    """Tell whether an object is a graph of igraph."""
    return all(hasattr(graph, name) for name in _SHAPE)


def from_igraph(graph: Any, vertices: Wanted, edges: Wanted) -> GraphColumns:
    """Return a graph of igraph as columns: vertices go by their names, without names by their indexes.

    Raises
    ------
    GraphError
        It is not a graph of igraph, or an error of `ids_of` or `split_records`.
    """
    if not is_igraph(graph):
        raise GraphError(f"graph: expected a graph of igraph, found {type(graph).__name__}")
    ids = _ids(graph)
    ends = np.array(graph.get_edgelist(), dtype=np.uint32).reshape(-1, 2)
    vertex_labels, vertex_attributes = split_records(
        _records(graph.vs, skip=_NAME), vertices, lambda v: f"vertex {ids[v].item()!r}", "vertex"
    )
    edge_labels, edge_attributes = split_records(
        _records(graph.es),
        edges,
        lambda e: f"edge {ids[ends[e, 0]].item()!r} -> {ids[ends[e, 1]].item()!r}",
        "edge",
    )
    return GraphColumns(
        ends[:, 0],
        ends[:, 1],
        vertex_ids=ids,
        positions=True,
        vertex_labels=vertex_labels,
        edge_labels=edge_labels,
        vertex_attributes=vertex_attributes,
        edge_attributes=edge_attributes,
        directed=bool(graph.is_directed()),
    )


def _records(sequence: Any, skip: str | None = None) -> list[dict[str, Any]]:
    columns = {name: sequence[name] for name in sequence.attributes() if name != skip}
    if not columns:
        return [{}] * len(sequence)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _ids(graph: Any) -> NDArray[Any]:
    if _NAME not in graph.vs.attributes():
        return np.arange(len(graph.vs), dtype=np.int64)
    return ids_of(graph.vs[_NAME], "vertex", "graph.vs['name'] = [...] sets the names")
