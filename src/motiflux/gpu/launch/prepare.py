"""From a plan and a graph to a search on a device: what is uploaded, which kernel, how much memory."""

from __future__ import annotations

import ctypes
import traceback
import weakref
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from motiflux.codegen import layout
from motiflux.codegen.kernels import LANES, TAILS, THREADS, Goal, search_source
from motiflux.codegen.overlap_layout import overlap_bytes_of_group
from motiflux.codegen.pack import pack_runtime, pack_static, span_counts
from motiflux.codegen.pack_tail import pack_overlaps
from motiflux.codegen.tails import DeviceTail, device_tail
from motiflux.device import Buffer, Device, Kernel
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.launch.candidate_lists import lay_out
from motiflux.gpu.launch.work_queues import add_seats, hands_over, within_block
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.gpu.runtime.work_partition import ArcPartition
from motiflux.gpu.storage.candidate_space import DeviceSpace, device_space, slot_keys
from motiflux.gpu.storage.device_csr import DeviceRows, RowsKey, UploadContext, WalkedRows, resident
from motiflux.graph import AdjacencyKey, Graph
from motiflux.jit import Source
from motiflux.plan import Plan
from motiflux.plan.ir import PlanShape
from motiflux.request.deadline import seconds_left
from motiflux.request.request import Request

Rows = Mapping[Any, WalkedRows]

_PIECES_PER_GROUP = 8
_PIECE = (32, 128)
"""Least and most root arcs that a group takes at a time: all take them from one counter."""
_TAIL_PIECE = 8
"""Fewest where a whole tail is counted for each root arc."""
_ARC_LEVELS = 2
_LARGEST_SPECIAL = (10, 32)
"""Most levels and sources of a shape worth compiling for: the loops of all levels are unrolled."""
_SHORT_ROW = 2.0
USABLE = 0.9
"""Share of the free memory that candidate lists may take."""
_LEAST_KEPT, _MOST_KEPT = 1 << 10, 1 << 20
"""Numbers of parts that are kept, at least and at most."""
_KEPT_PER_ARC = 256
MOST_VERTICES = 2**32 - 64
"""Beyond this, positions in the row of a vertex with that many neighbours would not fit into 32 bits."""


@dataclass(frozen=True)
class Roots:
    """Where to search from: vertices that have more than so many of these arcs. Their plan has no space."""

    arcs: AdjacencyKey
    more_than: int


def prepare(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    request: Request,
    goal: Goal,
    limit: int | None,
    deadline: float | None = None,
    roots: Roots | None = None,
) -> DeviceSearch:
    """Upload what `plan` reads, choose a kernel and allocate what it needs.

    To count is to count the tail of the plan too, which must be one that kernels count.

    Parameters
    ----------
    roots
        Where to search from, by arcs; None for everywhere.

    Raises
    ------
    DeviceMemoryError
        Not even the smallest launch fits.
    OutOfTimeError
        The deadline passed meanwhile.
    """
    seconds_left(deadline)
    if goal is Goal.COUNT:
        goal = _counting(plan)
    search = DeviceSearch(accelerator)
    try:
        means = UploadContext(search.stream, request.threads, request.gpu_memory, deadline)
        draft = _draft(accelerator, graph, plan, request, goal, means, search, roots)
        _set_up(search, draft, request, goal, limit, deadline)
    except BaseException as error:
        search.close()
        if isinstance(error, DeviceMemoryError):
            # Whoever handles it would else hold, by the frames it passed, rows that could make room.
            traceback.clear_frames(error.__traceback__)
        raise
    return search


def _counting(plan: Plan) -> Goal:
    tail = device_tail(plan)
    if tail is None:
        assert plan.tail is None, "no kernel counts this tail"
        return Goal.COUNT
    if tail.overlaps:
        return Goal.OVERLAPS
    if tail.nested:
        return Goal.NESTED
    return Goal.STARS if tail.start == 1 else Goal.TAIL


def _draft(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    request: Request,
    goal: Goal,
    means: UploadContext,
    search: DeviceSearch,
    roots: Roots | None,
) -> _Draft:
    """Return what is known of such searches, and have `search` read its rows."""
    switches = request.tuning["lanes"], request.tuning["stealing"]
    key = ("draft", id(accelerator.device), id(plan), goal, *switches, roots)

    def make() -> _Draft:
        return _Draft(search, graph, plan, request, goal, means, roots)

    draft = graph.memo.get(key, make)
    if draft.made_do_with is not None and _room(accelerator, means) > draft.made_do_with:
        graph.memo.drop(key)  # the space may fit now
        draft = graph.memo.get(key, make)
    while (rows := draft.rows()) is None:  # reclaimed since
        graph.memo.drop(key)
        draft = graph.memo.get(key, make)
    search.read(rows)
    return draft


