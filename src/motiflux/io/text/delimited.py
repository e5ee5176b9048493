"""Tables of text with separated fields, as RFC 4180 has them (``.csv``, ``.tsv``)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import resolve_threads
from motiflux.errors import ArgumentError, FormatError
from motiflux.interop import (
    ChosenColumns,
    Coded,
    ColumnMapping,
    ColumnName,
    GraphColumns,
    VertexColumns,
    VertexMapping,
)
from motiflux.interop.end_names import find_ends
from motiflux.interop.mapping import How
from motiflux.interop.missing import told_of_dropped
from motiflux.interop.tables import guess_notes
from motiflux.io.files.source import format_suffix
from motiflux.io.text.attributes import read_attribute
from motiflux.io.text.ids import IdRules, Ids, advised, id_rules
from motiflux.io.text.table import BLANKS, Field, Record, Rows, Table, TextFile, TextOptions, Want, is_integer

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""The separator of fields, by suffix."""

_SEPARATORS = (";", "\t", "|", ",")
"""Separators that a file may have."""


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
    table, ids = opening.parse(chosen, chosen.advice(), threads)
    columns = edge_columns(table, ids, chosen, opening.names if opening.named else None)
    return replace(columns, notes=(*opening.notes(chosen, ids), *columns.notes))


def read_vertices(path: Path, mapping: VertexMapping, options: TextOptions) -> VertexColumns:
    """Read a table of vertices; see `read`."""
    opening = _Opening(path, options, [*mapping.given().values()], (mapping.id,), least=1)
    chosen = opening.choose(mapping, bool(mapping.given()))
    table, read_ids = opening.parse(chosen, chosen.advice(("vertex_id",)), None)
    (codes,), names, kept = read_ids
    labels = None if chosen.label is None else rows_kept(table.labels(1), kept)
    ids = codes if names is None else names[codes]
    first_line = table.first_line if kept is None else None
    attributes, notes = attributes_of(table, chosen, kept)
    return VertexColumns(ids, labels, attributes, first_line, (*told_of_dropped(read_ids.dropped()), *notes))


def edge_columns(table: Table, ids: Ids, chosen: ChosenColumns, names: Sequence[str] | None) -> GraphColumns:
    """Return the columns of a table that has the fields `wanted_fields`, whose columns have `names`."""
    (sources, targets), strings, kept = ids
    attributes, notes = attributes_of(table, chosen, kept)
    return GraphColumns(
        sources,
        targets,
        vertex_ids=strings,
        positions=strings is not None,
        edge_labels=None if chosen.label is None else rows_kept(table.labels(2), kept),
        edge_attributes=attributes,
        first_line=table.first_line if kept is None else None,
        end_columns=chosen.end_columns(names),
        notes=(*told_of_dropped(ids.dropped()), *notes),
    )


def rows_kept(labels: NDArray[Any] | Coded, kept: NDArray[np.bool_] | None) -> NDArray[Any] | Coded:
    """Return the labels of the rows that were kept."""
    if kept is None:
        return labels
    return Coded(labels.codes[kept], labels.values) if isinstance(labels, Coded) else labels[kept]


