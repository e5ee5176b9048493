"""The columns of the rows of a query, which come from several patterns.

A block of rows is an array of internal ids as wide as the widest pattern needs::

    case | vertices of the first part | copies of its edges | vertices of the second part | ... | unused

with the number of the row's case first. Copies are there if the case has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.draw import Picture
from motiflux.errors import ArgumentError, MotifluxError
from motiflux.graph import Column, Graph
from motiflux.interop.strings import StringTable
from motiflux.io.tables.lists import ListColumn
from motiflux.io.tables.match_tables import AnyColumn, Field
from motiflux.pattern import Query
from motiflux.pattern.queries.shapes import Case, Shape
from motiflux.result.columns import LABEL, NOT_ALL_VERTICES, ROW, RowColumns, edge_label_column, label_column
from motiflux.result.images import Block, written
from motiflux.result.queries.elements import EDGES, elements_of
from motiflux.result.queries.values import Numbers, Values, copies_of, together
from motiflux.types import VERTEX_DTYPE, IdArray, VertexArray

MISSING = np.iinfo(VERTEX_DTYPE).max
"""Fills a block where a row has nothing."""


@dataclass(frozen=True, slots=True)
class CaseColumns:
    """A case whose rows are listed.

    Parameters
    ----------
    shape, case
        The case and its shape.
    parts
        The columns of each part.
    chooses
        For each part, whether its rows have copies.
    """

    shape: Shape
    case: Case
    parts: tuple[RowColumns, ...]
    chooses: tuple[bool, ...]

    @property
    def widths(self) -> list[int]:
        """The number of columns of the rows of each part."""
        return [
            part.pattern.num_vertices + (part.pattern.num_edges if chooses else 0)
            for part, chooses in zip(self.parts, self.chooses, strict=True)
        ]

    def split(self, rows: VertexArray) -> list[VertexArray]:
        """Return the rows of each part, without the number of the case."""
        found, first = [], 1
        for width in self.widths:
            found.append(np.ascontiguousarray(rows[:, first : first + width]))
            first += width
        return found

    def vertices(self, rows: VertexArray) -> VertexArray:
        """Return the vertices of the shape: [rows, vertices]."""
        found = np.empty((len(rows), self.shape.skeleton.num_vertices), rows.dtype)
        for part, block in zip(self.case.parts, self.split(rows), strict=True):
            found[:, part.vertices] = block[:, : len(part.vertices)]
        return found

    def edges(self, rows: VertexArray) -> tuple[Numbers, Numbers]:
        """Return the number of the edge and the row of the copy of each edge of the shape: [edges, rows]."""
        told = [part.witnessed(block)[1:] for part, block in zip(self.parts, self.split(rows), strict=True)]
        numbers = [told[part][0][at] for part, at in self.case.edges]
        copies = [told[part][1][at] for part, at in self.case.edges]
        return np.stack(numbers), np.stack(copies)


@dataclass(frozen=True, slots=True)
class _Source:
    """One column of tables: its field, the element that it is about, and how values become a column."""

    field: Field
    element: int
    make: Callable[[Values], Column]


class QueryColumns:
    """Turns blocks of rows of a query into columns for users; the calls are those of `RowColumns`.

    Parameters
    ----------
    graph, query
        The query and the graph.
    cases
        The cases that are listed, by their number in the blocks.
    edges, attributes, names
        As for `RowColumns`. A path has a column of its vertices, and with `edges` one of its edges.
    returned
        The vertices that blocks have, in the order of their columns; None: blocks are rows of cases. Not
        beside edges.

    Raises
    ------
    ArgumentError
        There is no such attribute, or two columns would have one name.
    """

    def __init__(
        self,
        graph: Graph,
        query: Query,
        cases: Sequence[CaseColumns],
        *,
        edges: bool = False,
        attributes: Sequence[str] = (),
        names: bool = False,
        returned: Sequence[int] | None = None,
    ) -> None:
        self.graph = graph
        self.query = query
        self.cases = cases
        self._with_edges = edges
        self._returned = returned is not None
        self._elements = elements_of(query, with_edges=edges)
        if returned is not None:
            self._elements = [self._elements[vertex] for vertex in returned]
        self.columns = [one.name if names else one.plain for one in self._elements]
        if len(set(self.columns)) < len(self.columns):
            raise ArgumentError("names", "columns that all have a name of their own", "a name twice")
        wanted = self._wanted(attributes)
        self._sources: list[_Source] = []
        for at, (name, element) in enumerate(zip(self.columns, self._elements, strict=True)):
            lists = element.is_path
            make, field = self._ids(name) if element.of_vertices else self._numbers(name)
            self._sources.append(_Source(_of_lists(field, lists), at, make))
            stem = name.removesuffix(EDGES)
            for attribute in wanted[at]:
                attribute_of = self._vertex_attribute if element.of_vertices else self._edge_attribute
                make, field = attribute_of(f"{stem}.{attribute}", attribute)
                self._sources.append(_Source(_of_lists(field, lists), at, make))
        self.fields = [source.field for source in self._sources]
        if len({field.name for field in self.fields}) < len(self.fields):
            raise ArgumentError("attributes", "columns that all have a name of their own", list(attributes))

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of files of rows: the query."""
        return {"motiflux.pattern": str(self.query)}

    @property
    def ids_are_text(self) -> bool:
        """Whether the ids are strings."""
        return self.graph.vertex_ids.dtype.kind == "U"

    @property
    def only_vertices(self) -> bool:
        """Whether rows are ids of vertices, as many in each."""
        return all(one.of_vertices and not one.is_path and not one.may_miss for one in self._elements)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of `array`: that of the ids, or a field for each column if some have others."""
        ids = self.graph.vertex_ids.dtype if self.ids_are_text else np.dtype(np.int64)
        if self.only_vertices:
            return ids
        kinds = [
            np.dtype(object)
            if one.is_path or one.may_miss
            else ids
            if one.of_vertices
            else np.dtype(np.int64)
            for one in self._elements
        ]
        return np.dtype(list(zip(self.columns, kinds, strict=True)))

    def empty(self) -> NDArray[Any]:
        """Return the result of `array` for no rows."""
        dtype = self.dtype
        return np.empty(0 if dtype.names else (0, len(self.columns)), dtype)

    def array(self, block: Block) -> IdArray:
        """Return ids: [rows, columns], or [rows] with a field for each column.

        Fields of paths have tuples, and those of optional vertices and edges None where there is none.
        """
        found = self._values(written(block))
        rows = len(block)
        dtype = self.dtype
        if self.only_vertices:
            ids: Any = [self._named(one.values) for one in found]
            return np.stack(ids, axis=1)
        result: NDArray[Any] = np.empty(rows, dtype)
        for name, element, one in zip(self.columns, self._elements, found, strict=True):
            values: Any = self._named(one.values) if element.of_vertices else one.values
            if one.offsets is not None:
                ends, listed = one.offsets.tolist(), values.tolist()
                lists = np.empty(rows, object)
                lists[:] = [tuple(listed[a:b]) for a, b in pairwise(ends)]
                values = lists
                if one.mask is not None:
                    values[one.mask] = None
            elif element.may_miss:
                values = values.astype(object)
                if one.mask is not None:
                    values[one.mask] = None
            result[name] = values
        return result

    def table(self, block: Block) -> list[AnyColumn]:
        """Return the columns of a block, in the order of `fields`."""
        found = self._values(written(block))
        columns: list[AnyColumn] = []
        for source in self._sources:
            values = found[source.element]
            column = source.make(values)
            if values.offsets is not None:
                columns.append(ListColumn(column, values.offsets, values.mask))
                continue
            if values.mask is not None:
                mask = values.mask if column.mask is None else column.mask | values.mask
                column = Column(column.data, mask, column.strings, column.times)
            columns.append(column)
        return columns

    def parts(self, block: Block) -> Iterator[tuple[RowColumns, VertexArray]]:
        """Yield the rows of each case, and the columns of its pattern.

        Raises
        ------
        MotifluxError
            Rows have some vertices only, or a pattern is disconnected.
        """
        if self._returned:
            raise MotifluxError(NOT_ALL_VERTICES)
        for case, rows in self._by_case(written(block)):
            if len(case.parts) > 1:
                raise ArgumentError("graphs", "matches of connected patterns", str(self.query))
            yield case.parts[0], case.split(rows)[0]

    def picture(self) -> Picture | None:
        """Return a picture of the first pattern."""
        return self.query.patterns[0].to_svg()

    def _by_case(self, block: VertexArray) -> Iterator[tuple[CaseColumns, VertexArray]]:
        numbers = block[:, 0]
        if len(numbers) and (numbers == numbers[0]).all():
            yield self.cases[int(numbers[0])], block
            return
        for number in np.unique(numbers).tolist():
            yield self.cases[number], block[numbers == number]

    def _values(self, block: VertexArray) -> list[Values]:
        """Return the values of each element, case after case."""
        if self._returned:
            return [_values_or_missing(block[:, at]) for at in range(len(self._elements))]
        pieces = [self._values_of(case, rows) for case, rows in self._by_case(block)]
        if not pieces:
            return [
                Values(
                    np.empty(0, VERTEX_DTYPE if one.of_vertices else np.int64),
                    None if one.of_vertices else np.empty(0, np.int64),
                    None,
                    np.zeros(1, np.int64) if one.is_path else None,
                )
                for one in self._elements
            ]
        return [together(values) for values in zip(*pieces, strict=True)]

    def _values_of(self, case: CaseColumns, rows: VertexArray) -> list[Values]:
        vertices = case.vertices(rows)
        numbers, copies = case.edges(rows) if self._with_edges else (None, None)
        found = []
        for element in self._elements:
            if element.is_path:
                place = case.shape.paths[element.at]
                if place is None:
                    none = np.empty(0, VERTEX_DTYPE if element.of_vertices else np.int64)
                    copied = None if element.of_vertices else np.empty(0, np.int64)
                    zeros, missing = np.zeros(len(rows) + 1, np.int64), np.ones(len(rows), dtype=bool)
                    found.append(Values(none, copied, missing, zeros))
                    continue
                chosen: Sequence[int] = place.vertices if element.of_vertices else place.edges
                offsets = np.arange(len(rows) + 1, dtype=np.int64) * len(chosen)
                if element.of_vertices:
                    found.append(Values(vertices[:, chosen].reshape(-1), None, None, offsets))
                else:
                    assert numbers is not None
                    assert copies is not None
                    lists = [one[list(chosen)].T.reshape(-1) for one in (numbers, copies)]
                    found.append(Values(lists[0], lists[1], None, offsets))
                continue
            at = (case.shape.vertices if element.of_vertices else case.shape.edges)[element.at]
            if at is None:
                nothing = np.zeros(len(rows), VERTEX_DTYPE if element.of_vertices else np.int64)
                copied = None if element.of_vertices else np.zeros(len(rows), np.int64)
                found.append(Values(nothing, copied, np.ones(len(rows), dtype=bool)))
            elif element.of_vertices:
                found.append(Values(np.ascontiguousarray(vertices[:, at])))
            else:
                assert numbers is not None
                assert copies is not None
                found.append(Values(numbers[at], copies[at]))
        return found

    def _named(self, vertices: VertexArray) -> IdArray:
        ids = self.graph.vertex_ids[vertices]
        return ids if self.ids_are_text else ids.view(np.int64)

    def _ids(self, name: str) -> tuple[Callable[[Values], Column], Field]:
        if not self.ids_are_text:
            return lambda one: Column(self._named(one.values)), Field(name, np.dtype(np.int64))
        ids = self.graph.vertex_ids
        strings = self.graph.memo.keep("id strings", lambda: StringTable.of(ids.tolist()))
        return lambda one: Column(one.values, None, strings), Field(name, np.dtype(np.uint32), strings)

    def _numbers(self, name: str) -> tuple[Callable[[Values], Column], Field]:
        return lambda one: Column(one.values), Field(name, np.dtype(np.int64))

    def _vertex_attribute(self, name: str, attribute: str) -> tuple[Callable[[Values], Column], Field]:
        graph = self.graph
        if attribute in graph.vertex_attributes:
            column = graph.vertex_attributes[attribute]
        else:
            column = label_column(graph.vertex_label_table, graph.vertex_labels, graph.num_vertices)
        return lambda one: _taken(column, one.values), Field.of(name, column)

    def _edge_attribute(self, name: str, attribute: str) -> tuple[Callable[[Values], Column], Field]:
        if attribute in self.graph.edge_attributes:
            column = self.graph.edge_attributes[attribute]
            return lambda one: _taken(column, copies_of(one)), Field.of(name, column)
        if attribute == ROW:
            return lambda one: Column(copies_of(one)), Field(name, np.dtype(np.int64))
        labels = edge_label_column(self.graph)
        return lambda one: _taken(labels, one.values), Field.of(name, labels)

    def _wanted(self, attributes: Sequence[str]) -> list[list[str]]:
        """Return the attributes of each element."""
        if isinstance(attributes, str):
            attributes = [attributes]
        if not isinstance(attributes, Iterable):
            raise ArgumentError("attributes", "names of attributes", attributes)
        wanted: list[list[str]] = [[] for _ in self._elements]
        of_vertex = {*self.graph.vertex_attributes, LABEL}
        of_edge = {*self.graph.edge_attributes, LABEL, ROW}
        for name in attributes:
            if not isinstance(name, str):
                raise ArgumentError("attributes", "names of attributes", name)
            found = [
                (at, name)
                for at, one in enumerate(self._elements)
                if name in (of_vertex if one.of_vertices else of_edge)
                and not (one.is_path and one.of_vertices)
            ]
            if not found:
                stem, _, attribute = name.partition(".")
                found = [
                    (at, attribute)
                    for at, one in enumerate(self._elements)
                    if stem in (one.plain.removesuffix(EDGES), one.name.removesuffix(EDGES))
                    and attribute in (of_vertex if one.of_vertices else of_edge)
                    and not (one.is_path and one.of_vertices)
                ]
            if not found:
                raise ArgumentError("attributes", self._expected(of_vertex, of_edge), name)
            for at, attribute in found:
                if attribute not in wanted[at]:
                    wanted[at].append(attribute)
        return wanted

    def _expected(self, of_vertex: set[str], of_edge: set[str]) -> str:
        text = f"attributes of vertices ({', '.join(sorted(of_vertex))})"
        if self._with_edges:
            return f"{text} or edges ({', '.join(sorted(of_edge))}), alone or after the name of one and a dot"
        return f"{text}, or edges=True beside attributes of edges"


def _values_or_missing(vertices: VertexArray) -> Values:
    """Return a column of vertices, of which some may be missing."""
    missing = vertices == MISSING
    return Values(np.where(missing, VERTEX_DTYPE(0), vertices), None, missing if missing.any() else None)


def _of_lists(field: Field, lists: bool) -> Field:
    return Field(field.name, field.dtype, field.strings, field.times, lists)


def _taken(column: Column, rows: NDArray[Any]) -> Column:
    """Return a column of some rows, which may be in none: then there is no row to take."""
    if len(column) == 0:
        return Column(np.zeros(len(rows), column.data.dtype), None, column.strings, column.times)
    return column.take(rows)
