"""Projections of matches: the part that `count`, `match`, `exists` and `explain` share."""

from __future__ import annotations

import time
from collections.abc import Sequence

from motiflux import log
from motiflux.api.pattern_list import naming_pattern
from motiflux.cpu.projection import count_rows, list_rows
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query, QueryLike, as_query
from motiflux.pattern.asked import Distinct, Having, asked_of, has_return
from motiflux.pattern.projection import Projection, projection_text
from motiflux.plan.projection import ProjectedPlan, projected_plan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome, Ran
from motiflux.request.planning import row_plan_options
from motiflux.request.progress import found_so_far
from motiflux.request.request import Request
from motiflux.request.stand_in import StandIn
from motiflux.result.count import Count
from motiflux.result.partial import keep_partial
from motiflux.result.rows import NoRows, RowSource

_WHY = "the CPU engine finds distinct rows"


def projections_of(
    pattern: QueryLike | Sequence[QueryLike], distinct: Distinct | None, having: Having | None
) -> tuple[list[Pattern | Query], bool, list[Projection | None] | None]:
    """Return the patterns of a call, whether they are a sequence, and their projections; None for none.

    Without a projection, they may be queries.
    """
    several = isinstance(pattern, Sequence) and not isinstance(pattern, str)
    given: Sequence[QueryLike] = pattern if several else [pattern]  # type: ignore[list-item, assignment]
    found: list[tuple[Pattern | Query, Projection | None]] = []
    for position, one in enumerate(given):
        with naming_pattern(position if several else None):
            if distinct is None and having is None and not has_return(one):
                found.append((as_query(one), None))
            else:
                found.append(asked_of(one, distinct, having))
    projections = [projection for _, projection in found]
    return [one for one, _ in found], several, projections if any(projections) else None


def plan_rows(
    graph: Graph, pattern: Pattern, projection: Projection, request: Request, deadline: Deadline
) -> ProjectedPlan | None:
    """Return the plan of a projection; None if time was up before there was one."""
    refuse_copies(request)
    try:
        options, grouped = row_plan_options(request, deadline), request.elsewhere is not None
        return projected_plan(graph, pattern, projection, options, grouped=grouped)
    except TimeoutError:
        return None


def refuse_copies(request: Request) -> None:
    """Refuse choices of copies, which distinct rows do not have."""
    if request.copies:
        raise ArgumentError("copies", "False beside distinct rows, which have no copies", True)


def count_projected(
    graph: Graph, pattern: Pattern, projection: Projection, request: Request, deadline: Deadline
) -> Count:
    """Return the number of rows of a projection of a pattern."""
    plan = plan_rows(graph, pattern, projection, request, deadline)
    planned = time.perf_counter()
    outcome = Outcome(0, False)
    try:
        if plan is not None:
            outcome = count_rows(graph, plan, request, deadline)
    except KeyboardInterrupt as stop:
        found = found_so_far(request.progress, request.limit)
        keep_partial(stop, [_count(Outcome(found, False), request, planned, deadline)])
        raise
    count = _count(outcome, request, planned, deadline)
    log.ENGINE.info("rows of %s: %r, %s", _text(pattern, projection), count, count.reason)
    return count


def rows_projected(
    graph: Graph,
    pattern: Pattern,
    projection: Projection,
    request: Request,
    batch_rows: int,
    deadline: Deadline,
) -> RowSource:
    """Start a listing of the rows of a projection."""
    plan = plan_rows(graph, pattern, projection, request, deadline)
    log.PLAN.debug("%s: %s", _text(pattern, projection), plan)
    if plan is None:
        return NoRows(complete=False)
    return begin_rows(graph, plan, request, batch_rows, deadline)


def begin_rows(
    graph: Graph, plan: ProjectedPlan, request: Request, batch_rows: int, deadline: Deadline
) -> RowSource:
    """Start a listing of at most ``request.limit`` rows of a plan, here or elsewhere."""
    if request.elsewhere is None:
        return list_rows(graph, plan, request, batch_rows, deadline)
    who: StandIn = request.elsewhere
    return who.projected_rows(graph, plan, request, batch_rows, deadline)


def lister_of(request: Request) -> Ran:
    """Return who lists distinct rows, and the reason for it in words."""
    if request.elsewhere is None:
        return Ran("cpu", "cpu", why_cpu(request))
    who: StandIn = request.elsewhere
    engine, why = who.engine(_WHY)
    return Ran(engine.name, engine.device, why)


def why_cpu(request: Request) -> str:
    """Return the reason why the CPU searches, whatever was asked for."""
    asked = [repr(one) for one in (request.device, request.engine) if one not in ("auto", "cpu")]
    return _WHY + (f", not {' and '.join(asked)}" if asked else "")


def _count(outcome: Outcome, request: Request, planned: float, deadline: Deadline) -> Count:
    return Count(
        outcome.value,
        complete=outcome.complete,
        seconds=time.perf_counter() - planned,
        plan_seconds=planned - deadline.started,
        engine="cpu",
        device="cpu",
        reason=why_cpu(request),
    )


def _text(pattern: Pattern, projection: Projection) -> str:
    return f"{pattern} {projection_text(pattern, projection)}" if projection.returned else f"{pattern}"
