"""Rows of an enumeration on several devices, in the order in which they are found."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import DeviceMemoryError, MotifluxWarning
from motiflux.gpu.group import Call, DeviceGroup, GroupJob, working_on
from motiflux.gpu.launch.prepare import prepare
from motiflux.gpu.rows.found_rows import Delivered
from motiflux.gpu.rows.stored_rows import StoredRows
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.graph import Graph
from motiflux.plan.physical import Stage
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.images import Block
from motiflux.result.rows import StoresRows

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray

Rows = TypeVar("Rows", bound="Block | DeviceArray | None")

_LOOK_SECONDS = 0.05
_SPIN_SECONDS = 200e-6
_LONGEST_SLEEP = 500e-6


class GroupRows(StoresRows):
    """Rows of all devices, each row once. A device pauses while its rows are not taken.

    Raises
    ------
    DeviceMemoryError
        No device has enough memory for the search.
    OutOfTimeError
        Time was up before any device was ready.
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
        self._sources: list[StoredRows] = []
        self._rest: list[DeviceArray] = []
        of_device, delivered = replace(request, progress=None), Delivered()

        def rows_of(job: SearchJob) -> StoredRows:
            return StoredRows(job, plan, of_device, batch_rows, deadline, delivered)

        left = list(group.accelerators)
        while not self._sources:
            call = Call(graph, plan, request, deadline)
            self._job = GroupJob.searching(DeviceGroup(tuple(left)), make, call)
            try:
                self._start(left, rows_of)
            except BaseException:
                self._end(complete=False)
                raise

    def _start(self, left: list[Accelerator], rows_of: Callable[[SearchJob], StoredRows]) -> None:
        """Start on all devices. If one has no memory for rows, remove it from `left` and start on none."""
        for job in self._job.jobs:
            try:
                with working_on(job.accelerator):
                    self._sources.append(rows_of(job))
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
        return self._taken(StoredRows.poll)

    def widen(self, rows: int) -> None:
        """Raise the maximum number of rows of a block to `rows`."""
        for source in self._sources:
            source.widen(rows)

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return the next rows as ids on the device that found them, or None at the end."""
        return self._taken(lambda source: source.poll_on_device(ids))

    def _taken(self, poll: Callable[[StoredRows], Rows]) -> Rows | None:
        """Take rows, one thread at a time; an exception ends the search on all devices."""
        self._first.use()  # before the lock: refuses forked children, in which it may be locked for ever
        with self._lock:
            try:
                return self._next(poll)
            except BaseException:
                self._end(complete=False)
                raise

    def _next(self, poll: Callable[[StoredRows], Rows]) -> Rows | None:
        if self._rest and not self._closing:
            return cast("Rows", self._rest.pop())
        began = time.perf_counter()
        if not self._closing:
            self._report(began)  # rows that are taken slowly may never be waited for
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
        """Take the arrays that other devices hold: their rows count as handed out."""
        for source in self._in_turn():
            with working_on(source.accelerator):
                array = source.take_made()
            if array is not None:
                self._rest.append(array)

    def _in_turn(self) -> list[StoredRows]:
        """Return the sources that still run, in rotated order: each call begins with another one."""
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
