"""The choice of the kernels that execute a plan on devices, made here only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isqrt

from motiflux import _native
from motiflux.codegen.compared import why_not
from motiflux.codegen.kernels import COMPARED, LANES, WITHIN_BLOCK, Goal
from motiflux.codegen.tails import DeviceTail, device_tail
from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan import Plan
from motiflux.plan.estimate.predict import arcs_of
from motiflux.plan.ir import Searched, Walks, Wedges
from motiflux.plan.local_counts.schedule import Schedule, schedule_of
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS
from motiflux.plan.neighborhood.bits import MOST_MEMBERS, Bits, bits_of, clique_key, is_worth_bits
from motiflux.plan.physical import Family, PhysicalPlan, RootFilter, SearchKernel, Stage
from motiflux.request.costs import H100, host_work, usable_formula
from motiflux.request.request import Request

ENGINE = "dfs"
MOST_VERTICES = 2**32 - 64
"""In larger graphs, positions in the longest possible row would not fit into 32 bits."""
_LONGEST_ROW = {3: 1 << 15}
_LONGEST_ROW_IN_BITS = 4096
"""Longest row for clique kernels: the bitmaps of longer ones take megabytes, and a search counts instead."""
_LONG_ON_AVERAGE = 16
"""Average number of greater neighbours from which triangles are counted by vertices, not by arcs."""
_SHORT_ROW = 2.0
_FEW_ROOT_ARCS, _DEEP = 8, 4
"""Groups take work from others of their block if a multiprocessor (16 groups or more) has fewer root arcs
than the first number and the search at least as many levels as the second. On an H100, such queries of
enron_label20 then took .4 to 1.1 of the time, and 4-cycles, which have root arcs for all groups, 1.3 times as
long. `active` is as fast, but compiling its kernels takes 1.3 to 1.6 times as long
(`benchmarks/NOTES.md`)."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Facts of a group of equal devices for a strategy.

    Parameters
    ----------
    multiprocessors
        Number of multiprocessors of one device.
    speed
        Multiprocessors times clock, in hertz; 0 if unknown.
    """

    multiprocessors: int
    speed: float = 0.0

    @property
    def scale(self) -> float:
        """Time of one device, divided by that of the device on which the costs were measured."""
        return H100.speed / self.speed if self.speed else 1.0


@dataclass(frozen=True, slots=True)
class RowLengths:
    """Number of arcs to greater neighbours, and an upper bound of the longest row of them."""

    arcs: int
    longest: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Facts of a graph and a plan for a strategy.

    Parameters
    ----------
    vertices
        Number of vertices of the graph.
    searching
        Expected seconds of a search on one device; None if nothing was sampled.
    clique
        Arcs and row lengths for a clique; None if the pattern is no clique.
    bits
        The plan in bitmaps, if the pattern has a universal vertex and a search takes long enough.
    schedule
        The schedule of the plan's formula, if the count comes from tables.
    searched
        Physical plans of the searches in that formula.
    """

    vertices: int
    searching: float | None = None
    clique: RowLengths | None = None
    bits: Bits | None = None
    schedule: Schedule | None = None
    searched: Mapping[Searched, PhysicalPlan] = field(default_factory=dict)


def gather(graph: Graph, plan: Plan, device: DeviceFacts, request: Request) -> Statistics:
    """Return the statistics of a plan that counts."""
    if graph.num_vertices > MOST_VERTICES or plan.impossible is not None:
        return Statistics(graph.num_vertices)
    work = host_work(plan, None, request)
    searching = None if work is None else H100.search(work, device.speed)
    if plan.comparisons is not None:  # each level is matched
        return Statistics(graph.num_vertices, searching)
    if (formula := usable_formula(plan, request, DEVICE_SPEEDS)) is not None:
        # If the tables do not fit, a plain search replaces them: other kernels are not considered.
        schedule, inner = schedule_of(formula), replace(request, limit=None, progress=None)
        searched = {
            table: strategy(table.plan, gather(graph, table.plan, device, inner), device, inner)
            for table in schedule.scalars
            if isinstance(table, Searched)
        }
        return Statistics(graph.num_vertices, searching, schedule=schedule, searched=searched)
    clique = clique_rows(graph, plan, request)
    bits = None
    if clique is None and request.tuning["bitmaps"] not in ("off", "cliques"):
        bits = _best_bits(graph, plan, device, request, searching)
    return Statistics(graph.num_vertices, searching, clique, bits)


def clique_rows(graph: Graph, plan: Plan, request: Request) -> RowLengths | None:
    """Return the row lengths for a clique that may be counted in bitmaps; None for another plan."""
    if request.tuning["bitmaps"] == "off" or (key := clique_key(plan)) is None:
        return None
    return _lengths(graph, key, len(plan.shape.steps), request.threads)


