"""The plan in the order that sampling finds cheapest."""

from __future__ import annotations

from dataclasses import replace

from motiflux.plan.builder import PlanBuilder
from motiflux.plan.estimate.sampled import sample
from motiflux.plan.ir import Plan
from motiflux.plan.passes.order import Order, given_order, promising_orders
from motiflux.plan.passes.shared_prefix import shared_levels

# Members of the population that compares orders, and of the one behind the estimates of the chosen plan.
_FEW_MEMBERS = 64
MANY_MEMBERS = 256

# An order that costs at most so many times as much as the best may be taken for the levels it shares.
_ABOUT_AS_CHEAP = 1.5

# A search of this cost takes at most 54 us, less than comparing two orders does.
_NOT_WORTH_COMPARING = 2000


def ordered_plan(drafter: PlanBuilder) -> tuple[Plan, list[Order]]:
    """Return the plan that enumerates all levels but those of a flat tail, and other orders worth a try."""
    options, switch = drafter.options, drafter.options.switches["order"]
    if switch == "given":
        orders = [given_order(drafter.bound, drafter.model)]
    else:
        orders = promising_orders(drafter.bound, drafter.model, tails=drafter.tails)
    plan = drafter.plan(orders[0])
    if switch not in ("sampled", "adaptive") or not drafter.cheap_to_sample:
        return plan, orders
    estimate = sample(drafter.graph, plan, MANY_MEMBERS, options.threads)
    if len(orders) > 1 and (options.beside or estimate.cost >= _NOT_WORTH_COMPARING):
        orders, cheap = _compared(drafter, orders)
        plans = [plan if plan.order == order.vertices else drafter.plan(order) for order in orders[:cheap]]
        chosen = max(
            plans, key=lambda plan: max((shared_levels(plan, other) for other in options.beside), default=0)
        )
        if chosen is not plan:
            plan, estimate = chosen, sample(drafter.graph, chosen, MANY_MEMBERS, options.threads)
    return replace(plan, estimates=estimate.sizes, scanned=estimate.read), orders


def _compared(drafter: PlanBuilder, orders: list[Order]) -> tuple[list[Order], int]:
    """Return the orders by cost, and how many of them are as good as the first.

    Others than the first are as good only where plans of one call may share a pass.
    """
    options = drafter.options
    sketches = [drafter.sketch(order) for order in orders]
    costs = [sample(drafter.graph, sketch, _FEW_MEMBERS, options.threads).cost for sketch in sketches]
    by_cost = sorted(range(len(orders)), key=costs.__getitem__)
    most = costs[by_cost[0]] * (_ABOUT_AS_CHEAP if options.beside and drafter.space is None else 1)
    return [orders[at] for at in by_cost], max(1, sum(cost < most for cost in costs))
