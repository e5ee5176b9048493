"""The columns of the rows that a search lists: ids, edges and attributes under names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.draw import Picture
from motiflux.errors import ArgumentError, MotifluxError
from motiflux.graph import Column, Graph, LabelTable
from motiflux.interop.strings import StringTable
from motiflux.io.tables.match_tables import Field
from motiflux.pattern import Pattern
from motiflux.pattern.elements import edge_names
from motiflux.result.choices import Choices, edges_of_copies
from motiflux.result.images import Block, ImageBlock, written
from motiflux.result.witnesses import Witnesses
from motiflux.types import IdArray, VertexArray

NOT_ALL_VERTICES = "graphs of matches: expected rows of all query vertices, found distinct rows"

LABEL, ROW = "label", "row"
"""Columns beside attributes: the label, and the row of an edge in `Graph.edge_attributes`."""

_Gather = Callable[[VertexArray, NDArray[np.int64], int], NDArray[np.int64]]

_MOST_NAMES = 8
_MOST_DRAWN = 12
"""Names that an error lists, and vertices of a pattern that notebooks draw."""

_FEW_ROWS = 4
"""A table of all ids is made once as many ids were taken, multiplied by this, as there are vertices."""


@dataclass(frozen=True)
class _Rows:
    """A batch on its way: internal ids by column, edges by query edge, and copies if these are chosen."""

    vertices: VertexArray
    ids: NDArray[np.int64] | None
    edges: NDArray[np.int64] | None
    copies: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class _Source:
    """One column of the tables: its source, and how it is made from a batch."""

    field: Field
    make: Callable[[_Rows], Column]


class RowColumns:
    """Turns blocks of internal ids into columns for users.

    Parameters
    ----------
    graph, pattern
        The pattern and the graph of the blocks.
    edges
        Whether each query edge has a column, of the edge that it fell on.
    attributes
        Attributes to put beside vertices and edges, by name: of all that have one of that name, or of one, as
        ``"v0.country"``, or ``"a.country"`` by its name in the pattern.
    names
        Whether columns have the names of the pattern's vertices and edges instead of ``v0`` and ``e0``.
    choices
        Whether blocks have columns of copies behind those of vertices (`motiflux.result.choices`).
    threads
        Threads for large blocks.
    returned
        The query vertices that blocks have, in the order of columns; None: all. Not beside edges.

    Raises
    ------
    ArgumentError
        There is no such attribute, or two columns would have one name.
    """

    def __init__(
        self,
        graph: Graph,
        pattern: Pattern,
        *,
        edges: bool = False,
        attributes: Sequence[str] = (),
        names: bool = False,
        choices: bool = False,
        threads: int = 1,
        returned: Sequence[int] | None = None,
    ) -> None:
        self.graph = graph
        self.pattern = pattern
        self._choices = choices
        self._unlisted: Witnesses | None = None
        self._threads = threads
        self._ids_taken = 0
        self.witnesses = Witnesses(graph, pattern, threads) if edges else None
        self.returned = tuple(range(pattern.num_vertices)) if returned is None else tuple(returned)
        plain, named = _plain_names(pattern), _pattern_names(pattern)
        if returned is not None:
            plain, named = ([all_names[vertex] for vertex in returned] for all_names in (plain, named))
        self.projected = returned is not None
        self._naming = plain, named
        chosen = named if names else plain
        num_vertices = self._vertices
        self.columns = chosen if edges else chosen[:num_vertices]
        wanted = self._wanted(attributes)
        sources: list[_Source] = []
        for position, name in enumerate(self.columns):
            of_vertex = position < num_vertices
            at = position if of_vertex else position - num_vertices
            sources.append(self._id_source(name, at) if of_vertex else _edge_source(name, at))
            for attribute in wanted[position]:
                make = self._vertex_attribute if of_vertex else self._edge_attribute
                sources.append(make(f"{name}.{attribute}", at, attribute))
        _check_distinct([source.field.name for source in sources])
        self._sources = sources
        self.fields = [source.field for source in sources]

    @property
    def only_vertices(self) -> bool:
        """Whether rows are ids of vertices alone."""
        return len(self.columns) == self.pattern.num_vertices

    def parts(self, block: Block) -> Iterator[tuple[RowColumns, VertexArray]]:
        """Yield the rows and the columns of their pattern."""
        yield self, written(block, self._threads)

    def picture(self) -> Picture | None:
        """Return a picture of the pattern; None for large ones."""
        return self.pattern.to_svg() if self.pattern.num_vertices <= _MOST_DRAWN else None

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of files of rows: the pattern, and the names of its vertices and edges in order."""
        return {
            "motiflux.pattern": str(self.pattern),
            "motiflux.vertices": json.dumps([self.pattern.vertices[at].name for at in self.returned]),
            "motiflux.edges": json.dumps([edge.name for edge in self.pattern.edges]),
        }

    @property
    def ids_are_text(self) -> bool:
        """Whether the ids are strings."""
        return self.graph.vertex_ids.dtype.kind == "U"

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of `array`: that of the ids, or with edges beside string ids one field for each column."""
        if not self.ids_are_text:
            return np.dtype(np.int64)
        ids = self.graph.vertex_ids.dtype
        if self.witnesses is None:
            return ids
        return np.dtype(
            [(name, ids if at < self._vertices else "<i8") for at, name in enumerate(self.columns)]
        )

    @property
    def _vertices(self) -> int:
        return len(self.returned)

    def empty(self) -> NDArray[Any]:
        """Return the result of `array` for no rows."""
        dtype = self.dtype
        return np.empty(0 if dtype.names else (0, len(self.columns)), dtype)

    def array(self, block: Block) -> IdArray:
        """Return ids, and edges if requested: [rows, columns], or [rows] with a field for each."""
        ids = self.graph.vertex_ids
        if isinstance(block, ImageBlock):
            if self.witnesses is None and not self.ids_are_text:
                numbers: Any = ids
                return block.numbered(numbers, self._threads).view(np.int64)
            block = block.written(self._threads)
        if self.witnesses is None:
            return ids[block] if self.ids_are_text else self._gathered(_native.gather_rows, block)
        block, edges, _ = self._edges(block)
        if self.ids_are_text:
            result: NDArray[Any] = np.empty(len(block), self.dtype)
            for at, name in enumerate(self.columns):
                result[name] = ids[block[:, at]] if at < self._vertices else edges[at - self._vertices]
            return result
        gathered = self._gathered(_native.gather_columns, block)
        return np.ascontiguousarray(np.concatenate([gathered, edges.view(np.int64)]).T)

    def table(self, block: Block) -> list[Column]:
        """Return the columns of the batch, in the order of `fields`."""
        block = written(block, self._threads)
        edges = copies = None
        if self.witnesses is not None:
            block, edges, copies = self._edges(block)
        ids = None
        if not self.ids_are_text:
            ids = self._gathered(_native.gather_columns, block)
        needs_vertices = ids is None or any(source.field.name not in self.columns for source in self._sources)
        rows = _Rows(
            _native.transpose(block, self._threads) if needs_vertices else block.T,
            ids,
            edges,
            copies,
        )
        return [source.make(rows) for source in self._sources]

    def witnessed(self, block: VertexArray) -> tuple[VertexArray, NDArray[np.int64], NDArray[np.int64]]:
        """Return the vertices of a block, and the number of the edge and the row of the copy of each edge.

        Raises
        ------
        MotifluxError
            The rows have no images of some query vertices.
        """
        if self.projected:
            raise MotifluxError(NOT_ALL_VERTICES)
        if self.pattern.comparisons and not self._choices:
            block = Choices(self.graph, self.pattern, every=False).of(block)
            copies = block[:, self._vertices :].T.astype(np.int64)
            return block[:, : self._vertices], edges_of_copies(self.graph, copies), copies
        if self._choices:
            vertices, edges, chosen = self._edges(block)
            assert chosen is not None
            return vertices, edges, chosen
        witnesses = self.witnesses or self._other_witnesses()
        edges = witnesses.edges(block)
        return block, edges, np.stack([witnesses.rows(query, of) for query, of in enumerate(edges)])

    def _other_witnesses(self) -> Witnesses:
        """Return witnesses for rows whose edges have no columns."""
        if self._unlisted is None:
            self._unlisted = Witnesses(self.graph, self.pattern, self._threads)
        return self._unlisted

    def _edges(self, block: VertexArray) -> tuple[VertexArray, NDArray[np.int64], NDArray[np.int64] | None]:
        """Return the vertices of a block, the edge of each query edge, and its copy if copies are chosen."""
        assert self.witnesses is not None
        if not self._choices:
            return block, self.witnesses.edges(block), None
        copies = block[:, self._vertices :].T.astype(np.int64)
        vertices = np.ascontiguousarray(block[:, : self._vertices])
        return vertices, edges_of_copies(self.graph, copies), copies

    def _gathered(self, gather: _Gather, block: VertexArray) -> NDArray[np.int64]:
        """Return integer ids, in the type of 64 bits that NumPy shows without its name."""
        ids: Any = self.graph.vertex_ids
        return gather(block, ids, self._threads).view(np.int64)

    def _id_source(self, name: str, at: int) -> _Source:
        if not self.ids_are_text:

            def number(rows: _Rows) -> Column:
                assert rows.ids is not None
                return Column(rows.ids[at])

            return _Source(Field(name, np.dtype(np.int64)), number)
        field = Field(name, np.dtype(np.uint32), StringTable.of([]))
        return _Source(field, lambda rows: self._text_ids(rows.vertices[at]))

    def _text_ids(self, vertices: VertexArray) -> Column:
        """Return ids as a column of strings: for few rows with a table of their ids alone."""
        ids = self.graph.vertex_ids
        self._ids_taken += len(vertices)
        if self._ids_taken * _FEW_ROWS < len(ids):
            distinct, codes = np.unique(vertices, return_inverse=True)
            return Column(codes.astype(np.uint32), None, StringTable.of(ids[distinct].tolist()))
        strings = self.graph.memo.keep("id strings", lambda: StringTable.of(ids.tolist()))
        return Column(vertices, None, strings)

    def _wanted(self, attributes: Sequence[str]) -> list[list[str]]:
        """Return the attributes of each column of ids and edges, by position."""
        if isinstance(attributes, str):
            attributes = [attributes]
        if not isinstance(attributes, Iterable):
            raise ArgumentError("attributes", "names of attributes", attributes)
        wanted: list[list[str]] = [[] for _ in self.columns]
        of_vertex = {*self.graph.vertex_attributes, LABEL}
        of_edge = {*self.graph.edge_attributes, LABEL, ROW}
        held = [of_vertex if at < self._vertices else of_edge for at in range(len(self.columns))]
        by_name = _positions(*self._naming)
        for name in attributes:
            if not isinstance(name, str):
                raise ArgumentError("attributes", "names of attributes", name)
            found = [at for at, known in enumerate(held) if name in known]
            attribute = name
            if not found:
                owner, attribute = _owner(name, by_name)
                found = [at for at in owner if at < len(held) and attribute in held[at]]
            if not found:
                raise ArgumentError("attributes", self._expected(name, attribute, of_vertex, of_edge), name)
            for at in found:
                if attribute not in wanted[at]:
                    wanted[at].append(attribute)
        return wanted

    def _expected(self, name: str, attribute: str, of_vertex: set[str], of_edge: set[str]) -> str:
        if self.witnesses is None and {name, attribute} & of_edge:
            return f"edges=True beside attributes of edges ({attribute!r})"
        text = f"attributes of vertices ({_listed(of_vertex)})"
        if self.witnesses is not None:
            text += f" or edges ({_listed(of_edge)})"
        return text + ", alone or after the name of one and a dot"

    def _vertex_attribute(self, name: str, at: int, attribute: str) -> _Source:
        graph = self.graph
        if attribute in graph.vertex_attributes:
            column = graph.vertex_attributes[attribute]
        else:
            column = label_column(graph.vertex_label_table, graph.vertex_labels, graph.num_vertices)
        return _Source(Field.of(name, column), lambda rows: column.take(rows.vertices[at]))

    def _edge_attribute(self, name: str, at: int, attribute: str) -> _Source:
        graph, witnesses = self.graph, self.witnesses
        assert witnesses is not None

        def place(rows: _Rows) -> NDArray[np.int64]:
            assert rows.edges is not None
            return witnesses.rows(at, rows.edges[at]) if rows.copies is None else rows.copies[at]

        if attribute in graph.edge_attributes:
            column = graph.edge_attributes[attribute]
            return _Source(Field.of(name, column), lambda rows: column.take(place(rows)))
        if attribute == ROW:
            return _Source(Field(name, np.dtype(np.int64)), lambda rows: Column(place(rows)))
        labels = edge_label_column(graph)

        def label(rows: _Rows) -> Column:
            assert rows.edges is not None
            return labels.take(rows.edges[at])

        return _Source(Field.of(name, labels), label)


def label_column(table: LabelTable, codes: NDArray[np.uint32] | None, length: int) -> Column:
    """Return labels as a column, from their codes; without codes all have the table's one label."""
    if codes is None:
        codes = np.broadcast_to(np.uint32(0), length)
    if table.values and isinstance(table.values[0], str):
        return Column(codes, None, StringTable.of(map(str, table.values)))
    return Column(np.array(table.values, dtype=np.int64)[codes])


