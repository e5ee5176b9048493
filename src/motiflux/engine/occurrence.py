"""An occurrence looked up in its graph: the vertices of a row of ids, and the edges that witness it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.conditions import Condition
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.graph.edge_rows import edges_of_arcs, row_starts
from motiflux.pattern import Pattern, QueryEdge
from motiflux.types import Label


@dataclass(frozen=True, slots=True)
class Witness:
    """An edge of the data graph.

    Parameters
    ----------
    source, target
        Its ends, internal ids, as its arc goes; in an undirected graph as they were asked for.
    label
        Its label.
    rows
        The rows of the graph's edge attributes that tell of its copies.
    """

    source: int
    target: int
    label: Label
    rows: NDArray[np.int64]


def check_rows(graph: Graph, pattern: Pattern, rows: ArrayLike) -> NDArray[np.int64]:
    """Return rows of external ids, or one row, as internal ids [rows, k].

    Raises
    ------
    ArgumentError
        They have another shape, or ids that the graph has not.
    """
    size = pattern.num_vertices
    try:
        given = np.asarray(rows)
    except ValueError:  # rows of different lengths
        raise ArgumentError("rows", f"rows of {size} ids, one for each query vertex", rows) from None
    if given.ndim == 1:
        given = given[None]
    if given.ndim != 2 or given.shape[1] != size:
        raise ArgumentError("rows", f"rows of {size} ids, one for each query vertex", np.shape(rows))
    found = graph.vertex_index(given.reshape(-1)).reshape(given.shape)
    if (found < 0).any():
        row, column = (int(one[0]) for one in np.nonzero(found < 0))
        raise ArgumentError(f"rows[{row}]", "ids of the graph", given[row, column].item())
    return found


def witness_of(graph: Graph, edge: QueryEdge, row: Sequence[int]) -> Witness | None:
    """Return the first data edge that a query edge may fall on, given where its ends are."""
    source, target = row[edge.source], row[edge.target]
    ways = [(source, target)]
    if graph.directed and edge.directed is False:
        ways.append((target, source))
    for u, v in ways:
        for found in edges_between(graph, u, v):
            if edge.labels is not None and found.label not in edge.labels:
                continue
            rows = found.rows if edge.where is None else _satisfying(graph, edge.where, found.rows)
            if edge.where is None or len(rows):
                return Witness(found.source, found.target, found.label, rows)
    return None


def edges_between(graph: Graph, source: int, target: int) -> Iterator[Witness]:
    """Yield the edges from one vertex to another, those of an undirected graph either way."""
    forward = graph.forward
    first, end = (int(offset) for offset in forward.offsets[source : source + 2])
    low, high = np.searchsorted(forward.neighbors[first:end], [target, target + 1]).tolist()
    for arc in range(first + low, first + high):
        code = 0 if forward.labels is None else int(forward.labels[arc])
        label = graph.edge_label_table.values[code] if len(graph.edge_label_table) else 0
        yield Witness(source, target, label, _rows_of(graph, arc))


def _rows_of(graph: Graph, arc: int) -> NDArray[np.int64]:
    """Return the rows of edge attributes of an arc; none where the graph has no such attributes."""
    if not graph.edge_attributes:
        return np.zeros(0, dtype=np.int64)
    edge = arc
    if not graph.directed:
        edge = int(graph.memo.keep("edges of arcs", lambda: edges_of_arcs(graph.forward))[arc])
    starts = graph.memo.keep("row starts", lambda: row_starts(graph.forward, directed=graph.directed))
    if starts is None or graph.forward.copies is None:
        return np.array([edge], dtype=np.int64)
    return np.arange(starts[edge], starts[edge] + int(graph.forward.copies[arc]), dtype=np.int64)


def _satisfying(graph: Graph, condition: Condition, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    graph.edge_attributes.check(condition)
    return rows[graph.edge_attributes.take(rows).holds(condition, len(rows))]


def value_text(value: Any) -> str:
    """Return a value of an attribute as people read it.

    >>> value_text(1250.5), value_text(3), value_text("x")
    ('1,250.5', '3', 'x')
    """
    if isinstance(value, float):
        return f"{value:,.10g}"
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool) and value > 9999
        else str(value)
    )
