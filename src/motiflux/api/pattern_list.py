"""Counting several patterns in one call: planned first, equal work done once, one deadline for all."""

from __future__ import annotations

import operator
import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from motiflux import log
from motiflux.dispatch.choose import begin_first_call, choose_engine
from motiflux.dispatch.prepared_query import (
    PreparedQuery,
    count_of,
    count_so_far,
    keep_query,
    prepared_query,
)
from motiflux.errors import MotifluxError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, as_query, is_one_pattern
from motiflux.plan import Plan, check_symmetry
from motiflux.plan.physical import PhysicalPlan
from motiflux.plan.shared_prefix import group_by_prefix
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.progress import FoundSoFar, expect, found_so_far
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.partial import keep_partial

_EXPECTED = "a motiflux.Pattern or Query, its text, a graph of networkx, or a sequence of these"
_POOL, _MOST_LISTS = "planned lists", 16
"""Name of the pool in the graph's memo of the plans of lists, and its maximum number of lists."""
_UNITS = 1000
"""Units of progress that each search stands for: how long it takes beside the others is not known."""


def as_queries(subject: object) -> tuple[list[Pattern | Query], bool]:
    """Return the patterns and queries of a call, and whether it is a sequence of these.

    Errors name the position in the sequence.
    """
    if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
        return [as_query(subject, expected=_EXPECTED)], False
    queries = []
    for position, value in enumerate(subject):
        if is_one_pattern(value):
            with naming_pattern(position):
                queries.append(as_query(value))
        else:
            queries.append(as_query(value, f"pattern[{position}]"))
    return queries, True


@contextmanager
def naming_pattern(position: int | None) -> Iterator[None]:
    """Put the position of the pattern that they are about before the messages of errors; None for no name."""
    try:
        yield
    except MotifluxError as error:
        if position is not None:
            error.args = (f"pattern[{position}]: {error}",)
        raise


def count_one(graph: Graph, pattern: Pattern, request: Request, deadline: Deadline) -> Count:
    """Return the count of a pattern, and keep how it was executed."""
    begin_first_call(graph, [pattern], request, deadline)
    engine, why = choose_engine(request, patterns=[pattern])
    check_symmetry(request.semantics, request.symmetry)
    physical = engine.plan(graph, pattern, request, deadline)
    planned, ran = time.perf_counter(), Ran(engine.name, engine.device, why)
    if physical is None:
        return _logged(pattern, count_of(Outcome(0, False), ran, 0.0, planned - deadline.started))
    log.PLAN.debug("%s: %s", pattern, physical)
    expect(request.progress, [physical.plan], request.limit)
    try:
        found = engine.count(graph, physical, request, deadline)
    except KeyboardInterrupt as stop:
        keep_partial(stop, [count_so_far(ran, request, deadline, planned - deadline.started)])
        raise
    seconds = time.perf_counter() - planned
    query = PreparedQuery(engine, physical, ran)
    query.note(found, seconds, request.limit)
    keep_query(graph, pattern, request, query)
    return _logged(pattern, count_of(found, ran, seconds, planned - deadline.started))


def _logged(pattern: Pattern, count: Count) -> Count:
    """Return a count, logged."""
    log.ENGINE.info(
        "count of %s: %d%s, engine %s, device %s (%s), planning %.3g s, search %.3g s",
        *(pattern, count, "" if count.complete else ", incomplete", count.engine, count.device),
        *(count.reason, count.plan_seconds, count.seconds),
    )
    return count


def count_each(
    graph: Graph,
    patterns: Sequence[Pattern],
    request: Request,
    deadline: Deadline,
    *,
    same: Hashable = None,
) -> list[Count]:
    """Return the count of each pattern of a list.

    All are planned before the first is searched, so that a mistake in one of them costs no time. Its error
    names the pattern by its position.

    Parameters
    ----------
    same
        A value that is equal for equal patterns, if it is hashed faster than they are.
    """
    begin_first_call(graph, patterns, request, deadline)
    engine, why = choose_engine(request, patterns=patterns)
    check_symmetry(request.semantics, request.symmetry)
    sharing = engine.capabilities.shares_passes and request.tuning["share"] == "on"
    watch = _Watch(deadline.started)
    key = (tuple(patterns) if same is None else same, request.key)
    kept: _PlannedList | None = graph.memo.recent(_POOL, key) if sharing else None
    if kept is not None and (same is None or all(map(operator.is_, kept.patterns, patterns))):
        again = [replace(one, seconds=0.0) for one in kept.planned]
        return _counted(graph, patterns, again, engine, why, request, deadline, watch, sharing=sharing)
    planned: list[_Planned] = []
    for position, pattern in enumerate(patterns):
        beside = [one.physical.plan for one in planned if one.physical is not None] if sharing else []
        with naming_pattern(position):
            known = None if sharing else prepared_query(graph, pattern, request)
            if known is not None and known.is_current():
                physical: PhysicalPlan | None = known.physical
            else:
                physical = engine.plan(graph, pattern, request, deadline, beside=beside)
        work = work_of(physical.plan) if physical is not None and len(patterns) > 1 else None
        planned.append(_Planned(physical, work, watch.lap()))
    if sharing and all(one.physical is not None for one in planned):
        graph.memo.store(_POOL, key, _PlannedList(tuple(patterns), tuple(planned)), _MOST_LISTS)
    return _counted(graph, patterns, planned, engine, why, request, deadline, watch, sharing=sharing)


