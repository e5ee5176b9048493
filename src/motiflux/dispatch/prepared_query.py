"""Queries that come again: the physical plan of one and its engine, kept with the graph.

To plan and choose anew takes as long as all else that the host does for a short count on a GPU.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from motiflux import log
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.progress import expect, found_so_far
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.partial import keep_partial

_POOL, _MOST = "prepared queries", 64
"""Name of the pool of a graph's memory that they are in, and the number of queries that it holds."""


@dataclass(slots=True)
class PreparedQuery:
    """How a query is executed.

    Parameters
    ----------
    ran
        The engine and why, if the outcome does not say.
    spent
        Seconds that the chosen engine has counted so far.
    overruns
        Counts in which the engine that was tried first did not finish within its budget.
    overran
        Whether that is so of the last one.
    """

    engine: Engine
    physical: PhysicalPlan
    ran: Ran
    spent: float = 0.0
    overruns: int = 0
    overran: bool = False

    def is_current(self) -> bool:
        """Whether the same would be chosen now."""
        expires = self.physical.expires
        return self.engine.is_current() and not self.overran and (expires is None or self.spent < expires)

    def note(self, outcome: Outcome, seconds: float, limit: int | None) -> None:
        """Note what a count took, and whether another engine had to take over."""
        other = (outcome.ran or self.ran).engine != self.physical.engine
        self.spent += 0.0 if other else seconds
        self.overran = other and (outcome.complete or outcome.value == limit)
        self.overruns += self.overran


def prepared_query(graph: Graph, pattern: Pattern, request: Request) -> PreparedQuery | None:
    """Return what is kept of a query, current or not; None if nothing is."""
    found: PreparedQuery | None = graph.memo.recent(_POOL, (pattern, request.key))
    return found


def count_again(graph: Graph, pattern: Pattern, request: Request, deadline: Deadline) -> Count | None:
    """Return the count of a query that came before; None if how it is executed has to be settled anew."""
    query = prepared_query(graph, pattern, request)
    if query is None or not query.is_current():
        return None
    expect(request.progress, [query.physical.plan], request.limit)
    try:
        found = query.engine.count(graph, query.physical, request, deadline)
    except KeyboardInterrupt as stop:
        keep_partial(stop, [count_so_far(query.ran, request, deadline)])
        raise
    seconds = time.perf_counter() - deadline.started
    query.note(found, seconds, request.limit)
    if log.ENGINE.isEnabledFor(log.DEBUG):
        log.ENGINE.debug(
            "count of %s again: %d, by %s, %.3g s", pattern, found.value, query.physical, seconds
        )
    return count_of(found, query.ran, seconds, 0.0)


def count_so_far(ran: Ran, request: Request, deadline: Deadline, plan_seconds: float = 0.0) -> Count:
    """Return the count of a search that is interrupted: the number that it last reported."""
    found = Outcome(found_so_far(request.progress, request.limit), False)
    return count_of(found, ran, deadline.elapsed() - plan_seconds, plan_seconds)


def count_of(found: Outcome, ran: Ran, seconds: float, plan_seconds: float) -> Count:
    """Return an outcome as callers get it; `ran` is the engine and why, if the outcome does not say."""
    ran = found.ran or ran
    return Count(
        found.value,
        complete=found.complete,
        seconds=seconds,
        plan_seconds=plan_seconds,
        engine=ran.engine,
        device=ran.device,
        reason=ran.why,
    )


def keep_query(graph: Graph, pattern: Pattern, request: Request, query: PreparedQuery) -> None:
    """Keep how a query is executed, for calls with an equal pattern and equal options."""
    if (before := prepared_query(graph, pattern, request)) is not None:
        query.spent += before.spent
        query.overruns += before.overruns
    graph.memo.store(_POOL, (pattern, request.key), query, _MOST)
