"""Durations as nanoseconds: text such as ``90s`` or ``1h30m``, and durations of Python and NumPy."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np

DURATION_UNITS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
    "w": 7 * 86_400 * 10**9,
}
"""Nanoseconds of each unit."""

_SHOWN_UNITS = ("d", "h", "m", "s", "ms", "us", "ns")
_NUMPY_UNITS = {
    **{name.upper() if name in "dw" else name: (length, 1) for name, length in DURATION_UNITS.items()},
    "ps": (1, 10**3),
    "fs": (1, 10**6),
    "as": (1, 10**9),
}
"""Nanoseconds of NumPy's units, as fractions."""

_MOST_CHARACTERS = 100
_PART = re.compile(r"\s*([0-9]+)(?:\.([0-9]+))?\s*([a-z]+)\s*")


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration: numbers with units, each unit at most once, large ones first.

    None for other text, and for a duration that is no whole number of nanoseconds.

    Examples
    --------
    >>> parse_duration("1h30m"), parse_duration("1.5h"), parse_duration("250 ms")
    (5400000000000, 5400000000000, 250000000)
    >>> parse_duration("30m1h"), parse_duration("5"), parse_duration("0.5ns")
    (None, None, None)
    """
    total, place, smallest = 0, 0, None
    while place < len(text) <= _MOST_CHARACTERS:
        part = _PART.match(text, place)
        unit = None if part is None else DURATION_UNITS.get(part[3])
        if part is None or unit is None or (smallest is not None and unit >= smallest):
            return None
        fraction = part[2] or ""
        amount, rest = divmod(int(part[1] + fraction) * unit, 10 ** len(fraction))
        if rest:
            return None
        total, place, smallest = total + amount, part.end(), unit
    return total if smallest is not None else None


def format_duration(nanoseconds: int) -> str:
    """Return a duration that is not negative as text that `parse_duration` takes, with the largest units.

    Examples
    --------
    >>> format_duration(5400 * 10**9), format_duration(3 * 86_400 * 10**9), format_duration(0)
    ('1h30m', '3d', '0s')
    """
    parts = []
    for unit in _SHOWN_UNITS:
        amount, nanoseconds = divmod(nanoseconds, DURATION_UNITS[unit])
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts) or "0s"


def duration_of(value: dt.timedelta | np.timedelta64) -> int | None:
    """Return the nanoseconds, of any size, of a duration of Python, pandas or NumPy.

    None for NaT, for months and years, which have no fixed length, for a number without a unit, and for a
    duration that is no whole number of nanoseconds.

    Examples
    --------
    >>> duration_of(dt.timedelta(minutes=90)), duration_of(np.timedelta64(2, "h"))
    (5400000000000, 7200000000000)
    """
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1) * 1000 + getattr(value, "nanoseconds", 0)  # of pandas
    unit, count = np.datetime_data(value.dtype)
    factor = _NUMPY_UNITS.get(unit)
    if np.isnat(value) or factor is None:
        return None
    nanoseconds, rest = divmod(int(value.view(np.int64)) * count * factor[0], factor[1])
    return None if rest else nanoseconds
