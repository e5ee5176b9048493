"""The time of planning, without preparations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Measures the time of planning, without preparations that serve other calls too.

    Parameters
    ----------
    most
        Most seconds of preparations that are left out.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._began = time.perf_counter()
        self._left_out = 0.0

    def elapsed(self) -> float:
        """Return the seconds so far."""
        return time.perf_counter() - self._began - min(self._left_out, self._most)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Leave out the time of the ``with`` block."""
        began = time.perf_counter()
        yield
        self._left_out += time.perf_counter() - began
