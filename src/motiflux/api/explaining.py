"""The public call `explain`: what a count would do, or, once it is run, did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from motiflux.api.subject import GraphLike, data_graph
from motiflux.dispatch.choose import choose_engine
from motiflux.draw import Picture
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, QueryLike, as_query
from motiflux.pattern.asked import Distinct, Having, asked_of, asks_for_rows
from motiflux.pattern.projection import Projection
from motiflux.plan.physical import PhysicalPlan
from motiflux.plan.report.data import Actual, EngineReport, PlanReport, TermReport
from motiflux.plan.report.describe import describe
from motiflux.plan.report.explain import to_dict, to_document, to_html, to_mermaid, to_picture, to_text
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Outcome
from motiflux.request.progress import FoundSoFar, Progress, expect, progress_callback
from motiflux.request.request import Request, make_request
from motiflux.units import quantity
from motiflux.words import DeviceName, SemanticsName, SymmetryName


class Explanation(str):
    """The text of a plan, with conversions to other formats.

    Attributes
    ----------
    report : motiflux.plan.report.PlanReport
        The same content as frozen dataclasses.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    >>> told = mf.explain(g, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)]), threads=1)
    >>> told.report.multiplier, told.to_dict()["multiplier"]
    (6, 6)
    >>> print(told.to_mermaid().splitlines()[-1])
      L1 -- "neighbours" --> L2
    """

    __slots__ = ("report",)

    report: PlanReport

    def __new__(cls, report: PlanReport) -> Explanation:
        """Return the text of `report`."""
        self = super().__new__(cls, to_text(report))
        self.report = report
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dictionaries, lists, strings and numbers; ``"schema": 1`` comes first."""
        return to_dict(self.report)

    def to_json(self) -> str:
        """Return the report as one JSON object on one line."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_mermaid(self) -> str:
        """Return the levels as a mermaid flowchart."""
        return to_mermaid(self.report)

    def to_html(self) -> str:
        """Return the report as an HTML page."""
        return to_document(self.report)

    def to_svg(self) -> Picture:
        """Return the report as an SVG picture: a string with a method ``save``."""
        return to_picture(self.report)

    def _repr_html_(self) -> str:
        return to_html(self.report)

    def _repr_svg_(self) -> str:
        return str(self.to_svg())

    def __repr__(self) -> str:
        return str(self)

    def __getnewargs__(self) -> tuple[PlanReport]:  # type: ignore[override]
        return (self.report,)


MAX_PLANS = 8
"""Patterns of a query whose plans the text shows."""


class QueryExplanation(Explanation):
    """The text of the explanation of a query: its patterns, and the plan of each.

    Attributes
    ----------
    query : Query
        The query.
    report : motiflux.plan.report.PlanReport
        The plan of the first pattern.
    parts : tuple of Explanation
        The explanation of each pattern that is counted.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    >>> told = mf.explain(g, "(a)-[*3..4]-(a)", threads=1)
    >>> print(told[: told.index("pattern ")].strip())
    query     (a)-[*3..4]-(a): the sum of 2 counts
      1       (a)--(_1), (_1)--(_2), (_2)--(a)
      2       (a)--(_1), (_1)--(_2), (_2)--(_3), (_3)--(a)
    >>> len(told.parts)
    2
    """

    __slots__ = ("_summary", "parts", "query")

    query: Query
    parts: tuple[Explanation, ...]
    _summary: str

    def __new__(cls, query: Query, summary: str, parts: Sequence[Explanation]) -> QueryExplanation:
        """Return the text of the explanations of all patterns of a query."""
        shown = [str.__str__(part) for part in parts[:MAX_PLANS]]
        if len(parts) > MAX_PLANS:
            shown.append(f"and {quantity(len(parts) - MAX_PLANS, 'other plan')}")
        self = str.__new__(cls, "\n\n".join([summary, *shown]))
        self.query = query
        self.parts = tuple(parts)
        self._summary = summary
        self.report = parts[0].report
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the explanations as dictionaries; ``"schema": 1`` comes first."""
        return {"schema": 1, "query": str(self.query), "patterns": [part.to_dict() for part in self.parts]}

    def to_mermaid(self) -> str:
        """Return a mermaid flowchart for each pattern, one after the other."""
        return "\n\n".join(part.to_mermaid() for part in self.parts)

    def to_html(self) -> str:
        """Return the HTML pages of all patterns, one after the other."""
        return "\n".join(part.to_html() for part in self.parts)

    def to_svg(self) -> Picture:
        """Return the picture of the first pattern; those of all are in `parts`."""
        return self.parts[0].to_svg()

    def _repr_html_(self) -> str:
        return "\n".join(part._repr_html_() for part in self.parts)

    def __getnewargs__(self) -> tuple[Query, str, tuple[Explanation, ...]]:  # type: ignore[override]
        return self.query, self._summary, self.parts


