"""``devices=``: the search on several devices of this machine at once, each with the graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from motiflux.codegen.tails import device_tail
from motiflux.cpu.engine import formula_for
from motiflux.gpu.engine import DfsEngine, Evaluation, Found, Watching
from motiflux.gpu.kernels.tables import shares_roots
from motiflux.gpu.kernels.universal_vertex import Part
from motiflux.gpu.multi.rows import SeveralRows
from motiflux.gpu.multi.tables import SharedTables
from motiflux.gpu.multi.team import Team
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.ir import Formula, Searched
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS
from motiflux.request.deadline import OutOfTimeError
from motiflux.request.devices import names_of
from motiflux.request.engine import Engine
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource

if TYPE_CHECKING:
    from motiflux.gpu.runtime.search import DeviceSearch

_SLEEP = 50e-6
"""Between two looks at all devices."""
_LOOK_SECONDS = 0.05
"""Time between two reports of progress."""
_LIMIT_SECONDS = 1e-3
"""Time between two looks at what was found, where there is a limit."""


def open_several(request: Request, kind: str) -> Engine:
    """Return the engine for the devices asked for; of one it is that device's.

    Raises
    ------
    DeviceError
        Not all of them are there, or one cannot be used.
    """
    accelerators = [open_accelerator(name) for name in names_of(kind, request.devices)]
    accelerators[0].device.use()
    if len(accelerators) == 1:
        return DfsEngine(accelerators[0])
    return SeveralDevices(accelerators)


class SeveralDevices(DfsEngine):
    """Executes plans on several devices. What cannot be cut runs on the first of them."""

    def __init__(self, accelerators: Sequence[Accelerator]) -> None:
        super().__init__(accelerators[0])
        self._accelerators = accelerators
        self.device = ", ".join(accelerator.device.name for accelerator in accelerators)

    def _count_part(self, graph: Graph, part: Part, limit: int | None, watched: Watching) -> Found | None:
        request, deadline = watched.request, watched.deadline

        def make(accelerator: Accelerator) -> DeviceSearch:
            engine, devices = DfsEngine(accelerator), len(self._accelerators)
            return engine._counting(graph, part.plan, request, limit, deadline, devices, part)

        with Team(self._accelerators, make, graph, part.plan, request, deadline) as team:
            team.gather()
            team.launch()
            in_time = self._wait_for(team, limit, watched)
            team.stop()
            team.tell_time()
            if any(search.passed_128_bits() for search in team.searches):
                return None
            found = team.found()
        return Found(found, in_time and (limit is None or found <= limit))

    def _wait_for(self, team: Team, limit: int | None, watched: Watching) -> bool:
        """Wait until all devices are done, or enough was found; False if time ran out first."""
        progress, started, deadline = watched.request.progress, watched.started, watched.deadline
        next_look, next_report = started, started + _LOOK_SECONDS
        while not team.done():
            now = time.perf_counter()
            if deadline is not None and now >= deadline:
                return False
            if limit is not None and now >= next_look:
                next_look = now + _LIMIT_SECONDS
                if team.look()[2] > limit:
                    break
            if progress is not None and now >= next_report:
                next_report = now + _LOOK_SECONDS
                done, units, found = team.look()
                found = (watched.before + found) * watched.multiplier
                progress(ProgressReport(done, units, found, now - started))
            time.sleep(_SLEEP)
        return True

    def _start_tables(
        self,
        graph: Graph,
        formula: Formula,
        request: Request,
        deadline: float | None,
        search: Callable[[Searched], int],
    ) -> Evaluation:
        if not shares_roots(graph, formula):
            return super()._start_tables(graph, formula, request, deadline, search)
        return SharedTables(self._accelerators, graph, formula, request, deadline, search)

    def rows(self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float) -> RowSource:
        """Start an enumeration of at most ``request.limit`` rows."""
        if request.tuning["rows"] == "ring":  # there for comparisons, on the first device
            return super().rows(graph, plan, request, batch_rows, started)
        try:
            return SeveralRows(self._accelerators, graph, plan, request, batch_rows, started)
        except OutOfTimeError:
            return NoRows(complete=False)

    @property
    def first(self) -> str:
        """The name of the device that does what is not cut."""
        return self._accelerators[0].device.name


def sharing(engine: Engine, graph: Graph, plan: Plan, request: Request) -> str:
    """Return what of a count is to be said beside the reason for its engine."""
    if not isinstance(engine, SeveralDevices) or plan.impossible is not None:
        return ""
    formula = formula_for(plan, request, DEVICE_SPEEDS)
    if formula is not None and not shares_roots(graph, formula):
        return f"; {engine.first} alone: the tables that it comes from are not cut"
    if formula is None and plan.tail is not None and device_tail(plan) is None:
        return "; the CPU alone: kernels do not count this tail"
    return ""
