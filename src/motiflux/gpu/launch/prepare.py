"""Set-up of a search on a device from a stage of a physical plan: rows, kernel, memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from motiflux import _native
from motiflux.codegen import layout
from motiflux.codegen.compared import PackedNetwork
from motiflux.codegen.kernels import (
    COMPARED,
    TAILS,
    THREADS,
    Goal,
    clique_source,
    placed,
    search_source,
    triangle_source,
)
from motiflux.codegen.pack import pack_runtime, pack_static, span_counts
from motiflux.codegen.tails import DeviceTail, device_tail
from motiflux.codegen.universal_vertex import universal_vertex_source
from motiflux.device import Device, Kernel
from motiflux.errors import DeviceError
from motiflux.gpu.launch.compared import pack_network
from motiflux.gpu.launch.group_memory import (
    Lists,
    add_kept,
    add_work_queue,
    allocate_for,
    kept_places,
    lay_out,
)
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob, set_up_search, setting_up
from motiflux.gpu.runtime.work_partition import ArcPartition
from motiflux.gpu.storage.candidate_space import SlotRows, device_space, slot_keys
from motiflux.gpu.storage.device_csr import DeviceRows, RowsKey, WalkedRows, resident
from motiflux.gpu.storage.expected_opens import ArcsKey, opens_of
from motiflux.gpu.storage.placed_rows import Kinds, PlacedRows, placed_rows
from motiflux.gpu.storage.upload import UploadContext, upload_row_ends
from motiflux.gpu.strategy import MOST_VERTICES
from motiflux.graph import Adjacency, Graph
from motiflux.jit import Source
from motiflux.plan import Plan
from motiflux.plan.physical import Family, SearchKernel, Stage
from motiflux.plan.shape import PlanShape
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.types import Semantics, Symmetry

Rows = Mapping[Any, WalkedRows]
SetUp = Callable[[SearchJob, Graph, Stage, Request, UploadContext], None]
"""Gives a job its kernel, rows and memory, but no limit."""

_PIECES_PER_GROUP = 8
_PIECE = (32, 128)
"""Least and most root arcs that a group takes at a time; all groups take them from one counter."""
_TAIL_PIECE = 8
"""Least root arcs at a time if a whole tail is counted for each one."""
_ARC_LEVELS = 2
_LARGEST_SPECIAL = (10, 32)
"""Most levels and sources of a shape with a specialized kernel, which unrolls the loops of all levels."""
ROOT = -1
"""Names the rows of root arcs of narrowed rows."""
_MOST_SOURCES = 256
"""Number of kernel texts that are kept: writing one takes a third of the host's time of a row listing."""


@dataclass(frozen=True)
class NarrowedSearch:
    """A search of rows that were narrowed before, as `motiflux.plan.native_plan.native_problem_of_rows`.

    Parameters
    ----------
    plan
        The plan, without bounds on degrees: all candidates meet them.
    rows
        Rows over the same vertices, by source.
    sources
        Of each source of the plan, the rows that it reads, by their position.
    out, into
        The rows of the arcs that must not lead to, and from, a later level.
    roots
        The first vertex that is a root, and the one behind the last.
    vertices
        Number of vertices.
    """

    plan: Plan
    rows: Sequence[Adjacency]
    sources: Sequence[int]
    out: int
    into: int
    roots: tuple[int, int]
    vertices: int

    def root_rows(self) -> Adjacency:
        """Return the rows of root arcs: those of other vertices are empty."""
        offsets, neighbors = self.rows[self.sources[0]]
        begin, end = (offsets[vertex] for vertex in self.roots)
        return np.clip(offsets, begin, end) - begin, neighbors[int(begin) : int(end)]


@dataclass(frozen=True)
class _Sources:
    """The rows that a search reads, on its device.

    Parameters
    ----------
    plan
        The plan as it runs.
    keys
        Names of the rows that each level reads.
    by_key
        These rows, by name.
    root
        The rows of root arcs.
    out, into
        All arcs by source, and by target, if steps read them.
    placed
        Whether rows may lie anywhere, all but those of root arcs.
    """

    plan: Plan
    keys: Sequence[Sequence[Hashable]]
    by_key: Rows
    root: WalkedRows
    out: WalkedRows | None
    into: WalkedRows | None
    placed: bool = False

    @property
    def addresses(self) -> list[list[tuple[int, int]]]:
        """Addresses of the rows of each level."""
        return [[self.by_key[key].addresses for key in keys] for keys in self.keys]


