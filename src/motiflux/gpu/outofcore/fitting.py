"""``engine="auto"`` on GPUs: ``dfs``, and ``outofcore`` where that lacks memory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from motiflux import log
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.group import DeviceGroup
from motiflux.gpu.outofcore.search import OutOfCoreSearch
from motiflux.gpu.storage.device_csr import DeviceRows, resident
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.registry import OUT_OF_CORE
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource

WHY = "the graph and its search do not fit into the memory of the device: edges stay on the host"


class FittingEngine(DfsEngine):
    """Executes plans over rows that stay on the devices, or over rows of the host where memory is too short.

    A query that lacked memory once has its rows on the host from then on, until ``graph.forget()``.
    """

    def __init__(self, group: DeviceGroup) -> None:
        super().__init__(group)
        self._resident = DfsEngine(group)
        self._of_host = OutOfCoreSearch(group)

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
        if not graph.memo.knows(self._name(pattern, request)):
            return super().plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        found = self._of_host.plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        return None if found is None else replace(found, why=WHY)

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine of a plan's rows: of the device, or of the host."""
        return self._of_host if physical.engine == OUT_OF_CORE else self._resident

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Have the kernels of a plan compiled in the background; return whether compilation is over."""
        return self.executor(physical).begin(physical, request)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``, and the engine if rows stay on the host."""
        if self._is_tried_there(graph, physical, request):
            try:
                return self._resident.count(graph, physical, request, deadline)
            except DeviceMemoryError as error:
                self._note(graph, physical, request, error)
        plan = self._plan_of_host(graph, physical, request, deadline, counting=True)
        if plan is None:
            return Outcome(0, False)
        found = self._of_host.count(graph, plan, request, deadline)
        return replace(found, ran=self._ran())

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows; also return the engine, as `count` does."""
        if self._is_tried_there(graph, physical, request):
            try:
                return self._resident.rows(graph, physical, request, batch_rows, deadline)
            except DeviceMemoryError as error:
                self._note(graph, physical, request, error)
        plan = self._plan_of_host(graph, physical, request, deadline, counting=False)
        if plan is None:
            return NoRows(complete=False), self._ran()
        return self._of_host.rows(graph, plan, request, batch_rows, deadline)[0], self._ran()

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""
        return self.executor(physical).notes(graph, physical, request)

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        return self.executor(physical).predict(graph, physical, request)

    def _is_tried_there(self, graph: Graph, physical: PhysicalPlan, request: Request) -> bool:
        """Whether a plan is executed over rows on the device, as far as there is memory."""
        if physical.engine == OUT_OF_CORE:
            return False
        asked = physical.plan.asked
        return asked is None or not graph.memo.knows(self._name(asked, request))

    def _note(self, graph: Graph, physical: PhysicalPlan, request: Request, error: DeviceMemoryError) -> None:
        """Note that a query lacked memory, and free rows; raise the error if it cannot be planned anew."""
        asked = physical.plan.asked
        if asked is None:
            raise error
        log.ENGINE.info("%s: %s", WHY, error)
        graph.memo.get(self._name(asked, request), lambda: True)
        for accelerator in self.group.accelerators:  # the rows that did fit leave room for copies
            resident(graph, accelerator.device).forget(DeviceRows)

    def _plan_of_host(
        self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline, *, counting: bool
    ) -> PhysicalPlan | None:
        """Return the plan over rows of the host; None if time was up before there was one."""
        if physical.engine == OUT_OF_CORE:
            return physical
        assert physical.plan.asked is not None
        return self._of_host.plan(graph, physical.plan.asked, request, deadline, counting=counting)

    def _ran(self) -> Ran:
        return Ran(OUT_OF_CORE, self.device, WHY)

    def _name(self, pattern: Pattern, request: Request) -> Hashable:
        options = request.semantics, request.symmetry, request.gpu_memory, request.switches
        return "does not fit", self.device, options, pattern


def open_engine(names: Sequence[str]) -> FittingEngine:
    """Return the engine on devices of these names; raises `DeviceError`."""
    return FittingEngine(DeviceGroup.open(names))
