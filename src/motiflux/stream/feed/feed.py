"""A feed: threads write updates to a monitor, and take the answers when they are there.

A thread of the feed applies all that waits, in one call, whenever the monitor is free. So nothing waits for a
batch to fill: batches are as long as what arrived during the call before.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, Self

from motiflux.arguments import check_integer, check_seconds
from motiflux.errors import ArgumentError, MotifluxError, StreamError
from motiflux.stream.feed.waiting import Part, Waiting, are_alike, together
from motiflux.stream.matching.changing import PLAIN, Changing
from motiflux.stream.matching.delta import Changes, Delta
from motiflux.stream.updates import Row, Updates

_SECONDS_OF_REST = 0.2
"""Without updates for so long, an engine's kernel does not stay on a device."""
_SECONDS_AT_EXIT = 5.0
"""At the end of the process, the call that runs has so long to end; then native work is stopped."""
_SECONDS_BETWEEN_LOOKS = 0.05
"""A wait without end looks up so often: a signal to the main thread is seen then on every system."""


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
        self._waiting = Waiting()
        self._answers: deque[Answer] = deque()
        lock = threading.Lock()
        self._has_room, self._has_work = threading.Condition(lock), threading.Condition(lock)
        self._has_answers, self._is_still = threading.Condition(lock), threading.Condition(lock)
        self._lock = lock
        self._turn = threading.Lock()  # held during a call
        self._written = self._answered = self._taken = 0
        self._is_open, self._gives_up, self._has_ended = True, False, False
        self._error: BaseException | None = None
        self._is_applying = self._is_held = False
        self._paused_by: int | None = None
        self._pauses = 0
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
        return self._written

    @property
    def answered(self) -> int:
        """Updates whose answers are there, whether they were taken or not."""
        return self._answered

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
        given = self._checked(updates)
        with self._lock:
            return self._write(given)

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
        end = _end(timeout)
        with self._lock:
            while (first := self._write(given)) is None:
                self._check_not_paused()
                if not _wait(self._has_room, end):
                    raise TimeoutError(f"no room for {len(given)} updates within {timeout} s")
            return first

    def _checked(self, updates: Updates | Iterable[Row]) -> Updates:
        given = updates if isinstance(updates, Updates) else Updates.of(updates)
        if len(given) > self._room:
            raise ArgumentError(
                "updates", f"at most {self._room} at a time, the room of the feed", len(given)
            )
        return given

    def _write(self, updates: Updates) -> int | None:
        """Write updates, with the lock."""
        if self._error is not None:
            raise self._error
        if not self._is_open:
            raise ArgumentError("feed", "one that is not closed", "a closed one")
        if self._written + len(updates) - self._taken > self._room:
            return None
        first = self._written
        self._written += len(updates)
        at = first
        for piece in updates.slices(self._most) if len(updates) > self._most else [updates]:
            if len(piece):
                self._waiting.add(Part(at, piece))
                at += len(piece)
        self._has_work.notify()
        return first

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
        with self._lock:
            while not self._answers:
                if self._error is not None:
                    raise self._error
                if self._has_ended or (not self._is_open and self._answered == self._written):
                    return None
                if not _wait(self._has_answers, end):
                    return None
            answer = self._answers.popleft()
            self._taken += answer.updates
            self._has_room.notify_all()
            return answer

    @contextmanager
    def paused(self) -> Iterator[Changing]:
        """Have the monitor for oneself, between two updates: to add or drop patterns, or to save it.

        Updates that were written are applied before or afterwards. Others may be written meanwhile.

        Yields
        ------
        Monitor
            The monitor of the feed. Calls of it are refused outside.
        """
        own = threading.get_ident()
        with self._lock:
            self._check_not_paused()
            self._pauses += 1
            try:
                while self._is_applying or self._paused_by is not None:
                    self._is_still.wait(_SECONDS_BETWEEN_LOOKS)
                self._paused_by = own
            finally:
                self._pauses -= 1
        try:
            self._hold(on=False)  # what is done meanwhile may need the device
            yield self._monitor
        finally:
            with self._lock:
                self._paused_by = None
                self._is_still.notify_all()
                self._has_work.notify()

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
        with self._lock:
            while self._answered < self._written:
                if self._error is not None:
                    raise self._error
                if self._has_ended:
                    return False
                self._check_not_paused()
                if not _wait(self._is_still, end):
                    return False
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
        self._close(None, finish=finish)

    def _close(self, seconds: float | None, *, finish: bool) -> None:
        """Close; wait at most so long for the call that runs."""
        if os.getpid() != self._process:
            return  # the thread is that of the parent, in which it goes on
        end = _end(seconds)
        with self._lock:
            self._check_not_paused()
            self._is_open = False
            self._gives_up = self._gives_up or not finish
            self._has_work.notify()
            self._has_room.notify_all()
        while self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_SECONDS_BETWEEN_LOOKS)
            if end is not None and time.monotonic() > end:
                return
        self._monitor._close_feed(self)
        atexit.unregister(self._give_up)

    def _give_up(self) -> None:
        self._paused_by = None
        self._close(_SECONDS_AT_EXIT, finish=False)

    def _check_not_paused(self) -> None:
        """Refuse what would wait for the end of a pause that its own thread makes."""
        if self._paused_by == threading.get_ident():
            raise ArgumentError(
                "feed", "a call after the pause", "one that waits, in the thread that paused it"
            )

    def admits_thread(self) -> bool:
        """Whether the calling thread may call the monitor now."""
        own = threading.get_ident()
        return own == self._thread.ident or own == self._paused_by

    def _work(self) -> None:
        """Apply updates until the feed is closed; in a thread of its own."""
        try:
            while (parts := self._next_parts()) is not None:
                self._hold(on=bool(parts))
                if parts:
                    self._apply(parts)
        except BaseException as error:  # noqa: BLE001 - those who wait raise it
            with self._lock:
                self._error = error
            with suppress(MotifluxError):
                self._hold(on=False)  # others may need the device
        with self._lock:
            self._is_open, self._is_applying, self._has_ended = False, False, True
            self._leave_unapplied()
            for condition in (self._has_room, self._has_answers, self._is_still):
                condition.notify_all()

    def _next_parts(self) -> list[Part] | None:
        """Wait for updates, and take them; none if it is time to rest, None if the feed is closed."""
        with self._lock:
            self._is_applying = False
            self._is_still.notify_all()
            while True:
                if self._gives_up or (not self._is_open and not self._waiting):
                    return None
                if self._waiting and self._paused_by is None and not self._pauses:
                    self._is_applying = True
                    return self._waiting.take(self._most)
                has_come = self._has_work.wait(_SECONDS_OF_REST)
                if not has_come and self._is_held and self._paused_by is None:
                    self._is_applying = True  # the engine is called, without the lock
                    return []

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
                self._put_back(parts)
                raise
            # Only the updates of the producer that wrote refused ones are refused.
            for number, part in enumerate(parts):
                try:
                    delta = self._applied(part.updates)
                except BaseException:
                    self._put_back(parts[number:])
                    raise
                self._answer(part.first, len(part.updates), delta)
            return
        except BaseException:
            self._put_back(parts)
            raise
        self._answer(parts[0].first, len(updates), delta)

    def _applied(self, updates: Updates) -> Delta:
        with self._turn:
            delta = self._monitor._apply(updates, PLAIN)
        if isinstance(delta.patterns, Changes):
            delta.patterns.guarded(self._turn)
        return delta

    def _put_back(self, parts: list[Part]) -> None:
        with self._lock:
            self._waiting.put_back(parts)

    def _answer(self, first: int, updates: int, delta: Delta) -> None:
        with self._lock:
            self._answers.append(Answer(first, updates, delta))
            self._answered += updates
            self._has_answers.notify()

    def _leave_unapplied(self) -> None:
        """Hand back the updates that were not applied, with the lock."""
        parts = list(self._waiting)
        if not parts:
            return
        self.unapplied = [part.updates for part in parts]
        alike = all(are_alike(parts[0].updates, part.updates) for part in parts[1:])
        self._monitor.unapplied = together(parts) if alike else None


def _end(timeout: float | None) -> float | None:
    """Return when a wait ends; None: it does not."""
    if timeout is None:
        return None
    seconds = check_seconds("timeout", timeout)
    return None if seconds is None else time.monotonic() + seconds


def _wait(condition: threading.Condition, end: float | None) -> bool:
    """Wait for a notice, or until it is time to look up; return whether there is time left."""
    if end is None:
        condition.wait(_SECONDS_BETWEEN_LOOKS)
        return True
    left = end - time.monotonic()
    if left <= 0:
        return False
    condition.wait(min(left, _SECONDS_BETWEEN_LOOKS))
    return True
