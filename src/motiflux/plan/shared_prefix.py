"""Groups of plans that one search can serve: plans over the graph's rows with the same first levels.

Sharing two levels alone gains no more time than it costs. Most time is spent on intersections, so the plans
of a group must also have the same intersection at the next level.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import takewhile

from motiflux.plan.ir import Plan

LEAST_SHARED = 2
"""Least number of levels that the plans of a group share (`csrc/search/bundle.hpp`)."""

_LEAST_SOURCES = 2
"""Least number of sources of a level whose set is an intersection, not a row."""


def group_by_prefix(plans: Sequence[Plan]) -> list[list[Plan]]:
    """Return the plans in groups, each for one search, in the order of their first plans."""
    groups: dict[Hashable, list[Plan]] = {}
    for position, plan in enumerate(plans):
        groups.setdefault(_prefix(plan) or position, []).append(plan)
    return list(groups.values())


def shared_levels(plan: Plan, other: Plan) -> int:
    """Return the number of levels that one search for both plans would share; 0 if there is none."""
    if _prefix(plan) is None or _prefix(plan) != _prefix(other):
        return 0
    most = min(_num_enumerated(plan), _num_enumerated(other))
    pairs = zip(_steps(plan)[:most], _steps(other)[:most], strict=True)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _num_enumerated(plan: Plan) -> int:
    """Return the number of levels that are enumerated over the graph's rows."""
    if (
        plan.space is not None
        or plan.impossible is not None
        or plan.formula is not None
        or plan.comparisons is not None
    ):
        return 0
    return len(plan.order) - 1 if plan.tail is None else plan.tail.start


def _prefix(plan: Plan) -> Hashable | None:
    """Return the part that the plans of one group have in common: two levels, and the set of the next.

    None for a plan that shares no search.
    """
    if _num_enumerated(plan) < LEAST_SHARED or len(plan.shape.steps[LEAST_SHARED].sources) < _LEAST_SOURCES:
        return None
    step, args = plan.shape.steps[LEAST_SHARED], plan.args.steps[LEAST_SHARED]
    known = range(step.anchor + 1)
    clips = tuple(tuple(level for level in levels if level in known) for levels in (step.after, step.before))
    return _steps(plan)[:LEAST_SHARED], step.sources, step.reuse, args.adjacencies, clips


def _steps(plan: Plan) -> tuple[Hashable, ...]:
    """Return the parts of each level that must be equal; degree bounds may differ."""
    return tuple(
        (replace(step, bounds_out=False, bounds_in=False), args.adjacencies, args.apart)
        for step, args in zip(plan.shape.steps, plan.args.steps, strict=True)
    )
