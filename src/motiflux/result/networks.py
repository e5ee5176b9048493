"""Matches as graphs of networkx."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import AttributeTable, Column, Graph
from motiflux.packages import require
from motiflux.result.columns import LABEL, RowColumns, edge_label_column, label_column
from motiflux.result.queries.columns import QueryColumns
from motiflux.types import VertexArray

Layout = RowColumns | QueryColumns


def union(layout: Layout, blocks: Iterable[VertexArray]) -> Any:
    """Return one graph of all vertices and edges that the rows fell on."""
    drawer = _Drawer(layout.graph)
    vertices = np.zeros(layout.graph.num_vertices, dtype=bool)
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    for part, given in _parts(layout, blocks):
        block, ends, numbers, rows = drawer.witnesses_of(part, given)
        vertices[block] = True
        for pair, edge, row in _distinct(ends, numbers, rows):
            edges.setdefault((edge, row), pair)
    result = drawer.new()
    drawer.add_vertices(result, np.flatnonzero(vertices))
    for (edge, row), pair in sorted(edges.items()):
        drawer.add_edge(result, pair, edge, row)
    return result


def one_by_one(layout: Layout, blocks: Iterable[VertexArray]) -> Iterator[Any]:
    """Yield a graph for each row; its nodes have the query vertex as an attribute."""
    drawer = _Drawer(layout.graph)
    for part, given in _parts(layout, blocks):
        names = [vertex.name for vertex in part.pattern.vertices]
        block, ends, numbers, rows = drawer.witnesses_of(part, given)
        for at, images in enumerate(block.tolist()):
            result = drawer.new()
            drawer.add_vertices(result, np.array(list(dict.fromkeys(images))))
            for image, name in zip(reversed(images), reversed(names), strict=True):
                result.nodes[drawer.id_of(image)]["query"] = name
            for query, (source, target) in enumerate(ends[:, at].tolist()):
                drawer.add_edge(result, (source, target), int(numbers[query, at]), int(rows[query, at]))
            yield result


def _parts(layout: Layout, blocks: Iterable[VertexArray]) -> Iterator[tuple[RowColumns, VertexArray]]:
    for block in blocks:
        yield from layout.parts(block)


class _Drawer:
    """Makes graphs of networkx of parts of a data graph."""

    def __init__(self, graph: Graph) -> None:
        self._networkx = require("networkx", "graphs of matches")
        self._graph = graph
        labels = label_column(graph.vertex_label_table, graph.vertex_labels, graph.num_vertices)
        self._of_vertex = _getters(graph.vertex_attributes, labels, graph.vertex_labels is not None)
        self._of_edge = _getters(graph.edge_attributes, None, False)
        self._edge_label = edge_label_column(graph) if graph.forward.labels is not None else None
        self._is_multi = graph.forward.labels is not None or graph.forward.copies is not None
        self._arc_sources = graph.forward.sources() if graph.directed else None

    def new(self) -> Any:
        """Return an empty graph of the kind that the data graph is."""
        kind = ("Multi" if self._is_multi else "") + ("DiGraph" if self._graph.directed else "Graph")
        return getattr(self._networkx, kind)()

    def id_of(self, vertex: int) -> Any:
        """Return the external id of a vertex."""
        return self._graph.vertex_ids[vertex].item()

    def witnesses_of(
        self, layout: RowColumns, block: VertexArray
    ) -> tuple[VertexArray, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the vertices; of each query edge's edge its ends [query edges, rows, 2], number and row."""
        block, numbers, rows = layout.witnessed(block)
        ends = np.stack(
            [np.stack([block[:, e.source], block[:, e.target]], axis=1) for e in layout.pattern.edges]
        ).astype(np.int64)
        if self._arc_sources is not None:  # an edge that may go either way went the way the arc does
            backwards = self._arc_sources[numbers] != ends[:, :, 0]
            ends[backwards] = ends[backwards][:, ::-1]
        return block, ends, numbers, rows

    def add_vertices(self, result: Any, vertices: NDArray[Any]) -> None:
        """Add vertices with their label and attributes."""
        for vertex in vertices.tolist():
            result.add_nodes_from([(self.id_of(vertex), _present(self._of_vertex, vertex))])

    def add_edge(self, result: Any, pair: tuple[int, int], edge: int, row: int) -> None:
        """Add an edge with its label and attributes; in a multigraph its key is its row."""
        values = _present(self._of_edge, row)
        if self._edge_label is not None:
            values.setdefault(LABEL, _value(self._edge_label, edge))
        source, target = map(self.id_of, pair)
        # add_edges_from, because attributes may have names that add_edge's own arguments have.
        if self._is_multi:
            result.add_edges_from([(source, target, row, values)])
        else:
            result.add_edges_from([(source, target, values)])


def _distinct(
    ends: NDArray[np.int64], numbers: NDArray[np.int64], rows: NDArray[np.int64]
) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Yield each edge and row once, with its ends."""
    _, first = np.unique(rows.ravel(), return_index=True)
    pairs = ends.reshape(-1, 2)[first].tolist()
    for pair, edge, row in zip(
        pairs, numbers.ravel()[first].tolist(), rows.ravel()[first].tolist(), strict=True
    ):
        yield (pair[0], pair[1]), edge, row


_Getters = dict[str, Callable[[int], Any]]


def _getters(table: AttributeTable, labels: Column | None, labelled: bool) -> _Getters:
    """Return functions for the value of each attribute, and for the label if its name is free."""
    columns: dict[str, Column] = {**table}
    if labelled and labels is not None:
        columns.setdefault(LABEL, labels)
    return {name: _getter(column) for name, column in columns.items()}


def _getter(column: Column) -> Callable[[int], Any]:
    return lambda row: _value(column, row)


def _value(column: Column, row: int) -> Any:
    """Return one value as a Python object; None where it is missing."""
    one = column.take(np.array([row]))
    if one.missing()[0]:
        return None
    return one.to_list()[0]


def _present(getters: _Getters, row: int) -> dict[str, Any]:
    values = {name: get(row) for name, get in getters.items()}
    return {name: value for name, value in values.items() if value is not None}
