"""Rows of an enumeration that a kernel stores in device memory, fetched once the kernel has ended.

There are two pieces of memory. While the kernel fills one, the rows in the other are copied to the host and
handed out. A full piece ends the kernel: its groups save themselves, and the next launch resumes them in the
other piece. If a piece does not fill soon, the groups are asked to pause, so that no row waits for long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.layout import STAGED_ROWS
from motiflux.device import Buffer, Mark
from motiflux.device.arrays import DeviceArray
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.rows.found_rows import HAND_OUT_SECONDS, FoundRows
from motiflux.gpu.rows.ids import DeviceIds
from motiflux.request.deadline import OutOfTimeError, moments
from motiflux.result.images import Block
from motiflux.types import VERTEX_DTYPE

_FIRST_BYTES, _MOST_BYTES = 1 << 20, 32 << 20
"""Bytes of rows that the first launch, and any launch, may store; the first is short to return rows soon."""
_MOST_BATCH_BYTES = 256 << 20
"""Most bytes of ids on the device at a time: the ids of a piece's images may be many times larger."""
_ID_BYTES = 8
_GROWTH = 4


@dataclass(frozen=True, slots=True)
class _Stored:
    """Rows of a full piece that still have to be converted to ids."""

    address: int
    rows: int

    def after(self, rows: int, row_bytes: int) -> _Stored | None:
        """Return the rest after `rows` rows; None if none are left."""
        return None if rows == self.rows else _Stored(self.address + rows * row_bytes, self.rows - rows)


