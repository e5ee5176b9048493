"""Where rows have copies on the device, for kernels that look them up (GCSM, section V-C).

    of each kind of rows   | RowCopies | RowCopies | ...        what kernels are told at first
                             rowidx, rowptr, slots of one kind, then of the next

Copies of several runs lie in several pieces of the cache, so an entry of `rowptr` names both ends of a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.kernels import THREADS
from motiflux.codegen.row_access import (
    COPIED_ROW,
    HASH_ENTRY,
    HASHED_ROW,
    ROW_COPIES,
    HashArgs,
    RowAccess,
    hash_source,
)
from motiflux.device import Stream
from motiflux.gpu.changing.candidates import blocks_of_threads
from motiflux.gpu.changing.memory import Parcel, Room, Staging, large_pinned
from motiflux.gpu.outofcore.cache import RowCache
from motiflux.gpu.outofcore.held_rows import HeldRows
from motiflux.gpu.outofcore.own_rows import HostOrOwnRows
from motiflux.gpu.runtime.accelerator import Accelerator

_SLOTS_OF_ROW = 2
"""Slots of a hash table for each row, at least."""


class RowIndex:
    """Tells kernels which rows have copies, and where.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    access
        How kernels open rows.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None, access: RowAccess) -> None:
        self._accelerator, self._access = accelerator, access
        device = accelerator.device
        self._told = Room(device, "which rows of the host have copies", budget)
        self._rows = Room(device, "the places of copies of rows", budget)
        self._staging = Staging(device, large_pinned(device))
        self._written: tuple[int, ...] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._told.nbytes + self._rows.nbytes

    def addresses(self, stream: Stream, number: int) -> NDArray[np.uint64]:
        """Return where kernels are told of so many kinds of rows, uint64 [number]; `write` writes there."""
        self._written = None
        begin = self._told.of(number * ROW_COPIES.itemsize, stream).address
        return np.uint64(begin) + np.uint64(ROW_COPIES.itemsize) * np.arange(number, dtype=np.uint64)

    def write(self, stream: Stream, kinds: Sequence[HostOrOwnRows], cache: RowCache) -> None:
        """Tell kernels of the copies of all kinds of rows, unless they were told of them already.

        Raises
        ------
        DeviceMemoryError
            There is no room for it.
        """
        copies = [cache.copies_of(rows) for rows in kinds]
        memory = cache.memory
        place = (0, 0) if memory is None else (memory.address, memory.nbytes)
        state = (*place, *(0 if kind is None else kind.version for kind in copies))
        if state == self._written:
            return
        told = np.zeros(max(1, len(kinds)), ROW_COPIES)
        if memory is not None:
            stream.hold(memory)
            told["memory"], told["entries"] = memory.address, memory.nbytes // 4
            if self._access.looks_up:
                self._write_rows(stream, copies, told)
        to = self._told.of(told.nbytes, stream)
        sent = self._staging.of(told.nbytes)
        sent[:] = told.view(np.uint8)
        stream.upload(to, sent)
        stream.wait()  # the memory is used again
        self._written = state

    def _write_rows(self, stream: Stream, copies: Sequence[HeldRows | None], told: NDArray[np.void]) -> None:
        parcel = Parcel()
        places: list[tuple[int, int]] = []
        for kind in copies:
            rows = np.zeros(0 if kind is None else len(kind), COPIED_ROW)
            held = np.empty(0, np.uint32) if kind is None else kind.held
            if kind is not None:
                rows["first"], rows["behind"] = kind.firsts, kind.firsts + kind.sizes
            places.append((parcel.add(held), parcel.add(rows)))
        hashes = self._access.lookup == "hash"
        slots = [_slots_for(0 if kind is None or not hashes else len(kind)) for kind in copies]
        begin = parcel.nbytes
        memory = self._rows.of(max(1, begin + HASHED_ROW.itemsize * sum(slots)), stream)
        parcel.send(stream, memory, self._staging)
        if hashes:
            stream.clear(memory, begin, HASHED_ROW.itemsize * sum(slots))
        at = memory.address + begin
        for number, (kind, (rowidx, rowptr), size) in enumerate(zip(copies, places, slots, strict=True)):
            count = 0 if kind is None else len(kind)
            one = told[number : number + 1]
            one["rowidx"], one["rowptr"] = memory.address + rowidx, memory.address + rowptr
            one["slots"], one["count"], one["mask"] = at, count, max(size, 1) - 1
            if size and count:
                args = HashArgs(memory.address + rowidx, memory.address + rowptr, at, count, size - 1)
                kernel = self._accelerator.kernels(hash_source(), (HASH_ENTRY,))[HASH_ENTRY]
                stream.launch(kernel, blocks_of_threads(count), THREADS, 0, args)
            at += HASHED_ROW.itemsize * size
        stream.wait()

    def sent(self) -> None:
        """Give back memory that it was sent from."""
        self._staging.sent()

    def release(self) -> None:
        """Free the memory."""
        self._told.release()
        self._rows.release()
        self._staging.release()
        self._written = None


def _slots_for(rows: int) -> int:
    """Return a power of two of which that many rows take half at most; 0 for no rows."""
    return 1 << (_SLOTS_OF_ROW * rows - 1).bit_length() if rows else 0
