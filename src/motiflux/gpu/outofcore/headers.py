"""Headers on the device that name rows in memory of the host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.changing import (
    CACHE_COPY_ENTRY,
    CACHE_MOVE_ENTRY,
    CACHE_OPEN_ENTRY,
    MOVED_ROW,
    CacheArgs,
    cache_source,
)
from motiflux.codegen.kernels import THREADS
from motiflux.device import Kernel, Stream
from motiflux.gpu.changing.candidates import blocks_of_threads
from motiflux.gpu.changing.memory import Room, Staging, large_pinned
from motiflux.gpu.runtime.accelerator import Accelerator

_PIECE = 1 << 18
"""Headers that are sent at a time."""


@dataclass(frozen=True)
class RowPlaces:
    """Where rows of one kind are.

    Attributes
    ----------
    headers
        Address of the headers of all rows of the kind.
    vertices
        Whose rows, uint32 [rows].
    addresses, sizes
        Where they are in memory of the host, uint64 [rows], and their numbers of entries, int64 [rows].
    """

    headers: int
    vertices: NDArray[np.uint32]
    addresses: NDArray[np.uint64]
    sizes: NDArray[np.int64]

    def __getitem__(self, which: slice) -> RowPlaces:
        return RowPlaces(self.headers, self.vertices[which], self.addresses[which], self.sizes[which])

    def __len__(self) -> int:
        return len(self.vertices)


class HeaderWriter:
    """Has headers on the device name rows of the host, in pieces.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None) -> None:
        self._accelerator = accelerator
        device = accelerator.device
        self._moved = Room(device, "places of rows of the host", budget)
        self._staging = Staging(device, large_pinned(device))

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._moved.nbytes

    def kernel(self, entry: str) -> Kernel:
        """Return a kernel that copies rows or writes headers."""
        entries = (CACHE_MOVE_ENTRY, CACHE_COPY_ENTRY, CACHE_OPEN_ENTRY)
        return self._accelerator.kernels(cache_source(), entries)[entry]

    def write(self, stream: Stream, kinds: Iterable[RowPlaces]) -> None:
        """Write the headers of rows; rows of several kinds are sent together."""
        together: list[RowPlaces] = []
        room = _PIECE
        for rows in kinds:
            while len(rows) >= room:
                self._send(stream, [*together, rows[:room]])
                together, rows, room = [], rows[slice(room, None)], _PIECE
            if len(rows):
                together.append(rows)
                room -= len(rows)
        if together:
            self._send(stream, together)

    def _send(self, stream: Stream, kinds: Sequence[RowPlaces]) -> None:
        nbytes = MOVED_ROW.itemsize * sum(map(len, kinds))
        moved = self._staging.of(nbytes).view(MOVED_ROW)
        buffer, places, end = self._moved.of(nbytes, stream), [], 0
        for rows in kinds:
            places.append(end)
            end += len(rows)
            part = moved[places[-1] : end]
            part["vertex"], part["neighbors"], part["size"] = rows.vertices, rows.addresses, rows.sizes
        stream.upload(buffer, moved.view(np.uint8))
        kernel = self.kernel(CACHE_MOVE_ENTRY)
        for rows, place in zip(kinds, places, strict=True):
            at = buffer.address + MOVED_ROW.itemsize * place
            args = CacheArgs(rows=rows.headers, moved=at, moved_count=len(rows))
            stream.launch(kernel, blocks_of_threads(len(rows)), THREADS, 0, args)
        self._staging.copies(stream)

    def sent(self) -> None:
        """Give back memory that headers were sent from."""
        self._staging.sent()

    def release(self) -> None:
        """Free the memory."""
        self._moved.release()
        self._staging.release()
