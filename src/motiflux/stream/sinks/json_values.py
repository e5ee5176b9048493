"""Values of attributes as JSON has them."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from motiflux.errors import OutputError
from motiflux.times import LARGEST, format_moments, is_moment, moment_of

_SECOND = dt.timedelta(seconds=1)


def json_value(value: Any, name: str) -> Any:
    """Return a value that JSON has; `name` is the attribute's in errors.

    A missing value and NaN are None, infinities text. Datetimes are text in UTC as `format_moments` writes
    them, dates and times of day as ISO 8601 writes them, durations are seconds, bytes are text in base64;
    exact decimals are text.

    Raises
    ------
    OutputError
        It has another type.
    """
    if isinstance(value, np.timedelta64):
        value = float(value / np.timedelta64(1, "s"))
    elif isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {_key(key, name): json_value(one, name) for key, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [json_value(one, name) for one in value]
    return _text_or_seconds(value, name)


def _key(key: Any, name: str) -> str:
    return key if isinstance(key, str) else str(json_value(key, name))


def _text_or_seconds(value: Any, name: str) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.timedelta):
        return value / _SECOND
    if is_moment(value) and value == value:
        return _moment(value)
    if isinstance(value, (dt.time, dt.date)):
        return value.isoformat() if value == value else None
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if value != value:  # NaT
        return None
    raise OutputError(f"attribute {name!r}: expected a value that JSON has, found a {type(value).__name__}")


def _moment(value: Any) -> str:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.isoformat()
    nanoseconds, _ = moment_of(value)
    if abs(nanoseconds) > LARGEST:
        return str(value.isoformat())
    return str(format_moments(np.array([nanoseconds]), utc=True)[0])
