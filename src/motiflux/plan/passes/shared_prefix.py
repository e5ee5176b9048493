"""Which plans are searched in one pass: those over the graph's rows that begin alike.

Walking two levels once instead of twice gains no more than handing them on costs. Intersections are what
takes time, so the set of the next level is to be one, and the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import takewhile

from motiflux.plan.ir import Plan

LEAST_SHARED = 2
"""Levels that the plans of one pass have in common at least (`csrc/search/bundle.hpp`)."""

_LEAST_SOURCES = 2
"""Of sets that are intersections, not rows."""


def in_passes(plans: Sequence[Plan]) -> list[list[Plan]]:
    """Return the plans in groups of one pass each, in the order of their first."""
    groups: dict[Hashable, list[Plan]] = {}
    for position, plan in enumerate(plans):
        groups.setdefault(_beginning(plan) or position, []).append(plan)
    return list(groups.values())


def shared_levels(plan: Plan, other: Plan) -> int:
    """Return how many levels one pass over both would walk once; 0 where there is no such pass."""
    if _beginning(plan) is None or _beginning(plan) != _beginning(other):
        return 0
    most = min(_walked(plan), _walked(other))
    pairs = zip(_steps(plan)[:most], _steps(other)[:most], strict=True)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _walked(plan: Plan) -> int:
    """Return the number of levels that are enumerated over the graph's rows."""
    if plan.space is not None or plan.impossible is not None or plan.formula is not None:
        return 0
    return len(plan.order) - 1 if plan.tail is None else plan.tail.start


def _beginning(plan: Plan) -> Hashable | None:
    """Return the least that plans of one pass have in common: two levels, and the set of the next.

    None for a plan that shares no pass.
    """
    if _walked(plan) < LEAST_SHARED or len(plan.shape.steps[LEAST_SHARED].sources) < _LEAST_SOURCES:
        return None
    step, args = plan.shape.steps[LEAST_SHARED], plan.args.steps[LEAST_SHARED]
    known = range(step.anchor + 1)
    clips = tuple(tuple(level for level in levels if level in known) for levels in (step.after, step.before))
    return _steps(plan)[:LEAST_SHARED], step.sources, step.reuse, args.adjacencies, clips


def _steps(plan: Plan) -> tuple[Hashable, ...]:
    """Return what must be the same at each level; degree bounds need not."""
    return tuple(
        (replace(step, bounds_out=False, bounds_in=False), args.adjacencies)
        for step, args in zip(plan.shape.steps, plan.args.steps, strict=True)
    )