def explain(
    graph: GraphLike,
    pattern: QueryLike,
    *,
    semantics: SemanticsName = "isomorphism",
    symmetry: SymmetryName = "embeddings",
    device: DeviceName = "auto",
    devices: str | int | Sequence[int] | None = None,
    engine: str = "auto",
    analyze: bool = False,
    limit: int | None = None,
    timeout: float | None = None,
    progress: Progress = False,
    threads: int | None = None,
    gpu_memory: int | str | None = None,
    tuning: Mapping[str, str] | None = None,
    copies: bool = False,
    distinct: Distinct | None = None,
    having: Having | None = None,
) -> Explanation:
    """Return the plan of `count` and its predictions.

    Parameters
    ----------
    analyze
        Whether to run the count too, and report its result, its time, and the number of partial embeddings of
        each enumerated level or phase. Of GPU engines, only ``"pvm"`` reports these numbers.
    copies
        As for `count`: the plan of a count of choices of copies.
    distinct, having
        As for `count`: the plan of a search for distinct rows.

    The other parameters and the errors are those of `count`. Without `analyze` no search runs, `timeout` has
    no effect, and `limit`, `threads` and `gpu_memory` affect the predictions only.

    Returns
    -------
    Explanation
        A string that converts to data, JSON, a mermaid flowchart, HTML or SVG; for a query a
        `QueryExplanation`.

    Notes
    -----
    Estimates come from a few hundred random partial embeddings if the plan has a candidate space or the
    pattern has no vertex labels. Otherwise they come from label frequencies and are wrong by orders of
    magnitude on large patterns. The time is predicted for the CPU only, from the sampled sizes.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    >>> triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)], name="triangle")
    >>> print(mf.explain(g, triangle, threads=1))
    pattern   triangle: 3 vertices, 3 edges
    graph     Graph(3 vertices, 3 edges, undirected)
    search    isomorphism, embeddings
    engine    cpu: no GPU was found
    symmetry  6 automorphisms; one image of each embedding: 0 < 1, 1 < 2; the count is multiplied by 6;
              a listing has 6 rows for each embedding found
    space     none: the pattern has no labels or conditions that could filter candidates
    predicted about 5 embeddings
    time      about 35 us on 1 thread
    memory    narrowed rows 0 B, search at most 40 B
    <BLANKLINE>
    level  vertex  candidates                     conditions        estimated
    0      0       vertices                       degree >= 2       3
    1      1       neighbours(0)                  > 0, degree >= 2  2.81
    2      2       neighbours(0) & neighbours(1)  > 1               0.901
    >>> [step.actual for step in mf.explain(g, triangle, analyze=True).report.steps]
    [3, 3, 1]
    """
    query: Pattern | Query
    projection: Projection | None = None
    if distinct is not None or having is not None or asks_for_rows(pattern):
        query, projection = asked_of(pattern, distinct, having)
    else:
        query = as_query(pattern)
    graph = data_graph(graph)
    with progress_callback(progress if analyze else False, "counting") as callback:
        request = make_request(
            semantics=semantics,
            symmetry=symmetry,
            device=device,
            devices=devices,
            engine=engine,
            limit=limit,
            timeout=timeout,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
            progress=None if callback is None else FoundSoFar(callback),
            copies=copies,
        )
        if isinstance(query, Pattern):
            if projection is not None:
                return Explanation(_report_on_rows(graph, query, projection, request, analyze=analyze))
            return Explanation(_reported(graph, query, request, analyze=analyze))
        if projection is not None:
            return _of_distinct_rows(graph, query, projection, request, analyze=analyze)
        from motiflux.api.queries.counts import LocalCounter, sum_of  # only queries need them
        from motiflux.api.queries.explanation import summary

        whole = sum_of(query, request, LocalCounter(graph))
        parts = [
            Explanation(_reported(one.graph or graph, one.pattern, one.request(request), analyze=analyze))
            for one in whole.searched
        ]
        return QueryExplanation(query, summary(query, whole), parts)


