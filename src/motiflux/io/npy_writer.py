"""Matches as a NumPy array file (``.npy``), streamed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motiflux.errors import OutputError
from motiflux.io.atomic import AtomicFile

if TYPE_CHECKING:
    from motiflux.types import IdArray

_HEADER_BYTES = 128  # room for a shape of any 64-bit numbers; the format wants a multiple of 64


def write(batches: Iterable[IdArray], columns: list[str], path: Path) -> int:
    """Write an int64 array [rows, columns]; the number of rows goes into the header at the end.

    Raises
    ------
    OutputError
        If ids are strings, which have no fixed width, or the file cannot be written.
    """
    rows = 0
    with AtomicFile(path) as file:
        file.write(_header(0, len(columns)))
        for batch in batches:
            if batch.dtype.kind not in "iu":
                raise OutputError(f"{path}: .npy holds integer ids, found strings: write a .csv file instead")
            file.write(np.ascontiguousarray(batch, dtype="<i8").tobytes())
            rows += len(batch)
        file.write_at(0, _header(rows, len(columns)))
    return rows


def _header(rows: int, columns: int) -> bytes:
    start = b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little")
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    return start + text.ljust(_HEADER_BYTES - len(start) - 1).encode("ascii") + b"\n"
