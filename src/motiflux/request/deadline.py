"""Deadlines of calls, and waiting for the end of work on a device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.result.rows import OutOfTimeError as OutOfTimeError

_SPIN_SECONDS = 1e-3
"""Seconds for which a thread polls a kernel without sleeping."""
_SLEEP = (20e-6, 2e-3)
"""Shortest and longest sleep in seconds, by which the end of a kernel may be noticed late."""
_LOOK_SECONDS = 0.05
"""Seconds between two reports of progress."""
_SLEEPS = 1000
"""A sleep is the time waited so far divided by this number."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The start and the deadline of a call.

    Parameters
    ----------
    started
        A value of `time.perf_counter`.
    at
        The deadline, another such value; None without a limit.

    Examples
    --------
    >>> Deadline.after(None).left() is None
    True
    >>> Deadline.after(0.0).passed
    True
    """

    started: float
    at: float | None = None

    @classmethod
    def after(cls, timeout: float | None, started: float | None = None) -> Deadline:
        """Return the deadline of a call that may take `timeout` seconds from `started` (None: now)."""
        began = time.perf_counter() if started is None else started
        return cls(began, None if timeout is None else began + timeout)

    @property
    def passed(self) -> bool:
        """Whether time is up."""
        return self.at is not None and time.perf_counter() >= self.at

    def left(self) -> float | None:
        """Return the seconds that are left, at least 0; None without a limit."""
        return None if self.at is None else max(0.0, self.at - time.perf_counter())

    def check(self) -> None:
        """Raise `OutOfTimeError` if time is up."""
        if self.passed:
            raise OutOfTimeError

    def elapsed(self) -> float:
        """Return the seconds since the call began."""
        return time.perf_counter() - self.started

    def within(self, seconds: float) -> Deadline:
        """Return the same call's deadline, but at most `seconds` from now."""
        at = time.perf_counter() + seconds
        return Deadline(self.started, at if self.at is None else min(self.at, at))


def moments() -> Iterator[float]:
    """Yield the current time repeatedly, at first without a pause, then after growing sleeps."""
    start = now = time.perf_counter()
    while True:
        yield now
        waited = now - start
        if waited > _SPIN_SECONDS:
            time.sleep(max(_SLEEP[0], min(_SLEEP[1], waited / _SLEEPS)))
        now = time.perf_counter()


class Work(Protocol):
    """Work that runs on devices."""

    def done(self) -> bool:
        """Whether the work has ended; raises its error if it failed."""

    def stop_and_wait(self) -> None:
        """Stop the work, and wait for its end."""

    def look(self) -> tuple[int, int, int] | None:
        """Return units of work done, units in total, and the number found; None if unknown."""

    def tell_time(self) -> None:
        """Add the kernels' time to the times that are being measured, once they are done."""


def wait_for(
    work: Work, deadline: Deadline, progress: ProgressCallback | None = None, before: int = 0, times: int = 1
) -> bool:
    """Wait for the end of work; stop it and return False if time runs out first.

    Parameters
    ----------
    before, times
        A number that progress reports add to the number found, and a factor by which they multiply the sum.
    """
    next_report = deadline.started + _LOOK_SECONDS
    for now in moments():
        if work.done():
            break
        if deadline.at is not None and now >= deadline.at:
            work.stop_and_wait()
            work.tell_time()
            return False
        if progress is not None and now >= next_report and (seen := work.look()) is not None:
            next_report = now + _LOOK_SECONDS
            done, total, found = seen
            progress(ProgressReport(done, total, (before + found) * times, now - deadline.started))
    work.tell_time()
    return True
