"""The time of arrival, which goes on where the system's clock jumps."""

from __future__ import annotations

import time


class Clock:
    """Nanoseconds since 1970 by the system's clock at the start, and from then on without its jumps.

    Parameters
    ----------
    last
        The last time of arrival: no later one is before it.
    """

    def __init__(self, last: int = 0) -> None:
        self._base = max(time.time_ns(), last) - time.monotonic_ns()

    def now(self) -> int:
        """Return the time."""
        return self._base + time.monotonic_ns()

    @property
    def behind(self) -> float:
        """Seconds that the system's clock is ahead of this one."""
        return (time.time_ns() - self.now()) / 1e9
