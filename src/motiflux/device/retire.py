"""Release of resources once no work on the device can use them any more.

Finalizers run at any moment, on any thread, so they only queue actions. The next call that allocates memory
or reads the amount held runs these actions: at once if the streams concerned are idle, else after the streams
have passed a mark that is set then. No call waits without limit for a kernel.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from motiflux.errors import DeviceError


class Point(Protocol):
    """A point in a line of work."""

    def done(self) -> bool:
        """Whether all work before it is done; raises `DeviceError` if it failed."""


class Line(Protocol):
    """Work in order: a stream of the driver."""

    def tail(self) -> Point | None:
        """Return the point after all work so far; None if all is done."""


@dataclass(slots=True)
class _Retired:
    lines: Collection[Line]
    action: Callable[[], None]
    again: bool
    waits: list[Point]


class Retirement:
    """Actions that wait for running work. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: set[Line] = set()
        self._incoming: deque[_Retired] = deque()
        self._waiting: list[_Retired] = []

    def open_line(self, line: Line) -> None:
        """Add a line on which work may run."""
        with self._lock:
            self._lines.add(line)

    def close_line(self, line: Line) -> None:
        """Remove a line on which all work is done. Actions call it, so the lock is held."""
        self._lines.discard(line)

    def end_line(self, line: Line) -> None:
        """Remove a line on which all work is done, taking the lock."""
        with self._lock:
            self._lines.discard(line)

    def add(self, lines: Collection[Line], action: Callable[[], None], again: bool = False) -> None:
        """Queue an action for the time when work on `lines`, or on any line if none of them is open, is done.

        Takes no lock and does not call the driver: finalizers call it.

        Parameters
        ----------
        again
            Whether the action may run twice: it then stays queued until it has run without an interrupt.
        """
        self._incoming.append(_Retired(lines, action, again, []))

    def drain(self, patience: float = 0.0) -> bool:
        """Run the actions that can run, for up to `patience` seconds; return whether any remain."""
        until = time.monotonic() + patience
        while True:
            with self._lock:
                self._admit()
                self._settle()
                left = bool(self._waiting)
            if not left or time.monotonic() >= until:
                return left
            time.sleep(0.001)

    def _admit(self) -> None:
        """Set the points for which new actions wait: one point per line for all of them."""
        tails: dict[Line, Point | None] = {}
        while self._incoming:
            retired = self._incoming[0]
            waits = []
            open_lines = [line for line in tuple(retired.lines) if line in self._lines]
            for line in open_lines or tuple(self._lines):
                if line not in tails:
                    tails[line] = line.tail()
                if (point := tails[line]) is not None:
                    waits.append(point)
            retired.waits = waits
            self._waiting.extend(map(deque.popleft, (self._incoming,)))  # in one step

    def _settle(self) -> None:
        """Run the actions whose points are passed.

        Each action is removed before it runs, unless it may run twice: Ctrl-C may interrupt it, and a handle
        that is released twice may belong to another owner the second time.
        """
        at = 0
        while at < len(self._waiting):
            retired = self._waiting[at]
            retired.waits = [point for point in retired.waits if not _passed(point)]
            if retired.waits:
                at += 1
                continue
            if retired.again:
                retired.action()
            del self._waiting[at]
            if not retired.again:
                retired.action()


def _passed(point: Point) -> bool:
    try:
        return point.done()
    except DeviceError:  # the work failed, so it runs no longer
        return True
