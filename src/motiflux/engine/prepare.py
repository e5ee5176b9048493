"""From a plan and a graph to a search on a device: what is uploaded, which kernel, how much memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motiflux.codegen import layout
from motiflux.codegen.kernels import LANES, THREADS, Goal, search_source
from motiflux.codegen.pack import pack_runtime, pack_static, span_counts
from motiflux.device import Buffer, Device, Kernel, Stream
from motiflux.engine.accelerator import Accelerator
from motiflux.engine.base import Request
from motiflux.engine.device_search import DeviceSearch
from motiflux.engine.resident import DeviceRows, resident
from motiflux.engine.session import Session
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.graph import AdjacencyKey, Graph
from motiflux.jit import Source
from motiflux.plan import Plan

Rows = Mapping[AdjacencyKey, DeviceRows]

_PIECES_PER_GROUP = 8
_MOST_PIECE = 128
_LARGEST_SPECIAL = (10, 32)
"""Most levels and sources of a shape worth compiling for: the loops of all levels are unrolled."""
_CLOSE_BOUND_FROM = 1 << 30
"""Bytes of candidate lists from which they are sized by a closer bound, which takes a pass over the rows."""
_USABLE = 0.9
"""Share of the free memory that candidate lists may take."""
_LINE_WORDS = 32
_MOST_VERTICES = 2**32 - 64
"""Beyond this, positions in the row of a vertex with that many neighbours would not fit into 32 bits."""


@dataclass(frozen=True)
class _Lists:
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
) -> DeviceSearch:
    """Upload what `plan` reads, choose a kernel and allocate what it needs.

    Raises
    ------
    DeviceMemoryError
        Not even the smallest launch fits.
    """
    session = accelerator.session()
    try:
        return _prepare(accelerator, session, graph, plan, request, goal, limit)
    except BaseException:
        accelerator.recycle(session)
        raise


def _prepare(
    accelerator: Accelerator,
    session: Session,
    graph: Graph,
    plan: Plan,
    request: Request,
    goal: Goal,
    limit: int | None,
) -> DeviceSearch:
    device, budget = accelerator.device, request.gpu_memory
    rows = _rows(device, session.main, graph, plan, request)
    root = rows[plan.args.steps[1].adjacencies[0]]
    lanes = _lanes(request, root, graph)
    source, specialized = accelerator.choose(
        search_source(goal, lanes, description=_describe(plan)),
        _special(plan, goal, lanes),
        request.tuning["specialize"],
    )
    kernel = accelerator.kernel(source)
    addresses = {key: found.addresses for key, found in rows.items()}
    argument = pack_static(plan, addresses) if specialized else pack_runtime(plan, addresses)

    levels = len(plan.shape.steps)
    max_spans = max(span_counts(plan))
    listing = goal is Goal.LIST
    shared_of_group = layout.shared_bytes_of_group(levels, max_spans, listing=listing)
    groups_of_block = THREADS // lanes
    shared = groups_of_block * shared_of_group
    grid = _grid(device, kernel, shared, root.arcs, groups_of_block)
    lists, grid, buffers = _allocate_lists(device, plan, rows, goal, request, grid, groups_of_block)

    copies = resident(graph, device)
    out = copies.arcs(graph, into=False, stream=session.main, budget=budget)
    into = copies.arcs(graph, into=True, stream=session.main, budget=budget)
    task = argument.task
    task.out, task.in_ = layout.Adjacency(*out.addresses), layout.Adjacency(*into.addresses)
    task.root = layout.Adjacency(*root.addresses)
    task.arcs, task.vertices = root.arcs, graph.num_vertices
    task.piece = max(1, min(_MOST_PIECE, root.arcs // (grid * groups_of_block * _PIECES_PER_GROUP)))
    task.limit = layout.NO_LIMIT if limit is None or limit >= layout.NO_LIMIT else limit
    task.max_spans, task.shared_bytes = max_spans, shared_of_group
    task.buffers = 0 if buffers is None else buffers.address
    task.group_words = lists.words
    for level, place in enumerate(lists.places):
        task.buffer_at[level] = place
    memory: list[Buffer | DeviceRows] = [*rows.values(), out, into]
    if buffers is not None:
        memory.append(buffers)
    return DeviceSearch(accelerator, session, kernel, argument, grid, lanes, memory)


def _rows(device: Device, stream: Stream, graph: Graph, plan: Plan, request: Request) -> Rows:
    if graph.num_vertices > _MOST_VERTICES:
        raise DeviceError(
            f"device={device.name!r}: expected at most {_MOST_VERTICES:,} vertices,"
            f" found {graph.num_vertices:,}; use device='cpu'"
        )
    copies = resident(graph, device)
    keys = dict.fromkeys(key for step in plan.args.steps for key in step.adjacencies)
    return {key: copies.rows(graph, key, request.threads, stream, request.gpu_memory) for key in keys}


def _lanes(request: Request, root: DeviceRows, graph: Graph) -> int:
    """Choose the lanes of a group by the average row: lanes beyond it would idle."""
    asked = request.tuning["lanes"]
    if asked != "auto":
        return int(asked)
    average = root.arcs / max(1, graph.num_vertices)
    return next((lanes for lanes in LANES if average <= lanes), LANES[-1])


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


def _allocate_lists(
    device: Device, plan: Plan, rows: Rows, goal: Goal, request: Request, grid: int, groups_of_block: int
) -> tuple[_Lists, int, Buffer | None]:
    """Allocate the lists of all groups, for as many blocks as fit; return the number of blocks too."""
    lists = _lay_out(plan, rows, goal, close=False)
    if lists.words == 0:
        return lists, grid, None
    if 4 * lists.words * groups_of_block * grid > _CLOSE_BOUND_FROM:
        lists = _lay_out(plan, rows, goal, close=True)
    bytes_of_block = 4 * lists.words * groups_of_block
    while True:
        available = device.free_memory()
        if request.gpu_memory is not None:
            available = min(available, request.gpu_memory - device.used_memory())
        grid = max(1, min(grid, int(_USABLE * available) // bytes_of_block))
        try:
            buffer = device.allocate(
                bytes_of_block * grid, "candidate lists of the search", budget=request.gpu_memory
            )
        except DeviceMemoryError:
            if grid == 1:
                raise
            grid = -(-grid // 2)
        else:
            return lists, grid, buffer


def _lay_out(plan: Plan, rows: Rows, goal: Goal, *, close: bool) -> _Lists:
    """Bound each level's candidates by the shortest of its sets.

    With `close`, a row that is clipped to what is greater than its own vertex counts by what that leaves.
    """
    bounds: list[int] = []
    places: list[int] = []
    words = 0
    last = len(plan.shape.steps) - 1
    for level, (step, args) in enumerate(zip(plan.shape.steps, plan.args.steps, strict=True)):
        sets = [] if step.reuse is None else [bounds[step.reuse]]
        for source, key in zip(step.sources, args.adjacencies, strict=True):
            above = close and source.level in step.after
            sets.append(rows[key].longest_above if above else rows[key].longest)
        bounds.append(min(sets, default=0))
        places.append(words)
        never_kept = goal is Goal.COUNT and level == last and step.anchor == last - 1
        if level > 1 and len(sets) > 1 and not never_kept:
            words += -(-bounds[level] // _LINE_WORDS) * _LINE_WORDS
    return _Lists(words, tuple(places))
