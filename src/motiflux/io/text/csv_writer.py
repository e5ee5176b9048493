"""Tables as delimited text (``.csv``), streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux._native import format_csv, format_table, quote_strings
from motiflux.errors import OutputError
from motiflux.graph import Column, Kind
from motiflux.interop.strings import StringTable
from motiflux.io.arrow.batches import first_surrogate
from motiflux.io.files.sinks import open_sink, split_suffix
from motiflux.io.tables.lists import ListColumn
from motiflux.io.tables.match_tables import AnyColumn, Field, MatchTables
from motiflux.times import format_moments

_SLICE_ROWS = 65536  # bounds the text held in memory when a batch is large
_FEW_ROWS = 4
"""A table of strings is quoted once as many rows were formatted, multiplied by this, as it has strings."""

Quoted = tuple[NDArray[np.uint8], NDArray[np.int64]]
Cells = tuple[NDArray[Any], NDArray[np.uint8] | None, NDArray[np.uint8] | None, NDArray[np.int64] | None]


class ByteSink(Protocol):
    """Where bytes can be written to."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`."""


def write(matches: MatchTables, path: Path) -> int:
    """Write a line of column names, then one line per match; with tabs for ``.tsv``.

    Raises
    ------
    OutputError
        If the file cannot be written, or an id has no form in UTF-8.
    """
    separator = "\t" if split_suffix(path)[0] == ".tsv" else ","
    with open_sink(path) as file:
        return write_to(file, matches, name=str(path), separator=separator)


def write_to(stream: ByteSink, matches: MatchTables, *, name: str, separator: str = ",") -> int:
    """Write the output of `write` to an open stream; return the number of matches.

    Raises
    ------
    OutputError
        If an id has no form in UTF-8; it speaks of the stream by `name`.
    """
    text = Appending(stream, matches, name=name, separator=separator)
    return text.append()


class Appending:
    """Text that a table is appended to, which may be filled and emptied again in between.

    The line of column names is written at once.

    Parameters
    ----------
    stream
        The stream.
    matches
        The table.
    name
        The name of the stream in errors.
    separator
        The separator of fields.
    with_header
        Whether to write that line: it is there already where lines are appended to a file.
    """

    def __init__(
        self,
        stream: ByteSink,
        matches: MatchTables,
        *,
        name: str,
        separator: str = ",",
        with_header: bool = True,
    ) -> None:
        self._stream = stream
        self._matches = matches
        self._formatter = TextTable(separator=separator, name=name)
        self._numbers_only = separator == "," and all(_is_int64(field) for field in matches.fields)
        if with_header:
            stream.write(header([field.name for field in matches.fields], separator, name))

    def append(self) -> int:
        """Write the rows of the table; return their number."""
        rows = 0
        for columns in self._matches.tables():
            length = len(columns[0])
            if self._numbers_only and all(column.mask is None for column in columns):
                stacked = [column.data for column in columns if isinstance(column, Column)]
                for part in _slices(length):
                    self._stream.write(format_csv(np.stack([data[part] for data in stacked], axis=1)))
            else:
                for part in _slices(length):
                    self._stream.write(self._formatter.format(columns, part))
            rows += length
        return rows


@dataclass(slots=True)
class _Known:
    """A table of strings, the number of rows formatted with it, and its strings in quotes."""

    table: StringTable
    rows: int = 0
    quoted: Quoted | None = None


