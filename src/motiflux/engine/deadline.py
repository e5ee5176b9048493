"""When the time of a call is up. A deadline is a moment of `time.perf_counter`; None is never."""

from __future__ import annotations

import time


class OutOfTimeError(Exception):
    """Time was up before the search began. It stays within the engine: callers are given what is known."""


def seconds_left(deadline: float | None) -> float | None:
    """Return the time until a deadline.

    Raises
    ------
    OutOfTimeError
        It has passed.
    """
    if deadline is None:
        return None
    left = deadline - time.perf_counter()
    if left <= 0:
        raise OutOfTimeError
    return left
