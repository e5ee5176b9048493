"""The order in which kernels take the roots of tables, and places of arcs, computed once per graph."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import local_counts_layout as layout
from motiflux.codegen.kernels import ENTRY
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.local_counts_kernels import LocalCountKernel, local_counts_source
from motiflux.device import Buffer, Device
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.storage.device_csr import DeviceRows, resident
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph

TABLE_THREADS = 256
"""Threads of a block of the kernels that pass over tables."""
_LONGEST_GRID = 1 << 16
_PIECES, _LEAST_PIECE, _MOST_PARTS = 16, 1 << 14, 0xFFFF
"""Pieces of a multiprocessor's share of the work; least work of a piece; most pieces of one root."""


@dataclass(eq=False)
class ArcRanks(CacheEntry):
    """For each arc of symmetric rows, its place in the row of its target (``local_counts/order.cuh``)."""

    ranks: Buffer
    origin: weakref.ref[DeviceRows] = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of the array."""
        return (self.ranks,)


@dataclass(eq=False)
class DeviceRoots(CacheEntry):
    """Roots in descending order of their work, with related arrays on the device.

    Parameters
    ----------
    order, work
        The vertices that have work, and the work of each.
    host_work
        The work, on the host.
    share
        Share of the first root in all work.
    parts
        Index of each piece of a root, and number of the root's pieces, 16 bits each; None if roots were not
        divided.
    """

    order: Buffer
    work: Buffer
    host_work: NDArray[np.uint32] = field(repr=False)
    share: float
    origin: _Origin = field(repr=False)
    parts: Buffer | None = None

    @property
    def count(self) -> int:
        """Number of roots that have work."""
        return len(self.host_work)

    @property
    def buffers(self) -> list[Buffer]:
        """Memory of all arrays."""
        return [one for one in (self.order, self.work, self.parts) if one is not None]

    def is_of(self, first: DeviceRows, second: DeviceRows) -> bool:
        """Return whether the order was computed from these rows."""
        return self.origin[0]() is first and self.origin[1]() is second

    def heavier(self, work: int) -> int:
        """Return the number of roots with more than `work`."""
        return self.count - int(np.searchsorted(self.host_work[::-1], work, side="right"))


def ranks_of(graph: Graph, accelerator: Accelerator, rows: DeviceRows, context: UploadContext) -> ArcRanks:
    """Return the places of the arcs of `rows`, which are symmetric.

    Raises
    ------
    DeviceMemoryError
        The arrays do not fit.
    OutOfTimeError
        Time was up before they were computed.
    """
    copies, name = resident(graph, accelerator.device), ("ranks", id(rows))
    known = copies.known(name)
    if isinstance(known, ArcRanks) and known.origin() is not rows:  # an id that was reused
        copies.drop(name)
    return copies.keep(name, lambda: _rank(accelerator, rows, context))


def _rank(accelerator: Accelerator, rows: DeviceRows, context: UploadContext) -> ArcRanks:
    vertices = len(rows.origin[0]) - 1
    kernel = accelerator.kernel(local_counts_source(LocalCountKernel.RANKS, ENTRY), context.deadline)
    lesser = _allocate(accelerator.device, 4 * vertices, context)
    ranks = _allocate(accelerator.device, 4 * rows.arcs, context)
    args = layout.RankArgs(Adjacency(*rows.addresses), vertices, lesser.address)
    for to in (0, ranks.address):
        args.ranks = to
        context.stream.launch(kernel, _grid(vertices), TABLE_THREADS, 0, args)
    context.stream.wait()
    lesser.close()
    return ArcRanks(ranks, weakref.ref(rows))


def roots_of(
    graph: Graph,
    accelerator: Accelerator,
    first: DeviceRows,
    second: DeviceRows,
    *,
    ends: layout.Ends,
    context: UploadContext,
    divided: bool = False,
) -> DeviceRoots:
    """Return the roots of wedges along `first` and `second`, of which `ends` says which count.

    Parameters
    ----------
    divided
        Whether roots of much work are divided into pieces.

    Raises
    ------
    DeviceMemoryError
        The arrays do not fit.
    OutOfTimeError
        Time was up before the order was computed.
    """
    copies, name = resident(graph, accelerator.device), ("roots", id(first), id(second), ends, divided)
    known = copies.known(name)
    if isinstance(known, DeviceRoots) and not known.is_of(first, second):  # an id that was reused
        copies.drop(name)

    def make() -> DeviceRoots:
        work = _work(graph, accelerator, first, second, ends, context)
        some = np.flatnonzero(work).astype(np.uint32)
        order = some[_heaviest_first(work[some])]
        origin = weakref.ref(first), weakref.ref(second)
        arrange = _pieces if divided else _whole
        return arrange(accelerator.device, order, work[order], origin, context)

    return copies.keep(name, make)


def roots_by_row(
    graph: Graph, accelerator: Accelerator, rows: DeviceRows, context: UploadContext
) -> DeviceRoots:
    """Return the vertices whose rows have two entries or more; the work of each is the length of its row.

    Raises
    ------
    DeviceMemoryError
        The arrays do not fit.
    OutOfTimeError
        Time was up before they were copied.
    """
    copies, name = resident(graph, accelerator.device), ("roots by row", id(rows))
    known = copies.known(name)
    if isinstance(known, DeviceRoots) and not known.is_of(rows, rows):  # an id that was reused
        copies.drop(name)

    def make() -> DeviceRoots:
        offsets = np.empty(rows.starts + 1, np.uint64)
        context.stream.download(rows.offsets, offsets)
        context.stream.wait()
        lengths = np.diff(offsets).astype(np.uint32)
        some = np.flatnonzero(lengths > 1).astype(np.uint32)
        order = some[_heaviest_first(lengths[some])]
        origin = weakref.ref(rows), weakref.ref(rows)
        return _whole(accelerator.device, order, lengths[order], origin, context)

    return copies.keep(name, make)


def _work(
    graph: Graph,
    accelerator: Accelerator,
    first: DeviceRows,
    second: DeviceRows,
    ends: layout.Ends,
    context: UploadContext,
) -> NDArray[np.uint32]:
    """Return the work of each vertex as a root."""
    stream = context.stream
    vertices = len(first.origin[0]) - 1
    kernel = accelerator.kernel(local_counts_source(LocalCountKernel.ORDER, ENTRY), context.deadline)
    ranks = ranks_of(graph, accelerator, first, context) if ends is layout.Ends.GREATEST else None
    work = _allocate(accelerator.device, 4 * vertices, context)
    args = layout.OrderArgs(Adjacency(*first.addresses), Adjacency(*second.addresses), vertices, ends)
    args.ranks, args.work = 0 if ranks is None else ranks.ranks.address, work.address
    stream.launch(kernel, _grid(vertices), TABLE_THREADS, 0, args)
    found = np.empty(vertices, np.uint32)
    if vertices:
        stream.download(work, found)
    stream.wait()
    work.close()
    return found


def _grid(vertices: int) -> int:
    """Return the number of blocks with a warp for each vertex."""
    return max(1, min(_LONGEST_GRID, -(-vertices // (TABLE_THREADS // 32))))


def _heaviest_first(work: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return all positions, those of most work first; the greatest first among equals."""
    keys = work.astype(np.uint64) << np.uint64(32) | np.arange(len(work), dtype=np.uint64)
    keys.sort()  # several times as fast as a stable sort of positions by their work
    return keys[::-1].astype(np.uint32)


