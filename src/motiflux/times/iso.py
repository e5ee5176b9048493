"""Datetimes as ISO 8601 writes them, one by one and many at once.

The form is a date, or a date, ``T`` or a blank, and a time of day ``12:30[:15[.123456789]]``, which ``Z`` or
an offset from UTC (``+02:00``, ``+0200``, ``+02``) may follow. Streams of updates are read by the same rules
(`csrc/text/moment.hpp`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.times.values import BILLION, DAY_SECONDS, EPOCH_DAY, LARGEST

_MOMENT = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[Tt ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<zone_hour>\d\d)(?::?(?P<zone_minute>\d\d))?)?)?",
    re.ASCII,
)
_NUMBERS = ("year", "month", "day", "hour", "minute", "second", "zone_hour", "zone_minute")
_SHORTEST, _LONGEST = len("2024-03-01"), len("2024-03-01T12:00:00.123456789+02:00")

_AT_ONCE = 1 << 16
"""Texts that are read at once: each takes some hundred bytes meanwhile."""

_SHAPE = np.arange(256, dtype=np.uint8)
"""The class of each byte in the shape of a text: all digits are ``0``."""
_SHAPE[ord("0") : ord("9") + 1] = ord("0")


class Moments(NamedTuple):
    """Datetimes that were read from text.

    Parameters
    ----------
    nanoseconds
        int64 [n] since 1970; in UTC for datetimes with a time zone.
    zoned
        bool [n], whether the text names a time zone.
    fits
        bool [n], whether 64 bits hold the nanoseconds; if not, the number is meaningless.
    """

    nanoseconds: NDArray[np.int64]
    zoned: NDArray[np.bool_]
    fits: NDArray[np.bool_]


def parse_moment(text: str) -> tuple[int, bool] | None:
    """Return the nanoseconds of one text, of any size, and whether it names a time zone; None for other text.

    Examples
    --------
    >>> parse_moment("1970-01-01 00:00:01.5"), parse_moment("1970-01-01T02:00+02:00"), parse_moment("May")
    ((1500000000, False), (0, True), None)
    """
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return None
    fields = {name: int(parts[name] or 0) for name in _NUMBERS}
    valid, seconds = _seconds(fields, -1 if parts["sign"] == "-" else 1)
    fraction = int((parts["fraction"] or "").ljust(9, "0"))
    return (seconds * BILLION + fraction, parts["zone"] is not None) if valid else None


def parse_moments(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Moments | None:
    """Return the datetimes of strings; None if one of them is no datetime, or there are none.

    Parameters
    ----------
    text
        uint8 [bytes], the strings one after the other.
    offsets
        int64 [n + 1]; string i is ``text[offsets[i]:offsets[i + 1]]``.
    """
    lengths = np.diff(offsets)
    if not len(lengths) or lengths.min() < _SHORTEST or lengths.max() > _LONGEST:
        return None
    count = len(lengths)
    found = Moments(np.zeros(count, np.int64), np.zeros(count, np.bool_), np.zeros(count, np.bool_))
    for first in range(0, len(lengths), _AT_ONCE):
        part = lengths[first : first + _AT_ONCE]
        for length in np.unique(part).tolist():
            rows = first + np.flatnonzero(part == length)
            letters = text[offsets[rows][:, np.newaxis] + np.arange(length)]
            if not _parse_equally_long(letters, rows, found):
                return None
    return found


def _parse_equally_long(letters: NDArray[np.uint8], rows: NDArray[np.intp], found: Moments) -> bool:
    """Put the datetimes of texts [rows, length] into their rows of `found`; False if one is no datetime."""
    shapes = _SHAPE[letters]
    while len(rows):
        same = (shapes == shapes[0]).all(axis=1)
        parts = _MOMENT.fullmatch(shapes[0].tobytes().decode("latin-1"))
        if parts is None or not _parse_alike(letters[same], parts, rows[same], found):
            return False
        rows, letters, shapes = rows[~same], letters[~same], shapes[~same]
    return True


def _parse_alike(
    letters: NDArray[np.uint8], parts: re.Match[str], rows: NDArray[np.intp], found: Moments
) -> bool:
    """Put the datetimes of texts of one shape into their rows of `found`; False if one is no datetime."""

    def number(name: str) -> NDArray[np.int64] | int:
        first, end = parts.span(name)
        return 0 if first < 0 else _number(letters[:, first:end])

    fields = {name: number(name) for name in _NUMBERS}
    valid, seconds = _seconds(fields, -1 if parts["sign"] == "-" else 1)
    if not np.all(valid):
        return False
    fraction = number("fraction") * 10 ** (9 - len(parts["fraction"] or ""))
    low, low_fraction = divmod(-LARGEST, BILLION)
    high, high_fraction = divmod(LARGEST, BILLION)
    found.fits[rows] = (
        ((seconds > low) | ((seconds == low) & (fraction >= low_fraction)))
        & ((seconds < high) | ((seconds == high) & (fraction <= high_fraction)))
    )  # fmt: skip
    found.nanoseconds[rows] = seconds * BILLION + fraction
    found.zoned[rows] = parts["zone"] is not None
    return True


def _number(digits: NDArray[np.uint8]) -> NDArray[np.int64]:
    powers = 10 ** np.arange(digits.shape[1] - 1, -1, -1, dtype=np.int64)
    number: NDArray[np.int64] = (digits.astype(np.int64) - ord("0")) @ powers
    return number


def _seconds(fields: Mapping[str, Any], sign: int) -> tuple[Any, Any]:
    """Return whether the fields are a datetime, and its seconds since 1970: for integers, or for arrays."""
    year, month, day, hour, minute, second, zone_hour, zone_minute = (fields[name] for name in _NUMBERS)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last_day = 30 + (month + month // 8) % 2 - (month == 2) * (2 - 1 * leap)
    valid = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= last_day)
    valid = valid & (hour <= 23) & (minute <= 59) & (second <= 59) & (zone_hour <= 23) & (zone_minute <= 59)
    # Years begin with March, so that leap days are last.
    since_march = year - 1 * (month <= 2)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    leap_days = since_march // 4 - since_march // 100 + since_march // 400
    days = since_march * 365 + leap_days + day_of_year - 719_468
    east = sign * (zone_hour * 3600 + zone_minute * 60)
    return valid, days * DAY_SECONDS + hour * 3600 + minute * 60 + second - east


def format_moment(nanoseconds: int, *, utc: bool) -> str:
    """Return one datetime as text, with the digits that its fraction needs; years from 1 to 9999.

    Examples
    --------
    >>> format_moment(1_500_000_000, utc=True), format_moment(0, utc=False)
    ('1970-01-01T00:00:01.5Z', '1970-01-01T00:00:00')
    """
    seconds, fraction = divmod(nanoseconds, BILLION)
    days, second = divmod(seconds, DAY_SECONDS)
    text = f"{date.fromordinal(days + EPOCH_DAY)}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return text + (f".{fraction:09}".rstrip("0") if fraction else "") + "Z" * utc


def format_moments(nanoseconds: NDArray[np.int64], *, utc: bool) -> NDArray[np.str_]:
    """Return datetimes as text [n]: ``2024-03-01T12:00:00.000000000``, with ``Z`` at the end if in UTC.

    Texts of one form sort as the datetimes do, and pandas and polars read a column of them without being told
    the form.
    """
    texts: NDArray[np.str_] = np.datetime_as_string(nanoseconds.view("datetime64[ns]"))
    return np.char.add(texts, "Z") if utc else texts
