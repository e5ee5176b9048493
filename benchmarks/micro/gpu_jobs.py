"""What the scripts beside it share: the engine on one device, its plans, and single searches by them."""

from __future__ import annotations

import motiflux as mf
from motiflux.gpu.engine import DfsEngine, open_engine
from motiflux.gpu.launch.prepare import prepare
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.runtime.kernel_times import LaunchTimer
from motiflux.gpu.strategy import counting_goal, search_kernel
from motiflux.plan import Plan
from motiflux.plan.physical import Family, PhysicalPlan, Stage
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request

__all__ = ["DfsEngine", "open_engine", "planned", "search_job"]


def planned(engine: DfsEngine, graph: mf.Graph, pattern: mf.Pattern, request: Request) -> PhysicalPlan:
    """Return how the engine counts a pattern, planned without a limit of time."""
    physical = engine.plan(graph, pattern, request, Deadline.after(None))
    assert physical is not None
    return physical


def search_job(engine: DfsEngine, graph: mf.Graph, plan: Plan, request: Request) -> SearchJob:
    """Return a search that counts by a plan, be there better ways or not, ready to be launched and timed."""
    kernel = search_kernel(plan, counting_goal(plan), engine.group.facts, request)
    search = prepare(
        engine.group.first, graph, Stage(Family.SEARCH, plan, kernel), request, None, Deadline.after(None)
    )
    search.timer = LaunchTimer("searches")
    return search
