"""When the time of a call is up. A deadline is a moment of `time.perf_counter`; None is never."""

from __future__ import annotations

import time
from collections.abc import Iterator

_SPIN_SECONDS = 300e-6
"""How long a thread asks again and again whether a kernel is done, before it sleeps in between."""
_LONGEST_SLEEP = 2e-3


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


def moments() -> Iterator[float]:
    """Give the time again and again: at once at first, then after longer and longer sleeps."""
    start = now = time.perf_counter()
    while True:
        yield now
        waited = now - start
        if waited > _SPIN_SECONDS:
            time.sleep(min(_LONGEST_SLEEP, waited / 10))
        now = time.perf_counter()
