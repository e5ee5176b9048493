"""``engine="outofcore"`` for graphs that do not change: searches over edges in pinned memory of the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from motiflux.gpu.engine import CAPABILITIES, DfsEngine
from motiflux.gpu.group import DeviceGroup
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.physical import Family, PhysicalPlan, RowCopies
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome, Ran
from motiflux.request.registry import OUT_OF_CORE
from motiflux.request.request import Request
from motiflux.result.rows import RowSource


class OutOfCoreSearch(DfsEngine):
    """Executes plans on a group of devices, which read the neighbours of the graph where the host has them.

    A device has the offsets of rows, 8 bytes for each vertex and kind of rows, and the memory of the search.
    Candidate spaces and tables of local counts, which can be larger than the graph, are left out.
    """

    name = OUT_OF_CORE
    capabilities = replace(CAPABILITIES, candidate_spaces=False, tables=None)

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        request: Request,
        deadline: Deadline,
        *,
        counting: bool = True,
        beside: Sequence[Plan] = (),
    ) -> PhysicalPlan | None:
        """Return the physical plan of a request; None if time was up before there was one."""
        return super().plan(graph, pattern, _mine(request), deadline, counting=counting, beside=beside)

    def strategy(self, graph: Graph, plan: Plan, request: Request, *, counting: bool = True) -> PhysicalPlan:
        """Return the physical plan of a logical plan."""
        return _of_host(super().strategy(graph, plan, request, counting=counting), _copies(request.tuning))

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``."""
        return super().count(graph, physical, _mine(request), deadline)

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows."""
        return super().rows(graph, physical, _mine(request), batch_rows, deadline)

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""
        return super().notes(graph, physical, _mine(request))

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        return super().predict(graph, physical, _mine(request))


def _mine(request: Request) -> Request:
    """Return the request as one for this engine, by which uploads leave edges on the host."""
    return request if request.engine == OUT_OF_CORE else replace(request, engine=OUT_OF_CORE)


def _copies(tuning: Mapping[str, str]) -> RowCopies | None:
    """Return the rows that are copied to the device. All vertices are roots: `khop` says nothing of rows."""
    if (policy := tuning["cache"]) == "none":
        return None
    percent = tuning["cache_percent"]
    policy = "degree" if policy == "degree" else "frequency"
    return RowCopies(policy, None if percent == "auto" else int(percent))


def _of_host(physical: PhysicalPlan, copies: RowCopies | None) -> PhysicalPlan:
    """Return the same plan for rows that stay on the host."""
    stages = tuple(
        stage if stage.family is Family.HOST else replace(stage, copies=copies) for stage in physical.stages
    )
    fallback = None if physical.fallback is None else _of_host(physical.fallback, copies)
    return replace(physical, engine=OUT_OF_CORE, stages=stages, fallback=fallback)


def open_engine(names: Sequence[str]) -> OutOfCoreSearch:
    """Return the engine on devices of these names; raises `DeviceError`."""
    return OutOfCoreSearch(DeviceGroup.open(names))
