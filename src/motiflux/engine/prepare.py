"""From a plan and a graph to a search on a device: what is uploaded, which kernel, how much memory."""

from __future__ import annotations

import traceback
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from motiflux.codegen import layout
from motiflux.codegen.kernels import LANES, THREADS, Goal, search_source
from motiflux.codegen.pack import pack_runtime, pack_static, span_counts
from motiflux.device import Buffer, Device, Kernel
from motiflux.engine.accelerator import Accelerator
from motiflux.engine.base import Request
from motiflux.engine.deadline import seconds_left
from motiflux.engine.device_search import DeviceSearch
from motiflux.engine.resident import DeviceRows, Means, RowsKey, resident
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.graph import Graph
from motiflux.jit import Source
from motiflux.plan import Plan

Rows = Mapping[RowsKey, DeviceRows]

_PIECES_PER_GROUP = 8
_PIECE = (32, 128)
"""Least and most root arcs that a group takes at a time: all take them from one counter."""
_LARGEST_SPECIAL = (10, 32)
"""Most levels and sources of a shape worth compiling for: the loops of all levels are unrolled."""
_SHORT_ROW = 2.0
USABLE = 0.9
"""Share of the free memory that candidate lists may take."""
_LINE_WORDS = 32
_MOST_VERTICES = 2**32 - 64
"""Beyond this, positions in the row of a vertex with that many neighbours would not fit into 32 bits."""


@dataclass(frozen=True)
class Lists:
    """Where the candidate lists of a group lie: words in all, and the first word of each level's."""

    words: int
    places: tuple[int, ...]


def prepare(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    request: Request,
    goal: Goal,
    limit: int | None,
    deadline: float | None = None,
) -> DeviceSearch:
    """Upload what `plan` reads, choose a kernel and allocate what it needs.

    Raises
    ------
    DeviceMemoryError
        Not even the smallest launch fits.
    OutOfTimeError
        The deadline passed meanwhile.
    """
    seconds_left(deadline)
    search = DeviceSearch(accelerator)
    try:
        means = Means(search.stream, request.threads, request.gpu_memory, deadline)
        draft = _draft(accelerator, graph, plan, request, goal, means, search)
        _set_up(search, draft, request, goal, limit, deadline)
    except BaseException as error:
        search.close()
        if isinstance(error, DeviceMemoryError):
            # Whoever handles it would else hold, by the frames it passed, rows that could make room.
            traceback.clear_frames(error.__traceback__)
        raise
    return search