def _lengths(graph: Graph, key: AdjacencyKey, vertices: int, threads: int) -> RowLengths:
    """Return the arcs to greater neighbours and a bound of the longest row, exact if a quick one is high."""
    alike = key.source_labels == key.target_labels
    arcs = arcs_of(graph, key)
    arcs = arcs // 2 if alike and not graph.directed else arcs
    longest = graph.longest_row(key.direction, threads)
    if not graph.directed:
        longest = min(longest, isqrt(len(graph.forward.neighbors)) + 1)  # ids ascend by degree
    if longest > _LONGEST_ROW.get(vertices, _LONGEST_ROW_IN_BITS):
        above = graph.offsets_above(key, threads)
        return RowLengths(int(above[-1]), _native.longest_row(above, threads))
    return RowLengths(arcs, longest)


def _best_bits(
    graph: Graph, plan: Plan, device: DeviceFacts, request: Request, searching: float | None
) -> Bits | None:
    """Return the fastest count in bitmaps; None without a universal vertex, or if a search is short."""
    forced = request.tuning["bitmaps"] == "on"
    if request.limit is not None:
        limited = searching
        work = host_work(plan, None, replace(request, limit=None))
        searching = None if work is None else H100.search(work, device.speed)
        if not forced and not is_worth_bits(limited, graph, plan):
            return None
    if not forced and not is_worth_bits(searching, graph, plan):
        return None

    def make() -> tuple[Plan, Bits | None]:
        found = bits_of(graph, plan, request.threads, searching, scale=device.scale, call=H100.call)
        countable = [bits for bits in found if bits.left == 0 or is_countable(bits.universal.plan)]
        # The memo keeps the plan: its id, which is in the key, cannot pass to another plan.
        return plan, min(countable, key=lambda bits: bits.seconds, default=None)

    return graph.memo.get(("bits", id(plan), forced, device.speed, MOST_MEMBERS), make)[1]


def is_countable(plan: Plan) -> bool:
    """Return whether kernels can count the plan: its tail, if it has one."""
    return plan.tail is None or device_tail(plan) is not None


def strategy(plan: Plan, statistics: Statistics, device: DeviceFacts, request: Request) -> PhysicalPlan:
    """Return the physical plan of a count: the fastest kernels, and fallbacks if these fail."""
    if plan.impossible is not None:
        return PhysicalPlan(ENGINE, plan, ())
    seconds = statistics.searching
    why = None if plan.comparisons is None else why_not(plan.comparisons)
    if why is None and is_countable(plan):
        notes = "" if plan.comparisons is None else "; the CPU counts: an embedding has too many copies"
        host = PhysicalPlan(ENGINE, plan, (Stage(Family.HOST, plan),), notes=notes, whole=False)
        stage = Stage(Family.SEARCH, plan, search_kernel(plan, counting_goal(plan), device, request))
        physical = PhysicalPlan(ENGINE, plan, (stage,), seconds, fallback=host)
    else:
        note = f"; the CPU counts: {why or 'kernels do not count this tail'}"
        physical = PhysicalPlan(ENGINE, plan, (Stage(Family.HOST, plan),), seconds, notes=note, whole=False)
    bits = statistics.bits
    if (kernel := _clique_kernel(plan, statistics, request)) is not None:
        stage = Stage(Family.CLIQUES, plan, kernel, clique=clique_key(plan))
        physical = PhysicalPlan(ENGINE, plan, (stage,), seconds, notes="; cliques in bits", fallback=physical)
    elif bits is not None and (bits.pays or request.tuning["bitmaps"] == "on"):
        physical = PhysicalPlan(
            ENGINE,
            plan,
            _stages_of(bits, device, request),
            bits.expected,
            f"; {bits.words}",
            fallback=physical,
        )
    elif bits is not None:
        physical = replace(physical, notes=f"; {bits.words}{physical.notes}")
    if statistics.schedule is not None:
        physical = _by_tables(plan, statistics.schedule, statistics.searched, physical)
    return physical


def _by_tables(
    plan: Plan, schedule: Schedule, searched: Mapping[Searched, PhysicalPlan], fallback: PhysicalPlan
) -> PhysicalPlan:
    assert schedule.formula is not None
    # Devices share the roots of these sums.
    whole = any(isinstance(scalar, Walks | Wedges) for scalar in schedule.scalars)
    return PhysicalPlan(
        ENGINE,
        plan,
        (Stage(Family.TABLES, plan, schedule=schedule, searched=searched),),
        schedule.formula.seconds,
        whole=whole,
        fallback=replace(fallback, notes=""),
    )


def _clique_kernel(plan: Plan, statistics: Statistics, request: Request) -> SearchKernel | None:
    """Return the kernel for cliques, by arcs or by neighbourhoods; None if rows are too long for either."""
    rows, vertices = statistics.clique, len(plan.shape.steps)
    if rows is None:
        return None
    by, short = request.tuning["triangles"], rows.arcs < _LONG_ON_AVERAGE * statistics.vertices
    if vertices == 3 and (by == "arcs" or (by == "auto" and short)) and rows.longest < 1 << 26:
        return SearchKernel("triangles", LANES[-1])
    if rows.longest <= _LONGEST_ROW.get(vertices, _LONGEST_ROW_IN_BITS):
        return SearchKernel("cliques", LANES[-1])
    return None


