"""Tables of text: how a file begins, and the columns that the native parser makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError, FormatError, GraphError
from motiflux.graph.attributes.columns import Column
from motiflux.interop import Coded
from motiflux.interop.missing import Missing, check_missing
from motiflux.interop.strings import StringTable, from_utf8
from motiflux.io.files.source import parse_failure, read_chunks

BLANKS = " "
"""The separator of fields that are apart by runs of blanks and tabs."""

_FED_BYTES = 2**20
"""Parsed at once by each thread: between two of these Ctrl-C is answered."""

IdKind = Literal["integers", "names"]
"""The kind of all ids of a table."""

_MAX_INT64 = 2**63 - 1


class Want(IntEnum):
    """The types that a column may have, with the numbers of the native parser."""

    ANYTHING = 0
    IDENTIFIER = 1
    NAME = 2
    INTEGER = 3
    FLOAT = 4


@dataclass(frozen=True)
class TextOptions:
    """The format of a table of text, in addition to its suffix.

    Parameters
    ----------
    header
        Whether the first record names the columns; None: unless both ids in it are integers.
    sep
        The character between two fields.
    vertices_header
        `header` of the table of vertices in another file.
    ids
        The kind of all ids; None: a column whose first id is an integer holds integers only.
    missing
        Treatment of rows without an id.
    """

    header: bool | None = None
    sep: str | None = None
    vertices_header: bool | None = None
    ids: IdKind | None = None
    missing: Missing = "error"

    def __post_init__(self) -> None:
        for argument, found in (("header", self.header), ("vertices_header", self.vertices_header)):
            if found is not None and not isinstance(found, (bool, np.bool_)):
                raise ArgumentError(argument, "True, False or None", found)
        if self.ids not in (None, *get_args(IdKind)):
            raise ArgumentError("ids", "'integers', 'names' or None", self.ids)
        check_missing(self.missing)
        sep = self.sep
        if sep is None or (isinstance(sep, str) and len(sep) == 1 and sep.isascii() and sep not in '"\r\n\0'):
            return
        raise ArgumentError("sep", "one ASCII character other than a quote or a line end", sep)

    def given(self) -> dict[str, object]:
        """Return the arguments that were given, by name."""
        return {name: value for name, value in vars(self).items() if value not in (None, "error")}

    def refuse_for(self, suffix: str) -> None:
        """Refuse options of text for a table of another format, whose columns have names and types."""
        for argument in ("header", "sep", "ids"):
            if getattr(self, argument) is not None:
                expected = f"nothing: columns of {suffix} files have names and types"
                raise ArgumentError(argument, expected, getattr(self, argument))

    def of_vertices(self, *, same_kind: bool) -> TextOptions:
        """Return the options of the table of vertices, a file of the same kind or of another."""
        sep = self.sep if same_kind else None
        return TextOptions(self.vertices_header, sep, ids=self.ids, missing=self.missing)


class Record(NamedTuple):
    """The first record of a file, or of the rest of it."""

    begin: int
    end: int
    lines_before: int
    lines_through: int
    fields: list[str]


@dataclass(frozen=True)
class Field:
    """A column that is wanted.

    Parameters
    ----------
    position
        Among the fields of a record.
    what
        The name of the column in errors.
    want
        The type that it may have.
    dictionary
        Columns with the same number are of one kind, and equal strings in them have equal codes.
    low, high
        The range of integers.
    """

    position: int
    what: str
    want: Want = Want.ANYTHING
    dictionary: int = 0
    low: int = 0
    high: int = _MAX_INT64
    strings: bool = False


@dataclass(frozen=True)
class Rows:
    """The positions and common properties of the records of a table.

    Parameters
    ----------
    begin
        Bytes before the first of them.
    lines_before
        Lines before it.
    width
        Fields in each.
    width_reason
        How errors go on after the number of fields expected.
    """

    begin: int
    lines_before: int
    width: int
    width_reason: str


class Parsed(NamedTuple):
    """A parsed column: values, a mask of missing values, and the strings that codes refer to."""

    values: NDArray[Any] | int
    missing: NDArray[np.bool_] | None
    strings: StringTable | None

    def as_attribute(self) -> Column:
        """Return the column of an attribute."""
        if isinstance(self.values, int):
            return Column(np.zeros(self.values, dtype="V1"))
        values = self.values.astype(np.int64) if self.values.dtype.kind == "i" else self.values
        return Column(values, self.missing, self.strings)


@dataclass(frozen=True)
class Table:
    """The content of a file: columns in the order of the request.

    Parameters
    ----------
    rows
        How many there are.
    lines
        Lines of the file.
    lines_before
        Lines before the first row.
    """

    path: Path
    rows: int
    lines: int
    lines_before: int
    columns: list[Parsed] = field(repr=False)

    @property
    def first_line(self) -> int | None:
        """The line of the first row; None where a row takes more than a line, or other lines are between."""
        return self.lines_before + 1 if self.lines - self.lines_before == self.rows else None

    def labels(self, which: int) -> NDArray[Any] | Coded:
        """Return a column of labels: integers, or coded strings."""
        column = self.columns[which]
        values = _none_as_integers(column.values)
        return values if column.strings is None else Coded(values, as_names(self.path, column.strings))


class TextFile:
    """A file of records; its beginning can be read before all of it is parsed.

    Parameters
    ----------
    path
        The file, compressed or not.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._chunks = read_chunks(path)
        self._head = b""

    def first_record(
        self, layout: _native.Layout, after: Record | None = None, errors: str = "strict"
    ) -> Record:
        """Return the first record, or the one after `after`; without fields where there is none.

        Errors in UTF-8 are handled as by `bytes.decode`.

        Raises
        ------
        FormatError
            It is malformed, or not in UTF-8.
        """
        begin, lines = (0, 0) if after is None else (after.end, after.lines_through)
        try:
            while (found := _native.first_record(self._head[begin:], layout, at_end=False)) is None:
                chunk = next(self._chunks, b"")
                self._head += chunk
                if not chunk:
                    found = _native.first_record(self._head[begin:], layout, at_end=True)
                    break
        except _native.ParseError as error:
            line, message = error.args
            raise FormatError(self.path, message, lines + line) from None
        assert found is not None
        start, end, before, through, fields = found
        try:
            texts = [text.decode(errors=errors) for text in fields]
        except UnicodeDecodeError as error:
            message = f"found {error.object!r}, expected text in UTF-8"
            raise FormatError(self.path, message, lines + through) from None
        return Record(begin + start, begin + end, lines + before, lines + through, texts)

    def parse(self, layout: _native.Layout, rows: Rows, fields: Sequence[Field], threads: int) -> Table:
        """Return the columns of the whole table.

        Raises
        ------
        FormatError
            With the line, the value found and the value expected.
        """
        wanted = list(fields)
        head = self._head[rows.begin :]
        chunks: Iterator[bytes] = chain([head] if head else [], self._chunks)
        start = 0
        while True:
            count, lines, columns, dictionaries, reread = self._pass(
                layout, rows, wanted, chunks, start, threads
            )
            if not reread:
                tables = [StringTable(text, offsets) for text, offsets in dictionaries]
                return Table(
                    self.path,
                    count,
                    lines,
                    rows.lines_before,
                    [
                        Parsed(values, missing, None if place is None else tables[place])
                        for values, missing, place in columns
                    ],
                )
            # The text of these columns cannot be recovered from the numbers that were parsed.
            for place in reread:
                wanted[place] = replace(wanted[place], strings=True)
            chunks, start = read_chunks(self.path), rows.begin

    def _pass(
        self,
        layout: _native.Layout,
        rows: Rows,
        fields: Sequence[Field],
        chunks: Iterator[bytes],
        start: int,
        threads: int,
    ) -> _native.ParsedTable:
        specs = [
            (one.position, one.what, int(one.want), one.dictionary, one.strings, one.low, one.high)
            for one in fields
        ]
        parser = _native.TableParser(layout, rows.width, rows.width_reason, rows.lines_before, specs, threads)
        try:
            for chunk in chunks:
                at = min(start, len(chunk))
                start -= at
                while at < len(chunk):
                    parser.feed(chunk, at, at + threads * _FED_BYTES)
                    at += threads * _FED_BYTES
            return parser.finish()
        except _native.ParseError as error:
            raise parse_failure(self.path, error) from None


def as_names(path: Path, strings: StringTable) -> NDArray[np.str_]:
    """Return ids or labels as a NumPy array.

    Raises
    ------
    FormatError
        One of them is so long that the array would fill the memory.
    """
    try:
        return from_utf8(strings.text, strings.offsets)
    except GraphError as error:
        raise FormatError(path, str(error)) from None


def is_number(text: str) -> bool:
    """Whether text is a number of any type."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_integer(text: str) -> bool:
    """Whether text is an integer of ASCII digits."""
    return text.removeprefix("-").isdigit() and text.isascii()


def _none_as_integers(values: NDArray[Any] | int) -> NDArray[Any]:
    return np.zeros(values, dtype=np.int64) if isinstance(values, int) else values