def _draft(
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    request: Request,
    goal: Goal,
    means: Means,
    search: DeviceSearch,
) -> _Draft:
    """Return what is known of such searches, and have `search` read its rows."""
    key = ("draft", id(accelerator.device), id(plan), goal, request.tuning["lanes"])

    def make() -> _Draft:
        return _Draft(search, graph, plan, request, goal, means)

    draft = graph.memo.get(key, make)
    while (rows := draft.rows()) is None:  # reclaimed since
        graph.memo.drop(key)
        draft = graph.memo.get(key, make)
    search.read(rows)
    draft.copies.touch(rows)
    return draft


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
    kernel = accelerator.kernel(source, deadline)
    argument = draft.argument(specialized)
    task = argument.task
    groups_of_block = THREADS // draft.lanes
    grid = _grid(device, kernel, groups_of_block * task.shared_bytes, task.arcs, groups_of_block)
    saved = layout.saved_bytes_of_group(len(draft.plan.shape.steps)) if goal.lists else 0
    bytes_of_group = 4 * draft.lists.words + saved
    grid, buffers = _allocate(device, bytes_of_group * groups_of_block, request.gpu_memory, grid)
    groups = grid * groups_of_block
    if buffers is not None:
        search.hold(buffers)
        task.buffers, task.group_bytes = buffers.address, saved
        task.saved = buffers.address + 4 * draft.lists.words * groups
    least, most = min(_PIECE[0], max(1, task.arcs // groups)), _PIECE[1]
    task.piece = max(least, min(most, task.arcs // (groups * _PIECES_PER_GROUP)))
    task.limit = layout.NO_LIMIT if limit is None or limit >= layout.NO_LIMIT else limit
    search.set_up(kernel, argument, grid, draft.lanes)


class _Draft:
    """What every search by one plan on one graph has in common: kernels, rows, most of the argument.

    Kept with the graph, so that a query which comes again costs little. It does not hold on to the rows, so
    that they can be reclaimed; it does hold on to the plan, whose identity it is kept under.
    """

    def __init__(
        self,
        search: DeviceSearch,
        graph: Graph,
        plan: Plan,
        request: Request,
        goal: Goal,
        means: Means,
    ) -> None:
        copies = self.copies = resident(graph, search.accelerator.device)
        by_key = _rows(search, graph, plan, means)
        sources = row_keys(plan)
        root = by_key[sources[1][0]]
        steps = plan.shape.steps
        out = into = None
        if any(step.bounds_out or step.not_out for step in steps):
            out = _read(search, copies.arcs(graph, into=False, means=means))
        if any(step.bounds_in or step.not_in for step in steps):
            into = _read(search, copies.arcs(graph, into=True, means=means))
        self.plan = plan
        self.lanes = lanes_of(request, root.arcs, graph)
        self.general = search_source(goal, self.lanes, description=_describe(plan))
        self.special = _special(plan, goal, self.lanes)
        self.lists = lay_out(plan, {key: rows.longest for key, rows in by_key.items()}, goal)
        self.kept: list[DeviceRows] = [
            *by_key.values(),
            *(one for one in (out, into) if one is not None),
        ]
        self._rows = [weakref.ref(one) for one in self.kept]
        self._addresses = [[by_key[key].addresses for key in keys] for keys in sources]
        self._task = self._common(graph, goal, root, out, into)
        self._arguments: dict[bool, Any] = {}

    def rows(self) -> list[DeviceRows] | None:
        """Return the rows to hold during a search; None if some were reclaimed."""
        found = [row for ref in self._rows if (row := ref()) is not None]
        self.kept = []
        return found if len(found) == len(self._rows) else None

    def argument(self, specialized: bool) -> Any:
        """Return a new argument of the kernel, all but what differs between searches filled in."""
        known = self._arguments.get(specialized)
        if known is None:
            pack = pack_static if specialized else pack_runtime
            known = pack(self.plan, self._addresses)
            known.task = self._task
            self._arguments[specialized] = known  # last: other threads take copies of it
        return type(known).from_buffer_copy(known)

    def _common(
        self,
        graph: Graph,
        goal: Goal,
        root: DeviceRows,
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
        task.max_spans = max_spans
        task.shared_bytes = layout.shared_bytes_of_group(levels, max_spans, listing=goal.lists)
        task.group_words = self.lists.words
        for level, place in enumerate(self.lists.places):
            task.buffer_at[level] = place
        return task


def _read(search: DeviceSearch, rows: DeviceRows) -> DeviceRows:
    """Have the search keep rows at once: the copy that comes next may have to make room."""
    search.read([rows])
    return rows


def _rows(search: DeviceSearch, graph: Graph, plan: Plan, means: Means) -> Rows:
    device = search.accelerator.device
    if graph.num_vertices > _MOST_VERTICES:
        raise DeviceError(
            f"device={device.name!r}: expected at most {_MOST_VERTICES:,} vertices,"
            f" found {graph.num_vertices:,}; use device='cpu'"
        )
    copies = resident(graph, device)
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


def lanes_of(request: Request, root_arcs: int, graph: Graph) -> int:
    """Choose the lanes of a group: 16 were the fastest on most graphs, where rows are not very short."""
    asked = request.tuning["lanes"]
    if asked != "auto":
        return int(asked)
    average = root_arcs / max(1, graph.num_vertices)
    return LANES[0] if average < _SHORT_ROW else LANES[1]


def _special(plan: Plan, goal: Goal, lanes: int) -> Source | None:
    levels, sources = _LARGEST_SPECIAL
    steps = plan.shape.steps
    if len(steps) > levels or sum(len(step.sources) for step in steps) > sources:
        return None
    return search_source(goal, lanes, plan.shape, _describe(plan))


def _describe(plan: Plan) -> str:
    steps = [f"  level {level}: {step}" for level, step in enumerate(plan.shape.steps)]
    return "\n".join([f"plan: order {plan.order}, {plan.semantics}, {plan.symmetry}", *steps])


def _grid(device: Device, kernel: Kernel, shared: int, arcs: int, groups_of_block: int) -> int:
    """Return the number of blocks: as many as run at once, but no more than have an arc for each group."""
    resident_blocks = kernel.blocks_per_multiprocessor(THREADS, shared)
    if resident_blocks == 0:
        raise DeviceError(
            f"device={device.name!r}: expected at most {device.shared_per_block:,} bytes of shared memory"
            f" per block, found a plan that needs {shared:,}; use device='cpu'"
        )
    return max(1, min(device.multiprocessors * resident_blocks, -(-arcs // groups_of_block)))


def _allocate(
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


def lay_out(plan: Plan, longest: Mapping[RowsKey, int], goal: Goal) -> Lists:
    """Bound each level's candidates by the shortest of its sets."""
    bounds: list[int] = []
    places: list[int] = []
    words = 0
    last = len(plan.shape.steps) - 1
    for level, (step, keys) in enumerate(zip(plan.shape.steps, row_keys(plan), strict=True)):
        sets = [] if step.reuse is None else [bounds[step.reuse]]
        sets += [longest[key] for key in keys]
        bounds.append(min(sets, default=0))
        places.append(words)
        never_kept = goal is Goal.COUNT and level == last and step.anchor == last - 1
        if level > 1 and len(sets) > 1 and not never_kept:
            words += -(-bounds[level] // _LINE_WORDS) * _LINE_WORDS
    return Lists(words, tuple(places))
