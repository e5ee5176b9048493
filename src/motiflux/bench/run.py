"""Runs suites: counts with motiflux, compares with other systems and with known counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from motiflux.bench.machine import commit, versions
from motiflux.bench.measure import Clock, Timing, cpu_clock, repeat, wall_clock
from motiflux.bench.results import BaselineTime, CaseResult, Report
from motiflux.bench.suite import BaselineResult, Case, GraphSource, Settings, Suite
from motiflux.units import quantity

if TYPE_CHECKING:
    import motiflux as mf


def run_suite(
    suite: Suite,
    settings: Settings,
    on_result: Callable[[CaseResult], None],
    on_results: Callable[[Callable[[], Report]], None] = lambda report: None,
) -> Report:
    """Run the cases in order; `on_result` is called with each result.

    `on_results` is then called with the function that makes a report of all results so far.
    """
    results: list[CaseResult] = []
    head = commit(Path.cwd())  # as it is before results are written

    def report() -> Report:
        return Report(
            suite=settings.label(suite.name),
            commit=head,
            date=datetime.now(UTC).date().isoformat(),
            device=suite.device(),
            versions=versions(suite.packages),
            cases=list(results),
            bars=list(suite.bars(results)),
        )

    source: GraphSource | None = None
    for case in suite.cases:
        if not settings.includes(case):
            continue
        if case.graph != source:
            source, graph = case.graph, case.graph.read()
        for result in run_case(case, graph, settings):
            on_result(result)
            results.append(result)
            on_results(report)
    for probe in filter(settings.includes, suite.probes):
        for result in probe.run(settings):
            on_result(result)
            results.append(result)
            on_results(report)
    return report()


def run_case(case: Case, graph: mf.Graph, settings: Settings) -> Iterator[CaseResult]:
    """Yield motiflux' result on one thread, then the results of other systems, then those of more threads."""
    pattern = case.pattern()
    expected = case.expected() if callable(case.expected) else case.expected
    ours = _count(case, graph, pattern, settings, threads=1)
    others = [(one, found) for one in case.baselines if (found := one.run(settings)) is not None]
    best = _best([(one.name, found) for one, found in others if one.compared])
    yield _result(case.name, ours, best, case, expected)
    if case.first_call:
        first = _count(case, graph, pattern, settings, threads=1, before=lambda: _forget_queries(graph))
        yield _result(f"{case.name}, first call", first, best, case, expected)
    for one, found in others:
        known, whose = (ours.count, "motiflux") if ours.complete else (expected, case.source)
        agreed = check_count(found.count, found.count is not None, known, whose)
        engine = f"{one.name} ({found.note})" if found.note else one.name
        yield CaseResult(case.name, engine, found.count, agreed.by, found.seconds, disagrees=agreed.disagrees)
    yield from _scaling(case, graph, pattern, settings, expected)


def _scaling(
    case: Case, graph: mf.Graph, pattern: mf.Pattern, settings: Settings, expected: int | None
) -> Iterator[CaseResult]:
    first: BaselineTime | None = None
    for threads in case.scaling:
        ours = _count(case, graph, pattern, settings, threads=threads, clock=wall_clock)
        name = f"{case.name}, wall, {quantity(threads, 'thread')}"
        yield _result(name, ours, first, case, expected)
        if first is None:
            first = BaselineTime(
                f"motiflux, {quantity(threads, 'thread')}",
                ours.seconds.min,
                timeout=not ours.complete,
            )


def _forget_queries(graph: mf.Graph) -> None:
    graph.forget()
    graph.label_frequencies()  # data of the graph itself, which queries find


def _result(
    name: str, ours: _Ours, baseline: BaselineTime | None, case: Case, expected: int | None
) -> CaseResult:
    checked = check_count(ours.count, ours.complete, expected, case.source)
    comparable = baseline is not None and ours.complete and ours.seconds.min > 0
    return CaseResult(
        name,
        ours.engine,
        ours.count if ours.complete else None,
        checked.by,
        ours.seconds,
        baseline,
        baseline.seconds / ours.seconds.min if baseline and comparable else None,
        checked.disagrees,
    )


@dataclass(frozen=True)
class _Ours:
    count: int
    complete: bool
    engine: str
    seconds: Timing


def _count(
    case: Case,
    graph: mf.Graph,
    pattern: mf.Pattern,
    settings: Settings,
    *,
    threads: int,
    clock: Clock = cpu_clock,
    before: Callable[[], object] = lambda: None,
) -> _Ours:
    import motiflux as mf

    result, seconds = repeat(
        lambda: mf.count(
            graph, pattern, symmetry=case.symmetry, threads=threads, timeout=settings.timeout, progress=False
        ),
        clock,
        settings.runs,
        before,
    )
    return _Ours(int(result), bool(result.complete), result.engine, seconds)


@dataclass(frozen=True)
class Checked:
    """The source of the known count, None without one, and whether the count is wrong."""

    by: str | None
    disagrees: bool


def check_count(count: int | None, complete: bool, expected: int | None, source: str) -> Checked:
    """Compare with the known count. A partial count can only be too large."""
    if count is None or expected is None or (not complete and count <= expected):
        return Checked(None, disagrees=False)
    if count == expected:
        return Checked(source, disagrees=False)
    return Checked(f"{source}, DISAGREES: {expected}", disagrees=True)


def _best(found: Sequence[tuple[str, BaselineResult]]) -> BaselineTime | None:
    """Return the fastest result that finished, else the one with the most time: a lower bound."""
    timed = [(one, one.seconds.min, name) for name, one in found if one.seconds is not None]
    finished = [(seconds, name) for one, seconds, name in timed if one.count is not None]
    if finished:
        seconds, name = min(finished)
        return BaselineTime(name, seconds)
    stopped = [(seconds, name) for one, seconds, name in timed if one.timeout]
    if not stopped:
        return None
    seconds, name = max(stopped)
    return BaselineTime(name, seconds, timeout=True)
