"""The plan in the order that is cheapest by sampling."""

from __future__ import annotations

from dataclasses import replace

from motiflux.plan.builder import PlanBuilder
from motiflux.plan.estimate.sampled import sample
from motiflux.plan.ir import Plan
from motiflux.plan.passes.order import Order, given_order, promising_orders
from motiflux.plan.shared_prefix import shared_levels

# Random partial embeddings that compare orders, and that estimate the chosen plan.
_FEW_MEMBERS = 64
MANY_MEMBERS = 256

# An order whose cost is below this multiple of the least cost may be taken because it shares levels.
_ABOUT_AS_CHEAP = 1.5

# A search of this cost takes at most 54 us, less time than comparing two orders.
_NOT_WORTH_COMPARING = 2000


def ordered_plan(builder: PlanBuilder) -> tuple[Plan, list[Order]]:
    """Return the plan that enumerates all levels but those of a flat tail, and other orders to try."""
    options, switch = builder.options, builder.options.switches["order"]
    if switch == "given":
        orders = [given_order(builder.bound, builder.model)]
    else:
        orders = promising_orders(builder.bound, builder.model, tails=builder.tails)
    plan = builder.plan(orders[0])
    if switch not in ("sampled", "adaptive") or not builder.cheap_to_sample:
        return plan, orders
    estimate = sample(builder.graph, plan, MANY_MEMBERS, options.threads)
    if len(orders) > 1 and (options.beside or estimate.cost >= _NOT_WORTH_COMPARING):
        orders, cheap = _compared(builder, orders)
        plans = [plan if plan.order == order.vertices else builder.plan(order) for order in orders[:cheap]]
        chosen = max(
            plans, key=lambda plan: max((shared_levels(plan, other) for other in options.beside), default=0)
        )
        if chosen is not plan:
            plan, estimate = chosen, sample(builder.graph, chosen, MANY_MEMBERS, options.threads)
    return replace(plan, estimates=estimate.sizes, scanned=estimate.read), orders


def _compared(builder: PlanBuilder, orders: list[Order]) -> tuple[list[Order], int]:
    """Return the orders by cost, and how many at the start may be chosen.

    More than one may be chosen only if plans of one call may share a search.
    """
    options = builder.options
    sketches = [builder.sketch(order) for order in orders]
    costs = [sample(builder.graph, sketch, _FEW_MEMBERS, options.threads).cost for sketch in sketches]
    by_cost = sorted(range(len(orders)), key=costs.__getitem__)
    most = costs[by_cost[0]] * (_ABOUT_AS_CHEAP if options.beside and builder.space is None else 1)
    return [orders[at] for at in by_cost], max(1, sum(cost < most for cost in costs))