def _room(accelerator: Accelerator, means: UploadContext) -> int:
    """Return the bytes that may be allocated now."""
    device = accelerator.device
    free = device.free_memory()
    return free if means.budget is None else min(free, means.budget - device.used_memory())


def _set_up(
    search: DeviceSearch,
    draft: _Draft,
    request: Request,
    goal: Goal,
    limit: int | None,
    deadline: float | None,
) -> None:
    """Choose a kernel and allocate what it needs."""
    accelerator = search.accelerator
    device = accelerator.device
    source, specialized = accelerator.choose(draft.general, draft.special, request.tuning["specialize"])
    search.units = draft.general, draft.special, specialized
    kernel = accelerator.kernel(source, deadline)
    argument = draft.argument(specialized)
    task = argument.task
    groups_of_block = THREADS // draft.lanes
    grid = grid_of(device, kernel, groups_of_block * task.shared_bytes, task.arcs, groups_of_block)
    saved = layout.saved_bytes_of_group(len(draft.plan.shape.steps)) if goal.lists else 0
    bytes_of_group = 4 * draft.lists.words + saved
    grid, buffers = allocate_for(device, bytes_of_group * groups_of_block, request.gpu_memory, grid)
    groups = grid * groups_of_block
    if buffers is not None:
        search.hold(buffers)
        task.buffers, task.group_bytes = buffers.address, saved
        task.saved = buffers.address + 4 * draft.lists.words * groups
    piece = partial(_piece_of, groups, _TAIL_PIECE if draft.counts_at_arcs else _PIECE[0])
    task.chunk = piece(task.arcs)
    task.flatten_last = request.tuning["packing"] != "off"
    task.limit = task_limit(limit)
    if (places := kept_places(draft.tail, task.arcs, request)) > 0:
        _add_kept(search, argument, places, request.gpu_memory)
    if hands_over(draft.plan, draft.tail, request):
        add_seats(search, task, groups, request.gpu_memory)
    search.set_up(kernel, argument, grid, draft.lanes, ArcPartition(task.arcs, piece))


