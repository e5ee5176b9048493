"""Copies of a graph's rows on a device, uploaded once and kept with the graph."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, Stream
from motiflux.graph import AdjacencyKey, Graph
from motiflux.graph.adjacency import Adjacency


@dataclass(eq=False)
class DeviceRows:
    """Rows on a device, beside those on the host."""

    offsets: Buffer
    neighbors: Buffer
    host: Adjacency = field(repr=False)

    @property
    def addresses(self) -> tuple[int, int]:
        """Where offsets and neighbours begin."""
        return self.offsets.address, self.neighbors.address

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.offsets.nbytes + self.neighbors.nbytes

    @property
    def arcs(self) -> int:
        """Number of arcs in all rows."""
        return len(self.host[1])

    @cached_property
    def longest(self) -> int:
        """Length of the longest row."""
        return int(np.diff(self.host[0]).max(initial=0))

    @cached_property
    def longest_above(self) -> int:
        """Most neighbours of a vertex that are greater than it: in a graph's degree order, far fewer."""
        offsets, neighbors = self.host
        rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.int64))
        return int(np.bincount(rows[neighbors > rows], minlength=1).max(initial=0))


class Resident:
    """What of one graph is on one device.

    Single dictionary operations only, so that threads share this without a lock: reclaiming may start from
    any thread that allocates. Two threads may upload the same rows; one of the copies is kept.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rows: dict[tuple[int, int], DeviceRows] = {}
        this = weakref.ref(self)

        def reclaim(needed: int) -> int:
            kept = this()
            return 0 if kept is None else kept.reclaim(needed)

        device.add_reclaimer(reclaim)

    def rows(
        self, graph: Graph, key: AdjacencyKey, threads: int, stream: Stream, budget: int | None
    ) -> DeviceRows:
        """Return the rows that `key` names, uploaded if they are not there yet.

        Raises
        ------
        DeviceMemoryError
            They do not fit.
        """
        return self._upload(graph.adjacency(key, threads), stream, budget)

    def arcs(self, graph: Graph, *, into: bool, stream: Stream, budget: int | None) -> DeviceRows:
        """Return every arc, by its source or (`into`) by its target."""
        rows = graph.reverse if into else graph.forward
        return self._upload((rows.offsets, rows.neighbors), stream, budget)

    def reclaim(self, needed: int) -> int:
        """Give up copies, the least recently used first; return the bytes that nobody else holds on to."""
        freed = 0
        for name in list(self._rows):
            if freed >= needed:
                break
            rows = self._rows.pop(name, None)
            freed += 0 if rows is None else rows.nbytes
        return freed

    def _upload(self, host: Adjacency, stream: Stream, budget: int | None) -> DeviceRows:
        name = (id(host[0]), id(host[1]))  # the copy holds on to both, so the names stay theirs
        found = self._rows.get(name)
        if found is None:
            found = self._copy(host, stream, budget)
        self._rows.pop(name, None)  # to the end: used last
        self._rows[name] = found
        return found

    def _copy(self, host: Adjacency, stream: Stream, budget: int | None) -> DeviceRows:
        def copy(array: NDArray[Any]) -> Buffer:
            buffer = self._device.allocate(max(array.nbytes, 8), "a copy of the graph", budget=budget)
            if array.nbytes:
                stream.upload(buffer, array)
            return buffer

        copies = DeviceRows(copy(host[0]), copy(host[1]), host)
        stream.wait()
        return copies


def resident(graph: Graph, device: Device) -> Resident:
    """Return what of `graph` is on `device`."""
    return graph.memo.keep(("resident", id(device)), lambda: Resident(device))
