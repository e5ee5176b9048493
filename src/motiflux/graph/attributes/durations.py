"""Durations and times of day of NumPy, Python and Arrow as integers, for columns of attributes.

The unit is that of the array, or microseconds for Python's own values, which have no finer one. As it depends
on where the values come from, a note names it.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.times import duration_of

_UNITS = {
    "Y": "years",
    "M": "months",
    "W": "weeks",
    "D": "days",
    "h": "hours",
    "m": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}
"""NumPy's and Arrow's names of units."""

_DURATIONS, _TIMES = "durations", "times of day"


class Integers(NamedTuple):
    """Durations or times of day that a column is made of.

    Parameters
    ----------
    values
        int64 [n]; anything where one is missing.
    missing
        bool [n], or None where no value is missing.
    note
        What was read as which integers.
    """

    values: NDArray[np.int64]
    missing: NDArray[np.bool_] | None
    note: str


def is_duration(value: object) -> bool:
    """Tell whether a value is a duration or a time of day of Python, pandas or NumPy."""
    return isinstance(value, (dt.timedelta, dt.time, np.timedelta64))


def of_numpy(values: NDArray[Any], mask: NDArray[np.bool_] | None, what: str) -> Integers:
    """Return an array of timedelta64 in its own unit.

    Raises
    ------
    GraphError
        It has no unit, a multiple of one, or one finer than nanoseconds.
    """
    unit, count = np.datetime_data(values.dtype)
    if unit not in _UNITS or count != 1:
        raise GraphError(f"{what}: expected durations in a unit such as timedelta64[s], found {values.dtype}")
    missing = np.isnat(values) if mask is None else np.isnat(values) | mask
    numbers = values.astype(values.dtype.newbyteorder("=")).view(np.int64)
    return Integers(numbers, missing, _note(what, _DURATIONS, unit))


def of_objects(values: list[Any], missing: NDArray[np.bool_], what: str) -> Integers:
    """Return durations, or times of day, of Python, pandas and NumPy in microseconds.

    Raises
    ------
    GraphError
        One is no whole number of microseconds, or of more than 64 bits, or of the other kind; names the row.
    """
    numbers = np.zeros(len(values), dtype=np.int64)
    present = np.flatnonzero(~missing).tolist()
    of_day = isinstance(values[present[0]], dt.time)
    kind = _TIMES if of_day else _DURATIONS
    for row in present:
        value = values[row]
        number = None
        if isinstance(value, dt.time) is of_day:
            number = _time_of_day(value) if of_day else _microseconds(value)
        if number is None or abs(number) >= 2**63:
            expected = f"{kind}{' without a time zone' if of_day else ''}, in whole microseconds of 64 bits"
            raise GraphError(f"{what}, row {row}: expected {expected}, found {value!r}")
        numbers[row] = number
    return Integers(numbers, missing, _note(what, kind, "us"))


def of_arrow(pa: Any, array: Any, what: str) -> Integers:
    """Return an array of pyarrow, of durations or times of day, in its own unit."""
    kind = _DURATIONS if pa.types.is_duration(array.type) else _TIMES
    numbers = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).fill_null(0)
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    values = numbers.to_numpy(zero_copy_only=False).astype(np.int64)
    return Integers(values, missing, _note(what, kind, array.type.unit))


def _microseconds(value: dt.timedelta | np.timedelta64) -> int | None:
    nanoseconds = duration_of(value)
    return None if nanoseconds is None or nanoseconds % 1000 else nanoseconds // 1000


def _time_of_day(value: dt.time) -> int | None:
    if value.tzinfo is not None:
        return None
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond


def _note(what: str, kind: str, unit: str) -> str:
    return f"{what}: {kind} were read as integers, in {_UNITS[unit]}"
