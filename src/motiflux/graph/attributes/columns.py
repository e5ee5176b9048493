"""One attribute of all vertices or of all edges: a value or nothing for each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.graph.attributes import durations
from motiflux.graph.attributes.datetimes import Times, times_of_arrow, times_of_numpy, times_of_objects
from motiflux.graph.labels import check_characters
from motiflux.interop import Coded, arrow
from motiflux.interop.arrays import is_masked
from motiflux.interop.coded_strings import CodedStrings
from motiflux.interop.strings import StringTable
from motiflux.notes import note
from motiflux.packages import require
from motiflux.times import is_moment, python_moment
from motiflux.units import quantity

_EXPECTED = "integers, floats, booleans, strings or datetimes"


class Kind(StrEnum):
    """The kind of the values of a column."""

    BOOLEAN = "booleans"
    INTEGER = "integers"
    FLOAT = "floats"
    STRING = "strings"
    DATETIME = "datetimes"
    DATETIME_UTC = "datetimes in UTC"
    NOTHING = "no values"


_KINDS = {"b": Kind.BOOLEAN, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.FLOAT, "V": Kind.NOTHING}
"""By the kind of an array's type."""


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one attribute, one for each vertex or each row of edges.

    Strings are kept once each and named by codes: that takes at most four bytes a value more than keeping
    them one by one and mostly far less, and a condition is judged once for each distinct string.

    Parameters
    ----------
    data
        The values [n] of type bool, int8 to uint64 or float16 to float64; uint32 codes for strings; int64
        nanoseconds since 1970 for datetimes. Where a value is missing, anything.
    mask
        bool [n], True for missing values; None if none is missing. NaN is always missing.
    strings
        The strings that the codes refer to; None for other types.
    times
        ``DATETIME`` or ``DATETIME_UTC`` for datetimes; None for other types.
    """

    data: NDArray[Any]
    mask: NDArray[np.bool_] | None = None
    strings: StringTable | None = None
    times: Kind | None = None

    @property
    def kind(self) -> Kind:
        """The kind of the values; ``NOTHING`` for a column of missing values without a type."""
        if self.strings is not None:
            return Kind.STRING
        if self.times is not None:
            return self.times
        return _KINDS[self.data.dtype.kind]

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        values, *zone = self.kind.value.split(" ", 1)  # "datetimes in UTC"
        one = values.removesuffix("s")
        counted = "no values" if self.kind is Kind.NOTHING else " ".join([quantity(len(self), one), *zone])
        return f"Column({counted}, {int(np.count_nonzero(self.missing())):,} missing)"

    def missing(self) -> NDArray[np.bool_]:
        """Return where there is no value: bool [n]."""
        if self.kind is Kind.NOTHING:
            return np.ones(len(self), dtype=bool)
        absent = np.isnan(self.data) if self.kind is Kind.FLOAT else None
        if self.mask is None:
            return np.zeros(len(self), dtype=bool) if absent is None else absent
        return self.mask if absent is None else self.mask | absent

    def to_numpy(self) -> NDArray[Any]:
        """Return the values: [n], a masked array where values other than NaN are missing, strings as objects.

        Datetimes are datetime64[ns], in UTC if they have a time zone, and NaT where they are missing.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([(0, 1)], vertex_attributes={"age": [30, None], "name": ["ann", "bob"]})
        >>> g.vertex_attributes["age"].to_numpy().tolist()
        [30, None]
        >>> g.vertex_attributes["name"].to_numpy()
        array(['ann', 'bob'], dtype=object)
        """
        values = self.data
        if self.strings is not None:
            codes, table = self.data, self.strings
            if len(table) > len(codes):  # a few rows of many: only their strings become objects
                codes, table = table.used(codes)
            values = np.array(list(table), dtype=object)[codes]
        elif self.times is not None:
            moments = self.data.astype("datetime64[ns]")
            moments[self.missing()] = np.datetime64("NaT", "ns")
            return moments
        elif self.kind is Kind.NOTHING:
            return np.full(len(self), None, dtype=object)
        return values.copy() if self.mask is None else np.ma.MaskedArray(values, self.mask.copy())

    def to_list(self) -> list[Any]:
        """Return the values as Python objects, None (of floats also NaN) where they are missing.

        Datetimes are ``datetime.datetime``, with the time zone UTC if they have one; datetimes finer than
        microseconds are ``pandas.Timestamp``.

        Examples
        --------
        >>> import motiflux as mf
        >>> g = mf.Graph.from_edges([(0, 1)], edge_attributes={"when": np.array(["2024-03-01"], "M8[D]")})
        >>> g.edge_attributes["when"].to_list()
        [datetime.datetime(2024, 3, 1, 0, 0)]
        """
        if self.times is None:
            values: list[Any] = self.to_numpy().tolist()
            return values
        utc = self.times is Kind.DATETIME_UTC
        return [
            None if absent else python_moment(value, utc=utc)
            for value, absent in zip(self.data.tolist(), self.missing().tolist(), strict=True)
        ]

    def take(self, rows: NDArray[Any]) -> Column:
        """Return the column of some rows (positions, or bool [n]), in a copy."""
        mask = None if self.mask is None else self.mask[rows]
        missing = mask if mask is not None and mask.any() else None
        return Column(self.data[rows], missing, self.strings, self.times)

    def arrays(self) -> list[NDArray[Any]]:
        """Return the arrays that are there."""
        table = () if self.strings is None else (self.strings.text, self.strings.offsets)
        return [array for array in (self.data, self.mask, *table) if array is not None]


def make_column(values: object, what: str) -> Column:
    """Return values as a column.

    Parameters
    ----------
    values
        A NumPy array, masked or not; anything with the Arrow array or stream capsule, which pyarrow takes;
        a sequence, in which None is a missing value; `Coded` values; or a column.
    what
        The name of the column in errors.

    Raises
    ------
    GraphError
        They are no single column, or of a type that attributes cannot have.

    Warns
    -----
    MotifluxWarning
        They are durations or times of day, which become integers; names the unit.
    """
    if isinstance(values, Column):
        return values
    if isinstance(values, Coded):
        return _from_coded(values, what)
    if isinstance(values, np.ndarray):
        return _from_numpy(values, what)
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return _from_arrow(values, what)
    if isinstance(values, (str, bytes)):
        raise GraphError(f"{what}: expected an array of {_EXPECTED}, found {values!r}")
    try:
        array = hasattr(values, "__array__")
        taken: Any = np.asarray(values) if array else list(values)  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:
        raise GraphError(f"{what}: expected an array of {_EXPECTED}, found none: {error}") from None
    return _from_numpy(taken, what) if array else _from_objects(taken, None, what)


def _from_numpy(array: NDArray[Any], what: str) -> Column:
    if array.ndim != 1:
        raise GraphError(f"{what}: expected an array of shape [n], found {list(array.shape)}")
    mask = np.ma.getmaskarray(array) if is_masked(array) else None
    data = np.asarray(np.ma.getdata(array) if is_masked(array) else array)
    kind = data.dtype.kind
    if kind in ("O", "T"):
        return _from_objects(data.tolist(), mask, what)
    if kind == "U":
        check_characters(data, what)
        return _coded(data.tolist(), mask)
    if kind == "M":
        return _moments(times_of_numpy(data, mask, what))
    if kind == "m":
        return _integers(durations.of_numpy(data, mask, what))
    if kind not in "biuf" or data.dtype.itemsize > 8:
        raise GraphError(f"{what}: expected {_EXPECTED}, found {data.dtype}")
    return _plain(data, mask)


def _plain(data: NDArray[Any], mask: NDArray[np.bool_] | None) -> Column:
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if mask is None or not mask.any():
        return Column(data)
    return Column(np.where(mask, data.dtype.type(0), data), mask)


def _moments(times: Times) -> Column:
    kind = Kind.DATETIME_UTC if times.utc else Kind.DATETIME
    return Column(times.nanoseconds, times.missing if times.missing.any() else None, None, kind)


def _integers(found: durations.Integers) -> Column:
    note(found.note)
    return _plain(found.values, found.missing)


def _coded(strings: list[str], mask: NDArray[np.bool_] | None) -> Column:
    missing = mask if mask is not None and mask.any() else None
    if missing is not None:
        strings = ["" if absent else string for string, absent in zip(strings, missing, strict=True)]
    distinct = sorted(set(strings))
    code_of = {string: code for code, string in enumerate(distinct)}
    codes = np.fromiter(map(code_of.__getitem__, strings), dtype=np.uint32, count=len(strings))
    return Column(codes, missing, StringTable.of(distinct))


_FILLERS: dict[type, Any] = {bool: False, int: 0, float: 0.0, str: ""}


def _from_objects(values: list[Any], mask: NDArray[np.bool_] | None, what: str) -> Column:
    """Return the column of Python objects; None, NaT and, beside strings too, NaN are missing."""
    values = [
        value.item() if isinstance(value, np.generic) and not _is_time(value) else value for value in values
    ]
    missing = np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
    if mask is not None:
        missing |= mask
    present = [value for value, absent in zip(values, missing, strict=True) if not absent]
    if not present:
        return Column(np.zeros(len(values), dtype="V1"))
    if all(map(is_moment, present)):
        return _moments(times_of_objects(values, missing, what))
    if all(map(durations.is_duration, present)):
        return _integers(durations.of_objects(values, missing, what))
    kind = _kind_of(present, what)
    filled = [_FILLERS[kind] if absent else value for value, absent in zip(values, missing, strict=True)]
    return _coded(filled, missing) if kind is str else _plain(_numbers(filled, kind, what), missing)


def _is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or NaT."""
    return value is None or bool((isinstance(value, float) or _is_time(value)) and value != value)


