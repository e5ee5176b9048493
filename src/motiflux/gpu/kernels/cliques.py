"""Cliques on a device: the division into units of work, and the job that counts them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.codegen.kernels import THREADS, clique_source, placed, triangle_source
from motiflux.codegen.layout import Adjacency
from motiflux.device import Device, Kernel
from motiflux.gpu.kernels.triangle_tiles import piece_of, set_up_tiles
from motiflux.gpu.launch.group_memory import allocate_for
from motiflux.gpu.launch.prepare import grid_of, place
from motiflux.gpu.runtime.job import SearchJob, set_up_search
from motiflux.gpu.runtime.work_partition import ArcPartition, CliquePartition
from motiflux.gpu.storage.device_csr import CopiedArray, DeviceRows, RowsKey, resident
from motiflux.gpu.storage.expected_opens import Opens, reached
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph
from motiflux.plan.physical import Stage
from motiflux.request.request import Request

WARP = 32
WARPS = THREADS // WARP
"""Warps of a block."""
BytesOfRow = Callable[[int, int], int]
_HEADER = 16
"""``match::UnitWalk::kHeader``."""
_SHORT_ROW = 32
"""Longest row for a warp; a block takes longer ones."""
_SHARED_BYTES = 24 << 10
"""Most shared memory of a block: with more, too few blocks run at once."""
_SPILL_BYTES = 1 << 30
_BLOCKS_AT_ONCE, _BLOCKS_OF_SEVERAL = 16, 24
"""Approximate number of blocks of a multiprocessor, on one device and on several, which cannot take over work
from each other: 5-cliques of R-MAT of 15.7 million edges on two H200 took 143.9 ms with 24, 148.2 with 20,
151.2 with 36."""
_LEAST_SLICE = 50_000.0
"""Approximate cycles below which a root is not divided."""
_CYCLES_PER_STRIP, _CYCLES_PER_WORD = 700.0, 15.0
"""Approximate cycles in which a block looks up 512 neighbours, and counts the pairs in a word."""
_MOST_SLICES, _MOST_OF_SEVERAL = 64, 512
"""Most slices of a root, on one device and on several. On two H200, 64 took 147.1 ms, 256 took 147.4 ms."""
_CHUNKS_PER_WARP = 4
_CHUNK = (2, 16)
"""Least and most short rows that a warp takes at a time."""


@dataclass(frozen=True)
class RootTasks:
    """The work of one clique size on one graph, in units (``match::CliqueUnit``).

    Parameters
    ----------
    units
        One row per unit: the vertex, and slice and number of slices in one word.
    spilled, blocks
        Number of units, from the first, that do not fit into shared memory; number that take a block.
    arcs
        Number of arcs in the rows of all roots.
    longest
        Length of the longest row that fits into shared memory, and of the longest row of all.
    """

    units: NDArray[np.uint32]
    spilled: int
    blocks: int
    arcs: int
    longest: tuple[int, int]


def bytes_of(row: int, vertices: int, warps: int) -> int:
    """Return the bytes that `warps` warps need to count cliques in a row (``match::Neighborhood``)."""
    capacity = WARP
    while capacity < row + row // 2:
        capacity *= 2
    words = -(-row // WARP)
    bits = row * (words | 1) + warps * (vertices - 3) * (words + 1) if vertices > 3 else 0
    return 12 * row + 6 * capacity + 4 * bits


def cut(degrees: NDArray[np.int64], vertices: int, teams: int, most: int = _MOST_SLICES) -> RootTasks:
    """Divide the vertices with rows of these lengths into units, longest first; long roots go into slices.

    Parameters
    ----------
    teams
        Approximate number of blocks that run at once.
    most
        Maximum number of slices of a root.
    """
    return cut_up(
        degrees,
        vertices - 1,
        lambda lengths: _slices(lengths, vertices, teams, most),
        lambda row, warps: bytes_of(row, vertices, warps),
    )


def cut_up(
    degrees: NDArray[np.int64],
    least: int,
    slices_of: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    bytes_of_row: BytesOfRow,
) -> RootTasks:
    """Divide the vertices with at least `least` neighbours into units, longest rows first.

    Parameters
    ----------
    slices_of
        Returns the number of slices for each of these row lengths, given longest first.
    bytes_of_row
        Returns the bytes that a given number of warps needs for a row.
    """
    roots = np.flatnonzero(degrees >= least)
    roots = roots[np.argsort(-degrees[roots], kind="stable")]
    lengths = degrees[roots]
    slices = slices_of(lengths)
    fits = int(np.searchsorted(-lengths, -_longest_within(_SHARED_BYTES - _HEADER, bytes_of_row)))
    short = int(np.searchsorted(-lengths, -_SHORT_ROW))
    units = np.empty((int(slices.sum()), 2), np.uint32)
    units[:, 0] = np.repeat(roots, slices)
    first = np.repeat(np.cumsum(slices) - slices, slices)
    units[:, 1] = (np.arange(len(units)) - first) | np.repeat(slices, slices) << 16
    inner, longest = (int(lengths[at]) if at < len(roots) else 0 for at in (fits, 0))
    spilled, blocks = int(slices[:fits].sum()), int(slices[: max(short, fits)].sum())
    return RootTasks(units, spilled, blocks, int(lengths.sum()), (inner, longest))


def _slices(lengths: NDArray[np.int64], vertices: int, teams: int, most: int) -> NDArray[np.int64]:
    """Return the number of slices of each root: few enough that building the bitmap for each slice pays."""
    if len(lengths) == 0:
        return np.empty(0, np.int64)
    build: NDArray[Any] = _CYCLES_PER_STRIP * (1 + lengths * float(lengths[0]) / 512)
    work = build
    least = max(_LEAST_SLICE, work.sum() / (4 * teams))
    if vertices > 3:
        work = _CYCLES_PER_WORD * (1.0 + lengths // WARP)
        for level in range(vertices - 3):
            work = work * (lengths - level) / (level + 1)
        least = np.maximum(max(_LEAST_SLICE, work.sum() / (4 * teams)), 4 * build)
    slices = np.minimum(np.ceil(work / least), np.minimum(lengths, most)).astype(np.int64)
    return np.where(lengths > _SHORT_ROW, np.maximum(slices, 1), 1)


def _longest_within(shared: int, bytes_of_row: BytesOfRow) -> int:
    row = 0
    while bytes_of_row(row + 1, WARPS) <= shared:
        row += 1
    return row


def set_up_cliques(
    job: SearchJob, graph: Graph, stage: Stage, request: Request, context: UploadContext, devices: int = 1
) -> None:
    """Have a job count cliques.

    Parameters
    ----------
    devices
        Number of devices that share the work: more devices need smaller units.
    """
    assert stage.clique is not None
    assert stage.kernel is not None
    copies, key = resident(graph, job.accelerator.device), RowsKey(stage.clique, above=True)
    rows = job.memory.read(copies.rows(graph, key, context))
    by_arcs = stage.kernel.goal == "triangles"
    if by_arcs and set_up_tiles(job, graph, rows, key, stage, context):
        return
    unit = triangle_source() if by_arcs else clique_source()
    opened = Adjacency(*rows.addresses)
    if (found := place(job, graph, stage, {key: _opens(stage)}, context)) is not None:
        opened, unit = Adjacency(*found.kinds[key].addresses), placed(unit)
    kernel, _ = job.choose_kernel(unit, None, "off", context.deadline)
    if by_arcs:
        _set_up_arcs(job, kernel, graph, rows, opened)
    else:
        _set_up(job, kernel, graph, stage, (rows, opened), context, devices)


def _opens(stage: Stage) -> list[Opens]:
    """Return how often rows are opened: those of roots, and those of their neighbours."""
    plan = stage.plan
    return [Opens(plan.estimates[level], reached(plan.shape, level)) for level in (0, 1)]


def _set_up(
    job: SearchJob,
    kernel: Kernel,
    graph: Graph,
    stage: Stage,
    read: tuple[DeviceRows, Adjacency],
    context: UploadContext,
    devices: int,
) -> None:
    what, (rows, opened) = (stage.clique, len(stage.plan.shape.steps)), read
    device, vertices = job.accelerator.device, what[1]
    alone = devices == 1
    teams = (_BLOCKS_AT_ONCE if alone else _BLOCKS_OF_SEVERAL) * device.multiprocessors * devices
    most = _MOST_SLICES if alone else _MOST_OF_SEVERAL
    units = graph.memo.get(
        ("cliques", what, teams), lambda: cut(_degrees(rows, graph, context), vertices, teams, most)
    )
    name = ("cliques", vertices, teams)
    copy = resident(graph, device).keep(
        (id(rows.origin[0]), id(rows.origin[1]), name), lambda: upload_units(units, rows, device, context)
    )
    job.memory.read(copy)
    argument = layout.CliqueArgs()
    argument.task.rows = opened
    argument.task.units, argument.task.vertices = copy.buffer.address, vertices
    set_up_units(job, kernel, argument, units, lambda row, warps: bytes_of(row, vertices, warps), context)


def set_up_units(
    job: SearchJob,
    kernel: Kernel,
    argument: Any,
    units: RootTasks,
    bytes_of_row: BytesOfRow,
    context: UploadContext,
) -> None:
    """Assign units of work to blocks and warps, and allocate memory for units that need it."""
    device, task = job.accelerator.device, argument.task
    task.unit_count, task.arcs = len(units.units), units.arcs
    task.spilled, task.blocks = units.spilled, units.blocks
    task.shared_bytes = _shared_of_warp(units, bytes_of_row)
    warps = units.blocks * WARPS + len(units.units) - units.blocks
    grid = grid_of(device, kernel, WARPS * task.shared_bytes, warps, WARPS)
    if units.spilled:
        task.spill_bytes = -(-bytes_of_row(units.longest[1], WARPS) // 128) * 128
        at_once = max(1, _SPILL_BYTES // task.spill_bytes)
        task.spill_blocks, buffer = allocate_for(
            device, task.spill_bytes, context.budget, min(units.spilled, grid, at_once)
        )
        if buffer is not None:
            job.memory.hold(buffer)
            task.memory = buffer.address
    least, most = _CHUNK
    task.chunk = max(least, min(most, warps // (WARPS * grid * _CHUNKS_PER_WARP)))
    task.stride = 1
    partition = CliquePartition(len(units.units), units.spilled, units.blocks, units.arcs)
    set_up_search(job, kernel, argument, grid, WARP, partition)


def _set_up_arcs(job: SearchJob, kernel: Kernel, graph: Graph, rows: DeviceRows, opened: Adjacency) -> None:
    """Set up the count of triangles by arcs, which builds no bitmaps."""
    device = job.accelerator.device
    argument = layout.TriangleArgs()
    task = argument.task
    task.rows, task.ends, task.arcs = opened, rows.offsets.address, rows.arcs
    task.vertices = graph.num_vertices
    grid = grid_of(device, kernel, 0, -(-rows.arcs // WARP), WARPS)
    piece = partial(piece_of, grid * WARPS)
    task.chunk, task.stride = piece(rows.arcs), 1
    set_up_search(job, kernel, argument, grid, WARP, ArcPartition(rows.arcs, piece))


def _shared_of_warp(units: RootTasks, bytes_of_row: BytesOfRow) -> int:
    """Return the bytes of a warp's part of the shared memory in which its block counts any unit that fits."""
    block = bytes_of_row(units.longest[0], WARPS) + _HEADER
    warp = bytes_of_row(min(units.longest[0], _SHORT_ROW), 1) + _HEADER
    return -(-max(-(-block // WARPS), warp) // 16) * 16


def _degrees(rows: DeviceRows, graph: Graph, context: UploadContext) -> NDArray[np.int64]:
    offsets = np.empty(graph.num_vertices + 1, np.uint64)
    context.stream.download(rows.offsets, offsets)
    context.stream.wait()
    return np.diff(offsets).astype(np.int64)


def upload_units(units: RootTasks, rows: DeviceRows, device: Device, context: UploadContext) -> CopiedArray:
    """Return a copy on the device of units of work that were derived from these rows."""
    buffer = device.allocate(max(8, units.units.nbytes), "the work of a search", budget=context.budget)
    if units.units.nbytes:
        context.stream.upload(buffer, units.units)
        context.stream.wait()
    return CopiedArray(buffer, rows.origin)
