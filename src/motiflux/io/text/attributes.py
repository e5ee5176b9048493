"""Columns of text as attributes: words for missing values, and datetimes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph import Column, Kind
from motiflux.interop.missing import words_among
from motiflux.interop.strings import StringTable
from motiflux.io.text.table import Parsed, Table, Want
from motiflux.times import RANGE, Moments, parse_moment, parse_moments

_SAMPLE = 100
_AT_ONCE = 4096
_MAX_INT64 = 2**63 - 1


class Attribute(NamedTuple):
    """A column of text that was read, and notes on it."""

    column: Column
    notes: tuple[str, ...] = ()


class _Values(NamedTuple):
    """The strings of the rows of a column that are kept, without words for a missing value.

    Parameters
    ----------
    strings
        Distinct, in ascending order.
    codes
        uint32 [rows], positions in `strings`; 0 where a value is missing.
    missing
        bool [rows].
    """

    strings: StringTable
    codes: NDArray[np.uint32]
    missing: NDArray[np.bool_]

    def first_row(self, wrong: NDArray[np.bool_]) -> int | None:
        """Return the first row with one of the strings that are `wrong`; None where there is none."""
        found = wrong[self.codes] & ~self.missing
        return int(found.argmax()) if found.any() else None


def read_attribute(table: Table, parsed: Parsed, name: str, kept: NDArray[np.bool_] | None) -> Attribute:
    """Return a column as an attribute, in all rows; those that are not `kept` may hold anything.

    Strings become datetimes if each is one, as ISO 8601 writes them. A word for a missing value, such as
    ``NULL``, is a missing value where all others are datetimes, numbers or booleans; else it is a string.
    A column of text that looks like one of datetimes gets a note: conditions compare text letter by letter.
    """
    column = parsed.as_attribute()
    if column.strings is None:
        return Attribute(column)
    values = _values(column, column.strings, kept)
    moments = parse_moments(values.strings.text, values.strings.offsets)
    if moments is not None:
        return _datetimes(table, column, values, moments, name)
    if len(values.strings) < len(column.strings):
        numbers = _numbers(values.strings)
        if numbers is not None:
            missing = values.missing
            data = np.where(missing, numbers.data.dtype.type(0), numbers.data[values.codes])
            return Attribute(Column(data, missing))
    if _mostly_moments(values.strings):
        row = values.first_row(_no_moments(values.strings))
        if row is not None:
            return Attribute(column, (_note(table, row, values, name, "datetimes as in most rows"),))
    return Attribute(column)


def _values(column: Column, strings: StringTable, kept: NDArray[np.bool_] | None) -> _Values:
    missing = column.missing()
    codes = np.where(missing, np.uint32(0), column.data)
    words = words_among(strings)
    if not words and kept is None:
        return _Values(strings, codes, missing)
    used = np.ones(len(strings), dtype=bool)
    if kept is not None:
        missing = missing | ~kept
        used[:] = False
        used[codes[~missing]] = True
    used[words] = False
    missing = missing | ~used[codes]
    _, rest = strings.used(np.flatnonzero(used).astype(np.uint32))
    place = (np.cumsum(used) - 1).astype(np.uint32)
    return _Values(rest, np.where(missing, np.uint32(0), place[codes]), missing)


def _datetimes(table: Table, column: Column, values: _Values, moments: Moments, name: str) -> Attribute:
    """Return datetimes; the text, with a note, where one is out of range or some alone have a time zone."""
    zoned = bool(moments.zoned[values.codes[int(values.missing.argmin())]])
    for wrong, expected in (
        (~moments.fits, f"datetimes {RANGE}"),
        (moments.zoned != zoned, f"datetimes {'with' if zoned else 'without'} a time zone as before"),
    ):
        row = values.first_row(wrong)
        if row is not None:
            return Attribute(column, (_note(table, row, values, name, expected),))
    kind = Kind.DATETIME_UTC if zoned else Kind.DATETIME
    mask = values.missing if values.missing.any() else None
    return Attribute(Column(moments.nanoseconds[values.codes], mask, None, kind))


def _numbers(strings: StringTable) -> Column | None:
    """Return strings as numbers or booleans, by the rules of the parser of tables; None if one is neither."""
    if not len(strings):
        return None
    layout = _native.Layout(",", quotes=False, comments=False, trims=False)
    spec = (0, "", int(Want.ANYTHING), 0, False, 0, _MAX_INT64)
    parser = _native.TableParser(layout, 1, "", 0, [spec], 1)
    lines = np.insert(strings.text, strings.offsets[1:], ord("\n")).tobytes()
    try:
        for start in range(0, len(lines), 1 << 20):
            parser.feed(lines, start, start + (1 << 20))
        rows, _, columns, _, reread = parser.finish()
    except _native.ParseError:
        return None
    if reread:  # there are no columns
        return None
    ((values, missing, place),) = columns
    if rows != len(strings) or missing is not None or place is not None or isinstance(values, int):
        return None
    return Parsed(values, None, None).as_attribute()


def _mostly_moments(strings: StringTable) -> bool:
    """Tell whether more than half of some of the strings are datetimes."""
    some = [strings[place] for place in range(0, len(strings), max(1, len(strings) // _SAMPLE))]
    return 2 * sum(parse_moment(text) is not None for text in some) > len(some)


def _no_moments(strings: StringTable) -> NDArray[np.bool_]:
    """Return which strings are no datetimes."""
    odd = np.zeros(len(strings), dtype=bool)
    for first in range(0, len(strings), _AT_ONCE):
        end = min(first + _AT_ONCE, len(strings))
        if parse_moments(strings.text, strings.offsets[first : end + 1]) is None:
            odd[first:end] = [parse_moment(strings[place]) is None for place in range(first, end)]
    return odd


def _note(table: Table, row: int, values: _Values, name: str, expected: str) -> str:
    place = f"row {row}" if table.first_line is None else f"line {table.first_line + row}"
    found = values.strings[int(values.codes[row])]
    message = f"column {name!r} was read as text: {place} holds {found!r}, expected {expected}"
    return f"{message}; conditions compare this column as text"
