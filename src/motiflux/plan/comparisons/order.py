"""The matching order of a pattern with comparisons: the one that a short search finds cheapest.

Estimates of sizes do not know how selective comparisons are; a search of some root arcs does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from motiflux import _native
from motiflux.plan.bind import BoundPattern
from motiflux.plan.builder import PlanBuilder
from motiflux.plan.comparisons.bound import BoundComparisons
from motiflux.plan.comparisons.copy_walk import CopyWalk, possible_copy_walks
from motiflux.plan.comparisons.native import followed, followed_by_pairs, windowed_directions
from motiflux.plan.comparisons.pair_walk import possible_pair_walks
from motiflux.plan.comparisons.wedge_walk import possible_wedge_walks
from motiflux.plan.estimate.sampled import probe_levels
from motiflux.plan.ir import Plan
from motiflux.plan.passes.order import given_order, promising_orders

_FEW_ARCS, _MANY_ARCS = 256, 4096
"""Root arcs of the searches that compare orders, and that estimate the chosen plan."""
_SHORT, _LONG = 100_000, 500_000
"""Work of each search that compares orders, where a search from copy to copy may be faster, and elsewhere."""
_ROOT_COPIES = 2048
"""Root copies of the searches that compare searches from copy to copy."""
_ROOT_PAIRS = 1024
"""The same for pairs of searches from pair to pair."""
_TREE_COST, _CLOSING_COST = 0.25, 2.0
"""Time of a search from pair to pair over what a probe of it says, relative to searches by levels: of trees,
where these decide the choices of each embedding, which probes do not count in full; and of others."""
_LEVELS_COST, _LEVELS_OVER_COPIES = 2.0, 0.8
"""Time of a search by levels over what a probe of it says, relative to searches by wedges, for which copies
have to be sorted; and relative to searches from copy to copy."""
_FAR_CHEAPER = 4.0
"""Ratio of times by brief searches that decides for a search from copy to copy without a longer look."""
_BRIEF, _SORTING_SECONDS = 1e-3, 5e-8
"""Seconds of searches that need no better plan, and for each copy to sort it at both ends of its edge."""
_VERY_BRIEF = 2e-4
"""Seconds of searches that are not compared with searches by wedges."""
_ROOT_WEDGES = 256
"""The number of root pairs of these."""
_MOST_ORDERS = 12
_ROWS_FAR = 3.0
"""Ratio of the times of a search whose third level reads another row for each root arc, and of others."""
_MANY_EDGES = 1 << 17
"""In graphs of more edges, orders that need indexes of copies in both directions are tried only if all do."""


def compared_plan(builder: PlanBuilder, comparisons: BoundComparisons) -> Plan:
    """Return the cheapest plan of some orders, or one that goes by wedges, pairs or copies."""
    switches = builder.options.switches
    plan = _plan_without_wedges(builder, comparisons)
    switch = switches["wedge_walk"]
    if switch == "auto" and switches["copy_walk"] != "auto":
        switch = "off"
    if switch == "off" or not builder.options.copy_walks or switches["pair_walk"] != "auto":
        return plan
    return _plan_by_wedges(builder, comparisons, plan)


def _plan_without_wedges(builder: PlanBuilder, comparisons: BoundComparisons) -> Plan:
    switches = builder.options.switches
    switch = switches["copy_walk"]
    walks: Sequence[CopyWalk] = ()
    pair_walks: Sequence[CopyWalk] = ()
    if builder.options.copy_walks:
        walks = possible_copy_walks(
            builder.bound,
            comparisons,
            builder.options.semantics,
            together=int(switches["copy_batch"]),
        )
        if builder.options.counting and switch != "on" and switches["pair_walk"] != "off":
            leaves = switches["pair_walk"] != "matched"
            pair_walks = possible_pair_walks(
                builder.bound, comparisons, builder.options.semantics, leaves=leaves
            )
    if switch == "auto" and walks and not (pair_walks and not _closes(builder, pair_walks)):
        found = _far_cheaper_walk(builder, comparisons, walks)
        if found is not None:
            return found
    most = _SHORT if walks and switch == "auto" else _LONG
    if pair_walks and not _closes(builder, pair_walks):
        most = _SHORT // 4  # such a plan is rarely taken
    plan = _plan_by_levels(builder, comparisons, most)
    if pair_walks:
        plan = _plan_by_pairs(builder, pair_walks, plan)
        if switches["pair_walk"] != "auto":
            return plan
    if switch == "off" or not walks:
        return plan
    if switch == "auto" and not _worth_indexes(builder, plan):
        return plan
    walked = _cheapest_walk(builder, plan, walks)
    of_plan = plan.probed
    if of_plan is not None and plan.copy_walk is None:
        of_plan *= _LEVELS_OVER_COPIES
    if switch == "auto" and of_plan is not None and (walked.probed or 0.0) >= of_plan:
        return plan
    return walked


def _cheapest_walk(builder: PlanBuilder, plan: Plan, walks: Sequence[CopyWalk]) -> Plan:
    """Return the search from copy to copy whose search of some root copies takes least."""
    plans = [replace(plan, copy_walk=walk) for walk in walks]
    costs = [probe_levels(builder.graph, one, _ROOT_COPIES, builder.options.threads)[0] for one in plans]
    least = min(range(len(plans)), key=costs.__getitem__)
    return replace(plans[least], probed=costs[least])


def _far_cheaper_walk(
    builder: PlanBuilder, comparisons: BoundComparisons, walks: Sequence[CopyWalk]
) -> Plan | None:
    """Return a search from copy to copy if a brief look at searches by levels says that it is far cheaper.

    Only for large graphs, where comparing orders of levels with care takes long.
    """
    if builder.graph.num_edge_copies <= _MANY_EDGES:
        return None
    plan = _plan_by_levels(builder, comparisons, _SHORT // 8)
    if plan.probed is None or not _worth_indexes(builder, plan):
        return None
    walked = _cheapest_walk(builder, plan, walks)
    return walked if (walked.probed or 0.0) * _FAR_CHEAPER < plan.probed * _LEVELS_COST else None


def _closes(builder: PlanBuilder, walks: Sequence[CopyWalk]) -> bool:
    """Return whether a pattern is no tree: a search from pair to pair closes cycles last."""
    return builder.bound.size <= len(walks[0].order)


def _plan_by_pairs(builder: PlanBuilder, walks: Sequence[CopyWalk], plan: Plan) -> Plan:
    """Return the cheapest search from pair to pair; `plan` if that is cheaper."""
    found: list[Plan] = []
    closing = _closes(builder, walks)
    most = _SHORT // 4 if closing else _SHORT
    for walk in walks:
        walked = replace(plan, copy_walk=walk)
        try:
            seconds, _ = probe_levels(builder.graph, walked, _ROOT_PAIRS, builder.options.threads, most)
        except _native.TooManyChoicesError:
            continue
        found.append(replace(walked, probed=seconds))
    if not found:
        return plan
    least = min(found, key=lambda walked: walked.probed or 0.0)
    cost = _CLOSING_COST if closing else _TREE_COST
    switch = builder.options.switches["pair_walk"]
    if switch == "auto" and plan.probed is not None and (least.probed or 0.0) * cost >= plan.probed:
        return plan
    # Other orders were tried with rows that they have in common.
    return replace(least, copy_walk=replace(least.copy_walk, narrowed=True)) if least.copy_walk else least


def _plan_by_wedges(builder: PlanBuilder, comparisons: BoundComparisons, plan: Plan) -> Plan:
    """Return the cheapest search by wedges; `plan` if that is cheaper."""
    always = builder.options.switches["wedge_walk"] == "on"
    cost = _seconds(plan)
    if not always and cost < _VERY_BRIEF:
        return plan
    found: list[Plan] = []
    for one in possible_wedge_walks(builder.bound, comparisons, builder.options.semantics):
        walked = replace(builder.plan(builder.order(one.order)), copy_walk=one.walk)
        if any(step.after or step.before for step in walked.shape.steps):
            continue
        if not always and not _worth_pairs(builder, plan, walked, cost):
            continue
        seconds, _ = probe_levels(builder.graph, walked, _ROOT_WEDGES, builder.options.threads, _SHORT // 4)
        found.append(replace(walked, estimates=plan.estimates, scanned=plan.scanned, probed=seconds))
    if not found:
        return plan
    least = min(found, key=lambda walked: walked.probed or 0.0)
    return least if always or (least.probed or 0.0) < cost else plan


def _worth_pairs(builder: PlanBuilder, plan: Plan, walked: Plan, cost: float) -> bool:
    """Return whether a plan takes so long that copies may be sorted by pairs for a search by wedges."""
    there = {one.key.direction for one in followed(plan) if one.key is not None}
    needed = {one.key.direction for one in followed_by_pairs(walked) if one.key is not None}
    missing = len(needed - there)
    return cost > _VERY_BRIEF + missing * builder.graph.num_edge_copies * _SORTING_SECONDS


def _seconds(plan: Plan) -> float:
    """Return the expected seconds of a plan, relative to searches from copy to copy."""
    return (plan.probed or 0.0) * (1.0 if plan.copy_walk is not None else _LEVELS_COST)


def _worth_indexes(builder: PlanBuilder, plan: Plan) -> bool:
    """Return whether a plan takes so long that copies may be sorted at both ends of edges to compare it."""
    if plan.probed is None:
        return False
    return _seconds(plan) > _BRIEF + builder.graph.num_edge_copies * _SORTING_SECONDS


def _plan_by_levels(builder: PlanBuilder, comparisons: BoundComparisons, most: int) -> Plan:
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
        return _cheapest(builder, plans, most)
    except OverflowError:  # more choices than counts can hold: the search says so, in any order
        return plans[0]


def _cheapest(builder: PlanBuilder, plans: Sequence[Plan], most: int) -> Plan:
    """Return the plan whose search of some root arcs, of limited work, takes least, with its estimates."""
    graph, threads = builder.graph, builder.options.threads
    if len(plans) > 1:
        if graph.num_edge_copies > _MANY_EDGES:
            fewest = min(map(_directions, plans))
            plans = [plan for plan in plans if _directions(plan) == fewest]
        seconds = [probe_levels(graph, plan, _FEW_ARCS, threads, most)[0] for plan in plans]
        costs = [_cost(one, builder.seconds_in_whole(one, s)) for one, s in zip(plans, seconds, strict=True)]
        plans = [plans[min(range(len(plans)), key=costs.__getitem__)]]
    expected, sizes = probe_levels(graph, plans[0], _MANY_ARCS, threads, _LONG if most >= _SHORT else _SHORT)
    expected = builder.seconds_in_whole(plans[0], expected)
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
