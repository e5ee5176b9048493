"""Delta plans of equivalent places that share levels (coalesced search, `motiflux.plan.passes.coalesce`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from motiflux.plan.bind import BoundPattern
from motiflux.plan.ir import SharedStep
from motiflux.plan.passes.coalesce import EquivalentPlaces
from motiflux.plan.passes.drafts import Draft, Drafter, begin_at_both_ends, sides
from motiflux.plan.passes.order import CostModel, continued_orders, ordered, orders_within
from motiflux.plan.shape import StepShape


class Variant(NamedTuple):
    """One way to search a group: its expected cost, the plan of each member, and the levels they share."""

    cost: float
    drafts: list[Draft]
    steps: tuple[SharedStep, ...]


class Group(NamedTuple):
    """Plans of equivalent places, with one or two variants, which begin at different ends of the edge."""

    places: EquivalentPlaces
    variants: list[Variant]


def group_of(
    bound: BoundPattern,
    model: CostModel,
    drafter: Drafter,
    alone: Sequence[Sequence[Draft]],
    counting: bool,
    either_end: bool,
    saving: float | None,
    places_of: EquivalentPlaces,
) -> Group | None:
    """Return plans of equivalent places that share levels; None if they can share none.

    Parameters
    ----------
    alone
        The plans of each orbit of places.
    saving
        The least share of the work beyond the changed edge that must be saved; None for any.
    """
    first = places_of.members[0].place
    kept = frozenset(range(bound.size)).difference(places_of.removed)
    starts = orders_within(bound, model, first, kept)
    for side in sides(bound, first) if either_end else ():
        if side & kept:
            starts += orders_within(bound, model, first, kept, side & kept)
    if not counting:  # no level is counted in closed form: the estimates suffice
        starts = [min(starts, key=lambda start: sum(ordered(bound, model, start).estimates))]
    separate = sum(alone[member.orbit][0].cost for member in places_of.members)
    most = float("inf") if saving is None else (1 - saving) * separate
    variants = []
    for start in dict.fromkeys(starts):
        shared = ordered(bound, model, start).estimates[len(first) :]
        if separate - (len(places_of.members) - 1) * sum(shared) <= most:
            variants.append(_variant(bound, model, drafter, places_of, start))
    variants = [variant for variant in variants if variant.steps]
    if not variants:
        return None
    best = min(variants, key=lambda variant: variant.cost)
    if saving is not None and (best.cost > most or not _has_intersection(best)):
        return None
    chosen = [best]
    if any(len(alone[member.orbit]) > 1 for member in places_of.members):
        plan = best.drafts[0].plan
        others = [one for one in variants if begin_at_both_ends(one.drafts[0].plan, plan)]
        chosen += [min(others, key=lambda one: one.cost)] if others else []
    return Group(places_of, chosen)


def _variant(
    bound: BoundPattern,
    model: CostModel,
    drafter: Drafter,
    places_of: EquivalentPlaces,
    start: tuple[int, ...],
) -> Variant:
    """Return the plans that match the kept vertices in the order `start`, each as its own query vertices."""
    drafts = []
    for member in places_of.members:
        orders = continued_orders(bound, model, tuple(member.moved[vertex] for vertex in start))
        drafts.append(min((drafter.draft(order) for order in orders), key=lambda one: one.cost))
    levels = min(len(start), *(one.plan.walked for one in drafts))
    steps = tuple(
        _shared_step([one.plan.shape.steps[level] for one in drafts])
        for level in range(len(drafts[0].plan.place), levels)
    )
    saved = (len(drafts) - 1) * sum(drafts[0].costs[: len(steps)])
    row_cost = sum(one.plan.row_cost for one in drafts) / len(drafts)
    drafts = [one._replace(plan=replace(one.plan, row_cost=row_cost)) for one in drafts]
    return Variant(sum(one.cost for one in drafts) - saved, drafts, steps)


def _has_intersection(variant: Variant) -> bool:
    """Whether the set of a shared level is an intersection: taking a row again costs less than sharing it."""
    steps = variant.drafts[0].plan.shape.steps[: len(variant.steps) + 2]
    return any(len(step.sources) > 1 or step.reuse is not None for step in steps[2:])


def _shared_step(steps: Sequence[StepShape]) -> SharedStep:
    """Return what holds for a level in all plans; the vertices of all levels differ in each of them."""
    after, before = (
        frozenset.intersection(*(frozenset(getattr(step, name)) for step in steps))
        for name in ("after", "before")
    )
    distinct = frozenset[int]().union(*(step.distinct for step in steps))
    return SharedStep(*(tuple(sorted(levels)) for levels in (after, before, distinct - after - before)))
