"""The choice of a plan that counts in parts, by probes, if the search is expected to take long."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf

from motiflux.plan.bind import BoundPattern
from motiflux.plan.builder import PlanBuilder
from motiflux.plan.estimate.predict import expected_work
from motiflux.plan.estimate.sampled import MANY_MEMBERS, probe, sample
from motiflux.plan.ir import Plan
from motiflux.plan.passes.order import Order, core_first, core_of
from motiflux.plan.passes.parts import lists_of
from motiflux.plan.shape import Tail

# Parts are considered if the search is expected to take this number of seconds, in this number of orders. All
# probes together take a share of the expected time; each is short enough for an interrupt to be answered.
WORTH_PARTS = 0.1
_PART_ORDERS = 3
_PROBE_SHARE = 0.1
_LONGEST_PROBE = 0.06

# Above this number of seconds, cached numbers decide the time, and a probe fills few of them. Then a plan
# that matches the core first and then has lists is taken, unless its probe takes this multiple of the least
# time.
_PROBES_MISLEAD = 10.0
_MAY_PROBE_SLOWER = 8.0


def cheaper_in_parts(builder: PlanBuilder, plan: Plan, orders: Sequence[Order]) -> Plan:
    """Return a plan that counts in parts if it is cheaper than `plan`, else `plan`."""
    forced = builder.options.switches["parts"] == "on"
    work = expected_work(builder.in_whole(plan))
    seconds = None if work is None else work.seconds()
    if not forced and (seconds is None or seconds < WORTH_PARTS):
        return plan
    candidates = _candidates(builder, orders, first_alone=forced)
    if forced and candidates:
        return candidates[0] if work is None else _estimated(builder, candidates[0])
    if seconds is None or not candidates:
        return plan
    plans = [plan, *candidates]
    if plan.tail is not None:
        plain = builder.without_tail(builder.order(plan.order))
        plans.append(replace(plain, estimates=plan.estimates, scanned=plan.scanned))
    probed = _probed(builder, plans, seconds)
    if probed is None:
        return plan
    chosen = _best(builder.bound, probed, builder.options.parts_cost)
    return chosen if chosen.scanned else _estimated(builder, chosen)


def _candidates(builder: PlanBuilder, orders: Sequence[Order], *, first_alone: bool) -> list[Plan]:
    """Return different plans in parts; with `first_alone`, only the plans of the first order that has any."""
    bases = list(orders[:_PART_ORDERS])
    if (base := core_first(builder.bound, orders)) is not None and base not in bases:
        bases.append(base)
    found: dict[tuple[tuple[int, ...], Tail | None], Plan] = {}
    for order, way in product(bases, builder.part_ways):
        for vertices in builder.part_orders(order.vertices, way):
            plan = builder.nested(builder.order(vertices), way)
            if plan is not None:
                found.setdefault((vertices, plan.tail), plan)
        if first_alone and found:
            break
    return list(found.values())


def _probed(builder: PlanBuilder, plans: Sequence[Plan], seconds: float) -> list[Plan] | None:
    """Return `plans`, each with its time by a probe; None if the deadline is near.

    Parameters
    ----------
    seconds
        Expected seconds of the first plan.
    """
    options, deadline = builder.options, builder.options.deadline
    most = min(min(seconds * _PROBE_SHARE, options.planning_seconds(seconds)) / len(plans), _LONGEST_PROBE)
    probed = []
    for plan in plans:
        if deadline is not None and time.perf_counter() + most > deadline:
            return None
        probed.append(probed_in_whole(builder, plan, most))
    return probed


def probed_in_whole(builder: PlanBuilder, plan: Plan, seconds: float) -> Plan:
    """Return a plan with its time by a probe of about some seconds; on a sketch, that in the larger graph."""
    found = probe(builder.graph, plan, seconds, builder.options.threads)
    return replace(plan, probed=builder.seconds_in_whole(plan, found))


def _best(bound: BoundPattern, plans: Sequence[Plan], parts_cost: float) -> Plan:
    """Return the plan to take, after probes on the CPU."""

    def seconds(plan: Plan) -> float:
        if plan.probed is None:
            return inf
        nested = plan.tail is not None and plan.tail.nested
        return plan.probed * (parts_cost if nested else 1.0)

    best = min(plans, key=seconds)
    core = core_of(bound)
    caching = [
        plan
        for plan in plans
        if plan.tail is not None
        and any(lists_of(plan.tail.components))
        and 0 < len(core) < bound.size
        and core.issuperset(plan.order[: len(core)])
    ]
    if seconds(best) < _PROBES_MISLEAD or not caching:
        return best
    other = min(caching, key=seconds)
    return other if seconds(other) < _MAY_PROBE_SLOWER * seconds(best) else best


def _estimated(builder: PlanBuilder, plan: Plan) -> Plan:
    """Return `plan` with the estimates of a search that enumerates all levels."""
    flat = builder.without_tail(builder.order(plan.order))
    estimate = sample(builder.graph, flat, MANY_MEMBERS, builder.options.threads)
    return replace(plan, estimates=estimate.sizes, scanned=estimate.read)