class TextTable:
    """Formats columns as lines of text.

    Parameters
    ----------
    separator
        Between cells; cells with one in them are put in quotes.
    name
        The name of the output in errors.
    prefix
        Text at the start of each line.
    """

    def __init__(self, *, separator: str, name: str, prefix: str = "") -> None:
        self._separator = separator
        self._name = name
        self._prefix = prefix
        self._known: dict[int, _Known] = {}

    def format(self, given: Sequence[AnyColumn], part: slice) -> bytes:
        """Return some rows as text; a missing value is an empty cell, and a list is as in JSON."""
        rows = len(range(*part.indices(len(given[0]))))
        if any(isinstance(column, ListColumn) for column in given):
            columns = [_part(column, part) for column in given]
            part = slice(None)
        else:
            columns = [column for column in given if isinstance(column, Column)]
        tables = [column.strings for column in columns if column.strings is not None]
        # Tables of earlier batches are dropped.
        self._known = {id(table): self._known.get(id(table)) or _Known(table) for table in tables}
        return format_table([self._cells(one, part) for one in columns], rows, self._prefix, self._separator)

    def _cells(self, column: Column, part: slice) -> Cells:
        data = column.data[part]
        missing = None if column.mask is None else np.ascontiguousarray(column.mask[part]).view(np.uint8)
        if column.strings is not None:
            codes = np.ascontiguousarray(data, np.uint32)
            if missing is not None:
                codes = np.where(missing, np.uint32(0), codes)
            codes, (text, offsets) = self._quoted(codes, self._known[id(column.strings)])
            return codes, missing, text, offsets
        if column.times is not None:
            texts = format_moments(data, utc=column.times is Kind.DATETIME_UTC).astype(np.bytes_)
            text, offsets = _packed(texts)
            return np.arange(len(data), dtype=np.uint32), missing, text, offsets
        if column.kind is Kind.NOTHING:
            return np.zeros(len(data), np.uint8), np.ones(len(data), np.uint8), None, None
        return _plain(data), missing, None, None

    def _quoted(self, codes: NDArray[np.uint32], known: _Known) -> tuple[NDArray[np.uint32], Quoted]:
        """Return codes and the strings that they refer to: of few rows, or the whole table once."""
        known.rows += len(codes)
        if known.quoted is None and known.rows * _FEW_ROWS < len(known.table):
            codes, used = known.table.used(codes)
            return codes, self._quote(used)
        if known.quoted is None:
            known.quoted = self._quote(known.table)
        return codes, known.quoted

    def _quote(self, table: StringTable) -> Quoted:
        if first_surrogate(table) is not None:
            table = _escaped(table, self._name)
        return quote_strings(table.text, table.offsets, self._separator)


def header(names: Sequence[str], separator: str, name: str) -> bytes:
    """Return the line of column names."""
    table = TextTable(separator=separator, name=name)
    columns = [Column(np.zeros(1, np.uint32), None, StringTable.of([one])) for one in names]
    return table.format(columns, slice(None))


def _part(column: AnyColumn, part: slice) -> Column:
    """Return some rows of a column; lists as text."""
    if isinstance(column, ListColumn):
        return column.part(part).as_text()
    mask = None if column.mask is None else column.mask[part]
    return Column(column.data[part], mask, column.strings, column.times)


def _plain(data: NDArray[Any]) -> NDArray[Any]:
    """Return values in a type that is formatted."""
    if data.dtype == np.bool_:
        return np.ascontiguousarray(data).view(np.uint8)
    if data.dtype.kind == "f":
        return np.ascontiguousarray(data, np.float64 if data.dtype.itemsize == 8 else np.float32)
    return np.ascontiguousarray(data, np.uint64 if data.dtype == np.uint64 else np.int64)


def _escaped(table: StringTable, name: str) -> StringTable:
    """Return the strings, with surrogates for bytes of file names replaced by these bytes.

    Raises
    ------
    OutputError
        Another surrogate: it has no form in UTF-8.
    """
    encoded = []
    for text in table:
        try:
            encoded.append(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise OutputError(f"{name}: cannot be written: the id {text!r} has no form in UTF-8") from error
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(string) for string in encoded], out=offsets[1:])
    return StringTable(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)


def _packed(texts: NDArray[np.bytes_]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return texts without blanks or quotes one after the other, and the places between them."""
    letters = texts.view(np.uint8).reshape(len(texts), texts.dtype.itemsize)
    used = letters != 0
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(used.sum(axis=1), out=offsets[1:])
    return letters[used], offsets


def _slices(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _SLICE_ROWS):
        yield slice(start, start + _SLICE_ROWS)


def _is_int64(field: Field) -> bool:
    return field.strings is None and field.times is None and field.dtype == np.int64 and not field.of_lists
