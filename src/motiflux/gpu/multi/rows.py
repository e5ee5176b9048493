"""Rows of an enumeration on several devices, in whatever order they come."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Mark
from motiflux.errors import DeviceMemoryError, MotifluxWarning
from motiflux.gpu.group import Call, DeviceGroup, GroupJob, working_on
from motiflux.gpu.launch.prepare import prepare
from motiflux.gpu.rows.stored_rows import StoredRows
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.physical import Stage
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.images import Block

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray

Rows = TypeVar("Rows", bound="Block | DeviceArray | None")

_LOOK_SECONDS = 0.05
_SPIN_SECONDS = 200e-6
_LONGEST_SLEEP = 500e-6


@dataclass
class Delivered:
    """How many rows were handed out, by all devices together."""

    rows: int = 0


class SharedRows(StoredRows):
    """The rows of one device."""

    def __init__(self, job: SearchJob, together: Delivered, plan: Plan, request: Request, *rest: Any):
        self._together = together
        self._made: tuple[DeviceArray, Mark] | None = None
        super().__init__(job, plan, request, *rest)

    @property
    def _delivered(self) -> int:
        return self._together.rows

    @_delivered.setter
    def _delivered(self, rows: int) -> None:
        self._together.rows = rows

    @property
    def over(self) -> bool:
        """Whether there will be no more rows."""
        return self._over

    @property
    def met_limit(self) -> bool:
        """Whether it ended because enough rows were handed out."""
        return self._over and not self.complete and not self._was_stopped

    def poll(self) -> Block | None:
        """Return rows that are there; None if there are none yet, or all were handed out (`over`)."""
        return self._guarded(lambda: self._once() if self._can_go_on() else None)

    def poll_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return rows as ids on the device, if some are there."""
        return self._guarded(lambda: self._poll_array(ids))

    def _poll_array(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        if self._made is None:
            return self._array_once(ids) if self._can_go_on() else None
        array, made = self._made
        if not made.done():
            return None
        self._made = None
        return array

    def take_made(self) -> DeviceArray | None:
        """Return the array that was put by, if there is one, once its ids are made."""
        if self._made is None:
            return None
        self._job.session.side.wait()
        (array, _), self._made = self._made, None
        return array

    def _given_out(self, array: DeviceArray, *, last: bool) -> DeviceArray | None:
        """Put the array by until its ids are made, behind the kernel that goes on: others need not wait."""
        if last:
            return super()._given_out(array, last=last)
        self._made = array, self._job.session.side.mark()
        return None

    def _end(self, *, complete: bool) -> None:
        super()._end(complete=complete)
        self._made = None

    def _can_go_on(self) -> bool:
        at_hand = self._ended or len(self._fetched) > 0 or self._there is not None
        return at_hand or self._ready(time.perf_counter())


class SeveralRows:
    """Rows of all devices, each row once. A device stops while nobody takes its rows.

    Raises
    ------
    DeviceMemoryError
        No device has room for the search.
    OutOfTimeError
        Time was up before any was ready.
    """

    complete = False

    def __init__(
        self,
        group: DeviceGroup,
        graph: Graph,
        stage: Stage,
        request: Request,
        batch_rows: int,
        deadline: Deadline,
    ) -> None:
        def make(accelerator: Accelerator) -> SearchJob:
            return prepare(accelerator, graph, stage, request, None, deadline)

        plan = stage.plan
        self._first = group.first.device
        self._request = request
        self._of_each = max(1, len(plan.images))
        self._deadline = deadline
        self._next_look = deadline.started + _LOOK_SECONDS
        self._lock = threading.RLock()
        self._closing = False
        self._over = False
        self._turn = 0
        self._sources: list[SharedRows] = []
        self._rest: list[DeviceArray] = []
        parts = (plan, replace(request, progress=None), batch_rows, deadline)
        left = list(group.accelerators)
        while not self._sources:
            call = Call(graph, plan, request, deadline)
            self._job = GroupJob.searching(DeviceGroup(tuple(left)), make, call)
            try:
                self._start(left, Delivered(), parts)
            except BaseException:
                self._end(complete=False)
                raise

    def _start(self, left: list[Accelerator], together: Delivered, parts: tuple[Any, ...]) -> None:
        """Start on all devices; where one has no room for rows, on none: it is taken out of `left`."""
        for job in self._job.jobs:
            try:
                with working_on(job.accelerator):
                    job.watched = True
                    self._sources.append(SharedRows(job, together, *parts))
            except DeviceMemoryError as error:
                left.remove(job.accelerator)
                if not left:
                    raise
                warnings.warn(f"a device takes no part: {error}", MotifluxWarning, stacklevel=2)
                self._close()
                self._sources.clear()
                return

    def next(self) -> Block | None:
        """Return the next block, or None at the end."""
        return self._taken(SharedRows.poll)

    def widen(self, rows: int) -> None:
        """Give out blocks of up to so many rows from now on, if that is more than was asked for."""
        for source in self._sources:
            source.widen(rows)

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return the next rows as ids on the device that found them, or None at the end."""
        return self._taken(lambda source: source.poll_on_device(ids))

    def _taken(self, poll: Callable[[SharedRows], Rows]) -> Rows | None:
        """Take rows, one thread at a time; what is raised ends the search on all devices."""
        self._first.use()  # first: a fork may have left the lock taken for ever
        with self._lock:
            try:
                return self._next(poll)
            except BaseException:
                self._end(complete=False)
                raise

    def _next(self, poll: Callable[[SharedRows], Rows]) -> Rows | None:
        if self._rest and not self._closing:
            return cast("Rows", self._rest.pop())
        began = time.perf_counter()
        while not self._over and not self._closing:
            for source in self._in_turn():
                with working_on(source.accelerator):
                    rows = poll(source)
                if source.met_limit:
                    self._take_rest()
                    self._end(complete=False)
                if rows is not None:
                    return rows
                if self._rest:
                    return cast("Rows", self._rest.pop())
            if all(source.over for source in self._sources):
                self._end(complete=all(source.complete for source in self._sources))
            now = time.perf_counter()
            self._report(now)
            if now - began > _SPIN_SECONDS:
                time.sleep(min(_LONGEST_SLEEP, (now - began) / 10))
        return None

    def _take_rest(self) -> None:
        """Take what other devices have put by: it counts as handed out."""
        for source in self._in_turn():
            with working_on(source.accelerator):
                array = source.take_made()
            if array is not None:
                self._rest.append(array)

    def _in_turn(self) -> list[SharedRows]:
        """Return those that go on, another one first each time."""
        self._turn += 1
        first = self._turn % len(self._sources)
        return [one for one in self._sources[first:] + self._sources[:first] if not one.over]

    def _report(self, now: float) -> None:
        if self._request.progress is None or now < self._next_look or self._over:
            return
        self._next_look = now + _LOOK_SECONDS
        done, units, found = self._job.look()
        self._request.progress(
            ProgressReport(done, units, found * self._of_each, now - self._deadline.started)
        )

    def _end(self, *, complete: bool) -> None:
        self._over, self.complete = True, complete
        self._close()

    def _close(self) -> None:
        for source in self._sources:
            source.close()
        self._job.close()

    def close(self) -> None:
        """Stop the search on all devices; rows not taken are dropped."""
        self._closing = True
        if any(source.inherited for source in self._sources):
            return
        with self._lock:
            if not self._over:
                self._end(complete=False)
