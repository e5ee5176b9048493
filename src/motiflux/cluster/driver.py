"""Runs the tasks of searches on a cluster, from the process that called."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from motiflux import log
from motiflux.cluster.connection import Connection
from motiflux.cluster.records import TaskLog, TaskRecord
from motiflux.cluster.shares import Order, tasks_at_a_time
from motiflux.cluster.tasks import Done
from motiflux.errors import ClusterError, MotifluxError
from motiflux.request.deadline import Deadline

RETRIES = 8
"""Times that Ray runs a task again whose worker or node was lost."""
_MOST_TRIES = 5
"""Times that a share is handed out before the call gives up; each time it is halved."""
_LOOK_SECONDS = 0.05
"""Seconds between two looks at the clock while nothing arrives: Ctrl-C ends a call within 100 ms."""
_GRACE_SECONDS = 0.2
"""Seconds that tasks get after a deadline to return what they found."""
_END_SECONDS = 10.0
"""Seconds within which cancelled tasks end: an interrupt ends a search within .1 s."""


class Waiting(Protocol):
    """The part of a search that no task has yet; see `motiflux.cluster.shares.Shares`."""

    @property
    def empty(self) -> bool:
        """Whether no share waits."""

    def take(self, wanted: int) -> Order | None:
        """Return a share where `wanted` tasks can be started; None if there is none."""


class Search(Protocol):
    """A search that is cut into shares."""

    name: str
    divisible: bool
    """Whether a share whose task was lost may be halved: not if its number names a file."""

    @property
    def shares(self) -> Waiting:
        """The part that no task has yet."""

    @property
    def over(self) -> bool:
        """Whether no further share is needed: a limit is reached, or the search was stopped."""

    def submit(self, order: Order) -> Any:
        """Start a task; return the reference of its result."""

    def take(self, order: Order, done: Done) -> None:
        """Take the result of a task."""

    def renew(self) -> None:
        """Share the graph again, whose object was lost."""


@dataclass(slots=True)
class _Running:
    search: Search
    order: Order
    tries: int = 1


@dataclass(slots=True)
class Driver:
    """Hands out shares of searches, at most as many as run and wait for a moment.

    Parameters
    ----------
    slots
        Number of tasks that can run at a time.
    records
        Receives a record of each task.
    """

    connection: Connection
    slots: int
    records: TaskLog
    _running: dict[Any, _Running] = field(default_factory=dict)
    _cancelled: list[Any] = field(default_factory=list)
    _missing: list[Search] = field(default_factory=list)
    """Searches of which a task was cancelled, or lost when time was up."""

    def run(
        self,
        searches: Sequence[Search],
        deadline: Deadline,
        report: Callable[[], None] | None = None,
        room: Callable[[], bool] = lambda: True,
    ) -> Iterator[bool]:
        """Run searches, one after another, but without a pause between them; yield after each result.

        Yields False once time is up, as the last value. Without an exhausted iterator, `close` cancels all
        tasks.

        Parameters
        ----------
        report
            Called after each result, and from time to time.
        room
            Whether further tasks may start.
        """
        retries: list[tuple[Search, Order, int]] = []
        self._missing.clear()
        try:
            while True:
                if room():
                    self._fill(searches, retries, deadline)
                if not self._running and (not retries or all(search.over for search, _, _ in retries)):
                    if all(search.over or search.shares.empty for search in searches):
                        return
                    if not room():
                        yield True
                        continue
                for reference in self._ready():
                    running = self._running.pop(reference)
                    if self._take(reference, running, retries):
                        yield True
                if report is not None:
                    report()
                if deadline.passed:
                    yield from self._finish(deadline)
                    yield False
                    return
                if all(search.over for search in searches):
                    return
        finally:
            self._missing += [search for search, _, _ in retries]
            self.cancel()

    def run_all(
        self, searches: Sequence[Search], deadline: Deadline, report: Callable[[], None] | None = None
    ) -> bool:
        """Run searches to their end; return False if time was up. `has_all_of` tells more."""
        return all(list(self.run(searches, deadline, report)))

    def has_all_of(self, search: Search) -> bool:
        """Return whether the results of all tasks of a search were taken, once `run` has ended."""
        return search.shares.empty and not any(one is search for one in self._missing)

    def _fill(self, searches: Sequence[Search], retries: list[Any], deadline: Deadline) -> None:
        """Start tasks until all workers have one and a few wait."""
        most = tasks_at_a_time(self.slots)
        while retries and len(self._running) < most:
            search, order, tries = retries.pop()
            if not search.over:
                self._start(search, order, tries, deadline)
        for search in searches:
            while not search.over and len(self._running) < most:
                order = search.shares.take(most - len(self._running))
                if order is None:
                    break
                self._start(search, order, 1, deadline)

    def _start(self, search: Search, order: Order, tries: int, deadline: Deadline) -> None:
        left = deadline.left()
        if left is not None:
            order.seconds = max(1e-3, min(order.seconds, left))
        self._running[search.submit(order)] = _Running(search, order, tries)

    def _ready(self) -> list[Any]:
        """Wait for results for a moment, and return those that are there."""
        if not self._running:
            time.sleep(_LOOK_SECONDS)
            return []
        wait = self.connection.ray.wait
        pending = list(self._running)
        ready, pending = wait(pending, num_returns=1, timeout=_LOOK_SECONDS, fetch_local=True)
        if ready and pending:
            more, _ = wait(pending, num_returns=len(pending), timeout=0, fetch_local=True)
            ready += more
        return list(ready)

    def _take(self, reference: Any, running: _Running, retries: list[Any]) -> bool:
        """Take the result of a task; False if it was lost and is to be done again."""
        search, order = running.search, running.order
        try:
            done: Done = self.connection.ray.get(reference)
        except Exception as error:  # noqa: BLE001  Ray has many, and wraps those of tasks
            self._lost(error, running, retries)
            return False
        self.records.append(
            TaskRecord(
                search.name,
                order.number,
                done.node,
                done.process,
                done.began,
                done.seconds,
                done.cpu_seconds,
                len(order.share),
                sum(item[3] for item in order.share),
                len(done.left),
                running.tries,
            )
        )
        search.take(order, done)
        return True

    def _lost(self, error: Exception, running: _Running, retries: list[Any]) -> None:
        """Hand the share of a task out again whose worker, node or graph was lost; raise other errors."""
        raise_own(error, self.connection.ray)
        search, tries = running.search, running.tries
        said = str(error).strip().partition("\n")[0]
        log.ENGINE.warning("%s: a task was lost and is done again: %s", search.name, said)
        if tries >= _MOST_TRIES:
            raise ClusterError(
                f"{search.name}: a task was lost {tries} times, last: {said}; results so far are not complete"
            ) from error
        if is_lost_object(error, self.connection.ray):
            search.renew()
        order = running.order
        parts = order.halved() if search.divisible else [order]
        retries.extend((search, part, tries + 1) for part in parts)

    def _finish(self, deadline: Deadline) -> Iterator[bool]:
        """Take the results that arrive within a moment after the deadline."""
        until = time.perf_counter() + _GRACE_SECONDS
        while self._running and time.perf_counter() < until:
            for reference in self._ready():
                running = self._running.pop(reference)
                taken = False
                with suppress(ClusterError):
                    taken = self._take(reference, running, [])
                if taken:
                    yield True
                else:
                    self._missing.append(running.search)

    def cancel(self) -> None:
        """Cancel all tasks."""
        for reference in self._running:
            with suppress(Exception):
                self.connection.ray.cancel(reference)
        self._missing += [running.search for running in self._running.values()]
        self._cancelled = list(self._running)
        self._running.clear()

    def wait_for_cancelled(self) -> None:
        """Wait until cancelled tasks have ended, at most for some seconds."""
        if self._cancelled:
            ray = self.connection.ray
            ray.wait(
                self._cancelled, num_returns=len(self._cancelled), timeout=_END_SECONDS, fetch_local=False
            )
            self._cancelled = []


def raise_own(error: Exception, ray: Any) -> None:
    """Raise the error of a task, if the task raised one of motiflux or of Python; return if it was lost."""
    lost = ray.exceptions
    cause = getattr(error, "cause", None)
    if isinstance(error, lost.RayTaskError) and not isinstance(cause, lost.RayError):
        if isinstance(cause, BaseException):
            raise cause from None
        raise ClusterError(f"a task failed: {error}") from error
    if isinstance(error, MotifluxError) or not isinstance(error, lost.RayError):
        raise error


def is_lost_object(error: Exception, ray: Any) -> bool:
    """Return whether an object was lost: evicted, or with its node."""
    cause = getattr(error, "cause", None)
    lost = (ray.exceptions.ObjectLostError, ray.exceptions.ObjectFetchTimedOutError)
    return isinstance(error, lost) or isinstance(cause, lost)
