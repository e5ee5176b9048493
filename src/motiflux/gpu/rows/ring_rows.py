"""Rows of an enumeration that come through a ring in mapped memory, while the kernel runs."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from motiflux.codegen import layout
from motiflux.gpu.rows.found_rows import HAND_OUT_SECONDS, FoundRows
from motiflux.gpu.rows.ring import MappedRing
from motiflux.result.images import Block
from motiflux.types import VERTEX_DTYPE, VertexArray

_RING_BYTES = 4 << 20
_MOST_SLOTS, _LEAST_SLOTS = 8192, 64
_WAIT_SECONDS = 1e-3
"""How long the reader waits for the first row before deadlines and the kernel's end are looked at."""
_FIRST_ROOM = 1 << 16
"""Rows that a batch has room for at first; it grows as rows come."""


class RingRows(FoundRows):
    """Rows from the ring that the groups of a running kernel fill."""

    def _connect(self) -> None:
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
        self._reader = ring.reader()

    def _launch(self) -> None:
        self._search.launch()

    def _next(self) -> Block | None:
        most, cut = self._batch_found, None
        block = np.empty((min(most, _FIRST_ROOM), self._columns), VERTEX_DTYPE)
        filled, first_row = 0, 0.0
        while not self._closing:
            if filled == len(block) < most:
                block = _grown(block, most)
            ended = self._search.done()  # before reading: what was written by then is there
            read = self._reader.read(block[filled:], _WAIT_SECONDS if filled == 0 and not ended else 0.0)
            now = time.perf_counter()
            first_row = first_row if filled else now
            filled += read
            self._report(now)
            if self._over:  # the callback closed this
                return None
            if self._reaches_limit(filled):
                cut = self._cut()
                break
            if filled == most or (filled and now - first_row >= HAND_OUT_SECONDS):
                break
            if ended and read == 0:
                if not self._may_go_on():
                    self._end(complete=not self._was_stopped)
                    break
                self._search.launch(resume=True)
            elif not ended and self._deadline is not None and now >= self._deadline:
                self._stop_kernel()
            elif read == 0 and filled:
                time.sleep(20e-6)
        if not filled or self._closing:
            return None
        rows = self._images.of(block[:filled])[:cut]
        self._delivered += len(rows)
        return rows if len(rows) else None


def _grown(block: VertexArray, most: int) -> VertexArray:
    room = np.empty((min(most, 2 * len(block)), block.shape[1]), VERTEX_DTYPE)
    room[: len(block)] = block
    return room
