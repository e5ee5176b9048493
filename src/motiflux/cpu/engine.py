"""``engine="cpu"``: the native search."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from motiflux import log
from motiflux._native import NativePlan, TooManyChoicesError
from motiflux.cpu import local, native
from motiflux.cpu.subtracting import count_terms, subtracted
from motiflux.graph import Adjacency, AdjacencyKey, Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.candidates.space import candidate_space
from motiflux.plan.estimate.predict import expected_count, host_memory, is_brief
from motiflux.plan.estimate.prediction import MemoryReport, Prediction
from motiflux.plan.ir import Formula
from motiflux.plan.local_counts.memory import table_memory
from motiflux.plan.local_counts.speeds import HOST_SPEEDS
from motiflux.plan.native_plan import native_problem
from motiflux.plan.physical import Family, PhysicalPlan, Stage
from motiflux.request.costs import host_work, usable_formula
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Capabilities, Engine, Outcome
from motiflux.request.planning import logical_plan
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.result.images import Block, Images
from motiflux.result.rows import NoRows, RowSource
from motiflux.types import Symmetry

CAPABILITIES = Capabilities(
    candidate_spaces=True,
    tails=True,
    parts=True,
    tables=HOST_SPEEDS,
    parts_cost=HOST_SPEEDS.parts,
    reports_sizes=True,
    shares_passes=True,
    copy_walks=True,
)


class CpuEngine:
    """Native depth-first search on the threads of this machine."""

    name = "cpu"
    device = "cpu"
    capabilities = CAPABILITIES

    def is_current(self) -> bool:
        """Return True: the engine has no state."""
        return True

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        request: Request,
        deadline: Deadline,
        *,
        counting: bool = True,
        beside: Sequence[Plan] = (),
    ) -> PhysicalPlan | None:
        """Return the physical plan of a request; None if time was up before there was one."""
        plan = logical_plan(
            graph, pattern, request, self.capabilities, deadline, counting=counting, beside=beside
        )
        if plan is None:
            return None
        physical = self.strategy(graph, plan, request, counting=counting)
        if not counting or not pattern.negated:
            return physical
        return subtracted(
            graph,
            pattern,
            request,
            physical,
            deadline,
            lambda one, asked, until: self.plan(graph, one, asked, until),
        )

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Return True: nothing has to be compiled."""
        return True

    def strategy(self, graph: Graph, plan: Plan, request: Request, *, counting: bool = True) -> PhysicalPlan:
        """Return the physical plan: from tables if the plan has a usable formula, else a search."""
        if plan.impossible is not None:
            return PhysicalPlan(self.name, plan, ())
        formula = usable_formula(plan, request, HOST_SPEEDS) if counting else None
        work = host_work(plan, formula, request, listing=not counting)
        seconds = None if work is None else work.shared(request.threads)
        search = PhysicalPlan(self.name, plan, (Stage(Family.SEARCH, plan),), seconds)
        if formula is None:
            return search
        return PhysicalPlan(self.name, plan, (Stage(Family.TABLES, plan),), seconds, fallback=search)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``."""
        plan = physical.plan
        if plan.impossible is not None:
            return Outcome(0, True)
        if physical.terms:
            return count_terms(
                physical,
                request,
                deadline,
                lambda term, asked, until: self.count(graph, term, asked, until),
            )
        if physical.stages[0].family is Family.TABLES:
            assert physical.fallback is not None
            try:
                return count_from_tables(graph, plan, request, deadline)
            except OverflowError:  # weights of walks have 64 bits; a search counts any number
                log.ENGINE.info("a search takes over: the tables' numbers would pass 64 bits")
                return self.count(graph, physical.fallback, request, deadline)
        search = _prepare(graph, plan, request)
        try:
            total, stop, sizes = native.count(
                search,
                threads=request.threads,
                limit=_limit(plan, request),
                timeout=deadline.left(),
                progress=_callback(request.progress, plan.multiplier, deadline),
                brief=is_brief(plan),
            )
        except TooManyChoicesError:
            log.ENGINE.info("a search by levels takes over: an embedding has more choices than are kept")
            by_levels = replace(plan, copy_walk=None)
            return self.count(graph, replace(physical, plan=by_levels), request, deadline)
        enumerated = (
            ()
            if plan.adaptive_order is not None and plan.adaptive_order.always
            else tuple(sizes if plan.tail is None else sizes[: plan.tail.start])
        )
        return _outcome(plan, request, total, stop, enumerated)

    def count_together(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> list[Outcome]:
        """Return the count of each plan of one pass, without sizes."""
        rows: dict[AdjacencyKey, Adjacency] = {}
        logical = [physical.plan for physical in plans]
        found = native.count_together(
            [_prepare(graph, plan, request, rows) for plan in logical],
            threads=request.threads,
            limits=[_limit(plan, request) for plan in logical],
            timeout=deadline.left(),
            progress=_callback_of_each(request.progress, [plan.multiplier for plan in logical], deadline),
        )
        return [
            _outcome(plan, request, total, stop) for plan, (total, stop) in zip(logical, found, strict=True)
        ]

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, None]:
        """Start an enumeration of at most ``request.limit`` rows."""
        plan = physical.plan
        if plan.impossible is not None:
            return NoRows(complete=True), None
        search, images = _prepare(graph, plan, request), Images(plan)
        rows = native.Rows(
            search,
            plan.order,
            threads=request.threads,
            block_rows=max(1, batch_rows // images.of_each),
            limit=None if request.limit is None else -(-request.limit // images.of_each),
            timeout=deadline.left(),
        )
        progress = _callback(request.progress, images.of_each, deadline)
        return _CpuRows(rows, images, request.limit, progress), None

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return an empty text: `explain` adds nothing to the reason for the engine."""
        return ""

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine."""
        return self

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        plan = physical.plan
        formula = plan.formula if physical.stages[0].family is Family.TABLES else None
        return Prediction(
            count=expected_count(plan, request.limit),
            seconds=physical.seconds,
            threads=request.threads,
            memory=_memory(graph, plan, formula, request.threads),
            note="nothing was sampled" if physical.seconds is None else None,
        )


def open_engine(names: Sequence[str]) -> CpuEngine:
    """Return the engine."""
    return CpuEngine()


def _memory(graph: Graph, plan: Plan, formula: Formula | None, threads: int) -> MemoryReport:
    """Return the memory of a count, including a candidate space that was made for planning."""
    if formula is None:
        return host_memory(graph, plan, threads)
    found = table_memory(graph, formula, threads)
    space = None if plan.space is None else candidate_space(graph, plan.space, threads)
    return found if space is None else replace(found, rows=found.rows + space.nbytes)


def count_from_tables(graph: Graph, plan: Plan, request: Request, deadline: Deadline) -> Outcome:
    """Return the count by the plan's formula; 0 and incomplete if time was up.

    Raises
    ------
    OverflowError
        A weight of walks has more than 64 bits.
    """
    assert plan.formula is not None
    progress = _callback(request.progress, 1, deadline)
    try:
        total = local.evaluate(graph, plan.formula, request.threads, deadline.at, progress)
    except local.Late:
        return Outcome(0, False)
    return outcome_of_tables(total, plan, request)


def outcome_of_tables(total: int, plan: Plan, request: Request) -> Outcome:
    """Return the outcome of a count from tables with `total` embeddings."""
    if request.symmetry is Symmetry.SUBGRAPHS:
        total //= plan.automorphisms
    if request.limit is not None and total > request.limit:
        return Outcome(request.limit, False)
    return Outcome(total, True)


def _prepare(
    graph: Graph, plan: Plan, request: Request, rows: dict[AdjacencyKey, Adjacency] | None = None
) -> NativePlan:
    tuning = request.tuning
    return native_problem(
        graph,
        plan,
        intersect=tuning["intersect"],
        simd=tuning["simd"],
        threads=request.threads,
        rows=rows,
        backjump=tuning["backjump"],
        adaptive=True,
        again=True,
    )


def _limit(plan: Plan, request: Request) -> int | None:
    """Return the limit of the search: total * multiplier > limit exactly when total > limit // multiplier."""
    return None if request.limit is None else request.limit // plan.multiplier


