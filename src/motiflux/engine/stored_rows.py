"""Rows of an enumeration that a kernel stores in device memory, fetched once it has ended.

There are two pieces of memory. While the kernel fills one, the rows in the other go to the host and are
handed out. A full piece ends the kernel: its groups save themselves, and the next launch goes on in the
other piece. Where a piece does not fill soon, the groups are asked to pause, so that no row waits for long.
"""

from __future__ import annotations

import time

import numpy as np

from motiflux.codegen.layout import ROWS_PER_PACKET
from motiflux.device import Buffer
from motiflux.engine.device_rows import HAND_OUT_SECONDS, DeviceRows
from motiflux.errors import DeviceMemoryError
from motiflux.types import VERTEX_DTYPE, VertexArray

_FIRST_BYTES, _MOST_BYTES = 1 << 20, 32 << 20
"""Of rows that a launch may store: the first is short, so that first rows come soon."""
_GROWTH = 4
_SPIN_SECONDS = 200e-6
_LONGEST_SLEEP = 1e-3


class StoredRows(DeviceRows):
    """Rows from memory of the device that its kernel fills again and again."""

    def _connect(self) -> None:
        row_bytes = self._row_bytes = 4 * self._columns
        most, least = _MOST_BYTES, row_bytes * ROWS_PER_PACKET  # whoever comes first finds room
        limit = self._request.limit
        if limit is not None:
            most = min(most, max(row_bytes * (limit + 1), least))
        while True:
            try:
                self._pieces = [self._piece(most), self._piece(most)]
                break
            except DeviceMemoryError:
                if most == least:
                    raise
                most = max(most // 4, least)
        self._room = most // row_bytes
        self._next_room = min(self._room, _FIRST_BYTES // row_bytes)
        self._filling = 0
        self._fetched = np.empty((0, self._columns), VERTEX_DTYPE)
        self._ended = False

    def _piece(self, nbytes: int) -> Buffer:
        budget = self._request.gpu_memory
        return self._search.accelerator.device.allocate(nbytes, "rows that were found", budget=budget)

    def _launch(self, *, resume: bool = False) -> None:
        piece = self._pieces[self._filling]
        self._search.stream.hold(piece)
        self._search.task.rows, self._search.task.row_room = piece.address, self._next_room
        self._search.launch(resume=resume)
        self._launched = time.perf_counter()
        self._next_room = min(self._room, _GROWTH * self._next_room)

    def _next(self) -> VertexArray | None:
        while not self._closing:
            if len(self._fetched):
                return self._handed_out()
            if self._ended:
                self._end(complete=not self._was_stopped)
                return None
            if not self._wait():
                return None
            self._fetch()
        return None

    def _handed_out(self) -> VertexArray:
        """Return rows out of memory that is used again."""
        rows = self._fetched[: self._batch_rows]
        self._fetched = self._fetched[len(rows) :]
        if self._reaches_limit(len(rows)):
            rows = rows[: self._cut()]
        self._delivered += len(rows)
        return rows.copy()

    def _wait(self) -> bool:
        """Wait for the kernel's end; False if this was closed meanwhile."""
        began, paused = time.perf_counter(), False
        while True:
            now = time.perf_counter()
            self._report(now)
            if self._over or self._closing:
                return False
            if self._search.done():
                return True
            if self._deadline is not None and now >= self._deadline:
                self._stop_kernel()
            elif not paused and now - self._launched >= HAND_OUT_SECONDS and self._search.rows_so_far():
                paused = True
                self._search.pause()
            if now - began > _SPIN_SECONDS:
                time.sleep(min(_LONGEST_SLEEP, (now - began) / 10))

    def _fetch(self) -> None:
        """Bring the rows of the kernel that ended to the host; meanwhile it goes on with the other piece."""
        search, full = self._search, self._pieces[self._filling]
        stored = search.rows_stored()
        self._ended = not self._may_go_on()
        known = self._delivered + stored
        if not self._ended and (self._request.limit is None or known <= self._request.limit):
            self._filling = 1 - self._filling
            self._launch(resume=True)
        if stored:
            rows = search.fetch(full, stored * self._row_bytes)
            self._fetched = rows.view(VERTEX_DTYPE).reshape(stored, self._columns)
