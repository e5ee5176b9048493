"""Tables of text with separated fields, as RFC 4180 has them (``.csv``, ``.tsv``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from motiflux import _native
from motiflux.arguments import resolve_threads
from motiflux.errors import ArgumentError, FormatError
from motiflux.interop import (
    ChosenColumns,
    ColumnMapping,
    ColumnName,
    GraphColumns,
    VertexColumns,
    VertexMapping,
)
from motiflux.io.files.source import format_suffix
from motiflux.io.text.datetimes import as_datetimes
from motiflux.io.text.table import (
    BLANKS,
    Field,
    Record,
    Rows,
    Table,
    TextFile,
    TextOptions,
    Want,
    is_integer,
)

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""The separator of fields, by suffix."""


def read(
    path: Path, mapping: ColumnMapping, options: TextOptions, *, threads: int | None = None
) -> GraphColumns:
    """Read a table of edges.

    Raises
    ------
    FormatError
        With the line, the column, the value found and the value expected.
    ArgumentError
        There is no such column.
    """
    given = (mapping.src, mapping.dst)
    opening = _Opening(path, options, [*mapping.given().values()], given, least=2)
    chosen = opening.choose(mapping, bool(mapping.given()))
    return edge_columns(opening.parse(chosen, threads), chosen)


def read_vertices(path: Path, mapping: VertexMapping, options: TextOptions) -> VertexColumns:
    """Read a table of vertices; see `read`."""
    opening = _Opening(path, options, [*mapping.given().values()], (mapping.id,), least=1)
    chosen = opening.choose(mapping, bool(mapping.given()))
    table = opening.parse(chosen, None)
    (codes,), names = table.ids(0)
    labels = None if chosen.label is None else table.labels(1)
    ids = codes if names is None else names[codes]
    return VertexColumns(ids, labels, attributes_of(table, chosen), table.first_line)


def edge_columns(table: Table, chosen: ChosenColumns) -> GraphColumns:
    """Return the columns of a table that has the fields `wanted_fields`."""
    (sources, targets), names = table.ids(0, 1)
    return GraphColumns(
        sources,
        targets,
        vertex_ids=names,
        positions=names is not None,
        edge_labels=None if chosen.label is None else table.labels(2),
        edge_attributes=attributes_of(table, chosen),
        first_line=table.first_line,
    )


def attributes_of(table: Table, chosen: ChosenColumns) -> dict[str, object]:
    """Return the attributes, which are the last columns."""
    if not chosen.attributes:
        return {}
    columns = table.columns[-len(chosen.attributes) :]
    return {
        name: as_datetimes(table, column.as_attribute(), f"column {name!r}")
        for name, column in zip(chosen.attributes, columns, strict=True)
    }


def wanted_fields(chosen: ChosenColumns, names: Sequence[str]) -> list[Field]:
    """Return the fields to read: the ids, the labels if there are any, the attributes."""
    fields = [Field(place, f"column {names[place]!r}", Want.IDENTIFIER) for place in chosen.ends]
    if chosen.label is not None:
        fields.append(Field(chosen.label, f"column {names[chosen.label]!r}", Want.IDENTIFIER, 1))
    for place in chosen.attributes.values():
        fields.append(Field(place, f"column {names[place]!r}", Want.ANYTHING, len(fields)))
    return fields


def column_names(fields: Sequence[str], *, named: bool) -> list[str]:
    """Return the names of all columns; a column without a name has its position as its name."""
    return [(named and name) or f"column{place}" for place, name in enumerate(fields)]


class _Opening:
    """A table whose first record has been read."""

    def __init__(
        self,
        path: Path,
        options: TextOptions,
        given: Sequence[object],
        ends: Sequence[ColumnName | None],
        *,
        least: int,
    ) -> None:
        self._file = TextFile(path)
        separator = options.sep or SEPARATORS[format_suffix(path)]
        blanks = separator == BLANKS
        self._layout = _native.Layout(separator, quotes=not blanks, comments=False, trims=False)
        self._first = first = self._file.first_record(self._layout)
        by_name = any(isinstance(one, str) for one in _flat(given))
        self._named = options.header if options.header is not None else by_name or not _is_data(first, ends)
        if self._named and not first.fields:
            raise FormatError(path, "found nothing, expected a first line that names the columns")
        if first.fields and len(first.fields) < least:
            raise FormatError(
                path,
                f"found {len(first.fields)} field separated by {separator!r}, expected at least {least}",
                first.lines_before + 1,
            )
        self.names = column_names(first.fields, named=self._named)

    def choose(self, mapping: ColumnMapping | VertexMapping, given: bool) -> ChosenColumns:
        """Return the columns of the mapping; if no column is `given`, an error is the file's."""
        path, first = self._file.path, self._first
        names = self.names or ["column0", "column1"]
        try:
            return mapping.choose(names, str(path))
        except ArgumentError as error:
            if given:
                raise
            raise FormatError(path, str(error), first.lines_before + 1) from None

    def parse(self, chosen: ChosenColumns, threads: int | None) -> Table:
        first = self._first
        width = max(len(first.fields), *(place + 1 for place in chosen.positions()))
        begin, lines = (first.end, first.lines_through) if self._named else (first.begin, first.lines_before)
        rows = Rows(begin, lines, width, f" as on line {first.lines_before + 1}")
        names = self.names or column_names([""] * width, named=False)
        return self._file.parse(self._layout, rows, wanted_fields(chosen, names), resolve_threads(threads))


def _is_data(first: Record, ends: Sequence[ColumnName | None]) -> bool:
    """Whether both ids in the first record are integers, so that it cannot name the columns."""
    if not first.fields:
        return True
    places = [place if end is None else end for place, end in enumerate(ends)]
    return all(
        isinstance(place, int) and 0 <= place < len(first.fields) and is_integer(first.fields[place])
        for place in places
    )


def _flat(given: Sequence[object]) -> list[object]:
    return [one for item in given for one in (item if isinstance(item, (list, tuple)) else (item,))]
