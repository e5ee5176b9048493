"""Columns of text that hold datetimes."""

from __future__ import annotations

import numpy as np

from motiflux.errors import FormatError
from motiflux.graph import Column, Kind
from motiflux.io.text.table import Table
from motiflux.times import RANGE, parse_moments


def as_datetimes(table: Table, column: Column, what: str) -> Column:
    """Return a column of strings as datetimes if each is one, as ISO 8601 writes them; else as it is.

    Raises
    ------
    FormatError
        A datetime is out of range, or some have a time zone and others none; names the line if it is known.
    """
    if column.strings is None:
        return column
    found = parse_moments(column.strings.text, column.strings.offsets)
    if found is None:
        return column
    missing = column.missing()
    codes = np.where(missing, 0, column.data)
    present = np.flatnonzero(~missing)
    zoned = bool(len(present) and found.zoned[codes[present[0]]])
    for wrong, expected in (
        (~found.fits, RANGE),
        (found.zoned != zoned, "with a time zone as before" if zoned else "without a time zone as before"),
    ):
        rows = present[wrong[codes[present]]] if wrong.any() else present[:0]
        if len(rows):
            row = int(rows[0])
            text = column.strings[int(codes[row])]
            raise _fault(table, row, f"{what}: expected datetimes {expected}, found {text!r}")
    kind = Kind.DATETIME_UTC if zoned else Kind.DATETIME
    return Column(found.nanoseconds[codes], column.mask, None, kind)


def _fault(table: Table, row: int, message: str) -> FormatError:
    if table.first_line is None:
        return FormatError(table.path, f"row {row}, {message}")
    return FormatError(table.path, message, table.first_line + row)
