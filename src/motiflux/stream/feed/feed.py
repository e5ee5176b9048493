"""A feed: threads write updates to a monitor, and take the answers when they are there.

A thread of the feed applies all that waits, in one call, whenever the monitor is free. So nothing waits for a
batch to fill: batches are as long as what arrived during the call before. Updates that need no Python are
applied natively, in turns of many calls; meanwhile producers and consumers have Python to themselves.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

import numpy as np

from motiflux import _native
from motiflux.arguments import check_integer, check_seconds
from motiflux.errors import ArgumentError, MotifluxError, StreamError
from motiflux.stream.feed.parts import Part, are_alike, count_alike, together
from motiflux.stream.matching.changing import PLAIN, Changing, Slots
from motiflux.stream.matching.delta import Changes, Delta
from motiflux.stream.updates import Row, Updates

_SECONDS_OF_REST = 0.2
"""Without updates for so long, an engine's kernel does not stay on a device."""
_SECONDS_OF_TURN, _SECONDS_OF_SILENCE = 0.25, 0.05
"""A turn of native calls is at most so long, and ends if nothing comes for so long."""
_SECONDS_OF_LOOKING = 1e-4
"""Who waits looks for so long before it sleeps: waking up may take longer than an update."""
_SECONDS_AT_EXIT = 5.0
"""At the end of the process, the call that runs has so long to end; then native work is stopped."""
_SECONDS_TO_STOP = 1.0
"""Native work has so long to stop."""
_SECONDS_BETWEEN_LOOKS = 0.05
"""A wait without end looks up so often: a signal to the main thread is seen then on every system."""
_NO_ROOM, _CLOSED = -1, -2
"""What `_native.FeedQueue.write` returns instead of a position."""
_REST, _NO_WORK = 1, 2
"""What `_native.FeedQueue.wait_for_work` returns unless there are updates."""
_OVER = 0
"""How a turn ends unless updates are left to Python."""


class Answer(NamedTuple):
    """The changes of matches by consecutive updates of a feed.

    Parameters
    ----------
    first
        The position of the first of these updates among all that were written, from 0.
    updates
        Their number.
    delta
        The changes; its positions of updates count from `first`.
    """

    first: int
    updates: int
    delta: Delta


