"""Device memory of a job: buffers of its own, and cache entries that it reads."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from motiflux.device import Buffer, Stream
from motiflux.gpu.runtime.device_cache import CacheEntry, ticks


class JobMemory:
    """Memory of one job, from the moment it has it until `release`.

    Parameters
    ----------
    block
        The first of its own buffers: its control block.

    Attributes
    ----------
    stream
        The stream whose work it outlives.
    entries
        The cache entries that stay on the device meanwhile.
    cleared
        Buffers that are zero before each launch, and how many of their bytes.
    """

    def __init__(self, block: Buffer) -> None:
        self.stream: Stream | None = None
        self.entries: list[CacheEntry] = []
        self.cleared: list[tuple[Buffer, int]] = []
        self._own = [block]
        self._kept: list[weakref.ref[CacheEntry]] = []

    @property
    def nbytes(self) -> int:
        """Bytes of its own buffers."""
        return sum(buffer.nbytes for buffer in self._own)

    def hold(self, buffer: Buffer) -> None:
        """Keep a buffer."""
        assert self.stream is not None, "the job is not open"
        self.stream.hold(buffer)
        self._own.append(buffer)

    def read(self, entries: Iterable[CacheEntry]) -> None:
        """Have cache entries stay on the device."""
        assert self.stream is not None, "the job is not open"
        for entry in entries:
            self._borrow(entry)
            for buffer in entry.buffers:
                self.stream.hold(buffer)

    def reads(self, entry: CacheEntry) -> bool:
        """Whether `read` was told of an entry."""
        return self in entry.users

    def clear_at_launches(self, buffer: Buffer, nbytes: int) -> None:
        """Have the first bytes of a buffer that is held be zero before each launch."""
        self.cleared.append((buffer, nbytes))

    def _borrow(self, entry: CacheEntry) -> None:
        entry.users.add(self)
        entry.used = next(ticks)
        self.entries.append(entry)

    def move(self, stream: Stream) -> None:
        """Have all of it outlive the work of another stream."""
        for buffer in (*self._own, *(buffer for entry in self.entries for buffer in entry.buffers)):
            stream.hold(buffer)

    def release(self, *, keep: bool) -> None:
        """Give back all of it; of a job that is kept, the cache entries only."""
        if not keep:
            self._kept = []
            self._own.clear()
            self.cleared.clear()
        elif not self._kept:  # a kept job reads the same entries each time
            self._kept = [weakref.ref(one) for one in dict.fromkeys(self.entries)]
        for entry in self.entries:
            entry.users.discard(self)
        self.entries.clear()

    def borrow_again(self) -> bool:
        """Have the cache entries of a kept job stay again; False if one of them was given up."""
        entries = [entry for ref in self._kept if (entry := ref()) is not None]
        if len(entries) < len(self._kept):
            return False
        for entry in entries:
            self._borrow(entry)
        return True
