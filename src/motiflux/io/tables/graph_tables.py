"""A graph as tables of its edges and its vertices, some rows at a time.

A row of edges is one copy of an edge, in the order of `Graph.to_edges`; vertices are in the order of
their ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Column, Graph, LabelTable
from motiflux.interop.strings import StringTable
from motiflux.io.tables.match_tables import Field
from motiflux.types import DEFAULT_LABEL

SRC, DST, LABEL, ID = "src", "dst", "label", "id"
_BATCH_ROWS = 1 << 16

Rows = NDArray[np.int64]
"""Positions of rows, edges or vertices."""


class EdgeTable:
    """The rows of edges: columns ``src``, ``dst``, ``label`` if edges have labels, and the attributes.

    Writers of `motiflux.io.tables.match_tables.MatchTables` write it too. The first `fixed` columns are not
    attributes.
    """

    def __init__(self, graph: Graph, *, labels: bool | None = None, attributes: bool = True) -> None:
        self._graph = graph
        self._ids = IdColumns(graph)
        sources, targets = graph.forward.sources(), graph.forward.neighbors
        if not graph.directed:
            first = sources < targets
            sources, targets = sources[first], targets[first]
            self._labels = None if graph.forward.labels is None else graph.forward.labels[first]
            copies = None if graph.forward.copies is None else graph.forward.copies[first]
        else:
            self._labels, copies = graph.forward.labels, graph.forward.copies
        self._ends = sources, targets
        self._ends_of_copies = None if copies is None else np.cumsum(copies, dtype=np.int64)
        self._label_column = LabelColumns(graph.edge_label_table, self._labels)
        has_labels = has_edge_labels(graph) if labels is None else labels
        self._attributes = dict(graph.edge_attributes) if attributes else {}
        self.fields = [self._ids.field(SRC), self._ids.field(DST)]
        if has_labels:
            self.fields.append(self._label_column.field(LABEL))
        self._has_labels = has_labels
        self.fixed = len(self.fields)
        self.fields += [Field.of(name, column) for name, column in self._attributes.items()]

    @property
    def metadata(self) -> Mapping[str, str]:
        """Whether edges have a direction: for people; readers have an argument for it."""
        return {"motiflux.directed": "true" if self._graph.directed else "false"}

    def __len__(self) -> int:
        return self._graph.num_edge_copies

    def tables(self, batch_rows: int | None = None) -> Iterator[list[Column]]:
        """Iterate over batches of rows."""
        for rows in _parts(len(self), batch_rows or _BATCH_ROWS):
            edges = rows
            if self._ends_of_copies is not None:
                edges = np.searchsorted(self._ends_of_copies, rows, side="right")
            columns = [self._ids.take(ends[edges]) for ends in self._ends]
            if self._has_labels:
                columns.append(self._label_column.take(edges))
            yield columns + [column.take(rows) for column in self._attributes.values()]

    def positions(self, place: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Iterate over batches of the ends of rows [rows, 2], each vertex by its place."""
        for rows in _parts(len(self), _BATCH_ROWS):
            edges = rows
            if self._ends_of_copies is not None:
                edges = np.searchsorted(self._ends_of_copies, rows, side="right")
            yield np.stack([place[ends[edges]] for ends in self._ends], axis=1)


class VertexTable:
    """The vertices, as `EdgeTable` the edges: ``id``, ``label`` if they have labels, and the attributes."""

    metadata: Mapping[str, str] = {}

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._ids = IdColumns(graph)
        self._labels = LabelColumns(graph.vertex_label_table, graph.vertex_labels)
        self.fields = [self._ids.field(ID)]
        self._has_labels = has_vertex_labels(graph)
        if self._has_labels:
            self.fields.append(self._labels.field(LABEL))
        self.fixed = len(self.fields)
        self.fields += [Field.of(name, column) for name, column in graph.vertex_attributes.items()]

    @cached_property
    def order(self) -> Rows:
        """The vertices in ascending order of their ids."""
        return np.argsort(self._graph.vertex_ids, kind="stable").astype(np.int64)

    def __len__(self) -> int:
        return self._graph.num_vertices

    def tables(self, batch_rows: int | None = None) -> Iterator[list[Column]]:
        """Iterate over batches of vertices."""
        for rows in _parts(len(self), batch_rows or _BATCH_ROWS):
            vertices = self.order[rows]
            columns = [self._ids.take(vertices)]
            if self._has_labels:
                columns.append(self._labels.take(vertices))
            yield columns + [column.take(vertices) for column in self._graph.vertex_attributes.values()]


class IdColumns:
    """External ids as columns."""

    def __init__(self, graph: Graph) -> None:
        self._ids = graph.vertex_ids
        self._strings: StringTable | None = None
        if self._ids.dtype.kind == "U":
            self._strings = graph.memo.keep("id strings", lambda: StringTable.of(graph.vertex_ids.tolist()))

    def field(self, name: str) -> Field:
        """Return the type of the columns."""
        return Field(name, np.dtype(np.int64 if self._strings is None else np.uint32), self._strings)

    def take(self, vertices: NDArray[Any]) -> Column:
        """Return the ids of some vertices."""
        if self._strings is None:
            return Column(self._ids[vertices])
        return Column(vertices.astype(np.uint32), None, self._strings)


class LabelColumns:
    """Labels as columns, from codes; without codes all have the table's one label."""

    def __init__(self, table: LabelTable, codes: NDArray[np.uint32] | None) -> None:
        self._codes = codes
        self._strings: StringTable | None = None
        self._values: NDArray[Any] = np.array(table.values)
        if isinstance(table.values[0], str):
            self._strings = StringTable.of(map(str, table.values))

    def field(self, name: str) -> Field:
        """Return the type of the columns."""
        return Field(name, np.dtype(np.int64 if self._strings is None else np.uint32), self._strings)

    def take(self, rows: Rows) -> Column:
        """Return the labels of some vertices or edges."""
        codes = np.zeros(len(rows), np.uint32) if self._codes is None else self._codes[rows]
        if self._strings is not None:
            return Column(codes, None, self._strings)
        return Column(self._values[codes])


def has_vertex_labels(graph: Graph) -> bool:
    """Whether vertices have labels, other than the default label."""
    return graph.vertex_label_table.values != (DEFAULT_LABEL,)


def has_edge_labels(graph: Graph) -> bool:
    """Whether edges have labels, other than the default label."""
    return graph.edge_label_table.values != (DEFAULT_LABEL,)


def isolated(graph: Graph) -> int:
    """Return the number of vertices without an edge."""
    alone = graph.forward.degrees() == 0
    if graph.directed:
        alone &= graph.reverse.degrees() == 0
    return int(np.count_nonzero(alone))


def _parts(length: int, rows: int) -> Iterator[Rows]:
    for start in range(0, length, rows):
        yield np.arange(start, min(length, start + rows), dtype=np.int64)
