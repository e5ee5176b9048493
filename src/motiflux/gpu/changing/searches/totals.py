"""The totals of a run: 128 bits for each slot, summed up on the device and copied to the host."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Device, HostBuffer, Stream
from motiflux.gpu.changing.memory import Room

_BYTES = 16
"""Bytes of a total."""
_FEW = 4096
"""As many totals come to the host without a further wait."""


class Totals:
    """Totals of slots, in memory that is kept between runs.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    """

    def __init__(self, device: Device, budget: int | None) -> None:
        self._device = device
        self._memory = Room(device, "totals of updates", budget)
        self._few: HostBuffer | None = None
        self._slots = 0
        self._is_copied = False

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._memory.nbytes

    def clear(self, stream: Stream, slots: int) -> int:
        """Have a zero for each slot; return their address."""
        buffer = self._memory.of(_BYTES * slots, stream)
        stream.clear(buffer, 0, _BYTES * slots)
        self._slots, self._is_copied = slots, False
        return buffer.address

    def copy(self, stream: Stream) -> None:
        """Copy few totals behind the work that is enqueued: the host need not wait once more for them."""
        if self._slots <= _FEW:
            self._download(stream, self._on_host())
            self._is_copied = True

    def found(self, stream: Stream) -> NDArray[np.uint64]:
        """Return the totals, [slots, 2], low words first, once the work enqueued so far is done."""
        if self._is_copied:
            return self._on_host().copy()  # its memory is used again
        found = np.empty((self._slots, 2), np.uint64)
        self._download(stream, found)
        stream.wait()
        return found

    def _on_host(self) -> NDArray[np.uint64]:
        """Return memory for few totals that a copy writes while the host goes on."""
        if self._few is None:
            self._few = self._device.allocate_host(_BYTES * _FEW, "totals of updates")
        return self._few.array[: _BYTES * self._slots].view(np.uint64).reshape(self._slots, 2)

    def _download(self, stream: Stream, to: NDArray[np.uint64]) -> None:
        stream.download(self._memory.of(_BYTES * self._slots, stream), to)

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()
        self._few = None