def edge_label_column(graph: Graph) -> Column:
    """Return the label of each edge, in the order of `Graph.to_edges`."""

    def make() -> Column:
        codes = graph.forward.labels
        if codes is not None and not graph.directed:
            codes = codes[graph.forward.sources() < graph.forward.neighbors]
        return label_column(graph.edge_label_table, codes, graph.num_edges)

    return graph.memo.keep("edge label column", make)


def _edge_source(name: str, at: int) -> _Source:
    def edge(rows: _Rows) -> Column:
        assert rows.edges is not None
        return Column(rows.edges[at])

    return _Source(Field(name, np.dtype(np.int64)), edge)


def _plain_names(pattern: Pattern) -> list[str]:
    vertices = [f"v{at}" for at in range(pattern.num_vertices)]
    return vertices + [f"e{at}" for at in range(pattern.num_edges)]


def _pattern_names(pattern: Pattern) -> list[str]:
    return [vertex.name for vertex in pattern.vertices] + edge_names(pattern.edges)


def _positions(*naming: Sequence[str]) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for names in naming:
        for at, name in enumerate(names):
            if at not in positions.setdefault(name, []):
                positions[name].append(at)
    return positions


def _owner(name: str, by_name: dict[str, list[int]]) -> tuple[list[int], str]:
    """Return the element and the attribute of a name such as ``v0.country``."""
    for at, character in enumerate(name):
        if character == "." and name[:at] in by_name:
            return by_name[name[:at]], name[at + 1 :]
    return [], name


def _check_distinct(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ArgumentError("names", "columns that all have a name of their own", f"{name} twice")
        seen.add(name)


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:_MOST_NAMES]) + (", ..." if len(ordered) > _MOST_NAMES else "")
