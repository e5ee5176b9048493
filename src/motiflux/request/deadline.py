"""When the time of a call is up. A deadline is a moment of `time.perf_counter`; None is never."""

from __future__ import annotations

import time
from collections.abc import Iterator

_SPIN_SECONDS = 1e-3
"""How long a thread asks again and again whether a kernel is done, before it sleeps in between."""
_SLEEP = (20e-6, 2e-3)
"""Shortest and longest: an answer comes up to that, and what the system adds, later than it is there."""
_SLEEPS = 1000
"""Share of the time waited so far that a sleep is: one over this."""


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
            time.sleep(max(_SLEEP[0], min(_SLEEP[1], waited / _SLEEPS)))
        now = time.perf_counter()