def attributes_of(
    table: Table, chosen: ChosenColumns, kept: NDArray[np.bool_] | None
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the attributes, which are the last columns, of the rows that were kept, and notes on them."""
    if not chosen.attributes:
        return {}, ()
    parsed = table.columns[-len(chosen.attributes) :]
    read = {
        name: read_attribute(table, column, name, kept)
        for name, column in zip(chosen.attributes, parsed, strict=True)
    }
    notes = tuple(sentence for one in read.values() for sentence in one.notes)
    return {name: one.column if kept is None else one.column.take(kept) for name, one in read.items()}, notes


def wanted_fields(chosen: ChosenColumns, names: Sequence[str], rules: IdRules) -> list[Field]:
    """Return the fields to read: the ids, the labels if there are any, the attributes."""
    fields = rules.fields(chosen.ends)
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
        self._options = options
        by_name = any(isinstance(one, str) for one in _flat(given))
        self.named = options.header if options.header is not None else by_name or not _is_data(first, ends)
        self._guessed = options.header is None and not by_name and self.named
        if self.named and not first.fields:
            raise FormatError(path, "found nothing, expected a first line that names the columns")
        if first.fields and len(first.fields) < least:
            raise FormatError(
                path,
                f"found {len(first.fields)} field separated by {separator!r}, expected at least {least}"
                + other_separator(first.fields, separator),
                first.lines_before + 1,
            )
        self.names = column_names(first.fields, named=self.named)

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

    def parse(self, chosen: ChosenColumns, advice: str, threads: int | None) -> tuple[Table, Ids]:
        """Return the table and its ids; errors about ids end with `advice`."""
        first, options = self._first, self._options
        width = max(len(first.fields), *(place + 1 for place in chosen.positions()))
        begin, lines = (first.end, first.lines_through) if self.named else (first.begin, first.lines_before)
        rows = Rows(begin, lines, width, f" as on line {first.lines_before + 1}")
        names = self.names or column_names([""] * width, named=False)
        row = self._first_row()
        titles = [f"column {names[place]!r}" for place in chosen.ends]
        rules = id_rules(titles, row, chosen.ends, options, advice)
        fields = wanted_fields(chosen, names, rules)
        try:
            table = self._file.parse(self._layout, rows, fields, resolve_threads(threads))
        except FormatError as error:
            raise advised(error, rules) from None
        return table, rules.read(table)

    def _first_row(self) -> Record | None:
        """Return the first record after the names; None where there is none, or the parser will refuse it."""
        if not self.named:
            return self._first
        with suppress(FormatError):
            return self._file.first_record(self._layout, self._first, "surrogateescape")
        return None

    def notes(self, chosen: ChosenColumns, ids: Ids) -> tuple[str, ...]:
        """Return notes on guessed ends, on a first line that may be an edge, and on separators in ids."""
        found = list(guess_notes(chosen, self.names if self.named else None))
        integers = ids.names is None and len(ids.columns[0]) > 0
        if chosen.how not in (How.ONLY, How.GUESSED) or integers:
            return tuple(found)
        first, row = self._first, self._first_row()
        if self._guessed:
            line, advice = f"line {first.lines_before + 1}", "header=False reads it as an edge"
            if found:
                found = [f"{found[0]}; {line} was taken as the names, {advice}"]
            else:
                ends = " and ".join(repr(first.fields[place]) for place in chosen.ends)
                found = [f"{line} with {ends} was taken as the names of the columns; {advice}"]
        if self._options.sep is None and row is not None and len(row.fields) > max(chosen.ends):
            cells = [row.fields[place] for place in chosen.ends]
            advice = other_separator(cells, ",")
            found += [f"ids such as {cells[0]!r} and {cells[1]!r}{advice}"] if advice else []
        return tuple(found)


def other_separator(fields: Sequence[str], separator: str | None) -> str:
    """Return advice for errors in a line that has another separator in it; empty if it has none."""
    found = next(
        (one for one in _SEPARATORS if one != separator and any(one in field for field in fields)), None
    )
    return "" if found is None else f"; sep={found!r} if {found!r} separates fields"


def _is_data(first: Record, ends: Sequence[ColumnName | None]) -> bool:
    """Whether an id in the first record is an integer and none of its fields are names of ends."""
    if not first.fields:
        return True
    if find_ends(first.fields) is not None:
        return False
    places = [place if end is None else end for place, end in enumerate(ends)]
    return any(
        isinstance(place, int) and 0 <= place < len(first.fields) and is_integer(first.fields[place])
        for place in places
    )


def _flat(given: Sequence[object]) -> list[object]:
    return [one for item in given for one in (item if isinstance(item, (list, tuple)) else (item,))]
