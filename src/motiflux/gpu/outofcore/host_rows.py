"""Rows in pinned memory of the host, which kernels read and write where they are (GCSM, section V-A)."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from motiflux.device import HostBuffer, Stream
from motiflux.errors import DeviceError
from motiflux.gpu.changing.rows import SlackRows
from motiflux.gpu.runtime.accelerator import Accelerator

_writes = itertools.count(1)


class HostRows(SlackRows):
    """Rows that have some room each, in memory of the host.

    The device has their headers: where each row is and how long it is. A header may name a copy of the row in
    memory of the device instead (`RowCache`).

    Attributes
    ----------
    written
        A number that is new whenever all headers were written: they name the rows of the host then.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None, *, way: int, directed: bool) -> None:
        super().__init__(accelerator, budget, way=way, directed=directed)
        self.written = 0
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
    def sizes(self) -> NDArray[np.int64]:
        """Number of entries of each row, [vertices] or more."""
        return self._size

    @property
    def addresses(self) -> NDArray[np.uint64]:
        """Address of each row in memory of the host, [vertices] or more."""
        return self._address

    def _allocate(self, nbytes: int) -> HostBuffer:
        chunk = self._device.allocate_host(nbytes, "rows of the changing graph", clear=False)
        found = chunk.array.ctypes.data
        if found != chunk.address:
            raise DeviceError(
                f"device={self._device.name!r}: expected pinned memory at the same address for the host and"
                f" the device, found {found:#x} and {chunk.address:#x}; use engine='changing'"
            )
        self._last_chunk = chunk.array.view(np.uint32)
        return chunk

    def _fill(self, stream: Stream, entries: NDArray[np.uint32]) -> None:
        self._last_chunk[: len(entries)] = entries

    def _pad(self, stream: Stream, vertices: int) -> None:
        super()._pad(stream, vertices)
        self.written = next(_writes)

    def release(self) -> None:
        """Free the memory."""
        super().release()
        self._last_chunk = np.empty(0, np.uint32)
