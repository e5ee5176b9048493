"""Repeated queries: the physical plan and the engine of a query, kept with the graph.

Planning and choosing anew would take as long as all other work of the host for a short count on a GPU.
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
"""Name of the pool in the graph's memo, and its maximum number of queries."""


@dataclass(slots=True)
class PreparedQuery:
    """The engine and the physical plan of a query.

    Parameters
    ----------
    ran
        The engine and the reason for it, if the outcome does not name them.
    spent
        Seconds that the chosen engine has counted so far.
    overruns
        Number of counts in which the engine that was tried first did not finish within its budget.
    overran
        Whether the last count was such a count.
    """

    engine: Engine
    physical: PhysicalPlan
    ran: Ran
    spent: float = 0.0
    overruns: int = 0
    overran: bool = False

    def is_current(self) -> bool:
        """Whether the choice of engine and plan is still valid."""
        expires = self.physical.expires
        return self.engine.is_current() and not self.overran and (expires is None or self.spent < expires)

    def note(self, outcome: Outcome, seconds: float, limit: int | None) -> None:
        """Record the time of a count, and whether another engine had to take over."""
        other = (outcome.ran or self.ran).engine != self.physical.engine
        self.spent += 0.0 if other else seconds
        self.overran = other and (outcome.complete or outcome.value == limit)
        self.overruns += self.overran


def prepared_query(graph: Graph, pattern: Pattern, request: Request) -> PreparedQuery | None:
    """Return the kept query, current or not; None if there is none."""
    found: PreparedQuery | None = graph.memo.recent(_POOL, (pattern, request.key))
    return found


def count_again(graph: Graph, pattern: Pattern, request: Request, deadline: Deadline) -> Count | None:
    """Return the count of a repeated query; None if it has to be planned anew."""
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
    """Return the count of an interrupted search: the number that it last reported."""
    found = Outcome(found_so_far(request.progress, request.limit), False)
    return count_of(found, ran, deadline.elapsed() - plan_seconds, plan_seconds)


def count_of(found: Outcome, ran: Ran, seconds: float, plan_seconds: float) -> Count:
    """Return an outcome as a `Count`; `ran` applies if the outcome does not name the engine."""
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
    """Keep the engine and plan of a query for calls with an equal pattern and equal options."""
    if (before := prepared_query(graph, pattern, request)) is not None:
        query.spent += before.spent
        query.overruns += before.overruns
    graph.memo.store(_POOL, (pattern, request.key), query, _MOST)