def _reported(graph: Graph, pattern: Pattern, request: Request, *, analyze: bool) -> PlanReport:
    """Return the report of one pattern."""
    chosen, reason = choose_engine(request, patterns=[pattern])
    deadline = Deadline.after(None)
    untimed = replace(request, timeout=None)
    physical = chosen.plan(graph, pattern, untimed, deadline)
    assert physical is not None  # only if time was up
    planned = deadline.elapsed()
    executor = chosen.executor(physical)
    reason = (physical.why or reason) + executor.notes(graph, physical, request)
    report = describe(
        physical.plan,
        graph,
        pattern,
        EngineReport(executor.name, executor.device, reason, physical.expected),
        searches_space=executor.capabilities.candidate_spaces,
        tuning=request.tuning,
        threads=request.threads,
        phases=physical.phases,
    )
    terms = (TermReport.of(term.factor, term.pattern, term.physical.seconds) for term in physical.terms)
    report = replace(report, terms=tuple(terms))
    if physical.plan.impossible is None:
        report = replace(report, predicted=executor.predict(graph, physical, request))
    return _run(report, executor, graph, physical, request, planned) if analyze else report


def _report_on_rows(
    graph: Graph, pattern: Pattern, projection: Projection, request: Request, *, analyze: bool
) -> PlanReport:
    """Return the report on a search for distinct rows."""
    from motiflux.api.projecting import count_projected, plan_rows, why_cpu
    from motiflux.plan.projection import describe_rows

    deadline = Deadline.after(None)
    found = plan_rows(graph, pattern, projection, replace(request, timeout=None), deadline)
    assert found is not None  # only if time was up
    report = describe(
        found.plan,
        graph,
        pattern,
        EngineReport("cpu", "cpu", why_cpu(request)),
        searches_space=True,
        tuning=request.tuning,
        threads=request.threads,
    )
    report = replace(report, images=1, rows=describe_rows(found, pattern))
    if not analyze:
        return report
    count = count_projected(graph, pattern, projection, request, Deadline.after(request.timeout))
    note = "a search for distinct rows does not tell the sizes of steps"
    actual = Actual(int(count), count.complete, count.seconds, deadline.elapsed(), note)
    return replace(report, actual=actual)


def _of_distinct_rows(
    graph: Graph, query: Query, projection: Projection, request: Request, *, analyze: bool
) -> QueryExplanation:
    """Return the explanation of the distinct rows of a query: of the searches of its patterns."""
    from motiflux.api.queries.distinct import DistinctSearch
    from motiflux.api.queries.explanation import summary_of_rows
    from motiflux.api.queries.induced import without_induced

    query, request = without_induced(query, request, directed=graph.directed)
    search = DistinctSearch(graph, query, projection, request, Deadline.after(None))
    parts = [
        Explanation(
            _reported(graph, pattern, request, analyze=analyze)
            if of_rows is None
            else _report_on_rows(graph, pattern, of_rows, request, analyze=analyze)
        )
        for pattern, of_rows in search.patterns
    ]
    return QueryExplanation(query, summary_of_rows(query, projection, search.patterns), parts)


def _run(
    report: PlanReport,
    engine: Engine,
    graph: Graph,
    physical: PhysicalPlan,
    request: Request,
    plan_seconds: float,
) -> PlanReport:
    """Run the count, and return the report with its result."""
    deadline, plan = Deadline.after(request.timeout), physical.plan
    expect(request.progress, [plan], request.limit)
    outcome = engine.count(graph, physical, request, deadline)
    told = engine.capabilities.reports_sizes or plan.impossible is not None
    note = None if told else f"engine {engine.name} does not tell the sizes of steps"
    if report.phases and not outcome.sizes and outcome.ran is not None:
        note = f"there are no sizes of phases: {outcome.ran.why}"
    if note is None and report.free_order is not None:
        note = "sizes of steps are those met in the order of the levels"
    seconds = deadline.elapsed()
    actual = Actual(outcome.value, outcome.complete, seconds, plan_seconds, note, outcome.copied)
    sizes = _sizes(len(report.phases) or len(plan.order), plan.multiplier, outcome, request.limit)
    steps = tuple(replace(step, actual=sizes.get(step.level)) for step in report.steps)
    phases = tuple(replace(phase, actual=sizes.get(phase.number - 1)) for phase in report.phases)
    return replace(report, steps=steps, phases=phases, actual=actual)


def _sizes(number: int, multiplier: int, outcome: Outcome, limit: int | None) -> dict[int, int]:
    """Return the number of partial embeddings up to each of `number` levels or phases, as far as known."""
    sizes = dict(enumerate(outcome.sizes))
    cut_at_limit = limit is not None and not outcome.complete and outcome.value >= limit
    if outcome.sizes and not cut_at_limit:
        sizes[number - 1] = outcome.value // multiplier
    return sizes
