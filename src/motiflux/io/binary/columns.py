"""Columns of attributes as sections of a file: ``NAME.data``, and ``.mask``, ``.text`` and ``.offsets``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Column, Kind
from motiflux.interop.strings import StringTable
from motiflux.io.binary.sections import SectionFile

_INTEGERS = "|i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8"
_TYPES = {
    Kind.BOOLEAN: "|b1",
    Kind.INTEGER: _INTEGERS,
    Kind.FLOAT: "<f2 <f4 <f8",
    Kind.STRING: "<u4",
    Kind.DATETIME: "<i8",
    Kind.DATETIME_UTC: "<i8",
}


def column_arrays(name: str, column: Column) -> dict[str, NDArray[Any]]:
    """Return the sections of a column; none for one without values."""
    if column.kind is Kind.NOTHING:
        return {}
    arrays = {f"{name}.data": column.data}
    if column.mask is not None:
        arrays[f"{name}.mask"] = column.mask
    if column.strings is not None:
        arrays |= {f"{name}.text": column.strings.text, f"{name}.offsets": column.strings.offsets}
    return arrays


def column_of(file: SectionFile, name: str, kind: object, length: int) -> Column:
    """Return the column of a kind and length that `column_arrays` made, mapped.

    Raises
    ------
    FormatError
        There is none.
    """
    if kind not in list(Kind):
        raise file.fault(f"facts: attribute {name}: found {kind!r}, expected {', '.join(Kind)}")
    if kind == Kind.NOTHING:
        return Column(np.broadcast_to(np.zeros(1, dtype="V1"), (length,)))
    strings = strings_of(file, name) if kind == Kind.STRING else None
    data = file.array(f"{name}.data", _TYPES[Kind(str(kind))], (length,))
    times = Kind(str(kind)) if kind in (Kind.DATETIME, Kind.DATETIME_UTC) else None
    mask = file.array(f"{name}.mask", "|b1", (length,)) if f"{name}.mask" in file.sections else None
    return Column(data, mask, strings, times)


def strings_of(file: SectionFile, name: str, *, sound: bool = False) -> StringTable:
    """Return a table of strings; with `sound`, after its checksums were compared.

    Raises
    ------
    FormatError
        There is none, or a damaged one.
    """
    array = file.sound_array if sound else file.array
    text, offsets = array(f"{name}.text", "|u1", 1), array(f"{name}.offsets", "<i8", 1)
    if not len(offsets):
        raise file.fault(f"section {name}.offsets: found nothing, expected one place at least")
    return StringTable(text, offsets)
