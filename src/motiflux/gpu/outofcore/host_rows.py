"""Rows in pinned memory of the host, which kernels read and write where they are (GCSM, section V-A)."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.device import HostBuffer, Stream
from motiflux.device.pinned import pin
from motiflux.gpu.changing.rows import SlackRows
from motiflux.gpu.outofcore.pinned import INSTEAD, WHAT, expect_same_address
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import release_pinned

_writes = itertools.count(1)


def _no_check() -> None:
    """Leave it to Python to raise what Ctrl-C does."""


def next_writing() -> int:
    """Return a number that no writing of all headers has had."""
    return next(_writes)


class HostRows(SlackRows):
    """Rows that have some room each, in memory of the host.

    The device has their headers: where each row is and how long it is. A header may name a copy of the row in
    memory of the device instead (`RowCache`).

    Attributes
    ----------
    written
        A number that is new whenever all headers were written: they name the rows of the host then.

    Parameters
    ----------
    unified
        Whether the memory is unified instead of pinned, which is for comparisons: pages are moved, not lines.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        budget: int | None,
        *,
        way: int,
        directed: bool,
        unified: bool = False,
    ) -> None:
        super().__init__(accelerator, budget, way=way, directed=directed)
        self.written, self._unified = 0, unified
        self._last_chunk: NDArray[np.uint32] = np.empty(0, np.uint32)

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._header_bytes

    @property
    def host_nbytes(self) -> int:
        """Bytes of pinned memory of the host."""
        return self._held

    @property
    def num_rows(self) -> int:
        """Number of rows, which may be those of vertices to come."""
        return len(self._size)

    @property
    def all_sizes(self) -> NDArray[np.int64]:
        """Number of entries of each row."""
        return self._size

    def places_of(
        self, vertices: NDArray[np.uint32], threads: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the addresses of rows in memory of the host, and their numbers of entries."""
        return self._address[vertices], self._size[vertices]

    def _allocate(self, nbytes: int) -> HostBuffer:
        """Return pinned memory within the budget, or unified memory; raises `NotPinnedError`."""
        chunk: HostBuffer
        if self._unified:
            chunk = self._device.allocate_managed(nbytes, WHAT)
        else:
            chunk = pin(self._device, nbytes, WHAT, release_pinned, _no_check, INSTEAD)
        expect_same_address(self._device, chunk.array.ctypes.data, chunk.address)
        self._last_chunk = chunk.array.view(np.uint32)
        return chunk

    def _fill(self, stream: Stream, entries: NDArray[np.uint32]) -> None:
        self._last_chunk[: len(entries)] = entries

    def _pad(self, stream: Stream, vertices: int) -> None:
        super()._pad(stream, vertices)
        self.written = next_writing()

    def take_over(self, run: _native.Run, accepts: Callable[[int], bool]) -> None:
        """Leave out what a run has brought to the rows that were loaded.

        Parameters
        ----------
        accepts
            Whether a row has edges as an end says them: its class, with the bit of incoming edges.
        """
        entries, begin = self._last_chunk, self._last_chunk.ctypes.data
        before: tuple[int, int, int] | None = None
        for vertex, of, neighbor, _, _, fresh in run.ends.tolist():
            is_first, before = (vertex, of, neighbor) != before, (vertex, of, neighbor)
            if not fresh or not is_first or not accepts(of):
                continue
            size = int(self._size[vertex])
            at = (int(self._address[vertex]) - begin) // 4
            row = entries[at : at + size]
            place = int(np.searchsorted(row, neighbor))
            row[place:-1] = row[place + 1 :].copy()
            self._size[vertex] = size - 1
            self.entries -= 1

    def release(self) -> None:
        """Free the memory."""
        super().release()
        self._last_chunk = np.empty(0, np.uint32)
