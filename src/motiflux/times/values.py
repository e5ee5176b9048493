"""Datetimes of NumPy and of Python as nanoseconds since 1970, and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.packages import require

LARGEST = 2**63 - 1
"""Greatest nanoseconds, of either sign; the integer below the least is NumPy's NaT."""
RANGE = "from 1677-09-21 to 2262-04-11"
"""The datetimes that nanoseconds of 64 bits hold, for errors."""

BILLION, DAY_SECONDS = 10**9, 86_400
EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_NANOSECONDS = {
    "W": 7 * DAY_SECONDS * BILLION,
    "D": DAY_SECONDS * BILLION,
    "h": 3600 * BILLION,
    "m": 60 * BILLION,
    "s": BILLION,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
_MONTHS = {"Y": 12, "M": 1}
_MOST_MONTHS = 300 * 12
"""Months from 1970 that are judged by their days."""
_FINER = {"ps": 10**3, "fs": 10**6, "as": 10**9}
_ONE_MICROSECOND = dt.timedelta(microseconds=1)


class MomentError(Exception):
    """Something that is no datetime, or none that is held: the place, the value found, and the expected.

    Parameters
    ----------
    row
        The place of the value.
    message
        ``expected ..., found ...``
    """

    def __init__(self, row: int, message: str) -> None:
        self.row = row
        self.message = message
        super().__init__(message)


def is_moment(value: object) -> bool:
    """Tell whether a value is a date or a datetime of Python, pandas or NumPy."""
    return isinstance(value, (dt.date, np.datetime64))


def moment_of(value: Any) -> tuple[int, bool]:
    """Return the nanoseconds of a value for which `is_moment` holds, and whether it has a time zone.

    The nanoseconds of Python's datetimes may exceed 64 bits.

    Raises
    ------
    MomentError
        It is NaT, or a datetime of NumPy that is out of range.
    """
    if value != value:
        raise MomentError(0, f"expected a datetime, found {value!r}")
    if isinstance(value, np.datetime64):
        return int(moments_of_array(np.array([value]))[0][0]), False
    nanoseconds = (value.toordinal() - EPOCH_DAY) * DAY_SECONDS * BILLION
    if not isinstance(value, dt.datetime):
        return nanoseconds, False
    nanoseconds += (value.hour * 3600 + value.minute * 60 + value.second) * BILLION
    nanoseconds += value.microsecond * 1000 + getattr(value, "nanosecond", 0)  # of pandas
    offset = value.utcoffset()
    return nanoseconds - (0 if offset is None else offset // _ONE_MICROSECOND * 1000), offset is not None


def moments_of_objects(values: Sequence[Any], missing: NDArray[np.bool_]) -> tuple[NDArray[np.int64], bool]:
    """Return the nanoseconds of values for which `is_moment` holds, and whether they have a time zone.

    Raises
    ------
    MomentError
        One is out of range, or some have a time zone and others none.
    """
    nanoseconds = np.zeros(len(values), dtype=np.int64)
    utc: bool | None = None
    for row in np.flatnonzero(~missing).tolist():
        try:
            found, zoned = moment_of(values[row])
        except MomentError as fault:
            raise MomentError(row, fault.message) from None
        if abs(found) > LARGEST:
            raise MomentError(row, f"expected datetimes {RANGE}, found {values[row]}")
        if utc is not None and zoned is not utc:
            wanted = "with a time zone as before" if utc else "without a time zone as before"
            raise MomentError(row, f"expected datetimes {wanted}, found {values[row]}")
        nanoseconds[row], utc = found, zoned
    return nanoseconds, bool(utc)


def moments_of_array(array: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the nanoseconds of an array of datetime64 of any unit, and where it has NaT.

    Raises
    ------
    MomentError
        One is out of range, or finer than nanoseconds.
    """
    missing = np.isnat(array)
    unit, count = np.datetime_data(array.dtype)
    numbers = array.astype(array.dtype.newbyteorder("=")).view(np.int64)
    integers = np.where(missing, 0, numbers)
    if unit in _MONTHS:
        factor = _MONTHS[unit] * count
        _refuse_far(array, np.abs(integers) <= _MOST_MONTHS // factor)
        days = (integers * factor).astype("datetime64[M]").astype("datetime64[D]").view(np.int64)
        return in_nanoseconds(days, "D"), missing
    if unit in _FINER:
        _refuse_far(array, np.abs(integers) <= LARGEST // count)
        whole, rest = np.divmod(integers * count, _FINER[unit])
        if rest.any():
            row = int(np.flatnonzero(rest)[0])
            raise MomentError(row, f"expected whole nanoseconds, found {array[row]}")
        return whole, missing
    if unit not in _NANOSECONDS:  # a datetime64 without a unit holds NaT alone
        return integers, missing
    return in_nanoseconds(integers, unit, count), missing


def in_nanoseconds(numbers: NDArray[np.int64], unit: str, count: int = 1) -> NDArray[np.int64]:
    """Return times since 1970 in nanoseconds; `count` of `unit` (NumPy's name of it) are one.

    Raises
    ------
    MomentError
        One is out of range.
    """
    factor = _NANOSECONDS[unit] * count
    most = LARGEST // factor
    near = (numbers >= -most) & (numbers <= most)
    _refuse_far(numbers.view(f"datetime64[{count}{unit}]"), near)
    return numbers * factor


def _refuse_far(shown: NDArray[Any], near: NDArray[np.bool_]) -> None:
    if not near.all():
        row = int(np.argmin(near))
        raise MomentError(row, f"expected datetimes {RANGE}, found {_text_of(shown[row])}")


def _text_of(moment: np.datetime64) -> str:
    """Return a datetime as text; the number of its units where NumPy, from 2.5 on, has no text for it."""
    try:
        return str(moment)
    except OverflowError:
        unit, count = np.datetime_data(moment.dtype)
        return f"{moment.astype(np.int64)} times {count} {unit} from 1970 on"


def python_moment(nanoseconds: int, *, utc: bool) -> dt.datetime:
    """Return a datetime of Python; of pandas where it is finer than microseconds.

    Raises
    ------
    MotifluxError
        It is finer, and pandas is not installed.
    """
    if nanoseconds % 1000:
        pandas = require("pandas", "datetimes finer than microseconds")
        moment: dt.datetime = pandas.Timestamp(nanoseconds, unit="ns", tz="UTC" if utc else None)
        return moment
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC if utc else None)
    return epoch + dt.timedelta(microseconds=nanoseconds // 1000)