def _piece_of(groups: int, fewest: int, arcs: int) -> int:
    """Return how many root arcs a group takes at a time."""
    least, most = min(fewest, max(1, arcs // groups)), _PIECE[1]
    return max(least, min(most, arcs // (groups * _PIECES_PER_GROUP)))


def task_limit(limit: int | None) -> int:
    """Return a limit as kernels are given it."""
    return layout.NO_LIMIT if limit is None or limit >= layout.NO_LIMIT else limit


def kept_places(tail: DeviceTail | None, arcs: int, request: Request) -> int:
    """Return how many numbers of parts a count keeps at most, if there is memory for that."""
    if tail is None or not tail.keeps or request.tuning["remember"] == "off":
        return 0
    most = min(_MOST_KEPT, max(_LEAST_KEPT, _KEPT_PER_ARC * arcs))
    return 1 << (most - 1).bit_length()


def _add_kept(search: DeviceSearch, argument: Any, places: int, budget: int | None) -> None:
    """Make room for so many numbers, or as many as there is memory for."""
    entry = ctypes.sizeof(layout.KeptNumber)
    while places >= _LEAST_KEPT:
        try:
            buffer = search.accelerator.device.allocate(places * entry, "numbers of parts", budget=budget)
        except DeviceMemoryError:
            places //= 4
            continue
        search.hold(buffer)
        search.clear_at_launches(buffer, buffer.nbytes)
        argument.kept, argument.kept_mask = buffer.address, places - 1
        return


class _Draft:
    """What every search by one plan on one graph has in common: kernels, rows, most of the argument.

    Kept with the graph, so that a query which comes again costs little. It does not hold on to the rows, so
    that they can be reclaimed; it does hold on to the plan that was asked for: it is kept under its identity.
    """

    def __init__(
        self,
        search: DeviceSearch,
        graph: Graph,
        plan: Plan,
        request: Request,
        goal: Goal,
        means: UploadContext,
        roots: Roots | None,
    ) -> None:
        copies = resident(graph, search.accelerator.device)
        self.asked = plan
        room = _room(search.accelerator, means)
        plan, sources, by_key, held = _sources(search, graph, plan, means)
        over_rows = self.asked.space is not None and not any(isinstance(one, DeviceSpace) for one in held)
        self.made_do_with = room if over_rows else None  # room that did not hold the space
        root = by_key[sources[1][0]]
        if roots is not None:
            key = row_keys(plan)[1][0]
            root = some = _read(search, copies.rows_from(graph, key, roots.arcs, roots.more_than, means))
            held = [*held, some]
        steps = plan.shape.steps
        out = into = None
        if any(step.bounds_out or step.not_out for step in steps):
            out = _read(search, copies.arcs(graph, into=False, means=means))
        if any(step.bounds_in or step.not_in for step in steps):
            into = _read(search, copies.arcs(graph, into=True, means=means))
        self.plan = plan
        self.tail = device_tail(plan) if goal in TAILS else None
        self.counts_at_arcs = self.tail is not None and self.tail.start == _ARC_LEVELS
        self.lanes = lanes_of(request, root.arcs, root.starts, goal)
        processors = search.accelerator.device.multiprocessors
        within = within_block(plan, self.tail, request, root.arcs, processors)
        self.general = search_source(goal, self.lanes, description=_describe(plan), within=within)
        self.special = _special(plan, goal, self.lanes, within)
        longest = {key: rows.longest for key, rows in by_key.items()}
        self.lists = lay_out(plan, sources, longest, goal, self.tail)
        self.kept: list[CacheEntry] = [
            *held,
            *(one for one in (out, into) if one is not None),
        ]
        self._rows = [weakref.ref(one) for one in self.kept]
        self._addresses = [[by_key[key].addresses for key in keys] for keys in sources]
        self._task = self._common(graph, goal, root, out, into)
        self._arguments: dict[bool, Any] = {}

    def rows(self) -> list[CacheEntry] | None:
        """Return the rows to hold during a search; None if some were reclaimed."""
        found = [row for ref in self._rows if (row := ref()) is not None]
        self.kept = []
        return found if len(found) == len(self._rows) else None

    def argument(self, specialized: bool) -> Any:
        """Return a new argument of the kernel, all but what differs between searches filled in."""
        known = self._arguments.get(specialized)
        if known is None:
            if specialized:
                known = pack_static(self.plan, self._addresses, self.tail)
            else:
                known = pack_runtime(self.plan, self._addresses, self.tail, self.lists.rooms)
            known.task = self._task
            self._arguments[specialized] = known  # last: other threads take copies of it
        return type(known).from_buffer_copy(known)

    def _common(
        self,
        graph: Graph,
        goal: Goal,
        root: WalkedRows,
        out: DeviceRows | None,
        into: DeviceRows | None,
    ) -> layout.Task:
        levels, max_spans = len(self.plan.shape.steps), max(span_counts(self.plan))
        task = layout.Task()
        if out is not None:
            task.out = layout.Adjacency(*out.addresses)
        if into is not None:
            task.in_ = layout.Adjacency(*into.addresses)
        task.root = layout.Adjacency(*root.addresses)
        task.arcs, task.vertices = root.arcs, graph.num_vertices
        if self.tail is not None:
            max_spans = max(max_spans, self.tail.max_spans)
            if self.tail.start == 1:
                task.arcs = graph.num_vertices
        task.all_arcs, task.stride = task.arcs, 1
        task.max_spans = max_spans
        task.shared_bytes = layout.shared_bytes_of_group(levels, max_spans, listing=goal.lists)
        if self.tail is not None:
            task.shared_bytes += layout.tail_bytes_of_group(levels)
            if self.tail.overlaps:
                task.shared_bytes += overlap_bytes_of_group(pack_overlaps(self.tail, self.lists.rooms))
        task.group_words = self.lists.words
        for level, place in enumerate(self.lists.places):
            task.buffer_at[level] = place
        return task


def _read(search: DeviceSearch, rows: DeviceRows) -> DeviceRows:
    """Have the search keep rows at once: the copy that comes next may have to make room."""
    search.read([rows])
    return rows


def _sources(
    search: DeviceSearch, graph: Graph, plan: Plan, means: UploadContext
) -> tuple[Plan, Sequence[Sequence[Hashable]], Rows, Iterable[CacheEntry]]:
    """Return the plan as it is run, the rows that each level reads, where those are, and what they are of.

    Over the candidate space of the plan, if it has one and that fits; else over rows of the graph.
    """
    device = search.accelerator.device
    if graph.num_vertices > MOST_VERTICES:
        raise DeviceError(
            f"device={device.name!r}: expected at most {MOST_VERTICES:,} vertices,"
            f" found {graph.num_vertices:,}; use device='cpu'"
        )
    if plan.space is not None and (space := device_space(search, graph, plan, means)) is not None:
        search.read([space])
        return without_bounds(plan), slot_keys(plan), space.slots, [space]
    rows = _rows(search, graph, plan, means)
    return plan, row_keys(plan), rows, rows.values()


def without_bounds(plan: Plan) -> Plan:
    """Return the plan without bounds on degrees: candidates of a space have those they need already."""
    steps = tuple(replace(step, bounds_out=False, bounds_in=False) for step in plan.shape.steps)
    return replace(plan, shape=PlanShape(steps))


def _rows(
    search: DeviceSearch, graph: Graph, plan: Plan, means: UploadContext
) -> Mapping[RowsKey, DeviceRows]:
    copies = resident(graph, search.accelerator.device)
    keys = dict.fromkeys(key for keys in row_keys(plan) for key in keys)
    return {key: _read(search, copies.rows(graph, key, means)) for key in keys}


def row_keys(plan: Plan) -> list[list[RowsKey]]:
    """Return, per level, the rows that its sources read."""
    return [
        [
            RowsKey(key, above=source.level in step.after)
            for source, key in zip(step.sources, args.adjacencies, strict=True)
        ]
        for step, args in zip(plan.shape.steps, plan.args.steps, strict=True)
    ]


def lanes_of(request: Request, root_arcs: int, root_rows: int, goal: Goal = Goal.COUNT) -> int:
    """Choose the lanes of a group.

    To count, as many as a warp has: the last two levels, or the tail, leave none idle, and groups that wait
    for work do not share a warp with others. Where lists are walked, 16 were the fastest, but for very short
    rows.
    """
    asked = request.tuning["lanes"]
    if asked != "auto":
        return int(asked)
    if goal in (Goal.TAIL, Goal.NESTED, Goal.OVERLAPS) or (
        goal is Goal.COUNT and request.tuning["packing"] != "off"
    ):
        return LANES[2]
    average = root_arcs / max(1, root_rows)
    return LANES[0] if average < _SHORT_ROW else LANES[1]


def _special(plan: Plan, goal: Goal, lanes: int, within: str | None) -> Source | None:
    levels, sources = _LARGEST_SPECIAL
    steps = plan.shape.steps
    # What hangs is walked by data: the shape of the tail is an argument.
    if (
        goal in (Goal.NESTED, Goal.OVERLAPS)
        or len(steps) > levels
        or sum(len(step.sources) for step in steps) > sources
    ):
        return None
    return search_source(goal, lanes, plan.shape, _describe(plan), within)


def _describe(plan: Plan) -> str:
    steps = [f"  level {level}: {step}" for level, step in enumerate(plan.shape.steps)]
    return "\n".join([f"plan: order {plan.order}, {plan.semantics}, {plan.symmetry}", *steps])


def grid_of(device: Device, kernel: Kernel, shared: int, arcs: int, groups_of_block: int) -> int:
    """Return the number of blocks: as many as run at once, but no more than have an arc for each group."""
    resident_blocks = kernel.blocks_per_multiprocessor(THREADS, shared)
    if resident_blocks == 0:
        raise DeviceError(
            f"device={device.name!r}: expected at most {device.shared_per_block:,} bytes of shared memory"
            f" per block, found a plan that needs {shared:,}; use device='cpu'"
        )
    return max(1, min(device.multiprocessors * resident_blocks, -(-arcs // groups_of_block)))


def allocate_for(
    device: Device, bytes_of_block: int, budget: int | None, grid: int
) -> tuple[int, Buffer | None]:
    """Allocate what each block needs, for as many blocks as fit; return the number of blocks too."""
    if bytes_of_block == 0:
        return grid, None
    while True:
        try:
            buffer = device.allocate(bytes_of_block * grid, "candidate lists of the search", budget=budget)
        except DeviceMemoryError:
            if grid == 1:
                raise
            available = device.free_memory()
            if budget is not None:
                available = min(available, budget - device.used_memory())
            grid = max(1, min(grid // 2, int(USABLE * available) // bytes_of_block))
        else:
            return grid, buffer
