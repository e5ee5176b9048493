"""Matches as a NumPy array file (``.npy``), streamed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from motiflux.atomic import AtomicFile
from motiflux.errors import OutputError
from motiflux.graph import Column, Kind
from motiflux.io.tables.match_tables import Field, MatchTables

_HEADER_BYTES = 128  # room for a shape of any 64-bit numbers; the format wants a multiple of 64

_PLAIN_NAME = re.compile(r"[ve]\d+")


def write(matches: MatchTables, path: Path) -> int:
    """Write an int64 array [rows, columns]; the number of rows is written into the header last.

    Raises
    ------
    OutputError
        If a column holds anything but integers or has a name of the pattern, or the file cannot be written.
    """
    for field in matches.fields:
        _check(path, field)
    if not all(_PLAIN_NAME.fullmatch(field.name.partition(".")[0]) for field in matches.fields):
        raise no_names(path)
    rows = 0
    with AtomicFile(path) as file:
        file.write(_header(0, len(matches.fields)))
        for columns in matches.tables():
            if any(column.mask is not None for column in columns):
                raise OutputError(f"{path}: .npy holds no missing values: write a .csv file instead")
            values = [column.data for column in columns if isinstance(column, Column)]
            stacked = np.stack(values, axis=1).astype("<i8", copy=False)
            file.write(stacked.data.cast("B") if stacked.size else b"")
            rows += len(stacked)
        file.write_at(0, _header(rows, len(matches.fields)))
    return rows


def no_names(path: Path) -> OutputError:
    """Return the error of columns that are named after the pattern."""
    return OutputError(
        f"{path}: found names=True, expected a .parquet, .arrow or .csv file with it: "
        ".npy holds no column names"
    )


def _check(path: Path, field: Field) -> None:
    if field.of_lists:
        raise OutputError(f"{path}: .npy holds no lists, found {field.name}: write a .parquet file instead")
    if field.strings is not None and field.name.partition(".")[1] == "":
        raise OutputError(f"{path}: .npy holds integer ids, found strings: write a .csv file instead")
    if field.kind is not Kind.INTEGER or field.dtype == np.uint64:
        found = "64-bit integers without a sign" if field.kind is Kind.INTEGER else field.kind.value
        raise OutputError(
            f"{path}: .npy holds integers, found {found} in {field.name}: write a .csv file instead"
        )


def _header(rows: int, columns: int) -> bytes:
    start = b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little")
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    return start + text.ljust(_HEADER_BYTES - len(start) - 1).encode("ascii") + b"\n"
