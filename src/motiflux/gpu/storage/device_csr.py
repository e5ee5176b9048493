"""Copies of a graph's rows on a device, uploaded once and kept with the graph."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.device import Buffer, Device
from motiflux.device.pinned import PinnedMemory, pin
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.device_cache import CacheEntry, DeviceCache, release_pinned
from motiflux.gpu.storage.upload import PIECE, UploadContext, upload_row_ends
from motiflux.graph import AdjacencyKey, Graph
from motiflux.graph.adjacency import Adjacency
from motiflux.request.registry import OUT_OF_CORE
from motiflux.types import OffsetArray

_KEPT_BYTES, _KEPT_RATIO = 1 << 30, 32
"""Limit of unused copies: a number of bytes, or a multiple of the graph's size, whichever is greater."""


class RowsKey(NamedTuple):
    """Names rows: the arcs they hold, and whether only arcs to a greater vertex.

    If a plan requires candidates greater than the vertex of the row, the rest of the row is never read. In
    degree order, the remaining rows are short: at most the square root of twice the number of edges.
    """

    adjacency: AdjacencyKey
    above: bool


@dataclass(eq=False)
class HostRows(CacheEntry):
    """Rows in memory of the host: offsets, and neighbours in pinned memory, which devices read.

    Parameters
    ----------
    offsets
        Offsets of the rows.
    neighbors
        Memory of the neighbours.
    longest
        Length of the longest row.
    origin
        The rows of the graph that they were copied from.
    """

    offsets: OffsetArray = field(repr=False)
    neighbors: PinnedMemory
    longest: int
    origin: Adjacency = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The memory of the neighbours, which is not of the device."""
        return (self.neighbors,)

    @property
    def pinned(self) -> tuple[PinnedMemory, ...]:
        """Memory of the neighbours."""
        return (self.neighbors,)

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return int(self.offsets[-1])

    @property
    def rows(self) -> Adjacency:
        """Offsets and neighbours as arrays of the host."""
        return self.offsets, self.neighbors.memory.array[: 4 * self.arcs].view(np.uint32)


@dataclass(eq=False)
class DeviceRows(CacheEntry):
    """Rows on a device: number of arcs, length of the longest row, and the rows of the host (`origin`)."""

    offsets: Buffer
    neighbors: Buffer
    arcs: int
    longest: int
    origin: Adjacency = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of the rows."""
        return self.offsets, self.neighbors

    @property
    def pinned(self) -> tuple[PinnedMemory, ...]:
        """Memory of the host, if the neighbours stayed there."""
        return (self.neighbors,) if isinstance(self.neighbors, PinnedMemory) else ()

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of offsets and neighbours."""
        return self.offsets.address, self.neighbors.address

    @property
    def starts(self) -> int:
        """Number of rows."""
        return len(self.origin[0]) - 1


class WalkedRows(Protocol):
    """Rows that a search reads: addresses and sizes."""

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of offsets and neighbours."""

    @property
    def arcs(self) -> int:
        """Number of arcs."""

    @property
    def longest(self) -> int:
        """Length of the longest row."""

    @property
    def starts(self) -> int:
        """Number of rows, without rows that are known to be empty."""