def _is_time(value: object) -> bool:
    return is_moment(value) or durations.is_duration(value)


def _kind_of(values: list[Any], what: str) -> type:
    """Return the one type of all values; integers among floats are floats."""
    kinds = set(map(type, values))
    if kinds == {int, float}:
        return float
    first = type(values[0])
    if first in _FILLERS and len(kinds) == 1:
        return first
    odd = next(value for value in values if type(value) is not first or first not in _FILLERS)
    raise GraphError(f"{what}: expected {_EXPECTED}, all of one kind, found {odd!r}")


def _numbers(values: list[Any], kind: type, what: str) -> NDArray[Any]:
    if kind is not int:
        large = next((value for value in values if isinstance(value, int) and abs(value) > 2**53), None)
        if large is not None:
            raise GraphError(f"{what}: expected integers of at most 2**53 among floats, found {large}")
        return np.array(values, dtype=kind)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= min(values) and max(values) <= np.iinfo(dtype).max:
            return np.array(values, dtype=dtype)
    raise GraphError(f"{what}: expected integers of 64 bits, found {max(values, key=abs)}")


def _from_arrow(values: Any, what: str) -> Column:
    pa = require("pyarrow", what)
    try:
        stream = hasattr(values, "__arrow_c_stream__")
        array = pa.chunked_array(values) if stream else pa.chunked_array([pa.array(values)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise GraphError(f"{what}: expected an Arrow array of {_EXPECTED}, found none: {error}") from None
    chunks = array.chunks or [pa.nulls(0, array.type)]
    if arrow.is_string(chunks[0]):
        strings = CodedStrings()
        for chunk in chunks:
            strings.add(chunk)
        return _from_coded(strings.finish(), what)
    return _from_arrow_array(pa, pa.concat_arrays([arrow.numbers(chunk, what) for chunk in chunks]), what)


def _from_arrow_array(pa: Any, array: Any, what: str) -> Column:
    types = pa.types
    if types.is_timestamp(array.type) or types.is_date(array.type):
        return _moments(times_of_arrow(pa, array, what))
    if types.is_time(array.type) or types.is_duration(array.type):
        return _integers(durations.of_arrow(pa, array, what))
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if types.is_null(array.type):
        return Column(np.zeros(len(array), dtype="V1"))
    if types.is_boolean(array.type) or types.is_integer(array.type) or types.is_floating(array.type):
        filled = array.fill_null(False if types.is_boolean(array.type) else 0)
        return _plain(filled.to_numpy(zero_copy_only=False), mask)
    raise GraphError(f"{what}: expected {_EXPECTED}, found {array.type}")


def _from_coded(coded: Coded, what: str) -> Column:
    missing = coded.missing if coded.missing is not None and coded.missing.any() else None
    if missing is not None and not len(coded.values):
        return Column(np.zeros(len(coded), dtype="V1"))
    codes = coded.codes if missing is None else np.where(missing, np.uint32(0), coded.codes)
    if isinstance(coded.values, StringTable):
        return Column(codes, missing, coded.values)
    if coded.values.dtype.kind in "OUT":
        strings = coded.values.tolist()
        odd = next((value for value in strings if not isinstance(value, str)), None)
        if odd is not None:
            raise GraphError(f"{what}: expected {_EXPECTED}, all of one kind, found {odd!r}")
        return _recoded(codes, strings, missing)
    return _plain(coded.values[codes], missing)


def _recoded(codes: NDArray[Any], strings: list[str], mask: NDArray[np.bool_] | None) -> Column:
    """Return the column of strings coded in any order."""
    order = sorted(range(len(strings)), key=strings.__getitem__)
    new_code = np.empty(len(strings), dtype=np.uint32)
    new_code[order] = np.arange(len(strings), dtype=np.uint32)
    return Column(new_code[codes], mask, StringTable.of(strings[position] for position in order))
