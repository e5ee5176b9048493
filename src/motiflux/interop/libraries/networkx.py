"""Graphs of networkx."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.interop.columns import GraphColumns
from motiflux.interop.libraries.records import Wanted, plain, split_records

_SHAPE = ("nodes", "edges", "is_directed", "is_multigraph")


def is_networkx(graph: object) -> bool:
    """Tell whether an object is a graph of networkx, or like one."""
    return all(hasattr(graph, name) for name in _SHAPE)


def from_networkx(graph: Any, vertices: Wanted, edges: Wanted) -> GraphColumns:
    """Return a graph of networkx, of any of its four kinds, as columns.

    Raises
    ------
    GraphError
        It is not a graph of networkx, its nodes are not all integers or all strings, or an error of
        `split_records`.
    """
    if not is_networkx(graph):
        raise GraphError(f"graph: expected a graph of networkx, found {type(graph).__name__}")
    nodes = list(graph.nodes)
    ids = _ids(nodes)
    place = {node: position for position, node in enumerate(nodes)}
    triples = list(graph.edges(data=True))
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


def _ids(nodes: list[Any]) -> NDArray[Any]:
    ids = [plain(node) for node in nodes]
    kind = str if ids and isinstance(ids[0], str) else int
    for node in ids:
        if not isinstance(node, kind) or isinstance(node, bool):
            raise GraphError(
                f"node {node!r}: expected nodes that are all integers or all strings; "
                "networkx.convert_node_labels_to_integers and networkx.relabel_nodes(graph, str) make them so"
            )
    try:
        return np.array(ids, dtype=np.int64) if kind is int else np.array(ids, dtype=np.str_)
    except OverflowError:
        large = next(node for node in ids if not -(2**63) <= node < 2**63)
        raise GraphError(f"node {large}: expected integers of 64 bits") from None
