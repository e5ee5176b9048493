"""The kinds of times that updates have: numbers, and datetimes with a time zone or without one."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import StreamError
from motiflux.times import is_moment, moment_of

Zoned: TypeAlias = bool | NDArray[np.bool_]
"""Whether datetimes have a time zone: all or none of them, or each [k]."""


class TimeKind(IntEnum):
    """The kind of the times of a monitor; their values are stored in checkpoints."""

    NUMBERS = 1
    NAIVE = 2
    ZONED = 3

    def __str__(self) -> str:
        return _WORDS[self]


_WORDS = {
    TimeKind.NUMBERS: "numbers",
    TimeKind.NAIVE: "datetimes without a time zone",
    TimeKind.ZONED: "datetimes with a time zone",
}
_FOUND = {
    TimeKind.NUMBERS: "the number {}",
    TimeKind.NAIVE: "{} without a time zone",
    TimeKind.ZONED: "one with a time zone, {} in UTC",
}


def has_zone(times: Any) -> bool:
    """Return whether datetimes of Python have a time zone; those of NumPy have none."""
    values = np.asarray(times)
    return values.dtype.kind == "O" and any(is_moment(one) and moment_of(one)[1] for one in values[:1])


def settled_kind(times: NDArray[Any], zoned: Zoned, before: TimeKind | None) -> TimeKind | None:
    """Return the kind of times after those before, of which there may be none.

    Raises
    ------
    StreamError
        A time is of another kind.
    """
    if not len(times):
        return before
    kinds = np.full(len(times), TimeKind.NUMBERS)
    if times.dtype.kind == "M":
        kinds = np.where(np.broadcast_to(zoned, times.shape), TimeKind.ZONED, TimeKind.NAIVE)
    expected = TimeKind(int(kinds[0])) if before is None else before
    if (others := np.flatnonzero(kinds != expected)).size:
        row = int(others[0])
        found = _FOUND[TimeKind(int(kinds[row]))].format(times[row])
        raise StreamError(f"updates, times, row {row}: expected {expected} as before, found {found}", row)
    return expected
