"""Device memory of an engine that is kept between runs, and uploads of many arrays at once."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, HostBuffer, Mark, Stream
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import pin
from motiflux.errors import DeviceError, DeviceMemoryError

_ALIGNMENT = 16
_GROWTH = 1.25
_FEW = 32 << 20
"""Larger uploads go through memory that is pinned in the background: pinning takes .6 ms for each MiB."""
_MOST_PINNED = 1 << 30
"""Larger memory is not pinned."""
_SECONDS_BETWEEN_LOOKS = 2e-5


class Room:
    """A buffer that is replaced by a larger one when it is too small. Its contents are not kept then.

    Parameters
    ----------
    what
        Its purpose, for errors.
    budget
        Maximum number of bytes that motiflux holds on the device.
    most
        Bytes beyond which it does not grow ahead of need.
    """

    def __init__(self, device: Device, what: str, budget: int | None, most: int | None = None) -> None:
        self._device, self._what, self._budget, self._most = device, what, budget, most
        self._buffer: Buffer | None = None
        self.version = 0
        """How many buffers there were so far."""

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
            self.version += 1
        stream.hold(buffer)
        return buffer

    def _new(self, nbytes: int, *, grows: bool) -> Buffer:
        nbytes = max(_ALIGNMENT, nbytes)
        ahead = int(_GROWTH * nbytes) if grows else nbytes
        if self._most is not None:
            ahead = min(ahead, self._most)
        if ahead > nbytes:
            with suppress(DeviceMemoryError):
                return self._device.allocate(ahead, self._what, budget=self._budget)
        return self._device.allocate(nbytes, self._what, budget=self._budget)

    def release(self) -> None:
        """Free the memory."""
        self._buffer = None


class SpareRoom(Room):
    """Memory without which searches find the same, more slowly: it is freed if other memory is short.

    It is not freed while it is in use, from `take` to `give_back`.
    """

    def __init__(self, device: Device, what: str, budget: int | None, most: int | None = None) -> None:
        super().__init__(device, what, budget, most)
        self._is_used = False
        device.add_reclaimer(self._reclaim)

    def take(self, nbytes: int, stream: Stream) -> Buffer | None:
        """Return a buffer as `of` does, which is in use from now on; None if there is no memory for it."""
        self._is_used = True  # before there is memory, which another thread may reclaim
        try:
            return self.of(nbytes, stream)
        except DeviceMemoryError:
            self._is_used = False
            return None

    def give_back(self) -> None:
        """Note that no search uses the memory any more."""
        self._is_used = False

    def release(self) -> None:
        """Free the memory."""
        super().release()
        self._is_used = False

    def _reclaim(self, _: int) -> int:
        freed = 0 if self._is_used else self.nbytes
        if freed:
            super().release()
        return freed


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
        in_pieces = self.nbytes > _FEW  # the next part is filled while one is copied
        for place, nbytes, fill in self._parts:
            part = memory[place : place + nbytes]
            fill(part, to.address + place)
            if in_pieces:
                stream.upload(to, part, place)
        if not in_pieces:
            stream.upload(to, memory)


class LargePinned:
    """Large pinned memory of a device, which one engine at a time has for a run.

    A thread pins it after the first run that needs as much, so that no call waits for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spare: HostBuffer | None = None
        self._asked = 0
        self._is_pinning = False

    def take(self, nbytes: int) -> HostBuffer | None:
        """Return memory of at least this size if it is ready and nobody has it; `give` it back."""
        with self._lock:
            memory = self._spare
            if memory is None or len(memory.array) < nbytes:
                return None
            self._spare = None
            return memory

    def give(self, memory: HostBuffer) -> None:
        """Take memory back, or memory that was pinned; the larger one is kept."""
        with self._lock:
            if self._spare is None or len(self._spare.array) < len(memory.array):
                self._spare = memory

    def ask(self, device: Device, nbytes: int) -> None:
        """Have as much pinned in the background, once."""
        with self._lock:
            if self._is_pinning or nbytes <= self._asked or nbytes > _MOST_PINNED:
                return
            self._is_pinning, self._asked = True, int(_GROWTH * nbytes)
            thread = threading.Thread(target=self._pin, args=(device, self._asked), name="motiflux-pin")
        try:
            thread.start()
        except RuntimeError:  # no more threads: runs go through other memory
            self._is_pinning = False

    def _pin(self, device: Device, nbytes: int) -> None:
        try:
            with suppress(DeviceError):  # runs go through other memory
                device.use()
                self.give(pin(device, nbytes, "large runs of updates", lambda _: 0, lambda: None))
        finally:
            self._is_pinning = False


_large_pinned: weakref.WeakKeyDictionary[Device, LargePinned] = weakref.WeakKeyDictionary()


def large_pinned(device: Device) -> LargePinned:
    """Return the large pinned memory that the engines of a device share, kept as long as the device."""
    return _large_pinned.setdefault(device, LargePinned())


class Staging:
    """Host memory that uploads go through, one after another: pinned, unless it is large or cannot be.

    Large memory is pinned once `pinned` has it. Until then it is kept for the next run, and freed after a run
    that did not need it: to clear the pages of new memory takes longer than to fill it.

    A copy from it must be done before `of` is called again, or `of` waits for it if `copies` was called.
    """

    def __init__(self, device: Device, pinned: LargePinned) -> None:
        self._copied: Mark | None = None
        self._is_copying = False
        self._device, self._pinned = device, pinned
        self._lent: HostBuffer | None = None
        self._memory: HostBuffer | None = None
        self._large: NDArray[np.uint8] | None = None
        self._used = 0

    def of(self, nbytes: int) -> NDArray[np.uint8]:
        """Return memory of this size, once what `copies` noted is done."""
        self._wait()
        self._used = max(self._used, nbytes)
        if nbytes > _FEW:
            if self._lent is None:
                self._lent = self._pinned.take(nbytes)
            if self._lent is not None and len(self._lent.array) >= nbytes:
                self._large = None
                return self._lent.array[:nbytes]
            return self._ordinary(nbytes)
        if self._memory is None or len(self._memory.array) < nbytes:
            self._memory = None
            wanted = max(1 << 16, int(_GROWTH * nbytes))
            try:
                self._memory = self._device.allocate_host(wanted, "updates on their way to the device")
            except NotPinnedError:
                return self._ordinary(nbytes)
        return self._memory.array[:nbytes]

    def copies(self, stream: Stream) -> None:
        """Note that the copy from the memory is enqueued on a stream."""
        self._copied = stream.mark(self._copied)
        self._is_copying = True

    def _wait(self) -> None:
        while self._is_copying and self._copied is not None and not self._copied.done():
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        self._is_copying = False

    def _ordinary(self, nbytes: int) -> NDArray[np.uint8]:
        if self._large is None or len(self._large) < nbytes:
            self._large = None
            self._large = np.empty(nbytes, np.uint8)
        return self._large[:nbytes]

    def sent(self) -> None:
        """Free memory that was needed once; all copies from it are done."""
        self._is_copying = False
        used, self._used = self._used, 0
        if used > _FEW:
            self._pinned.ask(self._device, used)
        else:
            self._large = None
        self._give_back()

    def _give_back(self) -> None:
        lent, self._lent = self._lent, None  # first: it has one owner, whatever interrupts this
        if lent is not None:
            self._pinned.give(lent)

    def release(self) -> None:
        """Free the memory, once nothing copies from it."""
        with suppress(DeviceError):  # it failed, or does not belong to this process: nothing copies
            self._wait()
        self._is_copying, self._copied = False, None
        self._give_back()
        self._memory = self._large = None
