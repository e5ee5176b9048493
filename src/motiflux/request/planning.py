"""The logical plan of a request, for an engine of given capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.builder import PlanOptions
from motiflux.plan.local_counts.speeds import HOST_SPEEDS, Speeds
from motiflux.plan.planner import plan_with
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Capabilities
from motiflux.request.request import Request

_MANY = 10**9
"""Least limit for which parts are counted as a whole, instead of one embedding after another."""


def counts_all(request: Request) -> bool:
    """Return whether a request has no limit, or one so high that parts may be counted as a whole."""
    return request.limit is None or request.limit >= _MANY


def logical_plan(
    graph: Graph,
    pattern: Pattern,
    request: Request,
    capabilities: Capabilities,
    deadline: Deadline,
    *,
    counting: bool = True,
    parts: bool = True,
    beside: Sequence[Plan] = (),
) -> Plan | None:
    """Return the logical plan; None if time was up before there was one.

    Parameters
    ----------
    counting
        Whether embeddings are counted, or listed.
    parts
        Whether tails that are trees of parts are considered, if the engine counts them.
    beside
        Plans of the same call that may be counted in one pass with this one.
    """
    options = PlanOptions(
        semantics=request.semantics,
        symmetry=request.symmetry,
        counting=counting,
        images=not counting,
        space=capabilities.candidate_spaces,
        tail=capabilities.tails,
        parts=parts and capabilities.parts and counts_all(request),
        parts_cost=capabilities.parts_cost,
        searchers=capabilities.searchers,
        tables=capabilities.tables,
        threads=request.threads,
        deadline=deadline.at,
        switches=request.tuning,
        beside=tuple(beside),
        count_choices=request.copies,
        copy_walks=capabilities.copy_walks,
    )
    try:
        return plan_with(graph, pattern, options)
    except TimeoutError:
        return None


def plan_options(
    request: Request, deadline: Deadline, *, speeds: Speeds = HOST_SPEEDS, closed_forms: bool = True
) -> PlanOptions:
    """Return the options of plans that count by images (`motiflux.plan.image_counts`).

    Parameters
    ----------
    speeds
        Times of operations on tables.
    closed_forms
        Whether searches count their last levels in closed form, and in parts.
    """
    return PlanOptions(
        semantics=request.semantics,
        symmetry=request.symmetry,
        counting=True,
        images=False,
        space=True,
        tail=closed_forms,
        parts=closed_forms,
        parts_cost=1.0,
        searchers=1,
        tables=speeds,
        threads=request.threads,
        deadline=deadline.at,
        switches=request.tuning,
        beside=(),
        count_choices=request.copies,
    )


def row_plan_options(request: Request, deadline: Deadline) -> PlanOptions:
    """Return the options of plans for projections on the CPU (`motiflux.plan.projection`)."""
    return replace(plan_options(request, deadline), counting=False, tail=False, parts=False, tables=None)