def _counted(
    graph: Graph,
    patterns: Sequence[Pattern],
    planned: Sequence[_Planned],
    engine: Engine,
    why: str,
    request: Request,
    deadline: Deadline,
    watch: _Watch,
    *,
    sharing: bool,
) -> list[Count]:
    """Return the count of each planned pattern."""
    ran = Ran(engine.name, engine.device, why)
    found: dict[Hashable, _Found] = {}
    try:
        _search_all(graph, planned, engine, request, deadline, watch, found, sharing=sharing)
    except KeyboardInterrupt as stop:
        keep_partial(stop, [_count(one, found.get(one.work, _LATE), ran) for one in planned])
        raise
    if not sharing:
        for pattern, one in zip(patterns, planned, strict=True):
            if one.physical is not None:
                query = PreparedQuery(engine, one.physical, ran)
                query.note(found[one.work].outcome, found[one.work].seconds, request.limit)
                keep_query(graph, pattern, request, query)
    for pattern, one in zip(patterns, planned, strict=True):
        log.PLAN.debug("%s: %s", pattern, one.physical)
    counts = [
        _count(one, _LATE if one.physical is None else found.get(one.work, _NOTHING), ran) for one in planned
    ]
    return [_logged(pattern, one) for pattern, one in zip(patterns, counts, strict=True)]


def _search_all(
    graph: Graph,
    planned: Sequence[_Planned],
    engine: Engine,
    request: Request,
    deadline: Deadline,
    watch: _Watch,
    found: dict[Hashable, _Found],
    *,
    sharing: bool,
) -> None:
    """Search each piece of work once, and put its result into `found`, also if it is interrupted."""
    distinct = {one.work: one.physical for one in planned if one.physical is not None}
    searched = {work: one for work, one in distinct.items() if one.plan.impossible is None}
    works = {id(one.plan): work for work, one in searched.items()}
    physical = {id(one.plan): one for one in searched.values()}
    plans = [one.plan for one in searched.values()]
    passes = group_by_prefix(plans) if sharing else [[plan] for plan in plans]
    if engine.capabilities.at_once and plans:
        passes = [plans]
    expect(request.progress, plans, request.limit)
    progress = _SpanningProgress(request.progress, len(passes))
    found |= {work: _NOTHING for work in distinct if work not in searched}
    for group in passes:
        reporting = replace(request, progress=progress.callback())
        try:
            if len(group) == 1:
                outcomes = [engine.count(graph, physical[id(group[0])], reporting, deadline)]
            else:
                together = [physical[id(plan)] for plan in group]
                outcomes = engine.count_together(graph, together, reporting, deadline)
        except KeyboardInterrupt:
            seconds, so_far = watch.lap(), _outcomes_so_far(reporting, len(group))
            found |= {works[id(plan)]: _Found(one, seconds) for plan, one in zip(group, so_far, strict=True)}
            raise
        seconds = watch.lap()
        found |= {works[id(plan)]: _Found(one, seconds) for plan, one in zip(group, outcomes, strict=True)}
        progress.advance(sum(outcome.value for outcome in outcomes))


def _outcomes_so_far(request: Request, searches: int) -> list[Outcome]:
    """Return the numbers that the searches of an interrupted pass last reported."""
    each: tuple[int, ...] = (found_so_far(request.progress, None),)
    if searches > 1:
        reported = request.progress.each if isinstance(request.progress, FoundSoFar) else ()
        each = reported or (0,) * searches
    return [Outcome(one if request.limit is None else min(one, request.limit), False) for one in each]


def work_of(plan: Plan) -> Hashable:
    """Return what is equal for plans whose searches find the same number."""
    order = None if plan.space is None else plan.order
    return plan.shape, plan.args, plan.space, order, plan.tail, plan.multiplier, plan.comparisons


class _Watch:
    """Tells how long each part of a call took; together they took all of it."""

    def __init__(self, started: float) -> None:
        self._last = started

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        last, self._last = self._last, time.perf_counter()
        return self._last - last


@dataclass(frozen=True, slots=True)
class _Planned:
    physical: PhysicalPlan | None
    work: Hashable
    """Equal for plans that are searched once for all; None where there is one pattern only."""
    seconds: float


@dataclass(frozen=True, slots=True)
class _PlannedList:
    """The plans of a list of patterns, which it keeps: the same objects have the same plans."""

    patterns: tuple[Pattern, ...]
    planned: tuple[_Planned, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    outcome: Outcome
    seconds: float


_NOTHING = _Found(Outcome(0, True), 0.0)
"""What comes of a plan that is known to find nothing."""
_LATE = _Found(Outcome(0, False), 0.0)
"""What comes of a pattern for which there was no time to plan."""


def _count(planned: _Planned, found: _Found, ran: Ran) -> Count:
    if planned.physical is not None and planned.physical.why:
        ran = replace(ran, why=planned.physical.why)
    return count_of(found.outcome, ran, found.seconds, planned.seconds)


class _SpanningProgress:
    """Reports of one search after another, as reports of all of them."""

    def __init__(self, report: ProgressCallback | None, searches: int) -> None:
        self._report = report
        self._searches = searches
        self._over = 0
        self._found = 0

    def callback(self) -> FoundSoFar | None:
        """Return the callback of the next search."""
        if self._report is None:
            return None
        return FoundSoFar(self._report if self._searches == 1 else self._span)

    def advance(self, found: int) -> None:
        """Take note of the end of a search."""
        self._over += 1
        self._found += found

    def _span(self, report: ProgressReport) -> None:
        if self._report is not None:
            share = _UNITS * report.done // max(report.total, 1)
            done, found = self._over * _UNITS + share, self._found + report.found
            self._report(ProgressReport(done, self._searches * _UNITS, found, report.seconds))
