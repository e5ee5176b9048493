"""Device memory of an engine that is kept between runs, and uploads of many arrays at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, HostBuffer, Stream

_ALIGNMENT = 16
_GROWTH = 1.25


class Room:
    """A buffer that is replaced by a larger one when it is too small. Its contents are not kept then.

    Parameters
    ----------
    what
        Its purpose, for errors.
    budget
        Maximum number of bytes that motiflux holds on the device.
    """

    def __init__(self, device: Device, what: str, budget: int | None) -> None:
        self._device, self._what, self._budget = device, what, budget
        self._buffer: Buffer | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return 0 if self._buffer is None else self._buffer.nbytes

    def of(self, nbytes: int, stream: Stream) -> Buffer:
        """Return a buffer of at least `nbytes`, which the work on a stream may use until it is done."""
        buffer = self._buffer
        if buffer is None or buffer.nbytes < nbytes:
            wanted = max(_ALIGNMENT, nbytes if buffer is None else int(_GROWTH * nbytes))
            self._buffer = None  # before the new one: both might not fit
            buffer = self._buffer = self._device.allocate(wanted, self._what, budget=self._budget)
        stream.hold(buffer)
        return buffer

    def release(self) -> None:
        """Free the memory."""
        self._buffer = None


class Parcel:
    """Arrays that are uploaded together, by one copy from pinned memory."""

    def __init__(self) -> None:
        self._arrays: list[tuple[int, NDArray[Any]]] = []
        self.nbytes = 0

    def add(self, array: NDArray[Any]) -> int:
        """Add a contiguous array; return its place in the parcel, in bytes. It may change until `send`."""
        place = self.nbytes
        self._arrays.append((place, array))
        self.nbytes += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return place

    def send(self, stream: Stream, to: Buffer, by: Staging) -> None:
        """Upload all arrays to the start of a buffer."""
        words = by.of(self.nbytes)
        for place, array in self._arrays:
            words[place : place + array.nbytes] = array.reshape(-1).view(np.uint8)
        stream.upload(to, words)


class Staging:
    """Pinned host memory that uploads go through, one after another."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memory: HostBuffer | None = None

    def of(self, nbytes: int) -> NDArray[np.uint8]:
        """Return memory of this size; the copy from it must be done before the next call."""
        if self._memory is None or len(self._memory.array) < nbytes:
            self._memory = None
            wanted = max(1 << 16, int(_GROWTH * nbytes))
            self._memory = self._device.allocate_host(wanted, "updates on their way to the device")
        return self._memory.array[:nbytes]

    def release(self) -> None:
        """Free the memory."""
        self._memory = None
