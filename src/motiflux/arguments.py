"""Checks of single arguments that several calls share."""

from __future__ import annotations

import math

import numpy as np

from motiflux.errors import ArgumentError


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
