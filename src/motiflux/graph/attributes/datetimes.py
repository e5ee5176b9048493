"""Datetimes of NumPy, Python and Arrow as nanoseconds since 1970, for columns of attributes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.times import MomentError, in_nanoseconds, moments_of_array, moments_of_objects


class Times(NamedTuple):
    """Datetimes that a column is made of.

    Parameters
    ----------
    nanoseconds
        int64 [n] since 1970; anything where one is missing.
    missing
        bool [n].
    utc
        Whether they have a time zone; if so, the nanoseconds are in UTC.
    """

    nanoseconds: NDArray[np.int64]
    missing: NDArray[np.bool_]
    utc: bool


def times_of_numpy(values: NDArray[Any], mask: NDArray[np.bool_] | None, what: str) -> Times:
    """Return an array of datetime64 of any unit.

    Raises
    ------
    GraphError
        One is out of range, or finer than nanoseconds; names the row of `what`.
    """
    if mask is not None:
        values = np.where(mask, np.datetime64("NaT", "ns").astype(values.dtype), values)
    with _naming(what):
        return Times(*moments_of_array(values), utc=False)


def times_of_objects(values: list[Any], missing: NDArray[np.bool_], what: str) -> Times:
    """Return dates and datetimes of Python, pandas and NumPy; raises as `times_of_numpy`.

    Some with a time zone beside others without one are an error too.
    """
    with _naming(what):
        nanoseconds, utc = moments_of_objects(values, missing)
    return Times(nanoseconds, missing, utc)


def times_of_arrow(pa: Any, array: Any, what: str) -> Times:
    """Return an array of pyarrow, of timestamps or dates; raises as `times_of_numpy`."""
    of_dates = pa.types.is_date(array.type)
    short = array.type.bit_width == 32
    unit = ("D" if short else "ms") if of_dates else array.type.unit
    missing = array.is_null().to_numpy(zero_copy_only=False)
    numbers = array.view(pa.int32() if short else pa.int64()).fill_null(0)
    with _naming(what):
        nanoseconds = in_nanoseconds(numbers.to_numpy(zero_copy_only=False).astype(np.int64), unit)
    return Times(nanoseconds, missing, not of_dates and array.type.tz is not None)


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Raise a `MomentError` of the block as an error of the column `what`."""
    try:
        yield
    except MomentError as fault:
        raise GraphError(f"{what}, row {fault.row}: {fault.message}") from None
