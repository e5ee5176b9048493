"""``engine="cpu"``: the native search."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from motiflux.cpu import local, native
from motiflux.graph import Adjacency, AdjacencyKey, Graph
from motiflux.plan import Plan
from motiflux.plan.candidates.space import candidate_space
from motiflux.plan.estimate.predict import expected_count, expected_seconds, host_memory, is_brief
from motiflux.plan.estimate.prediction import MemoryReport, Prediction
from motiflux.plan.ir import Formula
from motiflux.plan.local_counts.memory import table_memory
from motiflux.plan.local_counts.speeds import HOST_SPEEDS, Speeds
from motiflux.request.costs import host_work
from motiflux.request.engine import Outcome
from motiflux.request.reports import ProgressReport
from motiflux.request.request import ProgressCallback, Request
from motiflux.result.images import Block, Images
from motiflux.result.rows import RowSource
from motiflux.types import Symmetry


class CpuEngine:
    """Native depth-first search on the threads of this machine."""

    name = "cpu"
    device = "cpu"
    searches_space = True
    counts_tails = True
    counts_parts = True
    counts_tables: Speeds | None = HOST_SPEEDS
    parts_cost = HOST_SPEEDS.parts
    searchers = 1
    tells_sizes = True
    shares_passes = True

    def count(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``."""
        if (formula := formula_for(plan, request)) is not None:
            try:
                return count_from_tables(graph, plan, formula, request, started)
            except OverflowError:
                pass  # weights of walks hold 64 bits; the search holds any number
        search = _prepare(graph, plan, request)
        total, stop, sizes = native.count(
            search,
            threads=request.threads,
            limit=_limit(plan, request),
            timeout=_remaining(request.timeout, started),
            progress=_callback(request.progress, plan.multiplier, started),
            brief=is_brief(plan),
        )
        enumerated = (
            ()
            if plan.adaptive_order is not None and plan.adaptive_order.always
            else tuple(sizes if plan.tail is None else sizes[: plan.tail.start])
        )
        return _outcome(plan, request, total, stop, enumerated)

    def count_together(
        self, graph: Graph, plans: Sequence[Plan], request: Request, started: float
    ) -> list[Outcome]:
        """Return the count of each of some plans that go in one pass, without sizes."""
        rows: dict[AdjacencyKey, Adjacency] = {}
        found = native.count_together(
            [_prepare(graph, plan, request, rows) for plan in plans],
            threads=request.threads,
            limits=[_limit(plan, request) for plan in plans],
            timeout=_remaining(request.timeout, started),
            progress=_callback_of_each(request.progress, [plan.multiplier for plan in plans], started),
        )
        return [
            _outcome(plan, request, total, stop) for plan, (total, stop) in zip(plans, found, strict=True)
        ]

    def rows(self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float) -> RowSource:
        """Start an enumeration of at most ``request.limit`` rows."""
        search, images = _prepare(graph, plan, request), Images(plan)
        rows = native.Rows(
            search,
            threads=request.threads,
            block_rows=max(1, batch_rows // images.of_each),
            limit=None if request.limit is None else -(-request.limit // images.of_each),
            timeout=_remaining(request.timeout, started),
        )
        return _CpuRows(rows, images, request.limit, _callback(request.progress, images.of_each, started))

    def predict(self, graph: Graph, plan: Plan, request: Request) -> Prediction:
        """Return what a count will give and take, without searching."""
        formula = formula_for(plan, request)
        work = host_work(plan, formula, request)
        seconds = None if work is None else work.shared(request.threads)
        return Prediction(
            count=expected_count(plan, request.limit),
            seconds=seconds,
            threads=request.threads,
            memory=_memory(graph, plan, formula, request.threads),
            note="nothing was sampled" if seconds is None else None,
        )


def _memory(graph: Graph, plan: Plan, formula: Formula | None, threads: int) -> MemoryReport:
    """Return what a count holds: the candidate space too that was made to plan it."""
    if formula is None:
        return host_memory(graph, plan, threads)
    found = table_memory(graph, formula, threads)
    space = None if plan.space is None else candidate_space(graph, plan.space, threads)
    return found if space is None else replace(found, rows=found.rows + space.nbytes)


def formula_for(plan: Plan, request: Request, speeds: Speeds = HOST_SPEEDS) -> Formula | None:
    """Return how to count from tables, unless a search is expected to say more by the limit or in time."""
    formula = plan.formula
    if formula is None or request.tuning["tables"] == "on":
        return formula
    if request.timeout is not None and formula.seconds > request.timeout / 2:
        return None  # a search that is cut short tells how many it knows, tables tell nothing
    if request.limit is None:
        return formula
    search = expected_seconds(plan, request.threads, request.limit)
    if search is None or formula.seconds < speeds.of_search(search, request.threads):
        return formula
    return None


def count_from_tables(
    graph: Graph, plan: Plan, formula: Formula, request: Request, started: float
) -> Outcome:
    """Return the count from tables; 0 and incomplete if time was up.

    Raises
    ------
    OverflowError
        Walks are weighed by numbers of more than 64 bits.
    """
    deadline = None if request.timeout is None else started + request.timeout
    try:
        total = local.evaluate(
            graph, formula, request.threads, deadline, _callback(request.progress, 1, started)
        )
    except local.Late:
        return Outcome(0, False)
    return outcome_of_tables(total, plan, request)


def outcome_of_tables(total: int, plan: Plan, request: Request) -> Outcome:
    """Return what a number of embeddings is that tables came to."""
    if request.symmetry is Symmetry.SUBGRAPHS:
        total //= plan.automorphisms
    if request.limit is not None and total > request.limit:
        return Outcome(request.limit, False)
    return Outcome(total, True)


def _prepare(
    graph: Graph, plan: Plan, request: Request, rows: dict[AdjacencyKey, Adjacency] | None = None
) -> native.Search:
    tuning = request.tuning
    return native.prepare(
        graph,
        plan,
        intersect=tuning["intersect"],
        simd=tuning["simd"],
        threads=request.threads,
        rows=rows,
        backjump=tuning["backjump"],
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
        """Return the rows less those beyond the limit: rows were found until their images reached it."""
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


def _remaining(timeout: float | None, started: float) -> float | None:
    return None if timeout is None else max(0.0, timeout - (time.perf_counter() - started))


def _callback(report: ProgressCallback | None, multiplier: int, started: float) -> native.Progress | None:
    if report is None:
        return None

    def progress(done: int, total: int, found: int) -> None:
        report(ProgressReport(done, total, found * multiplier, time.perf_counter() - started))

    return progress


def _callback_of_each(
    report: ProgressCallback | None, multipliers: Sequence[int], started: float
) -> native.ProgressOfEach | None:
    total = _callback(report, 1, started)
    if total is None:
        return None

    def progress(done: int, work: int, found: list[int]) -> None:
        total(done, work, sum(n * multiplier for n, multiplier in zip(found, multipliers, strict=True)))

    return progress
