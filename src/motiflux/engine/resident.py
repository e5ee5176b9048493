"""Copies of a graph's rows on a device, uploaded once and kept with the graph."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, Stream
from motiflux.engine.deadline import seconds_left
from motiflux.graph import AdjacencyKey, Graph
from motiflux.graph.adjacency import Adjacency
from motiflux.types import LabelArray

ticks = itertools.count(1)
"""Moments, in order: who was used last has the greatest."""


class _Kept(Protocol):
    used: int


T = TypeVar("T", bound=_Kept)

_KEPT_BYTES, _KEPT_RATIO = 1 << 30, 32
"""What copies that no search uses may take: so many bytes, or so many times what the graph takes."""


class RowsKey(NamedTuple):
    """Names rows: the arcs they hold, and whether only those to a greater vertex.

    Where a plan asks for a candidate greater than the vertex whose row it is in, the rest of the row is never
    looked at. In a graph's degree order what remains is short: at most the square root of twice the edges.
    """

    adjacency: AdjacencyKey
    above: bool


@dataclass(frozen=True)
class Means:
    """What copying may take.

    Parameters
    ----------
    stream
        What the copies go through.
    threads
        Threads of the host, to narrow rows to their labels.
    budget
        Bytes that motiflux may hold on the device.
    deadline
        When time is up.
    """

    stream: Stream
    threads: int
    budget: int | None = None
    deadline: float | None = None


@dataclass(eq=False)
class DeviceRows:
    """Rows on a device: how many arcs, the longest row, and the graph's rows that they come from.

    `users` are the searches that read them. A search that is gone is none, however it ended.
    """

    offsets: Buffer
    neighbors: Buffer
    arcs: int
    longest: int
    origin: Adjacency = field(repr=False)
    users: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet, repr=False)
    used: int = 0

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Its memory."""
        return self.offsets, self.neighbors

    @property
    def addresses(self) -> tuple[int, int]:
        """Where offsets and neighbours begin."""
        return self.offsets.address, self.neighbors.address

    @property
    def starts(self) -> int:
        """Number of rows."""
        return len(self.origin[0]) - 1

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.offsets.nbytes + self.neighbors.nbytes


class Borrowed(Protocol):
    """What is on a device, and has to stay until searches that read it are over."""

    used: int
    """When it was last: by `ticks`."""

    @property
    def users(self) -> weakref.WeakSet[Any]:
        """The searches that read it."""

    @property
    def buffers(self) -> Sequence[Buffer]:
        """Its memory."""


class Copies(Borrowed, Protocol):
    """The same, where it is kept under a name."""

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""


class WalkedRows(Protocol):
    """Rows that a search walks: where offsets and neighbours begin, how many there are of what."""

    @property
    def addresses(self) -> tuple[int, int]:
        """Where offsets and neighbours begin."""

    @property
    def arcs(self) -> int:
        """Number of arcs."""

    @property
    def longest(self) -> int:
        """Length of the longest row."""

    @property
    def starts(self) -> int:
        """Number of rows, those left out that are empty for sure."""


@dataclass(eq=False)
class DeviceLabels:
    """The label code of each vertex, on a device; kept like `DeviceRows`."""

    buffer: Buffer
    origin: LabelArray = field(repr=False)
    users: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet, repr=False)
    used: int = 0

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Its memory."""
        return (self.buffer,)

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.buffer.nbytes


@dataclass(eq=False)
class DeviceUnits(DeviceRows):
    """What was derived from rows, as one buffer in the place of both."""

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Its memory."""
        return (self.offsets,)

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.offsets.nbytes


