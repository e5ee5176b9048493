"""Attributes of the vertices and edges of a sharded graph: read from tables, sent to shards, and kept there.

Each file of columns has the strings that it uses, so no process has those of all vertices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.graph import AttributeTable, Column, Kind
from motiflux.interop.strings import StringTable
from motiflux.io.binary.columns import column_arrays, column_of
from motiflux.io.binary.sections import SectionFile

Types = Mapping[str, tuple[str, str]]
"""By name: the kind of the values of a column, and the type of its array."""

_TIMES = (Kind.DATETIME, Kind.DATETIME_UTC)
VERTEX, EDGE = "vertex", "edge"
"""Whose attributes."""


def types_of(table: Mapping[str, Column]) -> Types:
    """Return the types of columns."""
    return {name: (column.kind.value, column.data.dtype.str) for name, column in table.items()}


def common_types(files: Iterable[tuple[str, Types]], of: str = VERTEX) -> Types:
    """Return the types of the columns of several files, by their paths.

    Integers beside floats are floats, and a column without values is of any type.

    Raises
    ------
    GraphError
        Two columns of one name have values that are not of one kind.
    """
    found: dict[str, tuple[str, str, str]] = {}
    for path, types in files:
        for name, (kind, dtype) in types.items():
            before = found.get(name)
            if before is None or before[0] == Kind.NOTHING:
                found[name] = kind, dtype, path
            elif kind != Kind.NOTHING:
                found[name] = _common(f"{of} attribute {name!r}", before, (kind, dtype, path))
    return {name: (kind, dtype) for name, (kind, dtype, _) in found.items()}


def _common(what: str, one: tuple[str, str, str], other: tuple[str, str, str]) -> tuple[str, str, str]:
    numbers = (Kind.INTEGER, Kind.FLOAT)
    dtype = np.result_type(np.dtype(one[1]), np.dtype(other[1])) if one[0] in numbers else np.dtype(one[1])
    fits = one[0] == other[0] or (one[0] in numbers and other[0] in numbers)
    if not fits or (one[0] == other[0] == Kind.INTEGER and dtype.kind == "f"):
        raise GraphError(
            f"{what}: expected values of one kind, found {one[0]} ({one[1]}) in {one[2]} "
            f"and {other[0]} ({other[1]}) in {other[2]}"
        )
    kind = Kind.FLOAT if Kind.FLOAT in (one[0], other[0]) else one[0]
    return kind, dtype.str, one[2]


def bytes_of_vertex(types: Types) -> int:
    """Return the bytes of the values of a vertex, and of what tells that they are missing: strings apart."""
    return sum(np.dtype(dtype).itemsize + 1 for _, dtype in types.values())


def sections_of(
    table: Mapping[str, Column], of: str = VERTEX
) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """Return columns as facts and arrays of a file; strings that no value uses are left out."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in table.items():
        used = column
        if column.strings is not None:
            codes, strings = column.strings.used(column.data)
            used = Column(codes, column.mask, strings)
        arrays.update(column_arrays(f"{of}.{name}", used))
    return {f"{of}_attributes": {name: column.kind for name, column in table.items()}}, arrays


def read_columns(file: SectionFile, size: int, of: str = VERTEX) -> dict[str, Column]:
    """Return the columns of a file, mapped; none where it has no attributes.

    Raises
    ------
    FormatError
        The file has others.
    """
    kinds: Any = file.facts.get(f"{of}_attributes", {})
    return {name: column_of(file, f"{of}.{name}", kind, size) for name, kind in kinds.items()}


def joined(tables: Sequence[tuple[int, Mapping[str, Column]]], types: Types) -> dict[str, Column]:
    """Return the columns of some types, each of the values of all tables, one after another.

    Parameters
    ----------
    tables
        The number of rows of each, and its columns. Values of a column that it does not have are missing.
    """
    found = {}
    for name, (kind, dtype) in types.items():
        columns = [(size, table.get(name)) for size, table in tables]
        found[name] = _joined(columns, Kind(kind), np.dtype(dtype))
    return found


def _joined(columns: Sequence[tuple[int, Column | None]], kind: Kind, dtype: np.dtype[Any]) -> Column:
    size = sum(number for number, _ in columns)
    if kind is Kind.NOTHING:
        return Column(np.zeros(size, "V1"))
    strings = None
    codes: dict[int, NDArray[np.uint32]] = {}
    if kind is Kind.STRING:
        strings, codes = _merged({at: one for at, (_, one) in enumerate(columns) if one is not None})
    data, mask = np.zeros(size, dtype), np.zeros(size, np.bool_)
    begin = 0
    for at, (number, column) in enumerate(columns):
        end = begin + number
        if column is None or column.kind is Kind.NOTHING:
            mask[begin:end] = True
        else:
            data[begin:end] = codes.get(at, column.data)
            if column.mask is not None:
                mask[begin:end] = column.mask
        begin = end
    if strings is not None and not len(strings):
        strings = StringTable.of([""])  # that missing values have
    return Column(data, mask if mask.any() else None, strings, kind if kind in _TIMES else None)


def _merged(columns: Mapping[int, Column]) -> tuple[StringTable, dict[int, NDArray[np.uint32]]]:
    """Return the strings of columns, and the codes of each column among them."""
    of_strings = {at: one for at, one in columns.items() if one.strings is not None}
    tables = {at: list(one.strings or ()) for at, one in of_strings.items()}
    distinct = sorted({text for table in tables.values() for text in table})
    code_of = {text: code for code, text in enumerate(distinct)}
    codes = {}
    for at, table in tables.items():
        new = np.array([code_of[text] for text in table] or [0], np.uint32)
        codes[at] = new[of_strings[at].data]
    return StringTable.of(distinct), codes


def placed(columns: Mapping[str, Column], places: NDArray[np.int64], size: int) -> dict[str, Column]:
    """Return columns of some size that have the values at these places; others are missing."""
    at = np.full(size, -1, np.int64)
    at[places] = np.arange(len(places))
    empty = at < 0
    found = {}
    for name, column in columns.items():
        if column.kind is Kind.NOTHING:
            found[name] = Column(np.zeros(size, "V1"))
            continue
        data = np.zeros(size, column.data.dtype)
        data[places] = column.data
        mask = empty.copy()
        if column.mask is not None:
            mask[places] = column.mask
        found[name] = Column(data, mask if mask.any() else None, column.strings, column.times)
    return found


def schema(types: Types, of: str = VERTEX) -> AttributeTable:
    """Return a table of attributes without values, for checking conditions."""
    return AttributeTable(of, joined([(0, {})], types))
