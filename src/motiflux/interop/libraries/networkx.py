"""Graphs of networkx."""

from __future__ import annotations

from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np

from motiflux.errors import GraphError
from motiflux.interop.columns import GraphColumns
from motiflux.interop.libraries.records import Wanted, ids_of, split_records

KEY = "key"
"""The edge attribute that holds the keys of parallel edges, if they are no integers."""

_ADVICE = "networkx.relabel_nodes gives them other names"
_SHAPE = ("nodes", "edges", "is_directed", "is_multigraph")


def is_networkx(graph: object) -> bool:
    """Tell whether an object is a graph of networkx, or like one."""
    return all(hasattr(graph, name) for name in _SHAPE)


def from_networkx(graph: Any, vertices: Wanted, edges: Wanted) -> GraphColumns:
    """Return a graph of networkx, of any of its four kinds, as columns.

    Raises
    ------
    GraphError
        It is not a graph of networkx, or an error of `ids_of` or `split_records`.
    """
    if not is_networkx(graph):
        raise GraphError(f"graph: expected a graph of networkx, found {type(graph).__name__}")
    nodes = list(graph.nodes)
    ids = ids_of(nodes, "node", _ADVICE)
    place = {node: position for position, node in enumerate(nodes)}
    triples = edge_records(graph)
    ends = np.fromiter(
        (place[end] for end in chain.from_iterable(edge[:2] for edge in triples)),
        dtype=np.uint32,
        count=2 * len(triples),
    )
    vertex_labels, vertex_attributes = split_records(
        [record for _, record in graph.nodes(data=True)], vertices, lambda v: f"node {nodes[v]!r}", "vertex"
    )
    edge_labels, edge_attributes = split_records(
        [record for _, _, record in triples],
        edges,
        lambda e: f"edge {triples[e][0]!r} -> {triples[e][1]!r}",
        "edge",
    )
    return GraphColumns(
        ends[0::2],
        ends[1::2],
        vertex_ids=ids,
        positions=True,
        vertex_labels=vertex_labels,
        edge_labels=edge_labels,
        vertex_attributes=vertex_attributes,
        edge_attributes=edge_attributes,
        directed=bool(graph.is_directed()),
    )


def edge_records(graph: Any) -> list[tuple[Any, Any, dict[Any, Any]]]:
    """Return source, target and attributes of each edge; a key that is no integer is the attribute ``key``.

    Raises
    ------
    GraphError
        An edge with such a key has an attribute ``key``, too.
    """
    if not graph.is_multigraph():
        return list(graph.edges(data=True))
    records = []
    for source, target, key, record in graph.edges(keys=True, data=True):
        if isinstance(key, Integral) or key is None:
            records.append((source, target, record))
        elif KEY in record:
            raise GraphError(
                f"edge {source!r} -> {target!r}: expected no attribute {KEY!r} beside the key {key!r}, found "
                f"{record[KEY]!r}"
            )
        else:
            records.append((source, target, {KEY: key, **record}))
    return records
