"""Times of counts by the clock of a device, for measurements."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from motiflux.device import Mark, Stream


@dataclass
class DeviceTimes:
    """Seconds of work in a `taking_times` context.

    Parameters
    ----------
    spaces
        Time of kernels that made candidate spaces; 0 if the spaces existed.
    tables
        Time of kernels of tables of local counts.
    searches
        Time of search kernels.
    host
        Wall-clock time of counts on the host in place of a device.
    marks
        Marks around each kernel of tables, by name; None: they are not set.
    """

    spaces: float = 0.0
    tables: float = 0.0
    searches: float = 0.0
    host: float = 0.0
    marks: list[tuple[str, Mark, Mark]] | None = None

    @property
    def total(self) -> float:
        """Sum of all parts, which do not overlap."""
        return self.spaces + self.tables + self.searches + self.host

    def add(self, part: str, seconds: float) -> None:
        """Add seconds to a part, given by name."""
        setattr(self, part, getattr(self, part) + seconds)

    def kernels(self) -> dict[str, float]:
        """Return the time of each kernel of tables, once all have ended."""
        seconds: dict[str, float] = {}
        for name, began, ended in self.marks or ():
            seconds[name] = seconds.get(name, 0.0) + ended.milliseconds_since(began) / 1000
        return seconds


_taken: ContextVar[DeviceTimes | None] = ContextVar("taken", default=None)


times_taken = _taken.get
"""Returns the times that calls of this thread add to; None if nothing is measured."""


class LaunchTimer:
    """Measures the time of launches by the device's clock.

    Parameters
    ----------
    part, times
        `tell` adds the time to this part of `times`, unless it is None.
    """

    def __init__(self, part: str = "searches", times: DeviceTimes | None = None) -> None:
        self._part = part
        self._times = times
        self._began: Mark | None = None
        self._ended: Mark | None = None

    def start(self, stream: Stream) -> None:
        """Mark the start of the kernels."""
        self._began, self._ended = stream.mark(), None

    def stop(self, stream: Stream) -> None:
        """Mark the end of the kernels."""
        self._ended = stream.mark()

    def seconds(self) -> float:
        """Return the time of the kernels, once they have ended."""
        if self._began is None or self._ended is None:
            return 0.0
        return self._ended.milliseconds_since(self._began) / 1000

    def tell(self) -> None:
        """Add the time of the kernels to the times."""
        if self._times is not None:
            self._times.add(self._part, self.seconds())


def marked(name: str, work: Callable[[], None], stream: Stream) -> Callable[[], None]:
    """Return the work of a kernel on a stream; it sets marks around the kernel if these are asked for."""

    def run() -> None:
        times = _taken.get()
        if times is None or times.marks is None:
            work()
            return
        began = stream.mark()
        work()
        times.marks.append((name, began, stream.mark()))

    return run


@contextlib.contextmanager
def taking_times(*, by_kernel: bool = False) -> Iterator[DeviceTimes]:
    """Add up the times of counts that this thread requests in the context.

    Row listings and copies of the graph to the device add nothing.

    Parameters
    ----------
    by_kernel
        Whether `DeviceTimes.kernels` tells the times of kernels of tables.

    Examples
    --------
    >>> with taking_times() as times:
    ...     pass  # mf.count(graph, pattern, device="cuda")
    >>> times.total
    0.0
    """
    times = DeviceTimes(marks=[] if by_kernel else None)
    before = _taken.set(times)
    try:
        yield times
    finally:
        _taken.reset(before)


@contextlib.contextmanager
def on_host() -> Iterator[None]:
    """Measure the time of a count on the host in place of a device."""
    times = _taken.get()
    start = time.perf_counter()
    try:
        yield
    finally:
        if times is not None:
            times.add("host", time.perf_counter() - start)