@dataclass(eq=False)
class CopiedArray(CacheEntry):
    """An array on a device, and the object of the host that it was made from."""

    buffer: Buffer
    origin: object = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of the array."""
        return (self.buffer,)


class DeviceCsr(DeviceCache):
    """Copies of parts of one graph on one device. A copy holds the host's rows that it was made from."""

    def rows(self, graph: Graph, key: RowsKey, context: UploadContext) -> DeviceRows:
        """Return the rows that `key` names, uploaded if necessary.

        Raises
        ------
        DeviceMemoryError
            The rows do not fit.
        OutOfTimeError
            Time was up before all rows were copied.
        """
        host = graph.adjacency(key.adjacency, context.threads)

        def make() -> DeviceRows:
            return self._send(_name(host, key.above), host, _kept(graph, key, host, context), context)

        # The copy holds both arrays, so that no other array gets their ids.
        return self.keep((*_name(host, key.above), context.on_host), make)

    def arcs(self, graph: Graph, *, into: bool, context: UploadContext) -> DeviceRows:
        """Return all arcs, by source or (`into`) by target; raises the errors of `rows`."""
        host, name = _all_arcs(graph, into=into)
        return self.keep((*name, context.on_host), lambda: self._send(name, host, host[0], context))

    def rows_of_host(self, graph: Graph, key: RowsKey, context: UploadContext) -> HostRows:
        """Return the rows that `key` names in pinned memory of the host, copied if necessary.

        Raises
        ------
        DeviceError
            The memory cannot be pinned, or the budget of pinned memory does not have it.
        OutOfTimeError
            Time was up before all rows were copied.
        """
        host = graph.adjacency(key.adjacency, context.threads)
        return self._pinned(_name(host, key.above), host, _kept(graph, key, host, context), context)

    def arcs_of_host(self, graph: Graph, *, into: bool, context: UploadContext) -> HostRows:
        """Return all arcs in pinned memory of the host; raises the errors of `rows_of_host`."""
        host, name = _all_arcs(graph, into=into)
        return self._pinned(name, host, host[0], context)

    def rows_from(
        self, graph: Graph, key: RowsKey, arcs: AdjacencyKey, more_than: int, context: UploadContext
    ) -> DeviceRows:
        """Return the rows that `key` names; rows of vertices with at most `more_than` `arcs` are empty.

        Raises the errors of `rows`.
        """

        def make() -> DeviceRows:
            host = graph.adjacency(key.adjacency, context.threads)
            kept = graph.offsets_above(key.adjacency, context.threads) if key.above else host[0]
            many = np.diff(graph.adjacency(arcs, context.threads)[0]) > more_than
            return self._send(name, host, only_rows(kept, many), context)

        name = "from", key, arcs, more_than
        return self.keep((*name, context.on_host), make)

    def labels(self, graph: Graph, context: UploadContext) -> CopiedArray | None:
        """Return the label codes of all vertices; None if all have one label. Raises the errors of `rows`."""
        codes = graph.vertex_labels
        if codes is None:
            return None

        def make() -> CopiedArray:
            made = CopiedArray(self._to_device(codes, context), codes)
            context.stream.wait()  # searches on other streams may read it from now on
            return made

        return self.keep(("labels", id(codes)), make)

    def _send(
        self, name: tuple[Hashable, ...], host: Adjacency, kept: OffsetArray, context: UploadContext
    ) -> DeviceRows:
        """Copy the last entries of each row: as many as between its offsets in `kept`."""
        there = self._pinned(name, host, kept, context) if context.on_host else None
        offsets = self._to_device(kept, context)
        context.deadline.check()
        if there is not None:
            context.stream.wait()
            return DeviceRows(offsets, there.neighbors, there.arcs, there.longest, host)
        arcs = int(kept[-1])
        neighbors = self._allocate(4 * arcs, context)
        upload_row_ends(self._device, neighbors, host, kept, context)
        longest = _native.longest_row(kept, context.threads)
        copies = DeviceRows(offsets, neighbors, arcs, longest, host)
        context.stream.wait()
        return copies

    def _pinned(
        self, name: tuple[Hashable, ...], host: Adjacency, kept: OffsetArray, context: UploadContext
    ) -> HostRows:
        """Return the same entries in pinned memory of the host."""
        return self.keep(("host", *name), lambda: self._to_host(host, kept, context))

    def _to_device(self, array: NDArray[Any], context: UploadContext) -> Buffer:
        context.deadline.check()
        buffer = self._allocate(array.nbytes, context)
        if array.nbytes:
            context.stream.upload(buffer, array)
        return buffer

    def _allocate(self, nbytes: int, context: UploadContext) -> Buffer:
        try:
            return self._device.allocate(max(nbytes, 8), "a copy of the graph", budget=context.budget)
        except DeviceMemoryError as error:
            if not context.on_host:
                error.advise(f"engine={OUT_OF_CORE!r} leaves the edges in memory of the host")
            raise

    def _to_host(self, host: Adjacency, kept: OffsetArray, context: UploadContext) -> HostRows:
        arcs, what = int(kept[-1]), "neighbours of a graph that stay on the host"
        memory = pin(self._device, max(4 * arcs, 8), what, release_pinned, context.deadline.check)
        to = memory.memory.array[: 4 * arcs].view(np.uint32)
        for first in range(0, arcs, PIECE):
            context.deadline.check()
            _native.pack_row_ends(*host, kept, first, to[first : first + PIECE], context.threads)
        return HostRows(kept, memory, _native.longest_row(kept, context.threads), host)


def _name(host: Adjacency, above: bool) -> tuple[Hashable, ...]:
    return id(host[0]), id(host[1]), above


def _kept(graph: Graph, key: RowsKey, host: Adjacency, context: UploadContext) -> OffsetArray:
    context.deadline.check()
    return graph.offsets_above(key.adjacency, context.threads) if key.above else host[0]


def _all_arcs(graph: Graph, *, into: bool) -> tuple[Adjacency, tuple[Hashable, ...]]:
    rows = graph.reverse if into else graph.forward
    host = rows.offsets, rows.neighbors
    return host, _name(host, above=False)


def only_rows(offsets: OffsetArray, kept: NDArray[np.bool_]) -> OffsetArray:
    """Return the offsets without the entries of rows that are not `kept`."""
    lengths = np.where(kept, np.diff(offsets), np.uint64(0))
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)])


def resident(graph: Graph, device: Device) -> DeviceCsr:
    """Return the copies of `graph` on `device`."""
    room = max(_KEPT_BYTES, _KEPT_RATIO * graph.nbytes)
    return graph.memo.keep(("resident", id(device)), lambda: DeviceCsr(device, room))


def is_resident(graph: Graph, device: Device) -> bool:
    """Return whether rows of `graph` are on `device`."""
    return any(isinstance(one, DeviceRows) and not one.pinned for one in resident(graph, device).entries())
