"""Explanations of counts of sharded graphs: the plan, the expected parts and tasks, and the memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from motiflux.api.explaining import Explanation, QueryExplanation
from motiflux.api.queries.counts import sum_of
from motiflux.api.queries.explanation import summary, summary_of_rows
from motiflux.cluster.shards.conditions import Narrowed, narrowed, refuse_lost_copies
from motiflux.cluster.shards.counting import count_sharded, shares_of
from motiflux.cluster.shards.distinct import (
    check_rows,
    count_distinct_sharded,
    listed_by,
    memory_of_row,
)
from motiflux.cluster.shards.planning import ranged
from motiflux.cluster.shards.queries import ShardedCounter, searched_once
from motiflux.cluster.shards.reach import reach_of
from motiflux.cluster.shards.reading import MOST, Reading
from motiflux.cluster.shards.reasons import why_no_kernel
from motiflux.cluster.shards.row_tasks import patterns_listed
from motiflux.cluster.shards.search import Ranged, least_bytes, shares_of_part
from motiflux.cluster.simulation import expected_tasks
from motiflux.graph import AdjacencyKey
from motiflux.pattern import AnyVertex, NegatedEdge, Pattern, Query
from motiflux.pattern.negated import PossibleEnd
from motiflux.pattern.projection import Projection, threshold_text
from motiflux.plan import Plan
from motiflux.plan.estimate.predict import expected_count, expected_seconds
from motiflux.plan.estimate.prediction import MemoryReport, Prediction, ShardsReport, TasksReport
from motiflux.plan.estimate.sampled import MANY_MEMBERS, plan_in_whole, sample
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.report.data import Actual, EngineReport, GraphReport, PlanReport, RowsReport
from motiflux.plan.report.describe import describe
from motiflux.plan.report.explain.words import kept_rows
from motiflux.request.costs import H100, host_work
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.types import Symmetry
from motiflux.units import quantity

if TYPE_CHECKING:
    from motiflux.cluster.on_gpus import OnGpus
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers
    from motiflux.gpu.strategy import DeviceFacts

_SECONDS_OF_GPU_PART = 2e-3
"""Time in which a part is copied to a GPU and its kernel started, in seconds."""


@dataclass(frozen=True, slots=True)
class _Where:
    """Where the tasks of a count run.

    Parameters
    ----------
    slots
        Number of tasks at a time.
    kind
        The kind of their GPUs, one each; None: they have none.
    facts
        Of one of the GPUs.
    """

    slots: int
    kind: str | None = None
    facts: DeviceFacts | None = None

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return 0 if self.kind is None else self.slots


def explain_sharded(
    workers: Workers,
    graph: ShardedGraph,
    query: Pattern | Query,
    request: Request,
    gpus: OnGpus | None = None,
    projection: Projection | None = None,
    *,
    analyze: bool,
) -> Explanation:
    """Return the explanation of a count, on CPUs or on GPUs, which `analyze` also runs.

    That of distinct rows is of the listing of all rows.

    Raises
    ------
    PatternError, ArgumentError
        The pattern or an option takes more than a sharded graph has.
    """
    if projection is not None:
        check_rows(query, request)
        kind = None if gpus is None else gpus.kind
        if isinstance(query, Query):
            return _of_distinct_rows(workers, graph, query, projection, request, kind, analyze=analyze)
        return _listing_explained(workers, graph, query, projection, request, kind, analyze=analyze)
    if isinstance(query, Pattern):
        return _explained(workers, graph, query, request, gpus, analyze=analyze)
    where = ShardedCounter(workers, graph, None if gpus is None else gpus.kind)
    whole = sum_of(query, request, where)
    where.check(query, whole, request)
    searched = searched_once(whole.searched, request, directed=graph.directed)
    parts = [
        _explained(workers, graph, one.pattern, one.request(request), gpus, analyze=analyze)
        for one in searched
    ]
    told = summary(query, whole)
    if len(searched) < len(whole.searched):
        number = quantity(len(whole.searched), "pattern")
        told += f"\n  search  {len(searched)} of {number}: the others are the same but for names"
    return QueryExplanation(query, told, parts)


def _explained(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    request: Request,
    gpus: OnGpus | None,
    *,
    analyze: bool,
) -> Explanation:
    kind = None if gpus is None else gpus.kind
    where = _Where(workers.slots_on(kind), kind, None if gpus is None else gpus.facts())
    report = _planned(workers, graph, pattern, request, where, counting=True)
    if not analyze:
        return Explanation(report)
    (count,) = count_sharded(workers, graph, [pattern], request, Deadline.after(request.timeout), kind)
    return Explanation(_ran(report, count))


def _listing_explained(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    projection: Projection,
    request: Request,
    kind: str | None,
    *,
    analyze: bool,
) -> Explanation:
    """Return the explanation of a count of distinct rows of a pattern; `kind` as for `distinct_images`."""
    own = replace(request, limit=None, symmetry=Symmetry.EMBEDDINGS)
    report = _planned(workers, graph, pattern, own, _Where(workers.slots_on(None)), counting=False)
    names = [vertex.name for vertex in pattern.vertices]
    rows = RowsReport(
        returned=tuple(names[vertex] for vertex in projection.returned),
        thresholds=tuple(threshold_text(names, one) for one in projection.thresholds),
        existential=(),
        group=(),
        kept=True,
        nbytes=memory_of_row(projection),
    )
    engine = replace(report.engine, reason=f"{report.engine.reason}; {listed_by(request, kind)}")
    report = replace(report, engine=engine, rows=rows, symmetry=request.symmetry.value)
    if not analyze:
        return Explanation(report)
    deadline = Deadline.after(request.timeout)
    count = count_distinct_sharded(workers, graph, pattern, projection, request, deadline, kind)
    return Explanation(_ran(report, count))


def _of_distinct_rows(
    workers: Workers,
    graph: ShardedGraph,
    query: Query,
    projection: Projection,
    request: Request,
    kind: str | None,
    *,
    analyze: bool,
) -> QueryExplanation:
    """Return the explanation of the distinct rows of a query: of the listings of its patterns."""
    wanted = (*projection.returned, *projection.counted)
    query, request, listed = patterns_listed(query, request, directed=graph.directed)
    parts = []
    for one in listed:
        assert one.shape is not None
        there = [at for vertex in wanted if (at := one.shape.vertices[vertex]) is not None]
        given = one.pattern, Projection(tuple(there)), request, kind
        parts.append(_listing_explained(workers, graph, *given, analyze=analyze))
    told = summary_of_rows(query, projection, [(one.pattern, None) for one in listed])
    return QueryExplanation(query, f"{told}\n  rows    {kept_rows(memory_of_row(projection))}", parts)


def _planned(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    request: Request,
    where: _Where,
    *,
    counting: bool,
) -> PlanReport:
    """Return the report on a search that counts embeddings, or lists them."""
    check_symmetry(request.semantics, request.symmetry)
    refuse_lost_copies(graph.layout, request.copies)
    graph.served()  # refuses a closed one
    subject = narrowed(graph, pattern, Deadline.after(None))
    planned = ranged(
        subject.sketch,
        subject.pattern,
        replace(request, timeout=None),
        Deadline.after(None),
        counting=counting,
        on_gpu=where.kind is not None,
        allowed=subject.allowed,
    )
    assert planned is not None  # only if time was up
    return _report(workers, graph, pattern, subject, planned, request, where)


def _ran(report: PlanReport, count: Count) -> PlanReport:
    """Return a report with the result of a count."""
    note = None if report.predicted is None else "tasks of a cluster do not tell the sizes of steps"
    actual = Actual(int(count), count.complete, count.seconds, count.plan_seconds, note)
    return replace(report, actual=actual)


def _report(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    subject: Narrowed,
    planned: Ranged,
    request: Request,
    where: _Where,
) -> PlanReport:
    graph = subject.graph
    layout, sketch = graph.layout, subject.sketch
    plan = planned.plan
    if plan.impossible is None and not plan.scanned:  # planning samples no plans of labels
        sizes = sample(sketch, plan, MANY_MEMBERS, request.threads)
        plan = replace(plan, estimates=sizes.sizes, scanned=sizes.read)
    share = sketch.num_edges / max(1, layout.num_edges)
    plan = plan_in_whole(plan, sketch.sketched, planned.bound)
    reason = (
        f"the graph is sharded; ranges of entries, in shares for {quantity(where.slots, 'task')} at a time"
    )
    why = None
    if where.kind is not None and plan.impossible is None:
        why = why_no_kernel(planned, layout, where.kind)
        reason += "; kernels search their parts" if why is None else f"; CPUs search their parts: {why}"
    if share < 1:
        reason += f"; planned on {quantity(sketch.num_edges, 'edge')} of the graph"
    report = describe(
        _told(plan, subject),
        subject.described,
        replace(pattern, negated=tuple(one for one in pattern.negated if not _of_monitors(one))),
        EngineReport("cluster", f"{workers.device_on(where.kind)}, {graph.num_shards} shards", reason),
        searches_space=False,
        tuning=request.tuning,
        threads=request.threads,
    )
    report = replace(report, pattern=replace(report.pattern, text=str(pattern)))
    report = replace(report, graph=GraphReport(layout.num_vertices, layout.num_edges, layout.directed))
    if plan.impossible is not None:
        return report
    on_gpus = where.kind is not None and why is None
    predicted = _prediction(workers, graph, pattern, planned, plan, request, where, on_gpus=on_gpus)
    return replace(report, predicted=predicted)


def _of_monitors(one: NegatedEdge) -> bool:
    """Whether a negated edge is one that only monitors report on."""
    ends = [end for end in (one.source, one.target) if isinstance(end, AnyVertex)]
    return bool(one.besides) or any(end.ids is not None or isinstance(end, PossibleEnd) for end in ends)


def _told(plan: Plan, subject: Narrowed) -> Plan:
    """Return a plan with the conditions on edges as they were given."""
    judged = subject.graph.served().judged
    if judged is None:
        return plan
    given = dict(zip(subject.graph.layout.judged, judged.conditions, strict=True))

    def told(key: AdjacencyKey) -> AdjacencyKey:
        return key if key.edge_where is None else replace(key, edge_where=given[key.edge_where])

    steps = (
        replace(
            step,
            adjacencies=tuple(map(told, step.adjacencies)),
            apart=tuple((level, told(key)) for level, key in step.apart),
        )
        for step in plan.args.steps
    )
    return replace(plan, args=replace(plan.args, steps=tuple(steps)))


def _prediction(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    planned: Ranged,
    plan: Plan,
    request: Request,
    where: _Where,
    *,
    on_gpus: bool,
) -> Prediction:
    layout, slots = graph.layout, where.slots
    reach = reach_of(planned.bound, plan, layout)
    share = shares_of_part(planned, reach, layout)
    reading = Reading.of(graph, plan, reach, planned.nbytes, share)
    threads = slots * workers.threads
    search = expected_seconds(plan, 1, request.limit)
    if search is not None and on_gpus:  # as if a task's threads had searched
        search = workers.threads * _on_gpu(plan, request, where, reading.parts)
    tasks = None
    if search is not None:
        of_worker = search / workers.threads + reading.seconds
        tasks = expected_tasks(of_worker, slots, lambda units: shares_of(units, slots))
        reading = replace(reading, parts=max(reading.parts, tasks))  # a task has a part at least
    shards = ShardsReport(
        graph.num_shards,
        tuple(pattern.vertices[vertex].name for vertex in reach.cover),
        round(reading.parts),
        round(min(MOST, reading.entries)),
        graph.memory,
        least_bytes(layout, reach, planned.nbytes, share),
    )
    return Prediction(
        expected_count(plan, request.limit),
        None if search is None else search / threads + reading.seconds / slots,
        threads,
        MemoryReport(0, graph.memory),
        "nothing was sampled" if search is None else None,
        TasksReport(slots, tasks, shards, where.gpus),
    )


def _on_gpu(plan: Plan, request: Request, where: _Where, parts: float) -> float:
    """Return the seconds of one GPU for the searches of parts."""
    work, facts = host_work(plan, None, request), where.facts
    assert work is not None
    assert facts is not None
    return H100.search(work, facts.speed) + _SECONDS_OF_GPU_PART * parts
