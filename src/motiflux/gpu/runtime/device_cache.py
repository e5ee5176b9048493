"""Memory of a device: copies and tables that stay there for later jobs, and what one job holds.

Copies and tables are given up in the order in which they were last used.
"""

from __future__ import annotations

import itertools
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from motiflux.device import Buffer, Device, Stream

ticks = itertools.count(1)
"""Moments, in order: the entry that was used last has the greatest."""


@dataclass(eq=False)
class CacheEntry(ABC):
    """An object that was copied to a device, or made there, and stays while searches read it."""

    users: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet, init=False, repr=False)
    """The `JobMemory` of each job that reads it; a job that is gone is none."""
    used: int = field(default=0, init=False)
    """When it was used last: a number of `ticks`."""

    @property
    @abstractmethod
    def buffers(self) -> Sequence[Buffer]:
        """Its memory."""

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return sum(buffer.nbytes for buffer in self.buffers)


T = TypeVar("T", bound=CacheEntry)


class DeviceCache:
    """Cache entries by name, on one device, with at most `room` bytes of entries that no search uses.

    Single dictionary operations only, so that threads share this without a lock: reclaiming may start from
    any thread that allocates. Two threads may make the same copy; one of the two is kept.

    When the device is short of memory, the entries of all graphs are given up in one order, the least
    recently used first, whichever cache is asked.
    """

    def __init__(self, device: Device, room: int) -> None:
        self._device = device
        self._room = room
        self._kept: dict[Hashable, CacheEntry] = {}
        _known[next(ticks)] = self
        device.add_reclaimer(self._reclaim_of_device)

    def keep(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under a name, made if it is not there: it counts as used now."""
        found: Any = self._kept.get(name)
        if found is None:
            found = make()
            self.reclaim(sum(one.nbytes for one in list(self._kept.values())) - self._room)
        found.used = next(ticks)
        self._kept[name] = found
        kept: T = found
        return kept

    def known(self, name: Hashable) -> CacheEntry | None:
        """Return what is kept under a name; None if nothing is."""
        return self._kept.get(name)

    def drop(self, name: Hashable) -> None:
        """Keep what has this name no longer. Searches that read it still do."""
        self._kept.pop(name, None)

    def forget(self, kind: type[CacheEntry]) -> None:
        """Give up what is of one kind, but for what a search reads: the next search makes it anew."""
        for name, found in list(self._kept.items()):
            if isinstance(found, kind) and not found.users:
                self._kept.pop(name, None)

    def holds(self, kind: type[CacheEntry]) -> bool:
        """Whether anything of one kind is there."""
        return any(isinstance(one, kind) for one in list(self._kept.values()))

    def reclaim(self, needed: int) -> int:
        """Give up copies, the least recently used first; return their bytes.

        Those that a search reads are left.
        """
        return _give_up([self], needed)

    def _reclaim_of_device(self, needed: int) -> int:
        """Give up copies of any graph on the device, the least recently used first; return their bytes."""
        known = [copies for ref in _known.valuerefs() if (copies := ref()) is not None]
        return _give_up((copies for copies in known if copies._device is self._device), needed)


_known: weakref.WeakValueDictionary[int, DeviceCache] = weakref.WeakValueDictionary()
"""All that there are, on any device, until they go with their graphs."""


def _give_up(some: Iterable[DeviceCache], needed: int) -> int:
    """Give up copies that no search reads, the least recently used first; return their bytes."""
    freed = 0
    kept = [(found, name, copies) for copies in some for name, found in list(copies._kept.items())]
    for found, name, copies in sorted(kept, key=lambda one: one[0].used):
        if freed >= needed:
            break
        if not found.users and copies._kept.pop(name, None) is not None:
            freed += found.nbytes
    return freed


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

    def read(self, entry: T) -> T:
        """Have a cache entry stay on the device, at once: what is allocated next may have to make room."""
        assert self.stream is not None, "the job is not open"
        self._borrow(entry)
        for buffer in entry.buffers:
            self.stream.hold(buffer)
        return entry

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
        for ref in self._kept:
            if (entry := ref()) is None:
                return False
            self._borrow(entry)
        return True
