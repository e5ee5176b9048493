"""Tables of matches in Arrow's terms, for libraries and files that take them (the package pyarrow)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import MotifluxError
from motiflux.graph import Column, Kind
from motiflux.interop.strings import StringTable
from motiflux.io.tables.lists import ListColumn
from motiflux.io.tables.match_tables import AnyColumn, Field, MatchTables
from motiflux.packages import require

_NULLABLE = {
    "bool": "BooleanDtype",
    **{f"{sign.lower()}int{bits}": f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)},
}
"""The types of pandas that may lack values, by the name of Arrow's."""


class ArrowTables:
    """Batches of a table as record batches of pyarrow.

    Parameters
    ----------
    matches
        The matches to convert.
    what
        The name of the call, for the error if pyarrow is missing.

    Raises
    ------
    MotifluxError
        pyarrow is not installed, or a string has no form in UTF-8.
    """

    def __init__(self, matches: MatchTables, what: str) -> None:
        self._pa = pa = require("pyarrow", what)
        self._matches = matches
        self._makers = [self._maker(field) for field in matches.fields]
        fields = [pa.field(field.name, maker(_no_rows(field)).type) for field, maker in self._pairs()]
        self.schema = pa.schema(fields, metadata=dict(matches.metadata))

    def _pairs(self) -> Iterator[tuple[Field, Callable[[Any], Any]]]:
        return zip(self._matches.fields, self._makers, strict=True)

    def batches(self, batch_rows: int | None = None) -> Iterator[Any]:
        """Yield record batches, each of `batch_rows` rows if that is given, but for the last."""
        for columns in self._matches.tables(batch_rows):
            arrays = [maker(column) for maker, column in zip(self._makers, columns, strict=True)]
            yield self._pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _maker(self, field: Field) -> Callable[[Any], Any]:
        """Return a function that makes an Arrow array of a column."""
        pa = self._pa
        if field.of_lists:
            values = self._maker(replace(field, of_lists=False))
            return lambda column: pa.LargeListArray.from_arrays(_offsets(pa, column), values(column.values))
        if field.kind is Kind.NOTHING:
            return lambda column: pa.nulls(len(column))
        if field.times is not None:
            timestamps = timestamp_type(pa, field.times)
            return lambda column: pa.array(column.data, mask=_mask(column)).view(timestamps)
        if field.kind is not Kind.STRING:
            return lambda column: pa.array(column.data, mask=_mask(column))
        return lambda column: string_array(pa, column, field.name)


def _no_rows(field: Field) -> AnyColumn:
    column = field.no_rows()
    return ListColumn(column, np.zeros(1, np.int64)) if field.of_lists else column


def _offsets(pa: Any, column: ListColumn) -> Any:
    """Return where lists begin: nothing where there is none."""
    missing = None if column.mask is None else np.append(column.mask, False)
    return pa.array(column.offsets, mask=missing)


def timestamp_type(pa: Any, times: Kind) -> Any:
    """Return the type of datetimes of a kind."""
    return pa.timestamp("ns", "UTC" if times is Kind.DATETIME_UTC else None)


def string_array(pa: Any, column: Column, what: str) -> Any:
    """Return a column of strings as an Arrow array of strings: not as a dictionary.

    A dictionary would bring strings along that no row has, and the type of a column would depend on the
    source of its strings.

    Raises
    ------
    MotifluxError
        One has no form in UTF-8 (a lone surrogate).
    """
    table = column.strings
    assert table is not None
    buffers = [None, pa.py_buffer(table.offsets), pa.py_buffer(table.text)]
    strings = pa.Array.from_buffers(pa.large_string(), len(table), buffers)
    taken = strings.take(pa.array(column.data, mask=_mask(column)))
    try:
        taken.validate(full=True)
    except pa.ArrowInvalid:
        _, used = table.used(column.data[~column.missing()])
        bad = first_surrogate(used)
        assert bad is not None
        raise MotifluxError(
            f"{what}: {used[bad]!r} has no form in UTF-8, which Arrow's strings need"
        ) from None
    return taken


def first_surrogate(strings: StringTable) -> int | None:
    """Return the first string with a surrogate (three bytes that no UTF-8 has), None if there is none."""
    text = strings.text
    places = np.flatnonzero((text[:-1] == 0xED) & (text[1:] >= 0xA0)) if len(text) > 1 else text[:0]
    if not len(places):
        return None
    return int(np.searchsorted(strings.offsets, places[0], side="right")) - 1


def arrow_reader(matches: MatchTables) -> Any:
    """Return a ``pyarrow.RecordBatchReader`` over the rows, which are made on demand."""
    tables = ArrowTables(matches, "Arrow")
    return tables._pa.RecordBatchReader.from_batches(tables.schema, tables.batches())


def arrow_table(matches: MatchTables) -> Any:
    """Return all rows as a ``pyarrow.Table``."""
    tables = ArrowTables(matches, "to_arrow")
    return tables._pa.Table.from_batches(tables.batches(), schema=tables.schema)


def pandas_frame(matches: MatchTables) -> Any:
    """Return all rows as a ``pandas.DataFrame``."""
    pandas = require("pandas", "to_pandas")
    table = arrow_table(matches)
    frame = table.to_pandas()
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = _NULLABLE.get(str(column.type))
        if column.null_count and kind is not None:  # pandas would make floats or objects of these
            dtype = getattr(pandas, kind)()
            whole = table.select([name]).to_pandas(types_mapper={column.type: dtype}.get)
            frame[name] = whole[name]
    return frame


def polars_frame(matches: MatchTables) -> Any:
    """Return all rows as a ``polars.DataFrame``."""
    polars = require("polars", "to_polars")
    return polars.from_arrow(arrow_table(matches))


def _mask(column: Column) -> NDArray[np.bool_] | None:
    """Return where values are missing: NaN too."""
    if column.mask is None and column.data.dtype.kind != "f":
        return None
    missing = column.missing()
    return missing if missing.any() else None