_Origin = tuple["weakref.ref[DeviceRows]", "weakref.ref[DeviceRows]"]


def _whole(
    device: Device,
    order: NDArray[np.uint32],
    work: NDArray[np.uint32],
    origin: _Origin,
    context: UploadContext,
) -> DeviceRoots:
    """Return the roots as they are."""
    return _ordered(device, order, work, None, origin, context)


def _pieces(
    device: Device,
    order: NDArray[np.uint32],
    work: NDArray[np.uint32],
    origin: _Origin,
    context: UploadContext,
) -> DeviceRoots:
    """Return roots divided into pieces of limited work, those of most work first."""
    total = float(work.sum(dtype=np.float64))
    most = max(_LEAST_PIECE, total / (_PIECES * device.multiprocessors))
    numbers = np.minimum(np.ceil(work / most), _MOST_PARTS).astype(np.uint32)
    starts = np.cumsum(numbers, dtype=np.int64) - numbers
    which = (np.arange(int(numbers.sum())) - np.repeat(starts, numbers)).astype(np.uint32)
    parts = which << np.uint32(16) | np.repeat(numbers, numbers)
    each = np.repeat(work // np.maximum(numbers, 1), numbers).astype(np.uint32)
    by_work = _heaviest_first(each)
    return _ordered(
        device, np.repeat(order, numbers)[by_work], each[by_work], parts[by_work], origin, context
    )


def _ordered(
    device: Device,
    order: NDArray[np.uint32],
    work: NDArray[np.uint32],
    parts: NDArray[np.uint32] | None,
    origin: _Origin,
    context: UploadContext,
) -> DeviceRoots:
    buffers = []
    for array in (order, work, parts):
        if array is None:
            continue
        buffer = _allocate(device, array.nbytes, context)
        if array.nbytes:
            context.stream.upload(buffer, np.ascontiguousarray(array))
        buffers.append(buffer)
    context.stream.wait()
    share = float(work[0] / work.sum(dtype=np.float64)) if len(work) else 0.0
    return DeviceRoots(buffers[0], buffers[1], work, share, origin, buffers[2] if len(buffers) > 2 else None)


def _allocate(device: Device, nbytes: int, context: UploadContext) -> Buffer:
    context.deadline.check()
    buffer = device.allocate(max(nbytes, 8), "the order of the roots of tables", budget=context.budget)
    context.stream.hold(buffer)
    return buffer