def set_up_stage(
    job: SearchJob, graph: Graph, stage: Stage, request: Request, context: UploadContext
) -> None:
    """Upload the rows that a stage reads, load its kernel and allocate its memory."""
    kernel = stage.kernel
    assert kernel is not None, "the stage is no search"
    goal = Goal(kernel.goal)
    sources = _sources(job, graph, stage, context)
    tail, lists, task = _laid_out(sources, goal, graph.num_vertices)
    packed = None
    if goal in COMPARED:
        windows, plan = request.tuning["copy_windows"] == "on", sources.plan
        packed = pack_network(job, graph, plan, context, windows=windows, bounded=not goal.lists)
        packed.network.ranges_at = task.shared_bytes
        task.shared_bytes += packed.shared_bytes
    _set_up_kernel(job, sources, kernel, tail, packed, lists, task, request, context)


def set_up_narrowed(
    job: SearchJob, found: NarrowedSearch, kernel: SearchKernel, request: Request, context: UploadContext
) -> Rows:
    """Upload rows that were narrowed before, load the kernel of their search and allocate its memory.

    Returns the rows by their positions, those of root arcs as `ROOT`.
    """
    sources = _narrowed_sources(job, found, context)
    tail, lists, task = _laid_out(sources, Goal(kernel.goal), found.vertices)
    _set_up_kernel(job, sources, kernel, tail, None, lists, task, request, context)
    return sources.by_key


def prepare(
    accelerator: Accelerator,
    graph: Graph,
    stage: Stage,
    request: Request,
    limit: int | None,
    deadline: Deadline,
    set_up: SetUp = set_up_stage,
) -> SearchJob:
    """Return the job of a stage, set up by the function for its kernels.

    Raises
    ------
    DeviceMemoryError
        Not even the smallest launch fits.
    OutOfTimeError
        The deadline passed before the job was ready.
    """
    deadline.check()
    with setting_up(SearchJob(accelerator)) as job:
        context = UploadContext.of(job.stream, request, deadline)
        set_up(job, graph, stage, request, context)
        job.launches.set_limit(limit)
    return job


def _set_up_kernel(
    job: SearchJob,
    sources: _Sources,
    kernel: SearchKernel,
    tail: DeviceTail | None,
    packed: PackedNetwork | None,
    lists: Lists,
    task: layout.Task,
    request: Request,
    context: UploadContext,
) -> None:
    """Choose between the general kernel and that of the plan's shape, and allocate its memory."""
    accelerator, plan = job.accelerator, sources.plan
    general, special = _kernel_sources(
        plan.shape, plan.order, plan.semantics, plan.symmetry, kernel, moved=sources.placed
    )
    switch = request.tuning["specialize"]
    loaded, specialized = job.choose_kernel(general, special, switch, context.deadline)
    pack = pack_static if specialized else pack_runtime
    network = None if packed is None else packed.network
    argument = pack(plan, sources.addresses, tail, network, images=kernel.goal == Goal.IMAGES)
    argument.task = task
    task = argument.task
    groups_of_block = THREADS // kernel.lanes
    grid = grid_of(
        accelerator.device, loaded, groups_of_block * task.shared_bytes, task.arcs, groups_of_block
    )
    saved = layout.saved_bytes_of_group(len(plan.shape.steps)) if Goal(kernel.goal).lists else 0
    bytes_of_group = 4 * lists.words + saved
    grid, buffers = allocate_for(
        accelerator.device, bytes_of_group * groups_of_block, request.gpu_memory, grid
    )
    groups = grid * groups_of_block
    if buffers is not None:
        job.memory.hold(buffers)
        task.buffers, task.group_bytes = buffers.address, saved
        task.saved = buffers.address + 4 * lists.words * groups
    at_arcs = tail is not None and tail.start == _ARC_LEVELS
    piece = partial(_piece_of, groups, _TAIL_PIECE if at_arcs else _PIECE[0])
    task.chunk = piece(task.arcs)
    task.flatten_last = kernel.flattened
    if kernel.remembers:
        add_kept(job, argument, kept_places(task.arcs), request.gpu_memory)
    if kernel.work_queue:
        add_work_queue(job, task, groups, request.gpu_memory)
    set_up_search(job, loaded, argument, grid, kernel.lanes, ArcPartition(task.arcs, piece))


