"""Checks of single arguments that several calls share."""

from __future__ import annotations

import math
import os
import re
from enum import StrEnum
from typing import TypeVar

import numpy as np

from motiflux.errors import ArgumentError

MAX_THREADS = 1024

Word = TypeVar("Word", bound=StrEnum)


def check_word(argument: str, value: str, words: type[Word]) -> Word:
    """Return `value`, one of `words` or its text, as one of them.

    Raises
    ------
    ArgumentError
        It is none of them.
    """
    try:
        return words(value)
    except ValueError:
        raise ArgumentError(argument, "one of " + ", ".join(words), value) from None


def check_integer(
    argument: str, value: object, least: int, most: int | None = None, *, or_none: bool = False
) -> int:
    """Return `value` as an int; NumPy integers will do, booleans will not.

    With `or_none` the caller has let None pass already, and the error says that it may be.

    Raises
    ------
    ArgumentError
        It is no integer, or not from `least` to `most`.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if number >= least and (most is None or number <= most):
            return number
    span = f"an integer from {least} to {most}" if most is not None else f"an integer of at least {least}"
    raise ArgumentError(argument, span + (", or None" if or_none else ""), value)


def check_seconds(argument: str, value: object) -> float | None:
    """Return a duration as a float, None for one without end.

    Raises
    ------
    ArgumentError
        It is no number, or negative, or NaN.
    """
    seconds = math.nan
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:  # an int beyond all floats
            seconds = math.inf if value > 0 else -math.inf
    if not seconds >= 0:
        raise ArgumentError(argument, "seconds of at least 0, or None", value)
    return None if math.isinf(seconds) else seconds


_UNITS = {"": 1, "B": 1, **{f"{k}B": 1000 ** (n + 1) for n, k in enumerate("KMGT")}}
_UNITS |= {f"{k}IB": 1024 ** (n + 1) for n, k in enumerate("KMGT")}
_BYTES = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*")


def check_bytes(argument: str, value: object) -> int:
    """Return an amount of memory in bytes: an integer, or text such as ``"8GiB"``, ``"500 MB"``.

    Raises
    ------
    ArgumentError
        It is neither, or not positive.
    """
    if isinstance(value, str) and (match := _BYTES.fullmatch(value)):
        unit = _UNITS.get(match[2].upper())
        number = int(float(match[1]) * unit) if unit is not None else 0
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
    else:
        number = 0
    if number <= 0:
        raise ArgumentError(argument, "a number of bytes, or text such as '8GiB'", value)
    return number


def resolve_threads(threads: int | None) -> int:
    """Return `threads`, or as many as this process may run on.

    Raises
    ------
    ArgumentError
        `threads` is not an integer from 1 to 1024.
    """
    if threads is None:
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(usable, MAX_THREADS)
    return check_integer("threads", threads, 1, MAX_THREADS)
