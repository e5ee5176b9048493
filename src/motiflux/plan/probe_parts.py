"""Whether to count in parts, and in which: by probing plans where the search is expected to take long."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf

from motiflux.plan.bind import BoundPattern
from motiflux.plan.builder import PlanBuilder
from motiflux.plan.compare_orders import MANY_MEMBERS
from motiflux.plan.estimate.predict import expected_work
from motiflux.plan.estimate.sampled import probe, sample
from motiflux.plan.ir import Plan
from motiflux.plan.passes.order import Order, core_first, core_of
from motiflux.plan.passes.parts import lists_of
from motiflux.plan.shape import Tail

# Searches expected to take so many seconds are worth a look for parts, in so many orders. All probes together
# take a share of the time expected, and each no longer than an interrupt may wait.
WORTH_PARTS = 0.1
_PART_ORDERS = 3
_PROBE_SHARE = 0.1
_LONGEST_PROBE = 0.06

# Above so many seconds, what is remembered decides, of which a probe sees little: a plan that matches the
# core first and then has lists is taken unless it seems so many times as slow.
_PROBES_SAY_LITTLE = 10.0
_MAY_SEEM_SLOWER = 8.0


def in_parts(drafter: PlanBuilder, plan: Plan, orders: Sequence[Order]) -> Plan:
    """Return a plan that counts the same in parts, if that is cheaper."""
    forced = drafter.options.switches["parts"] == "on"
    work = expected_work(plan)
    seconds = None if work is None else work.seconds()
    if not forced and (seconds is None or seconds < WORTH_PARTS):
        return plan
    candidates = _candidates(drafter, orders, first_alone=forced)
    if forced and candidates:
        return candidates[0] if work is None else _estimated(drafter, candidates[0])
    if seconds is None or not candidates:
        return plan
    plans = [plan, *candidates]
    if plan.tail is not None:
        plain = drafter.without_tail(drafter.order(plan.order))
        plans.append(replace(plain, estimates=plan.estimates, scanned=plan.scanned))
    probed = _probed(drafter, plans, seconds)
    if probed is None:
        return plan
    chosen = _best(drafter.bound, probed, drafter.options.parts_cost)
    return chosen if chosen.scanned else _estimated(drafter, chosen)


def _candidates(drafter: PlanBuilder, orders: Sequence[Order], *, first_alone: bool) -> list[Plan]:
    """Return different plans in parts; with `first_alone`, those of the first order that has any."""
    bases = list(orders[:_PART_ORDERS])
    if (base := core_first(drafter.bound, orders)) is not None and base not in bases:
        bases.append(base)
    found: dict[tuple[tuple[int, ...], Tail | None], Plan] = {}
    for order, way in product(bases, drafter.part_ways):
        for vertices in drafter.part_orders(order.vertices, way):
            plan = drafter.nested(drafter.order(vertices), way)
            if plan is not None:
                found.setdefault((vertices, plan.tail), plan)
        if first_alone and found:
            break
    return list(found.values())


def _probed(drafter: PlanBuilder, plans: Sequence[Plan], seconds: float) -> list[Plan] | None:
    """Return `plans` with what each seems to take; None if time is short.

    Parameters
    ----------
    seconds
        That the first of them is expected to take.
    """
    options, deadline = drafter.options, drafter.options.deadline
    most = min(min(seconds * _PROBE_SHARE, options.seconds_to_look(seconds)) / len(plans), _LONGEST_PROBE)
    probed = []
    for plan in plans:
        if deadline is not None and time.perf_counter() + most > deadline:
            return None
        probed.append(replace(plan, probed=probe(drafter.graph, plan, most, options.threads)))
    return probed


def _best(bound: BoundPattern, plans: Sequence[Plan], parts_cost: float) -> Plan:
    """Return the plan to take of those that were probed on the CPU."""

    def seconds(plan: Plan) -> float:
        if plan.probed is None:
            return inf
        nested = plan.tail is not None and plan.tail.nested
        return plan.probed * (parts_cost if nested else 1.0)

    best = min(plans, key=seconds)
    core = core_of(bound)
    remembering = [
        plan
        for plan in plans
        if plan.tail is not None
        and any(lists_of(plan.tail.components))
        and 0 < len(core) < bound.size
        and core.issuperset(plan.order[: len(core)])
    ]
    if seconds(best) < _PROBES_SAY_LITTLE or not remembering:
        return best
    other = min(remembering, key=seconds)
    return other if seconds(other) < _MAY_SEEM_SLOWER * seconds(best) else best


def _estimated(drafter: PlanBuilder, plan: Plan) -> Plan:
    """Return `plan` with the sizes that its levels would have, were all enumerated."""
    flat = drafter.without_tail(drafter.order(plan.order))
    estimate = sample(drafter.graph, flat, MANY_MEMBERS, drafter.options.threads)
    return replace(plan, estimates=estimate.sizes, scanned=estimate.read)
