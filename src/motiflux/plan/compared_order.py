"""The matching order of a pattern with comparisons: the one that a short search finds cheapest.

Estimates of sizes do not know how selective comparisons are; a search of some root arcs does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from motiflux.plan.bind import BoundPattern
from motiflux.plan.builder import PlanBuilder
from motiflux.plan.comparing import BoundComparisons
from motiflux.plan.estimate.sampled import probe_levels
from motiflux.plan.ir import Plan
from motiflux.plan.native_comparisons import windowed_directions
from motiflux.plan.passes.order import given_order, promising_orders

_FEW_ARCS, _MANY_ARCS = 256, 4096
"""Root arcs of the searches that compare orders, and that estimate the chosen plan."""
_MOST_ORDERS = 12
_ROWS_FAR = 3.0
"""Ratio of the times of a search whose third level reads another row for each root arc, and of others."""
_MANY_EDGES = 1 << 17
"""In graphs of more edges, orders that need indexes of copies in both directions are tried only if all do."""


def compared_plan(builder: PlanBuilder, comparisons: BoundComparisons) -> Plan:
    """Return the plan in the cheapest of some orders, with its estimates."""
    bound, switch = builder.bound, builder.options.switches["order"]
    orders = [given_order(bound, builder.model).vertices]
    if switch != "given":
        promising = promising_orders(bound, builder.model, tails=False)
        orders = [*orders, *(order.vertices for order in promising), *_along_comparisons(bound, comparisons)]
    plans = [builder.plan(builder.order(order)) for order in dict.fromkeys(orders)][:_MOST_ORDERS]
    if switch not in ("sampled", "adaptive"):
        return plans[0 if switch == "given" or len(plans) == 1 else 1]
    try:
        return _cheapest(builder, plans)
    except OverflowError:  # more choices than counts can hold: the search says so, in any order
        return plans[0]


def _cheapest(builder: PlanBuilder, plans: Sequence[Plan]) -> Plan:
    """Return the plan whose search of some root arcs takes least, with its estimates."""
    graph, threads = builder.graph, builder.options.threads
    if len(plans) > 1:
        if graph.num_edge_copies > _MANY_EDGES:
            fewest = min(map(_directions, plans))
            plans = [plan for plan in plans if _directions(plan) == fewest]
        costs = [_cost(plan, probe_levels(graph, plan, _FEW_ARCS, threads)[0]) for plan in plans]
        plans = [plans[min(range(len(plans)), key=costs.__getitem__)]]
    expected, sizes = probe_levels(graph, plans[0], _MANY_ARCS, threads)
    return replace(plans[0], estimates=sizes, scanned=sizes, probed=expected)


def _directions(plan: Plan) -> int:
    """Return the number of directions in which candidates are found by main value."""
    return len(windowed_directions(plan))


def _cost(plan: Plan, seconds: float) -> float:
    """Return a number that grows with the time of a plan: rows that change with each arc are far away."""
    sources = plan.shape.steps[2].sources if len(plan.order) > 2 else ()
    stays = all(source.level == 0 for source in sources)
    return seconds * (1.0 if stays or len(sources) > 1 else _ROWS_FAR)


def _along_comparisons(bound: BoundPattern, comparisons: BoundComparisons) -> Iterable[tuple[int, ...]]:
    """Yield orders that begin at each compared edge, and continue where most comparisons can be judged."""
    ends = []
    for variable in comparisons.variables:
        if variable.edge is not None:
            edge = bound.edges[variable.edge]
            ends.append((edge.source, edge.target))
        elif variable.vertex is not None:
            ends.append((variable.vertex, variable.vertex))
    for first, second in [*ends, *(pair[::-1] for pair in ends)]:
        if first == second:
            continue
        order = [first, second]
        while len(order) < bound.size:
            placed = set(order)
            reachable = {w for v in order for w in bound.neighbors[v]} - placed

            def judged(vertex: int, placed: set[int] = placed) -> tuple[int, int, int]:
                there = placed | {vertex}
                matched = [set(pair) <= there for pair in ends]
                number = sum(matched[one.left] and matched[one.right] for one in comparisons.comparisons)
                return number, len(bound.neighbors[vertex] & placed), -vertex

            order.append(max(reachable, key=judged))
        yield tuple(order)
