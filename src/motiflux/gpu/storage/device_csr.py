"""Copies of a graph's rows on a device, uploaded once and kept with the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer, Device, Stream
from motiflux.gpu.runtime.device_cache import CacheEntry, DeviceCache
from motiflux.graph import AdjacencyKey, Graph
from motiflux.graph.adjacency import Adjacency
from motiflux.request.deadline import Deadline

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
class UploadContext:
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
    budget: int | None
    deadline: Deadline


@dataclass(eq=False)
class DeviceRows(CacheEntry):
    """Rows on a device: how many arcs, the longest row, and the graph's rows that they come from."""

    offsets: Buffer
    neighbors: Buffer
    arcs: int
    longest: int
    origin: Adjacency = field(repr=False)

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
class CopiedArray(CacheEntry):
    """An array on a device, and that of the host which it comes from."""

    buffer: Buffer
    origin: object = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Its memory."""
        return (self.buffer,)


class DeviceCsr(DeviceCache):
    """What of one graph is on one device. Copies hold on to rows of the host that they come from."""

    def rows(self, graph: Graph, key: RowsKey, context: UploadContext) -> DeviceRows:
        """Return the rows that `key` names, uploaded if they are not there yet.

        Raises
        ------
        DeviceMemoryError
            They do not fit.
        OutOfTimeError
            Time was up before all of them were there.
        """
        return self._upload(graph.adjacency(key.adjacency, context.threads), key.above, context)

    def arcs(self, graph: Graph, *, into: bool, context: UploadContext) -> DeviceRows:
        """Return every arc, by its source or (`into`) by its target; raises what `rows` does."""
        rows = graph.reverse if into else graph.forward
        return self._upload((rows.offsets, rows.neighbors), False, context)

    def rows_from(
        self, graph: Graph, key: RowsKey, arcs: AdjacencyKey, more_than: int, context: UploadContext
    ) -> DeviceRows:
        """Return the rows that `key` names, those empty whose vertex has not more than so many other arcs.

        Raises what `rows` does.
        """

        def make() -> DeviceRows:
            host = graph.adjacency(key.adjacency, context.threads)
            many = np.diff(graph.adjacency(arcs, context.threads)[0]) > more_than
            return self._send(_from(_above(host) if key.above else host, many), host, context)

        return self.keep(("from", key, arcs, more_than), make)

    def labels(self, graph: Graph, context: UploadContext) -> CopiedArray | None:
        """Return the label codes of all vertices; None where all have one label. Raises what `rows` does."""
        codes = graph.vertex_labels
        if codes is None:
            return None

        def make() -> CopiedArray:
            made = CopiedArray(self._to_device(codes, context), codes)
            context.stream.wait()  # searches on other streams may read it from now on
            return made

        return self.keep(("labels", id(codes)), make)

    def _upload(self, host: Adjacency, above: bool, context: UploadContext) -> DeviceRows:
        # The copy holds on to both arrays, so the names stay theirs.
        return self.keep((id(host[0]), id(host[1]), above), lambda: self._copy(host, above, context))

    def _copy(self, host: Adjacency, above: bool, context: UploadContext) -> DeviceRows:
        context.deadline.check()
        return self._send(_above(host) if above else host, host, context)

    def _send(self, rows: Adjacency, host: Adjacency, context: UploadContext) -> DeviceRows:
        offsets, neighbors = (self._to_device(array, context) for array in rows)
        copies = DeviceRows(offsets, neighbors, len(rows[1]), int(np.diff(rows[0]).max(initial=0)), host)
        context.stream.wait()
        return copies

    def _to_device(self, array: NDArray[Any], context: UploadContext) -> Buffer:
        context.deadline.check()
        buffer = self._device.allocate(max(array.nbytes, 8), "a copy of the graph", budget=context.budget)
        if array.nbytes:
            context.stream.upload(buffer, array)
        return buffer


def _above(rows: Adjacency) -> Adjacency:
    """Keep the neighbours that are greater than the row's vertex."""
    offsets, neighbors = rows
    vertices = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    kept = neighbors > vertices
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(kept, dtype=np.uint64)])
    return before[offsets], neighbors[kept]


def _from(rows: Adjacency, kept: NDArray[np.bool_]) -> Adjacency:
    """Leave some rows as they are, and empty the others."""
    offsets, neighbors = rows
    lengths = np.diff(offsets).astype(np.int64)
    shorter = np.concatenate([np.zeros(1, np.uint64), np.cumsum(np.where(kept, lengths, 0), dtype=np.uint64)])
    return shorter, neighbors[np.repeat(kept, lengths)]


def resident(graph: Graph, device: Device) -> DeviceCsr:
    """Return what of `graph` is on `device`."""
    room = max(_KEPT_BYTES, _KEPT_RATIO * graph.nbytes)
    return graph.memo.keep(("resident", id(device)), lambda: DeviceCsr(device, room))


def is_resident(graph: Graph, device: Device) -> bool:
    """Return whether rows of `graph` are on `device`."""
    return resident(graph, device).holds(DeviceRows)
