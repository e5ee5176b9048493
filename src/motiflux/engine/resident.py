"""Copies of a graph's rows on a device, uploaded once and kept with the graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, Stream
from motiflux.engine.deadline import seconds_left
from motiflux.graph import AdjacencyKey, Graph
from motiflux.graph.adjacency import Adjacency


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

    @property
    def addresses(self) -> tuple[int, int]:
        """Where offsets and neighbours begin."""
        return self.offsets.address, self.neighbors.address

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.offsets.nbytes + self.neighbors.nbytes


@dataclass(eq=False)
class DeviceUnits(DeviceRows):
    """What was derived from rows, as one buffer that goes under both names."""

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.offsets.nbytes


class Resident:
    """What of one graph is on one device.

    Single dictionary operations only, so that threads share this without a lock: reclaiming may start from
    any thread that allocates. Two threads may upload the same rows; one of the copies is kept.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rows: dict[tuple[int, int, Hashable], DeviceRows] = {}
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

    def derived(self, rows: DeviceRows, what: Hashable, make: Callable[[], DeviceRows]) -> DeviceRows:
        """Return `what` was derived from rows, made if it is not there any more."""
        name = (id(rows.origin[0]), id(rows.origin[1]), what)
        found = self._rows.get(name)
        if found is None:
            found = make()
        self._rows.pop(name, None)  # to the end: used last
        self._rows[name] = found
        return found

    def reclaim(self, needed: int) -> int:
        """Give up copies, the least recently used first; return their bytes.

        Those that a search reads are left.
        """
        freed = 0
        for name in list(self._rows):
            if freed >= needed:
                break
            rows = self._rows.get(name)
            if rows is not None and not rows.users:
                self._rows.pop(name, None)
                freed += rows.nbytes
        return freed

    def touch(self, rows: Iterable[DeviceRows]) -> None:
        """Say that these were used."""
        for one in rows:
            for name in ((id(one.origin[0]), id(one.origin[1]), above) for above in (False, True)):
                if self._rows.get(name) is one:
                    self._rows.pop(name, None)
                    self._rows[name] = one

    def _upload(self, host: Adjacency, above: bool, means: Means) -> DeviceRows:
        name = (id(host[0]), id(host[1]), above)  # the copy holds on to both, so the names stay theirs
        found = self._rows.get(name)
        if found is None:
            found = self._copy(host, above, means)
        self._rows.pop(name, None)  # to the end: used last
        self._rows[name] = found
        return found

    def _copy(self, host: Adjacency, above: bool, means: Means) -> DeviceRows:
        def copy(array: NDArray[Any]) -> Buffer:
            seconds_left(means.deadline)
            buffer = self._device.allocate(max(array.nbytes, 8), "a copy of the graph", budget=means.budget)
            if array.nbytes:
                means.stream.upload(buffer, array)
            return buffer

        seconds_left(means.deadline)
        rows = _above(host) if above else host
        copies = DeviceRows(
            copy(rows[0]), copy(rows[1]), len(rows[1]), int(np.diff(rows[0]).max(initial=0)), host
        )
        means.stream.wait()
        return copies


def _above(rows: Adjacency) -> Adjacency:
    """Keep the neighbours that are greater than the row's vertex."""
    offsets, neighbors = rows
    vertices = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    kept = neighbors > vertices
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(kept, dtype=np.uint64)])
    return before[offsets], neighbors[kept]


def resident(graph: Graph, device: Device) -> Resident:
    """Return what of `graph` is on `device`."""
    return graph.memo.keep(("resident", id(device)), lambda: Resident(device))
