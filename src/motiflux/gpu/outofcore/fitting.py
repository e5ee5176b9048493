"""``engine="auto"`` on GPUs: ``dfs``, or ``pvm`` if that was faster; others where memory is short."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import replace

from motiflux import log
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.group import DeviceGroup
from motiflux.gpu.outofcore.search import OutOfCoreSearch
from motiflux.gpu.pvm import comparison
from motiflux.gpu.pvm.comparison import Comparison
from motiflux.gpu.pvm.engine import PvmEngine
from motiflux.gpu.storage.device_csr import DeviceRows, resident
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.physical import Family, PhysicalPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.registry import OUT_OF_CORE, PHASES
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource

WHY = {
    OUT_OF_CORE: "the graph and its search do not fit into the memory of the device: edges stay on the host",
    PHASES: "the graph and its search do not fit into the memory of the device: it has the edges of one label"
    " at a time",
}
"""The reason for an engine that is taken where memory is too short."""


class FittingEngine(DfsEngine):
    """Executes plans over rows that stay on the devices, or by another engine where memory is too short.

    Counts of a query that phases were found to count faster are theirs (`Comparison`).

    That is ``pvm``, if `motiflux.gpu.pvm.choice` prefers phases, and ``outofcore`` if not, or if that lacks
    memory too. A query that lacked memory once is executed by the same engine from then on, until
    ``graph.forget()``.
    """

    def __init__(self, group: DeviceGroup) -> None:
        super().__init__(group)
        self._resident = DfsEngine(group)
        self._in_phases = PvmEngine(group)
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
        name = self._name(pattern, request)
        if not graph.memo.knows(name):
            if counting and not beside and (learned := self._learned(graph, name, request)) is not None:
                return learned
            return super().plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        engine: Engine = self._substitute(graph, name)
        found = engine.plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        if found is not None and found.engine != engine.name:  # phases are handed over
            engine = self._of_host
            found = engine.plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        return None if found is None else replace(found, why=WHY[engine.name])

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine that executes a plan."""
        engines: tuple[Engine, ...] = (self._of_host, self._in_phases)
        return next((engine for engine in engines if engine.name == physical.engine), self._resident)

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Have the kernels of a plan compiled in the background; return whether compilation is over."""
        return self.executor(physical).begin(physical, request)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``, and the engine if it is not ``dfs``."""
        while True:
            plan = self._current(graph, physical, request, deadline, counting=True)
            if plan is None:
                return Outcome(0, False)
            engine, began = self.executor(plan), time.perf_counter()
            try:
                found = engine.count(graph, plan, request, deadline)
            except DeviceMemoryError as error:
                self._note(graph, plan, request, deadline, error)
                continue
            if engine is self._resident:
                self._compare(graph, plan, request, deadline, found, time.perf_counter() - began)
            return replace(found, ran=found.ran or self._ran(engine, plan))

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows; also return the engine, as `count` does."""
        while True:
            plan = self._current(graph, physical, request, deadline, counting=False)
            if plan is None:
                return NoRows(complete=False), None
            engine = self.executor(plan)
            try:
                source, ran = engine.rows(graph, plan, request, batch_rows, deadline)
                return source, ran or self._ran(engine, plan)
            except DeviceMemoryError as error:
                self._note(graph, plan, request, deadline, error)

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""
        return self.executor(physical).notes(graph, physical, request)

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        return self.executor(physical).predict(graph, physical, request)

    def _current(
        self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline, *, counting: bool
    ) -> PhysicalPlan | None:
        """Return a plan of the engine that the query is noted for: `physical`, if it is that engine's.

        None if time was up before there was one.
        """
        asked = physical.plan.asked
        if asked is None:
            return physical
        if not graph.memo.knows(name := self._name(asked, request)):
            learned = self._learned(graph, name, request) if counting else None
            if learned is None and physical.engine == PHASES:
                return self.plan(graph, asked, request, deadline, counting=counting)
            return learned or physical
        if self._substitute(graph, name).name == physical.engine:
            return physical
        return self.plan(graph, asked, request, deadline, counting=counting)

    def _compare(
        self,
        graph: Graph,
        physical: PhysicalPlan,
        request: Request,
        deadline: Deadline,
        found: Outcome,
        seconds: float,
    ) -> None:
        """Note a count by ``dfs``: if it searched, phases may count the query faster."""
        if seconds < comparison.LEAST_SECONDS:  # a short call has no time for names and look-ups
            return
        asked = physical.plan.asked
        if asked is None or not physical.stages or physical.stages[0].family is not Family.SEARCH:
            return
        known = Comparison.of(graph, self._name(asked, request))
        known.note(self._in_phases, graph, asked, request, deadline, found, seconds)

    def _learned(self, graph: Graph, name: Hashable, request: Request) -> PhysicalPlan | None:
        """Return the plan of phases of a query that they count faster; None if ``dfs`` counts it."""
        known = None if request.limit is not None else Comparison.known(graph, name)
        if known is None or (chosen := known.chosen) is None:
            return None
        return replace(chosen, why=known.why)

    def _substitute(self, graph: Graph, name: Hashable) -> PvmEngine | OutOfCoreSearch:
        """Return the engine that is noted for a query."""
        noted: str = graph.memo.get(name, lambda: OUT_OF_CORE)
        return self._in_phases if noted == PHASES else self._of_host

    def _note(
        self,
        graph: Graph,
        physical: PhysicalPlan,
        request: Request,
        deadline: Deadline,
        error: DeviceMemoryError,
    ) -> None:
        """Note the engine of a query for which an engine lacked memory, and free rows.

        Raise the error if no engine is left, or the query cannot be planned anew.
        """
        asked = physical.plan.asked
        if asked is None or physical.engine == OUT_OF_CORE:
            raise error
        known = Comparison.known(graph, self._name(asked, request))
        if known is not None and physical.engine == PHASES and known.faster:  # the rows of `dfs` did fit
            known.give_up()
            return
        error.with_traceback(None)  # it must not hold rows
        for accelerator in self.group.accelerators:  # the rows that did fit leave room
            resident(graph, accelerator.device).forget(DeviceRows)
        fits = physical.engine != PHASES and self._in_phases.is_preferred(graph, asked, request, deadline)
        engine, name = PHASES if fits else OUT_OF_CORE, self._name(asked, request)
        log.ENGINE.info("%s: %s", WHY[engine], error)
        graph.memo.drop(name)
        graph.memo.get(name, lambda: engine)

    def _ran(self, engine: Engine, physical: PhysicalPlan) -> Ran | None:
        return Ran(engine.name, self.device, physical.why) if engine.name in WHY else None

    def _name(self, pattern: Pattern, request: Request) -> Hashable:
        options = request.semantics, request.symmetry, request.gpu_memory, request.switches
        return "does not fit", self.device, options, pattern


def open_engine(names: Sequence[str]) -> FittingEngine:
    """Return the engine on devices of these names; raises `DeviceError`."""
    return FittingEngine(DeviceGroup.open(names))


plan_ahead = FittingEngine.plan_ahead
