"""Memory of a device: cache entries, which stay there for later jobs, and the memory of one job.

Cache entries are dropped in the order of their last use.
"""

from __future__ import annotations

import itertools
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from motiflux.device import Buffer, Device, Stream
from motiflux.device.pinned import PinnedMemory

ticks = itertools.count(1)
"""Numbers in ascending order: the entry that was used last has the greatest one."""


@dataclass(eq=False)
class CacheEntry(ABC):
    """An object that was copied to a device, or made there, and stays while jobs read it."""

    users: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet, init=False, repr=False)
    """The `JobMemory` of each existing job that reads the entry."""
    used: int = field(default=0, init=False)
    """Time of the last use: a number of `ticks`."""

    @property
    @abstractmethod
    def buffers(self) -> Sequence[Buffer]:
        """Device memory of the entry."""

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return sum(buffer.nbytes for buffer in self.buffers)

    @property
    def pinned(self) -> Sequence[PinnedMemory]:
        """Pinned memory of the host that the entry reads; other entries may read it, too."""
        return ()


T = TypeVar("T", bound=CacheEntry)


class DeviceCache:
    """Cache entries by name, on one device, with at most `room` bytes of entries that no job uses.

    Single dictionary operations only, so that threads share the cache without a lock: any thread that
    allocates may reclaim memory. If two threads make the same entry, one of the two is kept.

    When the device is short of memory, the least recently used entries of all graphs' caches are dropped
    first.
    """

    def __init__(self, device: Device, room: int) -> None:
        self._device = device
        self._room = room
        self._kept: dict[Hashable, CacheEntry] = {}
        _known[next(ticks)] = self
        device.add_reclaimer(self._reclaim_of_device)

    def keep(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return the entry of a name, made if necessary, and mark it as used."""
        found: Any = self._kept.get(name)
        if found is None:
            found = make()
            self.reclaim(sum(one.nbytes for one in list(self._kept.values())) - self._room)
        found.used = next(ticks)
        self._kept[name] = found
        kept: T = found
        return kept

    def known(self, name: Hashable) -> CacheEntry | None:
        """Return the entry of a name; None if there is none."""
        return self._kept.get(name)

    def entries(self) -> list[CacheEntry]:
        """Return all entries, the last one made last."""
        return list(self._kept.values())

    def take(self, name: Hashable) -> CacheEntry | None:
        """Remove the entry of a name and return it. No job may read entries of such names but by this."""
        return self._kept.pop(name, None)

    def drop(self, name: Hashable) -> None:
        """Remove the entry of a name. Jobs that read it hold its memory."""
        self._kept.pop(name, None)

    def forget(self, kind: type[CacheEntry]) -> None:
        """Drop entries of one kind that no job reads; the next job makes them again."""
        for name, found in list(self._kept.items()):
            if isinstance(found, kind) and not found.users:
                self._kept.pop(name, None)

    def bytes_of(self, kind: type[CacheEntry]) -> int:
        """Return the bytes of entries of one kind that no job reads."""
        return sum(one.nbytes for one in list(self._kept.values()) if isinstance(one, kind) and not one.users)

    def holds(self, kind: type[CacheEntry]) -> bool:
        """Whether there is an entry of one kind."""
        return any(isinstance(one, kind) for one in list(self._kept.values()))

    def reclaim(self, needed: int) -> int:
        """Drop entries that no job reads, the least recently used first; return their bytes."""
        return _give_up([self], needed)

    def _reclaim_of_device(self, needed: int) -> int:
        """Drop entries of any graph on the device, the least recently used first; return their bytes."""
        known = [copies for ref in _known.valuerefs() if (copies := ref()) is not None]
        return _give_up((copies for copies in known if copies._device is self._device), needed)


_known: weakref.WeakValueDictionary[int, DeviceCache] = weakref.WeakValueDictionary()
"""The caches of all graphs on all devices; each is removed with its graph."""


def _give_up(some: Iterable[DeviceCache], needed: int) -> int:
    """Drop entries that no job reads, the least recently used first; return their bytes."""
    freed = 0
    kept = [(found, name, copies) for copies in some for name, found in list(copies._kept.items())]
    for found, name, copies in sorted(kept, key=lambda one: one[0].used):
        if freed >= needed:
            break
        nbytes = found.nbytes  # entries that have none on the device stay
        if nbytes and not found.users and copies._kept.pop(name, None) is not None:
            freed += nbytes
    return freed


def droppable(device: Device) -> int:
    """Return the bytes on a device of entries that no job reads: they are dropped when memory is short."""
    known = [copies for ref in _known.valuerefs() if (copies := ref()) is not None]
    entries = [one for copies in known if copies._device is device for one in copies.entries()]
    return sum(one.nbytes for one in entries if not one.users)


def release_pinned(needed: int) -> int:
    """Drop entries of all graphs that read pinned memory and that no job reads; return the bytes freed.

    The memory that was used last is kept longest.
    """
    readers: dict[int, list[tuple[CacheEntry, Hashable, DeviceCache]]] = {}
    memories: dict[int, PinnedMemory] = {}
    for copies in [known for ref in _known.valuerefs() if (known := ref()) is not None]:
        for name, found in list(copies._kept.items()):
            for memory in found.pinned:
                memories[id(memory)] = memory
                readers.setdefault(id(memory), []).append((found, name, copies))
    freed = 0
    for key, entries in sorted(readers.items(), key=lambda one: max(entry.used for entry, *_ in one[1])):
        if freed >= needed:
            break
        if any(entry.users for entry, *_ in entries):
            continue
        for _, name, copies in entries:
            copies._kept.pop(name, None)
        freed += memories[key].host_nbytes
    return freed


class JobMemory:
    """Memory of one job, until `release`.

    Parameters
    ----------
    block
        The first buffer of the job: its control block.

    Attributes
    ----------
    stream
        The stream whose work the memory outlives.
    entries
        The cache entries that stay on the device for the job.
    cleared
        Buffers that are cleared before each launch, and the number of bytes to clear.
    """

    def __init__(self, block: Buffer) -> None:
        self.stream: Stream | None = None
        self.entries: list[CacheEntry] = []
        self.cleared: list[tuple[Buffer, int]] = []
        self._own = [block]
        self._kept: list[weakref.ref[CacheEntry]] = []

    @property
    def nbytes(self) -> int:
        """Bytes of the job's buffers, without cache entries."""
        return sum(buffer.nbytes for buffer in self._own)

    def hold(self, buffer: Buffer) -> None:
        """Keep a buffer."""
        assert self.stream is not None, "the job is not open"
        self.stream.hold(buffer)
        self._own.append(buffer)

    def read(self, entry: T) -> T:
        """Have a cache entry stay on the device. Call it before any allocation, which may drop entries."""
        assert self.stream is not None, "the job is not open"
        self._borrow(entry)
        for buffer in entry.buffers:
            self.stream.hold(buffer)
        return entry

    def reads(self, entry: CacheEntry) -> bool:
        """Whether `read` was called for an entry."""
        return self in entry.users

    def clear_at_launches(self, buffer: Buffer, nbytes: int) -> None:
        """Clear the first bytes of a held buffer before each launch."""
        self.cleared.append((buffer, nbytes))

    def _borrow(self, entry: CacheEntry) -> None:
        entry.users.add(self)
        entry.used = next(ticks)
        self.entries.append(entry)

    def move(self, stream: Stream) -> None:
        """Have all buffers outlive the work of another stream."""
        for buffer in (*self._own, *(buffer for entry in self.entries for buffer in entry.buffers)):
            stream.hold(buffer)

    def release(self, *, keep: bool) -> None:
        """Release all memory; if the job is kept, only the cache entries."""
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
        """Have the cache entries of a kept job stay again; return False if one of them was dropped."""
        for ref in self._kept:
            if (entry := ref()) is None:
                return False
            self._borrow(entry)
        return True