class StoredRows(FoundRows):
    """Rows from two pieces of device memory that the kernel fills in turn."""

    def _connect(self) -> None:
        row_bytes = self._row_bytes = 4 * self._columns
        least = row_bytes * STAGED_ROWS  # enough for the first group
        most = max(_MOST_BYTES, least)
        limit = self._request.limit
        if limit is not None:
            most = min(most, max(row_bytes * (limit // self._images.of_each + 1), least))
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
        self._paused = False
        self._there: _Stored | None = None
        self._made: tuple[DeviceArray, Mark] | None = None
        self._most_there = max(1, _MOST_BATCH_BYTES // (_ID_BYTES * self._columns * self._images.of_each))
        self._ids: DeviceIds | None = None

    def _piece(self, nbytes: int) -> Buffer:
        budget = self._request.gpu_memory
        return self._job.accelerator.device.allocate(nbytes, "rows that were found", budget=budget)

    def _end(self, *, complete: bool) -> None:
        super()._end(complete=complete)
        self._pieces, self._there, self._made, self._ids = [], None, None, None
        self._fetched = self._fetched[:0].copy()

    def _launch(self, *, resume: bool = False) -> None:
        piece = self._pieces[self._filling]
        self._job.stream.hold(piece)
        task = self._job.launches.task
        task.rows, task.row_capacity = piece.address, self._next_room
        self._job.launch(resume=resume)
        self._launched, self._paused = time.perf_counter(), False
        self._next_room = min(self._room, _GROWTH * self._next_room)

    def _next(self) -> Block | None:
        if not self._closing:
            self._report(time.perf_counter())  # rows that are taken slowly are never waited for
        while not self._closing and not self._over:
            if not len(self._fetched) and not self._ended and not self._wait():
                return None
            if (rows := self._once()) is not None:
                return rows
        return None

    def _once(self) -> Block | None:
        """Hand out rows, or end, or launch the kernel again if it is done; None if there are no rows yet."""
        if len(self._fetched):
            return self._handed_out()
        if self._ended:
            self._end(complete=not self._was_stopped)
            return None
        piece, stored = self._advance()
        if stored == 0:
            return None
        rows = self._job.session.fetch(piece, stored * self._row_bytes)
        self._fetched = rows.view(VERTEX_DTYPE).reshape(stored, self._columns)
        return self._handed_out()

    def _handed_out(self) -> Block:
        """Return the next batch of the rows that were fetched, copied out of memory that is reused."""
        found = self._fetched[: self._batch_found]
        rows = self._images.of(found.copy())
        self._fetched = self._fetched[len(found) :]
        if self._reaches_limit(len(found)):
            rows = rows[: self._cut()]
        self._delivered.rows += len(rows)
        return rows

    def _wait(self) -> bool:
        """Wait for the kernel's end; return False if `close` was called meanwhile."""
        for now in moments():
            self._report(now)
            if self._over or self._closing:
                break
            if self._ready(now):
                return True
        return False

    def _ready(self, now: float) -> bool:
        """Whether the kernel has ended; asks it to pause if rows would wait for long."""
        if self._job.done():
            return True
        if self._deadline.at is not None and now >= self._deadline.at:
            self._stop_kernel()
        elif not self._paused and now - self._launched >= HAND_OUT_SECONDS and self._has_rows():
            self._paused = True
            self._job.pause()
        return False

    def _has_rows(self) -> bool:
        """Whether the kernel had found rows a moment ago."""
        seen = self._job.seen()
        return seen is not None and int(seen.reserved) > 0

    def _advance(self) -> tuple[Buffer, int]:
        """Return the piece of a kernel that has ended and its rows, and resume it in the other piece."""
        full = self._pieces[self._filling]
        stored = self._job.reader.rows_stored()
        self._last_seen = self._job.reader.final_progress()
        self._ended = not self._may_go_on()
        if not self._ended and not self._reaches_limit(stored):
            self._filling = 1 - self._filling
            self._launch(resume=True)
        return full, stored

    def widen(self, rows: int) -> None:
        """Raise the maximum number of rows of a block to `rows`."""
        self._batch_rows = max(self._batch_rows, rows)

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return the next rows as ids on the device, [rows, columns]; None at the end.

        If memory is short, arrays are smaller. Do not mix calls with `next`.

        Raises
        ------
        DeviceMemoryError
            The ids do not fit beside the search.
        """
        return self._guarded(lambda: self._next_array(ids))

    def _next_array(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        while not self._closing and not self._over:
            if self._there is None and not self._ended and not self._wait():
                return None
            if (array := self._array_once(ids)) is not None:
                return array
        return None

    def _array_once(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Do the same as `_once`, with rows on the device."""
        if self._there is None:
            if self._ended:
                self._end(complete=not self._was_stopped)
                return None
            piece, stored = self._advance()
            if stored == 0:
                return None
            self._there = _Stored(piece.address, stored)
        try:
            found, out = self._numbered(self._there, ids)
        except OutOfTimeError:
            self._end(complete=False)
            return None
        beyond = self._reaches_limit(found)
        self._there = self._there.after(found, self._row_bytes)
        array = None if out is None else self._given_out(out, last=beyond)
        self._delivered.rows += 0 if out is None else len(out)
        if beyond:
            self._end(complete=False)
        return array

    def _numbered(self, stored: _Stored, ids: NDArray[np.int64]) -> tuple[int, DeviceArray | None]:
        """Return the number of stored rows that fit, up to the limit, and their ids (None: no rows left)."""
        if self._ids is None:
            budget = self._request.gpu_memory
            self._ids = DeviceIds(self._job, self._images.sources, ids, budget, self._deadline)
        limit = self._request.limit
        while True:
            found = min(stored.rows, self._most_there)
            rows = found * self._images.of_each
            if limit is not None and (rows := min(rows, limit - self._delivered.rows)) == 0:
                return found, None
            try:
                out = self._ids.empty(rows)
                break
            except DeviceMemoryError:
                if self._most_there == 1:
                    raise
                self._most_there = max(1, found // 4)
        self._ids.write(stored.address, out)
        return found, out

    def _given_out(self, array: DeviceArray, *, last: bool) -> DeviceArray | None:
        """Return ids once they are written; None if `poll_on_device` returns them later.

        With several devices, an array is held until its ids are written, so that the host can serve other
        devices meanwhile.
        """
        if self._shares and not last:
            self._made = array, self._job.session.side.mark()
            return None
        self._job.session.side.wait()
        return array

    # With several devices, rows are polled without waiting.

    def poll(self) -> Block | None:
        """Return rows if some are ready; None if none are yet, or all were handed out (`over`)."""
        return self._guarded(lambda: self._once() if self._can_go_on() else None)

    def poll_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return rows as ids on the device if some are ready; else None."""
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
        """Wait for the ids of the array that is held, and return it; None if there is none."""
        if self._made is None:
            return None
        self._job.session.side.wait()
        (array, _), self._made = self._made, None
        return array

    def _can_go_on(self) -> bool:
        at_hand = self._ended or len(self._fetched) > 0 or self._there is not None
        return at_hand or self._ready(time.perf_counter())