class Feed:
    """Takes updates from several threads and gives the changes of matches, as `Monitor.feed` describes.

    Parameters
    ----------
    monitor
        The monitor that applies the updates.
    room
        The most updates that were written and whose answers were not taken.
    most
        The most updates of one call.
    """

    def __init__(self, monitor: Changing, *, room: int, most: int) -> None:
        self._room, self._most = check_integer("room", room, 1), check_integer("most", most, 1)
        self._monitor = monitor
        self._queue = _native.FeedQueue(self._room, _SECONDS_OF_LOOKING)
        self._turn = threading.Lock()  # held during a call of Python
        self._slots: list[Slots] = []  # the patterns of native calls, whose answers name them by position
        self._error: BaseException | None = None
        self._is_held = False
        self.unapplied: list[Updates] = []
        """Updates that were written and not applied when the feed ended, as they were written.

        `Monitor.unapplied` has all of them, too, if they have the same columns, else None.
        """
        self._process = os.getpid()
        monitor._open_feed(self)
        # The thread ends before what an engine has on a device is given back at the end of the process.
        atexit.register(self._give_up)
        self._thread = threading.Thread(target=self._work, name="motiflux-feed", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self.close(finish=kind is None)
        if kind is None and self._error is not None:
            raise self._error

    @property
    def written(self) -> int:
        """Updates that were written."""
        return self._queue.written

    @property
    def answered(self) -> int:
        """Updates whose answers are there, whether they were taken or not."""
        return self._queue.answered

    def try_write(self, updates: Updates | Iterable[Row]) -> int | None:
        """Write updates if there is room for all of them.

        Parameters
        ----------
        updates
            In order: `Updates`, or rows ``("+" or "-", source, target[, label])``.

        Returns
        -------
        int or None
            The position of the first of them among all updates of the feed; None: there is no room, and
            nothing was written.

        Raises
        ------
        ArgumentError
            The feed is closed, or never has room for as many updates.
        StreamError
            Rows are malformed.
        MotifluxError
            The error that ended the feed.
        """
        return self._write(self._pieces(self._checked(updates)))

    def write(self, updates: Updates | Iterable[Row], timeout: float | None = None) -> int:
        """Write updates, and wait until there is room for them.

        Parameters
        ----------
        timeout
            Seconds; None: as long as it takes.

        Returns
        -------
        int
            The position of the first of them.

        Raises
        ------
        TimeoutError
            There was no room; nothing was written.
        ArgumentError, MotifluxError
            As for `try_write`.
        """
        given = self._checked(updates)
        pieces, end = self._pieces(given), _end(timeout)
        while (first := self._write(pieces)) is None:
            self._check_not_paused()
            if (left := _left(end)) <= 0:
                raise TimeoutError(f"no room for {len(given)} updates within {timeout} s")
            self._queue.wait_for_room(len(given), left)
        return first

    def _checked(self, updates: Updates | Iterable[Row]) -> Updates:
        given = updates if isinstance(updates, Updates) else Updates.of(updates)
        if len(given) > self._room:
            raise ArgumentError(
                "updates", f"at most {self._room} at a time, the room of the feed", len(given)
            )
        return given

    def _pieces(self, updates: Updates) -> list[tuple[Any, ...]]:
        """Return updates in pieces that one call can apply, with their columns if they are plain."""
        pieces = [updates] if len(updates) <= self._most else updates.slices(self._most)
        return [(one, len(one), *_plain_columns(one)) for one in pieces if len(one)]

    def _write(self, pieces: list[tuple[Any, ...]]) -> int | None:
        """Write updates; None if there is no room."""
        first = self._queue.write(pieces)
        if first == _CLOSED:
            raise self._error or ArgumentError("feed", "one that is not closed", "a closed one")
        return None if first == _NO_ROOM else first

    def take(self, timeout: float | None = None) -> Answer | None:
        """Return the next answer, and take it out.

        Parameters
        ----------
        timeout
            Seconds to wait for one; 0: not at all; None: as long as it takes.

        Returns
        -------
        Answer or None
            None: there is none within this time, or the feed was closed and all answers were taken.

        Raises
        ------
        MotifluxError
            The error that ended the feed, once the answers before it were taken.
        """
        end = _end(timeout)
        given: list[tuple[Any, ...]] = []
        try:
            while not self._queue.take(_left(end), given):
                if self._queue.has_no_more:
                    if self._error is not None:
                        raise self._error
                    return None
                if _left(end) <= 0:
                    return None
            first, updates, found, *rest = given[0]
            return Answer(first, updates, self._native_delta(found, *rest) if rest else found)
        except BaseException:  # Ctrl-C, say: the answer can still be taken
            if given:
                self._queue.give_back(given[0])
            raise

    def _native_delta(self, found: _native.Found, seconds: float, slots: int) -> Delta:
        return self._monitor._delta_of_turn(found, seconds, self._slots[slots], self._write_put_off)

    def _write_put_off(self) -> None:
        """Have the monitor write what was put off, between two calls."""
        if self._is_paused_here():
            self._monitor._write_put_off()
        else:
            with self.paused() as monitor:
                monitor._write_put_off()

    @contextmanager
    def paused(self) -> Iterator[Changing]:
        """Have the monitor for oneself, between two updates: to add or drop patterns, or to save it.

        Updates that were written are applied before or afterwards. Others may be written meanwhile.

        Yields
        ------
        Monitor
            The monitor of the feed. Calls of it are refused outside.
        """
        self._check_not_paused()
        owner = threading.get_ident()
        try:  # Ctrl-C may come when the pause has begun, and before the call of it has returned
            while not self._queue.pause(owner, _SECONDS_BETWEEN_LOOKS):
                pass
            self._hold(on=False)  # what is done meanwhile may need the device
            yield self._monitor
        finally:
            self._queue.resume(owner)

    def finish(self, timeout: float | None = None) -> bool:
        """Wait until all updates that were written are answered; return whether they are.

        Raises
        ------
        ArgumentError
            This thread has paused the feed.
        MotifluxError
            The error that ended the feed.
        """
        end = _end(timeout)
        while not self._queue.wait_until_answered(0):
            if self._error is not None:
                raise self._error
            if not self._thread.is_alive():
                return False
            self._check_not_paused()
            if (left := _left(end)) <= 0:
                return False
            self._queue.wait_until_answered(left)
        return True

    def close(self, *, finish: bool = True) -> None:
        """End the feed; the monitor can be called again. Answers that are there can still be taken.

        Parameters
        ----------
        finish
            Whether updates that wait are applied before; else `unapplied` has them, once the call that runs
            has ended.

        Raises
        ------
        ArgumentError
            This thread has paused the feed.
        """
        self._check_not_paused()
        self._close(None, finish=finish)

    def _close(self, seconds: float | None, *, finish: bool) -> None:
        """Close; wait at most so long for the call that runs."""
        if os.getpid() != self._process:
            return  # the thread is that of the parent, in which it goes on
        end = _end(seconds)
        self._queue.close(not finish)
        while self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_SECONDS_BETWEEN_LOOKS)
            if end is not None and time.monotonic() > end:
                return
        self._monitor._close_feed(self)
        atexit.unregister(self._give_up)

    def _give_up(self) -> None:
        self._close(_SECONDS_AT_EXIT, finish=False)
        if self._thread.is_alive():
            self._queue.stop()
            self._close(_SECONDS_TO_STOP, finish=False)

    def _check_not_paused(self) -> None:
        """Refuse what would wait for the end of a pause that its own thread makes."""
        if self._is_paused_here():
            raise ArgumentError(
                "feed", "a call after the pause", "one that waits, in the thread that paused it"
            )

    def admits_thread(self) -> bool:
        """Whether the calling thread may call the monitor now."""
        return threading.get_ident() == self._thread.ident or self._is_paused_here()

    def _is_paused_here(self) -> bool:
        """Whether the calling thread has paused the feed."""
        return self._queue.is_paused_by(threading.get_ident())

    def _work(self) -> None:
        """Apply updates until the feed is closed; in a thread of its own."""
        queue = self._queue
        try:
            while (work := queue.wait_for_work(_SECONDS_OF_REST)) != _NO_WORK:
                self._hold(on=work != _REST)
                if work != _REST and not self._applied_natively() and (parts := self._next_parts()):
                    self._apply(parts)
        except BaseException as error:  # noqa: BLE001 - those who wait raise it
            self._error = error
            with suppress(MotifluxError):
                self._hold(on=False)  # others may need the device
        self._leave_unapplied([Part(*one) for one in queue.end()])

    def _applied_natively(self) -> bool:
        """Have a turn of native calls; return whether no updates are left to Python."""
        monitor = self._monitor
        if not monitor.takes_feed_turns(self._most):
            return False
        slots = monitor._in_slots()
        if not self._slots or self._slots[-1] is not slots:
            self._slots.append(slots)
        last = len(self._slots) - 1
        how = monitor._feed_turn(self._queue, self._most, last, _SECONDS_OF_TURN, _SECONDS_OF_SILENCE)
        return how == _OVER

    def _next_parts(self) -> list[Part]:
        """Return the first updates that wait: as many as one call can apply."""
        parts = [Part(*one) for one in self._queue.take_parts(self._most)]
        alike = count_alike(parts)
        self._queue.put_back(alike)
        return parts[:alike]

    def _hold(self, *, on: bool) -> None:
        """Have what an engine runs stay while updates come, and end when none have come for a while."""
        if on != self._is_held:
            self._is_held = on
            self._monitor._hold_engine(on=on)

    def _apply(self, parts: list[Part]) -> None:
        updates = together(parts)
        try:
            delta = self._applied(updates)
        except StreamError:
            if len(parts) == 1:
                self._queue.put_back(0)
                raise
            # Only the updates of the producer that wrote refused ones are refused.
            for number, part in enumerate(parts):
                try:
                    delta = self._applied(part.updates)
                except BaseException:
                    self._queue.put_back(number)
                    raise
                self._queue.answer(part.first, len(part.updates), delta)
            return
        except BaseException:
            self._queue.put_back(0)
            raise
        self._queue.answer(parts[0].first, len(updates), delta)

    def _applied(self, updates: Updates) -> Delta:
        with self._turn:
            delta = self._monitor._apply(updates, PLAIN)
        if isinstance(delta.patterns, Changes):
            delta.patterns.guarded(self._turn)
        return delta

    def _leave_unapplied(self, parts: list[Part]) -> None:
        """Hand back the updates that were not applied."""
        if not parts:
            return
        self.unapplied = [part.updates for part in parts]
        alike = all(are_alike(parts[0].updates, part.updates) for part in parts[1:])
        self._monitor.unapplied = together(parts) if alike else None


def _plain_columns(updates: Updates) -> tuple[Any, ...]:
    """Return the columns of updates that can be applied natively: integers, and nothing but edges."""
    is_plain = (
        updates.times is None
        and updates.vertex_labels is None
        and updates.attributes is None
        and updates.sources.dtype == updates.targets.dtype == np.int64
        and (updates.labels is None or updates.labels.dtype == np.int64)
    )
    if not is_plain:
        return (None,) * 4
    return updates.inserts, updates.sources, updates.targets, updates.labels


def _end(timeout: float | None) -> float | None:
    """Return when a wait ends; None: it does not."""
    if timeout is None:
        return None
    seconds = check_seconds("timeout", timeout)
    return None if seconds is None else time.monotonic() + seconds


def _left(end: float | None) -> float:
    """Return the seconds until the end of a wait, or until it is time to look up."""
    if end is None:
        return _SECONDS_BETWEEN_LOOKS
    return min(end - time.monotonic(), _SECONDS_BETWEEN_LOOKS)
