"""Counting several patterns in one call: planned first, equal work done once, one deadline for all."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from motiflux.dispatch.choose import choose_engine
from motiflux.dispatch.planning import plan_for
from motiflux.dispatch.prepared_query import Call, known_call, remember_call
from motiflux.errors import MotifluxError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, as_pattern
from motiflux.plan import Plan, check_symmetry
from motiflux.plan.shared_prefix import group_by_prefix
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.reports import ProgressReport
from motiflux.request.request import ProgressCallback, Request
from motiflux.result.count import Count

_UNITS = 1000
"""Units of progress that each search stands for: how long it takes beside the others is not known."""


def as_patterns(subject: object) -> tuple[list[Pattern], bool]:
    """Return what a call is to count, texts parsed, and whether it is a sequence of patterns.

    Errors name the position in the sequence.
    """
    if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
        return [as_pattern(subject, expected="a motiflux.Pattern, its text, or a sequence of these")], False
    patterns = []
    for position, value in enumerate(subject):
        if isinstance(value, str):
            with naming_pattern(position):
                patterns.append(Pattern.parse(value))
        else:
            patterns.append(as_pattern(value, f"pattern[{position}]"))
    return patterns, True


@contextmanager
def naming_pattern(position: int | None) -> Iterator[None]:
    """Put the position of the pattern that they are about before the messages of errors; None for no name."""
    try:
        yield
    except MotifluxError as error:
        if position is not None:
            error.args = (f"pattern[{position}]: {error}",)
        raise


def count_each(graph: Graph, patterns: Sequence[Pattern], request: Request, *, named: bool) -> list[Count]:
    """Return the count of each pattern.

    All are planned before the first is searched, so that a mistake in one of them costs no time. With
    `named`, its error names the pattern by its position.
    """
    if not named and (call := known_call(graph, patterns[0], request)) is not None:
        return [_again(graph, call)]
    engine, why = choose_engine(request)
    check_symmetry(request.semantics, request.symmetry)
    watch = _Watch()
    sharing = named and engine.shares_passes and request.tuning["share"] == "on"
    planned: list[_Planned] = []
    for position, pattern in enumerate(patterns):
        beside = [one.plan for one in planned if one.plan is not None] if sharing else []
        with naming_pattern(position if named else None):
            plan = plan_for(graph, pattern, request, engine, watch.started, beside=beside)
        work = work_of(plan) if plan is not None and len(patterns) > 1 else None
        planned.append(_Planned(plan, work, watch.lap()))
    distinct = {one.work: one.plan for one in planned if one.plan is not None and one.plan.impossible is None}
    plans, works = list(distinct.values()), {id(plan): work for work, plan in distinct.items()}
    passes = group_by_prefix(plans) if sharing else [[plan] for plan in plans]
    progress = _SpanningProgress(request.progress, len(passes))
    found: dict[Hashable, _Found] = {}
    for group in passes:
        reporting = request if len(passes) == 1 else replace(request, progress=progress.callback())
        outcomes = _search(graph, group, engine, reporting, watch.started)
        seconds = watch.lap()
        found |= {works[id(plan)]: _Found(one, seconds) for plan, one in zip(group, outcomes, strict=True)}
        progress.advance(sum(outcome.value for outcome in outcomes))
    ran = Ran(engine.name, engine.device, why)
    if not named and (plan := planned[0].plan) is not None and plan.impossible is None:
        remember_call(graph, patterns[0], request, engine, why, plan)
    return [_count(one, _LATE if one.plan is None else found.get(one.work, _NOTHING), ran) for one in planned]


def _again(graph: Graph, call: Call) -> Count:
    """Return the count of a call that came before."""
    started = time.perf_counter()
    found = call.settled.count(graph, call.request, started)
    ran = found.ran or call.ran
    return Count(
        found.value,
        complete=found.complete,
        seconds=time.perf_counter() - started,
        plan_seconds=0.0,
        engine=ran.engine,
        device=ran.device,
        reason=ran.why,
    )


def _search(
    graph: Graph, plans: list[Plan], engine: Engine, request: Request, started: float
) -> list[Outcome]:
    if len(plans) == 1:
        return [engine.count(graph, plans[0], request, started)]
    return engine.count_together(graph, plans, request, started)


def work_of(plan: Plan) -> Hashable:
    """Return what is equal for plans whose searches find the same number."""
    order = None if plan.space is None else plan.order
    return plan.shape, plan.args, plan.space, order, plan.tail, plan.multiplier


class _Watch:
    """Tells how long each part of a call took; together they took all of it."""

    def __init__(self) -> None:
        self.started = self._last = time.perf_counter()

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        last, self._last = self._last, time.perf_counter()
        return self._last - last


@dataclass(frozen=True, slots=True)
class _Planned:
    plan: Plan | None
    work: Hashable
    """Equal for plans that are searched once for all; None where there is one pattern only."""
    seconds: float


@dataclass(frozen=True, slots=True)
class _Found:
    outcome: Outcome
    seconds: float


_NOTHING = _Found(Outcome(0, True), 0.0)
"""What comes of a plan that is known to find nothing."""
_LATE = _Found(Outcome(0, False), 0.0)
"""What comes of a pattern for which there was no time to plan."""


def _count(planned: _Planned, found: _Found, ran: Ran) -> Count:
    ran = found.outcome.ran or ran
    return Count(
        found.outcome.value,
        complete=found.outcome.complete,
        seconds=found.seconds,
        plan_seconds=planned.seconds,
        engine=ran.engine,
        device=ran.device,
        reason=ran.why,
    )


class _SpanningProgress:
    """Reports of one search after another, as reports of all of them."""

    def __init__(self, report: ProgressCallback | None, searches: int) -> None:
        self._report = report
        self._searches = searches
        self._over = 0
        self._found = 0

    def callback(self) -> ProgressCallback | None:
        """Return what the next search is to report to."""
        if self._report is None or self._searches == 1:
            return self._report
        return self._span

    def advance(self, found: int) -> None:
        """Take note of the end of a search."""
        self._over += 1
        self._found += found

    def _span(self, report: ProgressReport) -> None:
        if self._report is not None:
            share = _UNITS * report.done // max(report.total, 1)
            done, found = self._over * _UNITS + share, self._found + report.found
            self._report(ProgressReport(done, self._searches * _UNITS, found, report.seconds))
