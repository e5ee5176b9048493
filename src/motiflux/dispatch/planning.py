"""The plan by which an engine does a request."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan, make_plan
from motiflux.plan.bind import bind
from motiflux.plan.neighborhood.universal_vertex import is_cone
from motiflux.request.engine import Engine
from motiflux.request.request import Request

_MANY = 10**9
"""Limits from which on parts are counted as a whole, not one embedding after the other."""

_LOOK_FOR_PARTS = 0.05
"""Seconds that looking for parts takes, about."""


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
    parts = engine.counts_parts and counts_all_of_it(request)

    def make(*, parts: bool) -> Plan:
        return make_plan(
            graph,
            pattern,
            semantics=request.semantics,
            symmetry=request.symmetry,
            counting=counting,
            images=not counting,
            space=engine.searches_space,
            tail=engine.counts_tails,
            parts=parts,
            parts_cost=engine.parts_cost,
            searchers=engine.searchers,
            tables=engine.counts_tables,
            threads=request.threads,
            deadline=None if request.timeout is None else started + request.timeout,
            tuning=request.tuning,
            beside=beside,
        )

    try:
        if counting and parts and engine.name == "dfs" and _may_be_in_bits(graph, pattern, request):
            plain = make(parts=False)
            if plain.formula is not None or _is_brief_in_bits(graph, plain, request, engine):
                return plain
        return make(parts=parts)
    except TimeoutError:
        return None


def _may_be_in_bits(graph: Graph, pattern: Pattern, request: Request) -> bool:
    if request.tuning["bitmaps"] in ("cliques", "off") or request.tuning["parts"] == "on":
        return False
    key = ("is cone", pattern, request.semantics)
    return graph.memo.get(key, lambda: is_cone(bind(pattern, graph), request.semantics))


def _is_brief_in_bits(graph: Graph, plan: Plan, request: Request, engine: Engine) -> bool:
    """Return whether a count in bits takes less time than looking for parts."""
    from motiflux.gpu.engine import DfsEngine  # imported here: a search on the CPU needs nothing of this

    assert isinstance(engine, DfsEngine)
    bits = engine.bits(graph, plan, request)
    return bits is not None and bits.expected < _LOOK_FOR_PARTS