class Resident:
    """What of one graph is on one device: as much as fits, but no more than `room` bytes that nobody uses.

    Copies hold on to rows of the host that they come from, so that they must not fill a large device.

    Single dictionary operations only, so that threads share this without a lock: reclaiming may start from
    any thread that allocates. Two threads may upload the same rows; one of the copies is kept.
    """

    def __init__(self, device: Device, room: int) -> None:
        self._device = device
        self._room = room
        self._kept: dict[Hashable, Any] = {}
        device.add_reclaimer(self.reclaim)

    def rows(self, graph: Graph, key: RowsKey, means: Means) -> DeviceRows:
        """Return the rows that `key` names, uploaded if they are not there yet.

        Raises
        ------
        DeviceMemoryError
            They do not fit.
        OutOfTimeError
            Time was up before all of them were there.
        """
        return self._upload(graph.adjacency(key.adjacency, means.threads), key.above, means)

    def arcs(self, graph: Graph, *, into: bool, means: Means) -> DeviceRows:
        """Return every arc, by its source or (`into`) by its target; raises what `rows` does."""
        rows = graph.reverse if into else graph.forward
        return self._upload((rows.offsets, rows.neighbors), False, means)

    def labels(self, graph: Graph, means: Means) -> DeviceLabels | None:
        """Return the label codes of all vertices; None where all have one label. Raises what `rows` does."""
        codes = graph.vertex_labels
        if codes is None:
            return None

        def make() -> DeviceLabels:
            made = DeviceLabels(self._to_device(codes, means), codes)
            means.stream.wait()  # searches on other streams may read it from now on
            return made

        return self.keep(("labels", id(codes)), make)

    def keep(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under a name, made if it is not there: it counts as used now."""
        found: T | None = self._kept.get(name)
        if found is None:
            found = make()
            self.reclaim(sum(one.nbytes for one in list(self._kept.values())) - self._room)
        found.used = next(ticks)
        self._kept[name] = found
        return found

    def forget(self, kind: type[Any]) -> None:
        """Give up what is of one kind, but for what a search reads: the next search makes it anew."""
        for name, found in list(self._kept.items()):
            if isinstance(found, kind) and not found.users:
                self._kept.pop(name, None)

    @property
    def holds_rows(self) -> bool:
        """Whether any rows of the graph are there."""
        return any(isinstance(one, DeviceRows) for one in list(self._kept.values()))

    def known(self, name: Hashable) -> object:
        """Return what is kept under a name; None if nothing is."""
        return self._kept.get(name)

    def drop(self, name: Hashable) -> None:
        """Keep what has this name no longer. Searches that read it still do."""
        self._kept.pop(name, None)

    def reclaim(self, needed: int) -> int:
        """Give up copies, the least recently used first; return their bytes.

        Those that a search reads are left.
        """
        freed = 0
        for name, found in sorted(self._kept.items(), key=lambda item: item[1].used):
            if freed >= needed:
                break
            if not found.users and self._kept.pop(name, None) is not None:
                freed += found.nbytes
        return freed

    def _upload(self, host: Adjacency, above: bool, means: Means) -> DeviceRows:
        # The copy holds on to both arrays, so the names stay theirs.
        return self.keep((id(host[0]), id(host[1]), above), lambda: self._copy(host, above, means))

    def _copy(self, host: Adjacency, above: bool, means: Means) -> DeviceRows:
        seconds_left(means.deadline)
        rows = _above(host) if above else host
        offsets, neighbors = (self._to_device(array, means) for array in rows)
        copies = DeviceRows(offsets, neighbors, len(rows[1]), int(np.diff(rows[0]).max(initial=0)), host)
        means.stream.wait()
        return copies

    def _to_device(self, array: NDArray[Any], means: Means) -> Buffer:
        seconds_left(means.deadline)
        buffer = self._device.allocate(max(array.nbytes, 8), "a copy of the graph", budget=means.budget)
        if array.nbytes:
            means.stream.upload(buffer, array)
        return buffer


def _above(rows: Adjacency) -> Adjacency:
    """Keep the neighbours that are greater than the row's vertex."""
    offsets, neighbors = rows
    vertices = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    kept = neighbors > vertices
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(kept, dtype=np.uint64)])
    return before[offsets], neighbors[kept]


def resident(graph: Graph, device: Device) -> Resident:
    """Return what of `graph` is on `device`."""
    room = max(_KEPT_BYTES, _KEPT_RATIO * graph.nbytes)
    return graph.memo.keep(("resident", id(device)), lambda: Resident(device, room))


def is_resident(graph: Graph, device: Device) -> bool:
    """Return whether rows of `graph` are on `device`."""
    return resident(graph, device).holds_rows
