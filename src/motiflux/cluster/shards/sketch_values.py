"""What shards tell of a sketch: values of its vertices and edges, and which conditions its edges satisfy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.asking import ask_servers, result_of_server
from motiflux.cluster.shards.attributes import EDGE, joined
from motiflux.cluster.shards.judging import Judged
from motiflux.cluster.shards.layout import Ids
from motiflux.cluster.shards.values import AskValues, Names, VertexValues
from motiflux.graph import AttributeTable, Column
from motiflux.request.deadline import Deadline
from motiflux.result.arc_counts import edge_ends, edge_labels

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph


def bits_of_sketch(graph: ShardedGraph, judged: Judged, deadline: Deadline) -> NDArray[np.uint32]:
    """Return the bits of conditions of the edges of the sketch."""
    bits = np.zeros(graph.sketch.num_edges, np.uint32)
    for own, found in _ask_at_edges(graph, deadline, "bits_at", judged):
        bits[own] = found
    return bits


def vertex_attributes_of_sketch(
    graph: ShardedGraph, names: tuple[str | None, ...], deadline: Deadline
) -> dict[str, Column]:
    """Return attributes of the vertices of the sketch; None: their ids, of which there is no column."""
    attributes = tuple(name for name in names if name is not None)
    ids = graph.sketch.vertex_ids.astype(np.int64)
    order = np.argsort(ids)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    asks = [_asking(graph, deadline, actor, attributes) for actor in graph.served().actors]
    values = VertexValues(graph.layout, attributes, asks).of(ids[order])
    return dict(values.vertex_attributes.take(back))


def edge_attributes_of_sketch(
    graph: ShardedGraph, names: tuple[str | None, ...], deadline: Deadline
) -> dict[str, Column]:
    """Return attributes of the edges of the sketch: those of the first copy of each."""
    types = {str(name): graph.layout.edge_attributes[str(name)] for name in names}
    asked = _ask_at_edges(graph, deadline, "first_values", list(types))
    tables = [(len(own), dict(zip(types, columns, strict=True))) for own, columns in asked]
    back = np.argsort(np.concatenate([own for own, _ in asked]))
    return dict(AttributeTable(EDGE, joined(tables, types)).take(back))


def _ask_at_edges(
    graph: ShardedGraph, deadline: Deadline, method: str, judged_or_names: Any
) -> list[tuple[NDArray[np.intp], Any]]:
    """Ask servers for what entries of the edges of the sketch have.

    Returns for each server the edges, by their numbers, and what it returned.

    Parameters
    ----------
    method
        Takes `judged_or_names`, the rows and neighbours of entries, and their kinds.
    """
    sketch, layout = graph.sketch, graph.layout
    sources, targets = edge_ends(sketch)
    ids = sketch.vertex_ids.astype(np.int64)
    kinds = edge_labels(sketch) * np.uint32(layout.sides * len(layout.vertex_label_table))
    if sketch.vertex_labels is not None:
        kinds = kinds + sketch.vertex_labels[targets]
    ends = ids[sources], ids[targets]
    order = np.lexsort(ends[::-1])
    shards = layout.shards_of(ends[0][order])
    calls, places = [], []
    for shard in range(len(graph.served().actors)):
        own = order[shards == shard]
        places.append(own)
        calls.append((shard, (judged_or_names, (ends[0][own], ends[1][own]), kinds[own].astype(np.uint32))))
    return list(zip(places, ask_servers(graph, deadline, method, calls), strict=True))


def _asking(graph: ShardedGraph, deadline: Deadline, actor: Any, names: Names) -> AskValues:
    def ask(places: Ids) -> Callable[[], list[Column]]:
        reference = actor.values.remote(names, places)
        return lambda: result_of_server(graph, deadline, reference)

    return ask
