"""The plan by which an engine does a request."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.engine.base import Engine, Request
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan, make_plan

_MANY = 10**9
"""Limits from which on parts are counted as a whole, not one embedding after the other."""


def counts_all_of_it(request: Request) -> bool:
    """Return whether a request asks for so many that parts may be counted as a whole."""
    return request.limit is None or request.limit >= _MANY


def plan_for(
    graph: Graph,
    pattern: Pattern,
    request: Request,
    engine: Engine,
    started: float,
    *,
    counting: bool = True,
    beside: Sequence[Plan] = (),
) -> Plan | None:
    """Return the plan; None if time was up before there was one.

    Parameters
    ----------
    started
        When the call began, a moment of `time.perf_counter`.
    beside
        Plans of the same call that this one may share a pass with.
    """
    try:
        return make_plan(
            graph,
            pattern,
            semantics=request.semantics,
            symmetry=request.symmetry,
            counting=counting,
            space=engine.searches_space,
            tail=engine.counts_tails,
            parts=engine.counts_parts and counts_all_of_it(request),
            meetings=engine.counts_meetings,
            searchers=engine.searchers,
            tables=engine.counts_tables,
            threads=request.threads,
            deadline=None if request.timeout is None else started + request.timeout,
            tuning=request.tuning,
            beside=beside,
        )
    except TimeoutError:
        return None
