"""``engine="pvm"``: counts and row listings by searches in phases on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from motiflux import log
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.group import DeviceGroup
from motiflux.gpu.pvm import search, shares
from motiflux.gpu.pvm.choice import PhaseFacts, prefers_phases
from motiflux.gpu.pvm.host_frontiers import host_room
from motiflux.gpu.pvm.memory import phase_memory, room_for
from motiflux.gpu.pvm.phase_query import PhaseQuery
from motiflux.gpu.pvm.planning import phases_of
from motiflux.gpu.pvm.rows import PhaseRows, StoredPhaseRows, found_limit
from motiflux.gpu.pvm.set_up import sources_of
from motiflux.gpu.runtime.accelerator import known_accelerator
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.bind import bind
from motiflux.plan.estimate.predict import expected_count
from motiflux.plan.estimate.prediction import MemoryReport, Prediction
from motiflux.plan.phases.data import HandOver, PhasePlan
from motiflux.plan.physical import Family, PhysicalPlan, Stage
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.engine import Capabilities, Engine, Outcome, Ran
from motiflux.request.planning import logical_plan
from motiflux.request.registry import PHASES
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.result.images import Images
from motiflux.result.rows import NoRows, RowSource

TOO_MANY = "the number of embeddings passed the range of its kernels"

_BEYOND_KERNELS = 2**63
_SHARE_BESIDE = 4
"""Tables beside rows of ``dfs`` take at most the memory of the device divided by this."""

CAPABILITIES = Capabilities(
    candidate_spaces=False, tails=False, parts=False, tables=None, searchers=20_000, reports_sizes=True
)


class PvmEngine:
    """Executes phases on the devices of a group, each of which has the edges of one label at a time.

    Requests that it does not support are handed over to ``dfs``: plans of these name that engine and the
    reason.
    """

    name = PHASES
    capabilities = CAPABILITIES

    def __init__(self, group: DeviceGroup) -> None:
        self._group = group
        self._dfs = DfsEngine(group)
        self.device = group.name

    def is_current(self) -> bool:
        """Whether the names of the devices still belong to the same open devices in this process."""
        return all(known_accelerator(one.device.name) is one for one in self._group.accelerators)

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine that executes a plan: this one, or ``dfs`` if it is handed over."""
        return self if physical.engine == self.name else self._dfs

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
        plan = logical_plan(
            graph, pattern, request, self.capabilities, deadline, counting=counting, beside=beside
        )
        if plan is None or plan.impossible is not None:
            return None if plan is None else PhysicalPlan(self.name, plan, ())
        try:
            phases = phases_of(graph, pattern, plan, request, deadline, counting=counting)
        except TimeoutError:
            return None
        if isinstance(phases, HandOver):
            return self._handed_over(
                graph, pattern, request, deadline, phases.reason, counting=counting, beside=beside
            )
        stage = Stage(Family.PHASES, plan, phases=phases)
        return PhysicalPlan(self.name, plan, (stage,))

    def _handed_over(
        self,
        graph: Graph,
        pattern: Pattern,
        request: Request,
        deadline: Deadline,
        reason: str,
        *,
        counting: bool = True,
        beside: Sequence[Plan] = (),
    ) -> PhysicalPlan | None:
        """Return the plan of ``dfs``, with the reason."""
        found = self._dfs.plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        why = f"engine={self.name!r} hands over to {self._dfs.name!r}: {reason}"
        return None if found is None else replace(found, why=why)

    def is_preferred(self, graph: Graph, pattern: Pattern, request: Request, deadline: Deadline) -> bool:
        """Return whether ``engine="auto"`` takes this engine for a query whose rows do not fit."""
        physical = self.plan(graph, pattern, request, deadline)
        if physical is None or physical.phases is None:
            return False
        memory = phase_memory(graph, bind(pattern, graph), physical.phases)
        room = room_for(self._group.first, request.gpu_memory)
        devices = len(self._group.accelerators)
        return prefers_phases(PhaseFacts(len(graph.edge_label_table), memory.all_tables, room, devices))

    def plan_beside(
        self, graph: Graph, pattern: Pattern, request: Request, deadline: Deadline
    ) -> PhysicalPlan | None:
        """Return the plan of a count of a query that ``dfs`` counts as well.

        None if it has no phases, is on several devices, or if there is not much memory beside the rows of
        ``dfs``.
        """
        physical = self.plan(graph, pattern, request, deadline)
        if physical is None or physical.phases is None or not self._group.alone:
            return None
        memory = phase_memory(graph, bind(pattern, graph), physical.phases)
        most = room_for(self._group.first, request.gpu_memory) // _SHARE_BESIDE
        return physical if memory.all_tables <= most else None

    def is_compiled(self, graph: Graph, physical: PhysicalPlan, request: Request) -> bool:
        """Whether all kernels of a count are compiled; those that are not are compiled in the background."""
        assert physical.phases is not None
        sources = sources_of(PhaseQuery(graph, physical.phases, request, counts=True))
        begun = [self._group.first.begin(source) for source in sources]
        return all(begun)

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Have the kernels of a plan compiled in the background; return whether compilation is over.

        Kernels of phases are compiled when they are first launched.
        """
        return physical.engine == self.name or self._dfs.begin(physical, request)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``, and the engine if it is not this one."""
        if physical.plan.impossible is not None:
            return Outcome(0, True)
        phases = physical.phases
        if phases is None:
            found = self._dfs.count(graph, physical, request, deadline)
            return replace(found, ran=found.ran or self._ran(self._dfs, physical.why))
        outcome = self._count(graph, physical.plan, phases, request, deadline)
        if outcome is not None:
            return outcome
        log.ENGINE.info("%s takes over: %s", self._dfs.name, TOO_MANY)
        assert physical.plan.asked is not None
        other = self._handed_over(graph, physical.plan.asked, request, deadline, TOO_MANY)
        return Outcome(0, False) if other is None else self.count(graph, other, request, deadline)

    def _count(
        self, graph: Graph, plan: Plan, phases: PhasePlan, request: Request, deadline: Deadline
    ) -> Outcome | None:
        """Return the count of phases; None if a number overflowed."""
        times, limit = plan.multiplier, request.limit
        # total * times > limit exactly when total > limit // times.
        enough = _reachable(None if limit is None else limit // times + 1)
        inner = replace(request, limit=enough, progress=_multiplied(request.progress, times))
        try:
            deadline.check()
            if self._group.alone:
                counted = search.count_phases(self._group.first, graph, phases, inner, deadline)
            else:
                counted = shares.count_shared(self._group, graph, phases, inner, deadline)
        except OutOfTimeError:
            return Outcome(0, False)
        if counted.overflow:
            return None
        total, copied = counted.found * times, sum(one.copied for one in counted.traffic.values())
        if limit is not None and total > limit:
            return Outcome(limit, False, counted.sizes, copied=copied)
        return Outcome(total, counted.complete, counted.sizes, copied=copied)

    def count_together(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> list[Outcome]:
        """Return the count of each plan, each by a separate search."""
        return [self.count(graph, physical, request, deadline) for physical in plans]

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows; also return the engine, as `count` does."""
        if physical.plan.impossible is not None:
            return NoRows(complete=True), None
        if physical.phases is None:
            source, ran = self._dfs.rows(graph, physical, request, batch_rows, deadline)
            return source, ran or self._ran(self._dfs, physical.why)
        try:
            deadline.check()
            return self._rows(graph, physical, request, batch_rows, deadline), None
        except OutOfTimeError:
            return NoRows(complete=False), None

    def _rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> RowSource:
        """Start an enumeration by phases, whose rows have images if the plan says so."""
        assert physical.phases is not None
        images, first = Images(physical.plan), self._group.first
        times = images.of_each
        inner = replace(
            request,
            limit=_reachable(found_limit(request.limit, times)),
            progress=_multiplied(request.progress, times),
        )
        rows = max(1, batch_rows // times)
        limit, budget = request.limit, request.gpu_memory
        if self._group.alone:
            found = search.list_phases(first, graph, physical.phases, inner, rows, deadline)
            return StoredPhaseRows(found, images, limit, first.device, budget, deadline)
        shared = shares.SharedEmbeddings(self._group, graph, physical.phases, inner, rows, deadline)
        return PhaseRows(shared, images, limit, first.device, budget)

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""
        return ""

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result and memory of a count, without searching."""
        assert physical.phases is not None
        plan = physical.plan
        assert plan.asked is not None
        memory = phase_memory(graph, bind(plan.asked, graph), physical.phases)
        room = room_for(self._group.first, request.gpu_memory)
        return Prediction(
            expected_count(plan, request.limit),
            None,
            request.threads,
            MemoryReport(
                memory.partitions,
                0,
                memory.device_bytes(room),
                copied=len(self._group.accelerators) * memory.copied_bytes(room, host_room()),
            ),
            note="times of phases are not known",
        )

    def _ran(self, engine: Engine, why: str) -> Ran:
        return Ran(engine.name, engine.device, why)


def open_engine(names: Sequence[str]) -> PvmEngine:
    """Return the engine on devices of these names; raises `DeviceError`."""
    return PvmEngine(DeviceGroup.open(names))


def plan_ahead(
    graph: Graph, pattern: Pattern, request: Request, deadline: Deadline, *, counting: bool = True
) -> None:
    """Leave with the graph what `PvmEngine.plan` takes long for: the logical plan and its statistics."""
    logical_plan(graph, pattern, request, CAPABILITIES, deadline, counting=counting)


def _reachable(limit: int | None) -> int | None:
    """Return the limit; None if kernels, whose numbers have 64 bits, do not reach it."""
    return None if limit is None or limit >= _BEYOND_KERNELS else limit


def _multiplied(report: ProgressCallback | None, times: int) -> Callable[[ProgressReport], None] | None:
    """Return a callback whose reports reach `report` with the number found multiplied."""
    if report is None or times == 1:
        return report
    return lambda told: report(replace(told, found=told.found * times))
