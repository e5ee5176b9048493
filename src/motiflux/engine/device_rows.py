"""Rows of an enumeration on a device: drained from the ring that its groups fill."""

from __future__ import annotations

import ctypes
import sys
import threading
import time

import numpy as np

from motiflux._native import RingReader
from motiflux.codegen import layout
from motiflux.engine.base import Request
from motiflux.engine.device_search import DeviceSearch
from motiflux.engine.results import ProgressReport
from motiflux.engine.ring import MappedRing
from motiflux.plan import Plan
from motiflux.types import VERTEX_DTYPE, VertexArray

_RING_BYTES = 4 << 20
_MOST_SLOTS, _LEAST_SLOTS = 8192, 64
_WAIT_SECONDS = 1e-3
"""How long the reader waits for the first row before deadlines and the kernel's end are looked at."""
_HAND_OUT_SECONDS = 0.05
"""Rows that were found are handed out after this time, whether they fill a batch or not."""
_FIRST_ROOM = 1 << 16
"""Rows that a batch has room for at first; it grows as rows come."""


class DeviceRowSource:
    """Blocks of rows in internal ids. The kernel runs only while there is room for its rows."""

    complete = False

    def __init__(
        self,
        search: DeviceSearch,
        plan: Plan,
        request: Request,
        batch_rows: int,
        started: float,
        deadline: float | None,
    ) -> None:
        self._search = search
        self._request = request
        self._batch_rows = batch_rows
        self._started = started
        self._deadline = deadline
        self._columns = len(plan.order)
        self._delivered = 0
        self._next_look = started + _HAND_OUT_SECONDS
        self._closing = False
        self._was_stopped = False
        self._over = False
        self._lock = threading.RLock()
        try:
            self._reader = self._connect(plan)
        except BaseException:
            search.close()
            raise
        if deadline is not None and time.perf_counter() >= deadline:
            self._end(complete=False)
        else:
            search.launch()

    def _connect(self, plan: Plan) -> RingReader:
        """Make the ring, and what groups need to park."""
        search, task, device = self._search, self._search.task, self._search.accelerator.device
        slots = _MOST_SLOTS
        while slots > _LEAST_SLOTS and 4 * layout.ROWS_PER_PACKET * self._columns * slots > _RING_BYTES:
            slots //= 2
        ring = MappedRing(device, slots, self._columns)
        budget = self._request.gpu_memory
        tickets = device.allocate(ctypes.sizeof(layout.Tickets), "the ring of rows", budget=budget)
        search.hold(tickets)
        search.hold_host(ring.memory)
        search.clear(tickets)
        task.ring = ring.view(tickets.address)
        task.patience = search.accelerator.patience
        for level, vertex in enumerate(plan.order):
            task.column_levels[vertex] = level
        return ring.reader()

    def next(self) -> VertexArray | None:
        """Return the next block, or None at the end."""
        self._search.accelerator.device.use()  # first: a fork may have left the lock taken for ever
        with self._lock:
            if self._over:
                return None
            try:
                return self._next()
            except BaseException:
                self._end(complete=False)
                raise

    def _next(self) -> VertexArray | None:
        block = np.empty((min(self._batch_rows, _FIRST_ROOM), self._columns), VERTEX_DTYPE)
        filled, first_row = 0, 0.0
        while not self._closing:
            if filled == len(block) < self._batch_rows:
                block = _grown(block, self._batch_rows)
            ended = self._search.done()  # before reading: what was written by then is there
            read = self._reader.read(block[filled:], _WAIT_SECONDS if filled == 0 and not ended else 0.0)
            now = time.perf_counter()
            first_row = first_row if filled else now
            filled += read
            self._report(now)
            if self._over:  # the callback closed this
                return None
            if self._reaches_limit(filled):
                filled = self._cut(filled)
                break
            if filled == self._batch_rows or (filled and now - first_row >= _HAND_OUT_SECONDS):
                break
            if ended and read == 0:
                if not self._go_on():
                    self._end(complete=not self._was_stopped)
                    break
            elif not ended and self._deadline is not None and now >= self._deadline:
                self._stop_kernel()
            elif read == 0 and filled:
                time.sleep(20e-6)
        self._delivered += filled
        return block[:filled] if filled and not self._closing else None

    def _stop_kernel(self) -> None:
        """Stop for want of time; what is in the ring is still handed out."""
        if not self._was_stopped:
            self._was_stopped = True
            self._search.stop_and_wait()

    def _go_on(self) -> bool:
        """Resume groups that parked; False if there are none or they may not go on."""
        if self._was_stopped:
            return False
        self._search.found()  # refuses a result that is not whole
        if self._search.parked() == 0:
            return False
        self._search.launch(resume=True)
        return True

    def _reaches_limit(self, filled: int) -> bool:
        limit = self._request.limit
        return limit is not None and self._delivered + filled > limit

    def _cut(self, filled: int) -> int:
        """End at the limit: one row more than it is known."""
        assert self._request.limit is not None
        self._end(complete=False)
        return self._request.limit - self._delivered

    def _report(self, now: float) -> None:
        if self._request.progress is None or now < self._next_look:
            return
        self._next_look = now + _HAND_OUT_SECONDS
        if (seen := self._search.look()) is not None:
            self._request.progress(ProgressReport(*seen, now - self._started))

    def _end(self, *, complete: bool) -> None:
        self.complete = complete
        self._search.close()
        self._over = True

    def close(self) -> None:
        """Stop the search; rows not taken are dropped."""
        self._closing = True
        if self._search.inherited:
            return
        with self._lock:
            if not self._over:
                self._search.accelerator.device.use()
                self._end(complete=False)

    def __del__(self) -> None:
        # Streams are gone by then; the process takes the kernel along.
        if hasattr(self, "_over") and not sys.is_finalizing():
            self.close()


def _grown(block: VertexArray, most: int) -> VertexArray:
    room = np.empty((min(most, 2 * len(block)), block.shape[1]), VERTEX_DTYPE)
    room[: len(block)] = block
    return room