def _stages_of(bits: Bits, device: DeviceFacts, request: Request) -> tuple[Stage, ...]:
    """Return the stages of a count in bitmaps. Each root belongs to exactly one stage."""
    plan = bits.universal.plan
    in_bits = Stage(Family.UNIVERSAL_VERTEX, plan, universal=bits.universal, share=1.0 - bits.left)
    if bits.left == 0:
        return (in_bits,)
    roots = RootFilter(bits.universal.rows.roots, MOST_MEMBERS)
    few = replace(plan, estimates=tuple(bits.left * size for size in plan.estimates))
    kernel = search_kernel(few, counting_goal(plan), device, request)
    return in_bits, Stage(Family.SEARCH, plan, kernel, roots=roots, share=bits.left)


def listing(plan: Plan, device: DeviceFacts, request: Request) -> PhysicalPlan:
    """Return the physical plan of a row listing."""
    if plan.impossible is not None:
        return PhysicalPlan(ENGINE, plan, ())
    if plan.comparisons is not None and (why := why_not(plan.comparisons)) is not None:
        note = f"; the CPU lists: {why}"
        return PhysicalPlan(ENGINE, plan, (Stage(Family.HOST, plan),), notes=note, whole=False)
    goal = Goal.STORE if plan.comparisons is None else Goal.STORE_COMPARED
    stage = Stage(Family.SEARCH, plan, search_kernel(plan, goal, device, request))
    return PhysicalPlan(ENGINE, plan, (stage,))


def listing_kernel(plan: Plan, device: DeviceFacts, request: Request) -> SearchKernel | None:
    """Return the search kernel that lists the rows of a plan; None if it compares attributes."""
    return None if plan.comparisons is not None else search_kernel(plan, Goal.STORE, device, request)


def counting_kernel(plan: Plan, device: DeviceFacts, request: Request) -> SearchKernel | None:
    """Return the search kernel that counts a plan; None if no kernel counts its tail or its comparisons."""
    if plan.comparisons is not None or not is_countable(plan):
        return None
    return search_kernel(plan, counting_goal(plan), device, request)


def counting_goal(plan: Plan) -> Goal:
    """Return the goal of the search kernels that counts a plan, whose tail kernels must be able to count."""
    if plan.comparisons is not None:
        return Goal.COUNT_COMPARED
    tail = device_tail(plan)
    if tail is None:
        assert plan.tail is None, "no kernel counts this tail"
        return Goal.COUNT
    if tail.nested:
        return Goal.NESTED
    return Goal.STARS if tail.start == 1 else Goal.TAIL


def search_kernel(plan: Plan, goal: Goal, device: DeviceFacts, request: Request) -> SearchKernel:
    """Return the search kernel for a goal.

    The number of root arcs is the planner's estimate: the rows may not be on the device yet.
    """
    tail = None if goal.lists else device_tail(plan)
    return SearchKernel(
        goal,
        _lanes(plan, goal, request),
        None if goal in COMPARED else _stealing(plan, tail, device, request),
        work_queue=request.tuning["handover"] != "off" and _has_walks(plan, tail),
        flattened=request.tuning["packing"] != "off",
        remembers=tail is not None and tail.keeps and request.tuning["remember"] != "off",
        storage="rows" if plan.space is None else "candidate space",
    )


def _lanes(plan: Plan, goal: Goal, request: Request) -> int:
    """Return the number of lanes of a group.

    Counts take a whole warp: the last two levels, or the tail, keep all lanes busy, and groups that wait for
    work share no warp with others. For searches that enumerate the last level, 16 lanes were fastest, except
    on very short rows. Groups that compare attributes have 32, with which counts that take .5 ms or more took
    .80 of their time with 16 on an H200 (geometric mean of 21).
    """
    asked = request.tuning["lanes"]
    if asked != "auto":
        return int(asked)
    counts_rows = goal is Goal.COUNT and request.tuning["packing"] != "off"
    if counts_rows or goal in (*COMPARED, Goal.TAIL, Goal.NESTED):
        return LANES[2]
    average = plan.estimates[1] / max(1.0, plan.estimates[0])
    return LANES[0] if average < _SHORT_ROW else LANES[1]


def _stealing(plan: Plan, tail: DeviceTail | None, device: DeviceFacts, request: Request) -> str | None:
    """Return the way in which groups take work of others in their block; None if they do not."""
    asked = request.tuning["stealing"]
    if asked == "auto":
        narrow = plan.estimates[1] < _FEW_ROOT_ARCS * device.multiprocessors and _matched(plan, tail) >= _DEEP
        asked = "passive" if narrow else "none"
    return asked if asked in WITHIN_BLOCK and _has_walks(plan, tail) else None


def _matched(plan: Plan, tail: DeviceTail | None) -> int:
    """Return the number of levels that are matched candidate by candidate."""
    return len(plan.shape.steps) - 1 if tail is None else tail.start


def _has_walks(plan: Plan, tail: DeviceTail | None) -> bool:
    """Return whether a root task has work that another group can take over."""
    return len(plan.shape.steps) > 2 if tail is None else tail.start > 1
