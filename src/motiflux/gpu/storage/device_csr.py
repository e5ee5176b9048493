"""Copies of a graph's rows on a device, uploaded once and kept with the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, HostBuffer, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.device_cache import CacheEntry, DeviceCache
from motiflux.graph import AdjacencyKey, Graph
from motiflux.graph.adjacency import Adjacency
from motiflux.request.deadline import Deadline
from motiflux.request.registry import OUT_OF_CORE
from motiflux.request.request import Request

_KEPT_BYTES, _KEPT_RATIO = 1 << 30, 32
"""Limit of unused copies: a number of bytes, or a multiple of the graph's size, whichever is greater."""


class RowsKey(NamedTuple):
    """Names rows: the arcs they hold, and whether only arcs to a greater vertex.

    If a plan requires candidates greater than the vertex of the row, the rest of the row is never read. In
    degree order, the remaining rows are short: at most the square root of twice the number of edges.
    """

    adjacency: AdjacencyKey
    above: bool


@dataclass(frozen=True)
class UploadContext:
    """Resources for copies to a device.

    Parameters
    ----------
    stream
        The stream of the copies.
    threads
        Number of host threads that filter rows by labels.
    budget
        Maximum number of bytes that motiflux holds on the device.
    deadline
        Deadline of the call.
    on_host
        Whether neighbours stay in pinned memory of the host, where kernels read them.
    """

    stream: Stream
    threads: int
    budget: int | None
    deadline: Deadline
    on_host: bool = False

    @classmethod
    def of(cls, stream: Stream, request: Request, deadline: Deadline) -> UploadContext:
        """Return what a request says."""
        on_host = request.engine == OUT_OF_CORE
        return cls(stream, request.threads, request.gpu_memory, deadline, on_host)


class HostNeighbors:
    """Neighbours in pinned memory of the host: a `Buffer` that takes no memory of the device."""

    nbytes = 0

    def __init__(self, memory: HostBuffer) -> None:
        self._memory = memory
        self.lines: set[Any] = (
            set()
        )  # as a stream wants it; the device waits for all before it frees the memory

    @property
    def address(self) -> int:
        """Address of the first one, for kernels."""
        return self._memory.address

    def close(self) -> None:
        """Free the memory; no kernel may read it any more."""
        self._memory.close()


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
        return self._upload(graph.adjacency(key.adjacency, context.threads), key.above, context)

    def arcs(self, graph: Graph, *, into: bool, context: UploadContext) -> DeviceRows:
        """Return all arcs, by source or (`into`) by target; raises the errors of `rows`."""
        rows = graph.reverse if into else graph.forward
        return self._upload((rows.offsets, rows.neighbors), False, context)

    def rows_from(
        self, graph: Graph, key: RowsKey, arcs: AdjacencyKey, more_than: int, context: UploadContext
    ) -> DeviceRows:
        """Return the rows that `key` names; rows of vertices with at most `more_than` `arcs` are empty.

        Raises the errors of `rows`.
        """

        def make() -> DeviceRows:
            host = graph.adjacency(key.adjacency, context.threads)
            many = np.diff(graph.adjacency(arcs, context.threads)[0]) > more_than
            return self._send(_from(_above(host) if key.above else host, many), host, context)

        return self.keep(("from", key, arcs, more_than, context.on_host), make)

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

    def _upload(self, host: Adjacency, above: bool, context: UploadContext) -> DeviceRows:
        # The copy holds both arrays, so that no other array gets their ids.
        name = (id(host[0]), id(host[1]), above, context.on_host)
        return self.keep(name, lambda: self._copy(host, above, context))

    def _copy(self, host: Adjacency, above: bool, context: UploadContext) -> DeviceRows:
        context.deadline.check()
        return self._send(_above(host) if above else host, host, context)

    def _send(self, rows: Adjacency, host: Adjacency, context: UploadContext) -> DeviceRows:
        offsets = self._to_device(rows[0], context)
        neighbors = (self._to_host if context.on_host else self._to_device)(rows[1], context)
        copies = DeviceRows(offsets, neighbors, len(rows[1]), int(np.diff(rows[0]).max(initial=0)), host)
        context.stream.wait()
        return copies

    def _to_device(self, array: NDArray[Any], context: UploadContext) -> Buffer:
        context.deadline.check()
        try:
            buffer = self._device.allocate(max(array.nbytes, 8), "a copy of the graph", budget=context.budget)
        except DeviceMemoryError as error:
            if not context.on_host:
                error.advise(f"engine={OUT_OF_CORE!r} leaves the edges in memory of the host")
            raise
        if array.nbytes:
            context.stream.upload(buffer, array)
        return buffer

    def _to_host(self, array: NDArray[Any], context: UploadContext) -> Buffer:
        context.deadline.check()
        memory = self._device.allocate_host(max(array.nbytes, 8), "a copy of the graph")
        memory.array[: array.nbytes].view(array.dtype)[:] = array
        return HostNeighbors(memory)


def _above(rows: Adjacency) -> Adjacency:
    """Keep the neighbours that are greater than the row's vertex."""
    offsets, neighbors = rows
    vertices = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    kept = neighbors > vertices
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(kept, dtype=np.uint64)])
    return before[offsets], neighbors[kept]


def _from(rows: Adjacency, kept: NDArray[np.bool_]) -> Adjacency:
    """Return the rows, without the entries of rows that are not `kept`."""
    offsets, neighbors = rows
    lengths = np.diff(offsets).astype(np.int64)
    shorter = np.concatenate([np.zeros(1, np.uint64), np.cumsum(np.where(kept, lengths, 0), dtype=np.uint64)])
    return shorter, neighbors[np.repeat(kept, lengths)]


def resident(graph: Graph, device: Device) -> DeviceCsr:
    """Return the copies of `graph` on `device`."""
    room = max(_KEPT_BYTES, _KEPT_RATIO * graph.nbytes)
    return graph.memo.keep(("resident", id(device)), lambda: DeviceCsr(device, room))


def is_resident(graph: Graph, device: Device) -> bool:
    """Return whether rows of `graph` are on `device`."""
    return resident(graph, device).holds(DeviceRows)
