"""Copies of edges on a device, with the values that comparisons need (``compared/network.hpp``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.compared import MOST_COPIES
from motiflux.device import Buffer, Device
from motiflux.errors import DeviceError
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.storage.device_csr import resident
from motiflux.gpu.storage.upload import PIECE, UploadContext
from motiflux.graph import Direction, Graph
from motiflux.graph.copies import ColumnKey, CopyIndex, CopyKey, copy_index, vertex_values

_PURPOSE = "copies of edges with their attributes"


@dataclass(eq=False)
class DeviceCopies(CacheEntry):
    """Arrays of one `CopyIndex` on a device.

    Parameters
    ----------
    pairs
        The offsets of pairs, their other vertices, and their first copies.
    columns
        Values of each attribute.
    rows
        Main values, other vertices, pairs and previous copies, by vertex and main value; empty for none.
    """

    pairs: tuple[Buffer, ...]
    columns: tuple[Buffer, ...]
    rows: tuple[Buffer, ...]
    origin: CopyIndex = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of all arrays."""
        return self.pairs + self.columns + self.rows


@dataclass(eq=False)
class DeviceValues(CacheEntry):
    """Values of vertices on a device, a column for each attribute, and which vertices miss one."""

    columns: tuple[Buffer, ...]
    missing: Buffer | None
    origin: object = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of all arrays."""
        return self.columns if self.missing is None else (*self.columns, self.missing)


def device_copies(job: SearchJob, graph: Graph, key: CopyKey, context: UploadContext) -> DeviceCopies:
    """Return the copies that `key` names, which stay on the device for the job.

    Raises
    ------
    DeviceError
        There are too many copies for places of 32 bits.
    DeviceMemoryError
        The copies do not fit.
    OutOfTimeError
        Time was up before all were copied.
    """
    device = job.accelerator.device
    index = copy_index(graph, key)
    context.deadline.check()
    if len(index.rows) > MOST_COPIES:
        raise DeviceError(
            f"device={device.name!r}: expected at most {MOST_COPIES:,} copies of edges to compare,"
            f" found {len(index.rows):,}; use device='cpu'"
        )

    def make() -> DeviceCopies:
        send = _Sending(device, context)
        narrow = [index.offsets.astype(np.uint32), index.neighbors, index.starts.astype(np.uint32)]
        pairs = send.all_of(narrow)
        columns = send.all_of(index.columns)
        rows = send.all_of(rows_by_value(index)) if key.by_value else ()
        context.stream.wait()  # searches on other streams may read them from now on
        return DeviceCopies(pairs, columns, rows, index)

    name = "copies", key, id(index)
    return job.memory.read(resident(graph, device).keep(name, make))


def device_values(
    job: SearchJob, graph: Graph, columns: tuple[ColumnKey, ...], context: UploadContext
) -> DeviceValues:
    """Return values of vertices, which stay on the device for the job; raises the errors of uploads."""
    device = job.accelerator.device

    def make() -> DeviceValues:
        found, missing = [], None
        for key in columns:
            values, absent = vertex_values(graph, key)
            found.append(np.ascontiguousarray(values))
            if absent is not None:
                missing = absent if missing is None else missing | absent
        send = _Sending(device, context)
        marks = None if missing is None else send.one(missing.view(np.uint8))
        made = DeviceValues(send.all_of(found), marks, (found, missing))
        context.stream.wait()
        return made

    return job.memory.read(resident(graph, device).keep(("vertex values", columns), make))


def rows_by_value(index: CopyIndex) -> list[NDArray[Any]]:
    """Return the rows of copies by main value.

    Returns
    -------
    list
        Main values, int64 [copies]; other vertices, pairs, and for each copy the place behind the copy before
        of the same pair (0 for the first one), all uint32 [copies].
    """
    assert index.by_value is not None
    others, _, firsts, _ = index.by_value.arrays
    vertices = np.uint64(len(firsts) - 1)
    lengths: NDArray[np.int64] = np.diff(firsts).astype(np.int64)
    keys = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths) * vertices + others
    pairs_of: NDArray[np.int64] = np.diff(index.offsets).astype(np.int64)
    known = np.repeat(np.arange(len(pairs_of), dtype=np.uint64), pairs_of) * vertices + index.neighbors
    pairs = np.searchsorted(known, keys).astype(np.uint32)
    order = np.argsort(pairs, kind="stable")
    follows = pairs[order][1:] == pairs[order][:-1]
    previous = np.zeros(len(pairs), dtype=np.uint32)
    previous[order[1:][follows]] = order[:-1][follows] + 1
    return [index.by_value.columns[0], others, pairs, previous]


def copies_bytes(graph: Graph, key: CopyKey) -> int:
    """Bound the bytes of copies on a device."""
    twice = not graph.directed or key.direction is Direction.EITHER
    copies = graph.num_edge_copies * (2 if twice else 1)
    of_copy = 8 + 8 * len(key.columns) + (20 if key.by_value else 0)
    return 4 * (graph.num_vertices + 1) + copies * of_copy + 4


class _Sending:
    """Copies arrays to a device, in pieces between which Ctrl-C and the deadline are answered."""

    def __init__(self, device: Device, context: UploadContext) -> None:
        self._device = device
        self._context = context

    def all_of(self, arrays: Sequence[NDArray[Any]]) -> tuple[Buffer, ...]:
        return tuple(self.one(array) for array in arrays)

    def one(self, array: NDArray[Any]) -> Buffer:
        context = self._context
        buffer = self._device.allocate(max(array.nbytes, 8), _PURPOSE, budget=context.budget)
        data = np.ascontiguousarray(array).view(np.uint8)
        for first in range(0, len(data), 4 * PIECE):
            context.deadline.check()
            context.stream.upload(buffer, data[first : first + 4 * PIECE], first)
        return buffer