def _outcome(
    plan: Plan, request: Request, total: int, stop: native.Stop, sizes: tuple[int, ...] = ()
) -> Outcome:
    total *= plan.multiplier
    if request.limit is not None and total > request.limit:
        return Outcome(request.limit, False, sizes)
    return Outcome(total, stop is native.Stop.NONE, sizes)


class _CpuRows:
    def __init__(
        self, rows: native.Rows, images: Images, limit: int | None, progress: native.Progress | None
    ) -> None:
        self._rows = rows
        self._images = images
        self._left = limit
        self._cut = False
        self._lock = threading.Lock()
        self._progress = progress

    def next(self) -> Block | None:
        found = self._rows.next(self._progress)
        return None if found is None else self._up_to_limit(self._images.of(found))

    def _up_to_limit(self, rows: Block) -> Block:
        """Return the rows without those beyond the limit, which the images of the last rows may exceed."""
        if self._left is None:
            return rows
        with self._lock:
            given = rows[: self._left]
            self._cut |= len(given) < len(rows)
            self._left -= len(given)
        return given

    def close(self) -> None:
        self._rows.close()

    @property
    def complete(self) -> bool:
        return self._rows.stop is native.Stop.NONE and not self._cut


def _callback(report: ProgressCallback | None, multiplier: int, deadline: Deadline) -> native.Progress | None:
    if report is None:
        return None

    def progress(done: int, total: int, found: int) -> None:
        report(ProgressReport(done, total, found * multiplier, deadline.elapsed()))

    return progress


def _callback_of_each(
    report: ProgressCallback | None, multipliers: Sequence[int], deadline: Deadline
) -> native.ProgressOfEach | None:
    if report is None:
        return None

    def progress(done: int, work: int, found: list[int]) -> None:
        each = tuple(n * multiplier for n, multiplier in zip(found, multipliers, strict=True))
        report(ProgressReport(done, work, sum(each), deadline.elapsed(), each))

    return progress
