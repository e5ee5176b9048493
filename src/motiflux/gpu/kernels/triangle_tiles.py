"""Triangles by arcs on a device: the arcs that a warp takes at a time, and roots in batches.

Roots are taken in batches if not all rows fit (`motiflux.gpu.storage.row_tiles`). For each batch, the rows
of the roots are copied; then, in turns, the rows behind them, and a launch counts the arcs between the two
tiles.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from motiflux import log
from motiflux.codegen import layout
from motiflux.codegen.kernels import THREADS, triangle_tile_source
from motiflux.device import Buffer, Device, Kernel, Stream
from motiflux.device.pinned import PinnedMemory
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.launch.prepare import grid_of
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.runtime.launches import Bound, KernelLaunch, SearchReader, Wave
from motiflux.gpu.runtime.work_partition import BatchPartition
from motiflux.gpu.storage.device_csr import DeviceRows, RowsKey, resident
from motiflux.gpu.storage.placed_rows import ENTRY
from motiflux.gpu.storage.row_tiles import RowTiles, Tile, tiles_for
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph
from motiflux.plan.physical import Stage

_LANES = 32
_WARPS = THREADS // _LANES
_PIECE = (32, 256)
"""Least and most arcs that a warp takes at a time."""
_CHUNKS_PER_WARP = 4
_WAVE_BYTES, _WAVE_WORK = 64 << 20, 256
"""Most bytes that a wave copies, and most copies and launches: a stop takes effect behind two waves."""
_WHAT = "rows that are copied in turns"


class _Copy(NamedTuple):
    """Entries of rows to copy: the first one, their number, and their place in the memory of tiles."""

    first: int
    entries: int
    to: int


class _Launch(NamedTuple):
    """A launch: number of blocks, and argument."""

    grid: int
    argument: layout.TriangleTileArgs


_Step = _Copy | _Launch


class TileLaunches(KernelLaunch):
    """The copies and launches of a count over tiles.

    Parameters
    ----------
    argument
        Totals: all arcs, the limit.
    host
        The rows of the host. While no job runs, others may release them: they are not held.
    memory
        The memory of tiles.
    batches
        Copies and launches of each batch of roots, in order.
    partition
        The partition of batches between devices.
    """

    def __init__(
        self,
        kernel: Kernel,
        argument: layout.TriangleTileArgs,
        host: PinnedMemory,
        memory: Buffer,
        batches: Sequence[Sequence[_Step]],
        partition: BatchPartition,
    ) -> None:
        super().__init__(kernel, argument, 1, _LANES, partition)
        self._host = weakref.ref(host)
        self._memory: Buffer | None = memory
        self._batches = batches
        self._mine = slice(None)

    def set_limit(self, limit: int | None) -> None:
        """Have the kernels stop when all of them have found more than `limit`."""
        super().set_limit(limit)
        for step in chain.from_iterable(self._batches):
            if isinstance(step, _Launch):
                step.argument.task.limit = self.task.limit

    def take_share(self, first: int, stride: int, piece: int) -> None:
        """Restrict the work to batch `first` of each `stride` batches."""
        super().take_share(first, stride, piece)
        self._mine = slice(first, None, stride)

    def bind(self, stream: Stream) -> Sequence[Wave]:
        """Return copies and launches in waves, bound to a stream."""
        waves: list[list[Bound]] = [[]]
        copied = 0
        for step in chain.from_iterable(self._batches[self._mine]):
            entries = step.entries if isinstance(step, _Copy) else 0
            if len(waves[-1]) >= _WAVE_WORK or copied + ENTRY * entries > _WAVE_BYTES:
                waves.append([])
                copied = 0
            copied += ENTRY * entries
            waves[-1].append(self._bound(stream, step))
        return waves

    def _bound(self, stream: Stream, step: _Step) -> Bound:
        if isinstance(step, _Launch):
            return stream.launching(self.kernel, step.grid, THREADS, 0, step.argument)
        line, host, memory = weakref.ref(stream), self._host, self._memory
        assert memory is not None, "the job is closed"

        def copy() -> None:
            stream, rows = line(), host()
            assert stream is not None
            assert rows is not None, "the rows stay while a job reads them"
            entries = rows.memory.array[ENTRY * step.first : ENTRY * (step.first + step.entries)]
            stream.upload(memory, entries, ENTRY * step.to)

        return copy

    def release(self) -> None:
        """Drop the memory of tiles, and the work."""
        self._memory, self._batches = None, ()


def set_up_tiles(
    job: SearchJob, graph: Graph, rows: DeviceRows, key: RowsKey, stage: Stage, context: UploadContext
) -> bool:
    """Set up the count of triangles with roots in batches, if the stage's rows are to be copied in turns.

    Return whether it was set up; not without memory for tiles.
    """
    if stage.copies is None or not isinstance(rows.neighbors, PinnedMemory):
        return False
    device, copies = job.accelerator.device, resident(graph, job.accelerator.device)
    tiles = tiles_for(
        copies, device, graph, key, stage.copies, context.threads, context.budget, context.deadline
    )
    if tiles is None:
        return False
    try:
        memory = device.allocate(ENTRY * sum(tiles.room), _WHAT, budget=context.budget)
        counters = device.allocate(8 * tiles.launches, "numbers of launches", budget=context.budget)
    except DeviceMemoryError as error:
        log.MEMORY.info("rows are not copied in turns: %s", error)
        return False
    job.memory.hold(memory)
    job.memory.hold(counters)
    job.memory.clear_at_launches(counters, counters.nbytes)
    kernel, _ = job.choose_kernel(triangle_tile_source(), None, "off", context.deadline)
    work = _Work(device, kernel, rows, memory.address, job.control.address)
    batches = list(work.batches(tiles, counters.address))
    total = layout.TriangleTileArgs()
    partition = BatchPartition(tuple(batch.roots.arcs for batch in tiles.batches))
    total.task.arcs = partition.extent
    launches = TileLaunches(kernel, total, rows.neighbors, memory, batches, partition)
    job.set_up(launches, SearchReader(job.control, launches))
    log.MEMORY.info("on %s: %s", device.name, tiles)
    return True


class _Work:
    """Makes the steps of a count."""

    def __init__(self, device: Device, kernel: Kernel, rows: DeviceRows, memory: int, control: int) -> None:
        self._device, self._kernel = device, kernel
        self._offsets, self._memory, self._control = rows.offsets.address, memory, control

    def batches(self, tiles: RowTiles, counter: int) -> Iterator[list[_Step]]:
        """Yield the copies and launches of each batch; each launch has a counter."""
        for roots, behind in tiles.batches:
            grid = grid_of(self._device, self._kernel, 0, -(-roots.arcs // _LANES), _WARPS)
            steps: list[_Step] = [*_copies(roots, 0), self._launch(grid, roots, roots, 0, counter)]
            counter += 8
            for tile in behind:
                steps += [*_copies(tile, tiles.room[0])]
                steps += [self._launch(grid, roots, tile, tiles.room[0], counter)]
                counter += 8
            yield steps

    def _launch(self, grid: int, roots: Tile, rows: Tile, place: int, counter: int) -> _Launch:
        """Return the launch for arcs from roots to vertices whose rows are at `place` of the memory."""
        argument = layout.TriangleTileArgs()
        task = argument.task
        task.roots, task.rows = self._tile(roots, 0), self._tile(rows, place)
        task.ends = self._offsets + 8 * roots.first
        task.vertices = roots.end - roots.first
        task.first_arc, task.arcs = roots.begin, roots.arcs
        task.lowest, task.highest = rows.first, rows.end
        task.control, task.counter, task.limit = self._control, counter, layout.NO_LIMIT
        task.chunk = piece_of(grid * _WARPS, roots.arcs)
        return _Launch(grid, argument)

    def _tile(self, tile: Tile, place: int) -> layout.RowTile:
        """Return a tile at a place in the memory of tiles."""
        return layout.RowTile(self._offsets, (self._memory + ENTRY * (place - tile.begin)) % 2**64)


def _copies(tile: Tile, to: int) -> Iterator[_Copy]:
    """Yield the copies of a tile to a place in the memory of tiles."""
    most = _WAVE_BYTES // ENTRY
    for done in range(0, tile.arcs, most):
        yield _Copy(tile.begin + done, min(most, tile.arcs - done), to + done)


def piece_of(warps: int, arcs: int) -> int:
    """Return the number of arcs that a warp takes at a time to count triangles, rounded down to strips."""
    least, most = _PIECE
    return max(least, min(most, arcs // (warps * _CHUNKS_PER_WARP) // _LANES * _LANES))
