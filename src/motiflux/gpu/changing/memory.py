"""Device memory of an engine that is kept between runs, and uploads of many arrays at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, HostBuffer, Stream
from motiflux.errors import DeviceMemoryError

_ALIGNMENT = 16
_GROWTH = 1.25
_MOST_PINNED = 32 << 20
"""Larger uploads are few, so pinning their memory would take longer than they gain by it."""


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
            self._buffer = None  # before the new one: both might not fit
            buffer = self._buffer = self._new(nbytes, grows=buffer is not None)
        stream.hold(buffer)
        return buffer

    def _new(self, nbytes: int, *, grows: bool) -> Buffer:
        nbytes = max(_ALIGNMENT, nbytes)
        if grows:
            with suppress(DeviceMemoryError):
                return self._device.allocate(int(_GROWTH * nbytes), self._what, budget=self._budget)
        return self._device.allocate(nbytes, self._what, budget=self._budget)

    def release(self) -> None:
        """Free the memory."""
        self._buffer = None


Fill = Callable[[NDArray[np.uint8], int], object]
"""Writes bytes of a parcel, which will be at this address of the device."""


class Parcel:
    """Arrays that are uploaded together, by one copy."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int, Fill]] = []
        self.nbytes = 0

    def add(self, array: NDArray[Any]) -> int:
        """Add a contiguous array; return its place in the parcel, in bytes. It may change until `send`."""

        def copy(to: NDArray[np.uint8], address: int) -> None:
            to[:] = array.reshape(-1).view(np.uint8)

        return self.reserve(array.nbytes, copy)

    def reserve(self, nbytes: int, fill: Fill) -> int:
        """Add bytes that `send` has filled in the memory that it uploads from; return their place."""
        place = self.nbytes
        self._parts.append((place, nbytes, fill))
        self.nbytes += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return place

    def send(self, stream: Stream, to: Buffer, by: Staging) -> None:
        """Upload all arrays to the start of a buffer."""
        memory = by.of(self.nbytes)
        for place, nbytes, fill in self._parts:
            fill(memory[place : place + nbytes], to.address + place)
        stream.upload(to, memory)


class Staging:
    """Host memory that uploads go through, one after another: pinned, unless it is large.

    Large memory is kept for the next run, and freed after a run that did not need it: to clear the pages of
    new memory takes longer than to fill it.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._memory: HostBuffer | None = None
        self._large: NDArray[np.uint8] | None = None
        self._used = 0

    def of(self, nbytes: int) -> NDArray[np.uint8]:
        """Return memory of this size; the copy from it must be done before the next call."""
        self._used = max(self._used, nbytes)
        if nbytes > _MOST_PINNED:
            if self._large is None or len(self._large) < nbytes:
                self._large = None
                self._large = np.empty(nbytes, np.uint8)
            return self._large[:nbytes]
        if self._memory is None or len(self._memory.array) < nbytes:
            self._memory = None
            wanted = max(1 << 16, int(_GROWTH * nbytes))
            self._memory = self._device.allocate_host(wanted, "updates on their way to the device")
        return self._memory.array[:nbytes]

    def sent(self) -> None:
        """Free memory that was needed once; the copy from it is done."""
        used, self._used = self._used, 0
        if self._large is not None and used <= _MOST_PINNED:
            self._large = None

    def release(self) -> None:
        """Free the memory."""
        self._memory = self._large = None