def _piece_of(groups: int, fewest: int, arcs: int) -> int:
    """Return the number of root arcs that a group takes at a time."""
    least, most = min(fewest, max(1, arcs // groups)), _PIECE[1]
    return max(least, min(most, arcs // (groups * _PIECES_PER_GROUP)))


def _laid_out(sources: _Sources, goal: Goal, vertices: int) -> tuple[DeviceTail | None, Lists, layout.Task]:
    """Return the tail, the lists and the task of a search."""
    tail = device_tail(sources.plan) if goal in TAILS else None
    longest = {key: rows.longest for key, rows in sources.by_key.items()}
    lists = lay_out(sources.plan, sources.keys, longest, goal, tail)
    return tail, lists, _task(vertices, sources, goal, tail, lists)


def _task(vertices: int, sources: _Sources, goal: Goal, tail: DeviceTail | None, lists: Lists) -> layout.Task:
    """Return the task of a kernel, without the fields that depend on the launch."""
    plan, root = sources.plan, sources.root
    levels, max_spans = len(plan.shape.steps), max(span_counts(plan))
    task = layout.Task()
    if sources.out is not None:
        task.out = layout.Adjacency(*sources.out.addresses)
    if sources.into is not None:
        task.in_ = layout.Adjacency(*sources.into.addresses)
    task.root = layout.Adjacency(*root.addresses)
    task.arcs, task.vertices = root.arcs, vertices
    if tail is not None:
        max_spans = max(max_spans, tail.max_spans)
        if tail.start == 1:
            task.arcs = vertices
    task.all_arcs, task.stride = task.arcs, 1
    task.max_spans = max_spans
    task.shared_bytes = layout.shared_bytes_of_group(levels, max_spans, listing=goal.lists)
    if tail is not None:
        task.shared_bytes += layout.tail_bytes_of_group(levels)
    if goal is Goal.IMAGES:
        task.shared_bytes += layout.image_bytes_of_group(levels)
    task.group_words = lists.words
    for level, place in enumerate(lists.places):
        task.buffer_at[level] = place
    return task


def _sources(job: SearchJob, graph: Graph, stage: Stage, context: UploadContext) -> _Sources:
    """Return the rows that a stage reads, on the device of `job`, which keeps them there.

    They are rows of the plan's candidate space, if it has one and it fits; else rows of the graph.
    """
    device, plan = job.accelerator.device, stage.plan
    if graph.num_vertices > MOST_VERTICES:
        raise DeviceError(
            f"device={device.name!r}: expected at most {MOST_VERTICES:,} vertices,"
            f" found {graph.num_vertices:,}; use device='cpu'"
        )
    copies, read = resident(graph, device), job.memory.read
    if (found := place(job, graph, stage, opens_of(plan), context)) is not None:
        return _placed_sources(job, graph, stage, found, context)
    keys: Sequence[Sequence[Any]] = row_keys(plan)
    by_key: Any
    if plan.space is not None and (space := device_space(job, graph, plan, context)) is not None:
        read(space)
        plan, keys, by_key = without_bounds(plan), slot_keys(plan), space.slots
    else:
        distinct = dict.fromkeys(key for level in keys for key in level)
        by_key = {key: read(copies.rows(graph, key, context)) for key in distinct}
    root = by_key[keys[1][0]]
    if stage.roots is not None:
        root = _root_rows(job, graph, stage, context)
    out = into = None
    if any(step.bounds_out or step.not_out for step in plan.shape.steps):
        out = read(copies.arcs(graph, into=False, context=context))
    if any(step.bounds_in or step.not_in for step in plan.shape.steps):
        into = read(copies.arcs(graph, into=True, context=context))
    return _Sources(plan, keys, by_key, root, out, into)


def _narrowed_sources(job: SearchJob, found: NarrowedSearch, context: UploadContext) -> _Sources:
    """Return rows that were narrowed before, on the device for this job alone."""
    device, plan = job.accelerator.device, found.plan
    places = iter(found.sources)
    keys: list[list[int]] = [[next(places) for _ in step.sources] for step in plan.shape.steps]
    keys[1][0] = ROOT
    arrays = {key: found.rows[key] for level in keys for key in level if key != ROOT}
    arrays[ROOT] = found.root_rows()
    out = into = None
    if any(step.not_out for step in plan.shape.steps):
        arrays[out := found.out] = found.rows[found.out]
    if any(step.not_in for step in plan.shape.steps):
        arrays[into := found.into] = found.rows[found.into]
    there = {key: _sent(job, device, rows, context) for key, rows in arrays.items()}
    context.stream.wait()
    return _Sources(
        plan,
        keys,
        there,
        there[ROOT],
        None if out is None else there[out],
        None if into is None else there[into],
    )


def _sent(job: SearchJob, device: Device, rows: Adjacency, context: UploadContext) -> SlotRows:
    """Copy rows to the device for a job."""
    offsets, neighbors = rows
    memory = [
        device.allocate(max(nbytes, 8), "rows of a part", budget=context.budget)
        for nbytes in (offsets.nbytes, neighbors.nbytes)
    ]
    for buffer in memory:
        job.memory.hold(buffer)
    context.stream.upload(memory[0], offsets)
    upload_row_ends(device, memory[1], rows, offsets, context)
    longest = _native.longest_row(offsets, context.threads)
    return SlotRows((memory[0].address, memory[1].address), int(offsets[-1]), longest, len(offsets) - 1)


def _root_rows(job: SearchJob, graph: Graph, stage: Stage, context: UploadContext) -> DeviceRows:
    """Return the rows of root arcs, of the graph."""
    copies, key = resident(graph, job.accelerator.device), row_keys(stage.plan)[1][0]
    if (roots := stage.roots) is not None:
        return job.memory.read(copies.rows_from(graph, key, roots.arcs, roots.more_than, context))
    return job.memory.read(copies.rows(graph, key, context))


def place(
    job: SearchJob, graph: Graph, stage: Stage, kinds: Kinds, context: UploadContext
) -> PlacedRows | None:
    """Return these rows of the host, some of them copied to the device.

    None if the stage copies none, or there is no memory for their places.
    """
    if stage.copies is None:
        return None
    device = job.accelerator.device
    found = placed_rows(resident(graph, device), device, graph, kinds, stage.copies, context)
    return None if found is None else job.memory.read(found)


def _placed_sources(
    job: SearchJob, graph: Graph, stage: Stage, found: PlacedRows, context: UploadContext
) -> _Sources:
    """Return rows that may lie anywhere, and the rows of root arcs, which are read one after another, too."""
    keys, root = row_keys(stage.plan), _root_rows(job, graph, stage, context)
    by_key = {key: found.kinds[key] for level in keys for key in level}
    out, into = (found.kinds.get(ArcsKey(which)) for which in (False, True))
    return _Sources(stage.plan, keys, by_key, root, out, into, placed=True)


def without_bounds(plan: Plan) -> Plan:
    """Return the plan without bounds on degrees, which all candidates of a space meet already."""
    steps = tuple(replace(step, bounds_out=False, bounds_in=False) for step in plan.shape.steps)
    return replace(plan, shape=PlanShape(steps))


def row_keys(plan: Plan) -> list[list[RowsKey]]:
    """Return the names of the rows that the sources of each level read."""
    return [
        [
            RowsKey(key, above=source.level in step.after)
            for source, key in zip(step.sources, args.adjacencies, strict=True)
        ]
        for step, args in zip(plan.shape.steps, plan.args.steps, strict=True)
    ]


def kernels_of(stage: Stage) -> tuple[Source | None, Source | None]:
    """Return the general kernel source of a stage, and the one for its shape; None if there is none."""
    moved = stage.copies is not None
    if stage.family is Family.UNIVERSAL_VERTEX:
        assert stage.universal is not None
        general, special = universal_vertex_source(), universal_vertex_source(stage.universal.shape)
        return (placed(general), placed(special)) if moved else (general, special)
    if stage.kernel is None:
        return None, None
    if stage.family is Family.CLIQUES:
        source = triangle_source() if stage.kernel.goal == "triangles" else clique_source()
        return placed(source) if moved else source, None
    plan = stage.plan
    return _kernel_sources(plan.shape, plan.order, plan.semantics, plan.symmetry, stage.kernel, moved=moved)


@lru_cache(_MOST_SOURCES)
def _kernel_sources(
    shape: PlanShape,
    order: tuple[int, ...],
    semantics: Semantics,
    symmetry: Symmetry,
    kernel: SearchKernel,
    *,
    moved: bool,
) -> tuple[Source, Source | None]:
    """Return the general kernel, and that for the shape of a plan, for rows that may lie anywhere if `moved`.

    Shapes that are too large, and nested tails, have no specialized kernel.
    """
    goal, (levels, sources), steps = Goal(kernel.goal), _LARGEST_SPECIAL, shape.steps
    told = [f"  level {level}: {step}" for level, step in enumerate(steps)]
    description = "\n".join([f"plan: order {order}, {semantics}, {symmetry}", *told])
    general = search_source(goal, kernel.lanes, description=description, within=kernel.stealing)
    too_large = len(steps) > levels or sum(len(step.sources) for step in steps) > sources
    if moved:
        general = placed(general)
    if goal is Goal.NESTED or too_large:
        return general, None
    special = search_source(goal, kernel.lanes, shape, description, kernel.stealing)
    return general, placed(special) if moved else special


def grid_of(device: Device, kernel: Kernel, shared: int, arcs: int, groups_of_block: int) -> int:
    """Return the number of blocks: as many as run at once, but at most one group for each arc."""
    resident_blocks = kernel.blocks_per_multiprocessor(THREADS, shared)
    if resident_blocks == 0:
        raise DeviceError(
            f"device={device.name!r}: expected at most {device.shared_per_block:,} bytes of shared memory"
            f" per block, found a plan that needs {shared:,}; use device='cpu'"
        )
    return max(1, min(device.multiprocessors * resident_blocks, -(-arcs // groups_of_block)))
