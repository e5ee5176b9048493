"""Plans made by hand, executed by engines and by single jobs of devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import motiflux as mf
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.group import DeviceGroup
from motiflux.gpu.launch.prepare import prepare
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import KernelJob, SearchJob
from motiflux.gpu.strategy import counting_goal, search_kernel
from motiflux.plan import Plan
from motiflux.plan.physical import Family, Stage
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome
from motiflux.request.request import Request


def engine_on(*accelerators: Accelerator) -> DfsEngine:
    """Return the engine on a group of devices."""
    return DfsEngine(DeviceGroup(accelerators))


def count_by(engine: Any, graph: mf.Graph, plan: Plan, request: Request) -> Outcome:
    """Return the count of an engine by a logical plan."""
    deadline = Deadline.after(request.timeout)
    outcome: Outcome = engine.count(graph, engine.strategy(graph, plan, request), request, deadline)
    return outcome


def counting_job(
    engine: DfsEngine, graph: mf.Graph, plan: Plan, request: Request, limit: int | None = None
) -> SearchJob:
    """Return the job by which the first device of an engine counts, ready to be launched."""
    stage = engine.strategy(graph, plan, request).stages[0]
    group = engine.group.only_first()
    job = engine._search_job(graph, stage, group, request, limit, Deadline.after(None))
    assert isinstance(job, KernelJob)
    return job


def search_job(
    accelerator: Accelerator, graph: mf.Graph, plan: Plan, request: Request, deadline: Deadline | None = None
) -> SearchJob:
    """Return the job of a search that counts, be there better ways or not."""
    facts = DeviceGroup((accelerator,)).facts
    stage = Stage(Family.SEARCH, plan, search_kernel(plan, counting_goal(plan), facts, request))
    return prepare(accelerator, graph, stage, request, None, deadline or Deadline.after(None))


@contextmanager
def parts_from_the_start() -> Iterator[None]:
    """Have the device engine plan as for graphs so large that it is busy from the first level on."""
    before = DfsEngine.capabilities
    DfsEngine.capabilities = replace(before, searchers=1)
    try:
        yield
    finally:
        DfsEngine.capabilities = before
