"""Which of ``dfs`` and phases counts a query faster, found out once its count is known.

Neither time can be predicted, so ``engine="auto"`` begins with ``dfs``. When a query has taken it as long as
tables of phases are expected to take, phases count the query too, behind ``dfs``. The answer is there by
then, so nothing depends on how this ends.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, replace

from motiflux import log
from motiflux.errors import InternalError, MotifluxError
from motiflux.gpu.pvm.engine import PvmEngine
from motiflux.gpu.pvm.row_tables import RowTables
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome
from motiflux.request.request import Request
from motiflux.units import seconds_text

_POOL, _MOST = "dfs or phases", 64
"""Name of the pool in the graph's memo, and its maximum number of queries."""
LEAST_SECONDS = 1e-3
"""A count that takes less is not noted: little can be gained."""
_CALLS, _RUNS = 2, 3
"""The call in which a query is tried at the earliest, and how often phases count it then."""
_START, _EACH = 0.3e-3, 40e-12
"""Seconds of a count in phases, and for each embedding: what 130 queries took on an H200, within a factor of
three where no closed form helps."""
_TAKEN = 0.9
"""Phases are taken if they take at most this share of the time of ``dfs``."""
_TABLES = 60e-9
"""Seconds for the first tables, for each arc of the graph; others take less than a call of `dfs`."""
_ROOM = 10.0
"""A call with a time limit has this multiple of the expected time left, or does not try."""
_LONGEST, _COPIES = 10.0, 0.5
"""A try is given up after this multiple of the expected time, and seconds for copies to the device."""


@dataclass(slots=True)
class Comparison:
    """What calls have shown of a query.

    Parameters
    ----------
    calls, spent
        Counts by ``dfs``, and their seconds.
    phases
        The plan of phases; None: not made yet.
    faster
        Whether phases count it; None: not known.
    why
        The reason, in words.
    """

    calls: int = 0
    spent: float = 0.0
    phases: PhysicalPlan | None = None
    faster: bool | None = None
    why: str = ""

    @classmethod
    def known(cls, graph: Graph, name: Hashable) -> Comparison | None:
        """Return the comparison of a query; None if ``dfs`` did not count it yet."""
        found: Comparison | None = graph.memo.recent(_POOL, name)
        return found

    @classmethod
    def of(cls, graph: Graph, name: Hashable) -> Comparison:
        """Return the comparison of a query, kept with the graph."""
        if (found := cls.known(graph, name)) is None:
            found = cls()
            graph.memo.store(_POOL, name, found, _MOST)
        return found

    @property
    def chosen(self) -> PhysicalPlan | None:
        """The plan of phases, if they count the query faster; None if ``dfs`` counts it."""
        return self.phases if self.faster else None

    def note(
        self,
        engine: PvmEngine,
        graph: Graph,
        pattern: Pattern,
        request: Request,
        deadline: Deadline,
        found: Outcome,
        seconds: float,
    ) -> None:
        """Note a count by ``dfs``, and compare with phases if that is due."""
        self.calls += 1
        self.spent += seconds
        if (
            self.faster is not None
            or not found.complete
            or not self._is_due(graph, request, deadline, found, seconds)
        ):
            return
        try:
            phases = self._phases(engine, graph, pattern, request, deadline)
            if phases is not None:
                self._try(engine, graph, phases, request, deadline, found, seconds)
        except InternalError:
            raise
        except MotifluxError as error:
            log.ENGINE.info("phases are not tried again: %s", error)
            self.faster = False

    def give_up(self) -> None:
        """Have ``dfs`` count the query from now on."""
        self.faster, self.phases = False, None

    def _is_due(
        self, graph: Graph, request: Request, deadline: Deadline, found: Outcome, seconds: float
    ) -> bool:
        """Whether phases may gain something, and a try takes no more than the query took so far."""
        if self.calls < _CALLS or request.limit is not None:
            return False
        tables = _tables_seconds(graph)
        if _START + _EACH * found.value > seconds or tables > self.spent:
            return False
        needed = _ROOM * (tables + seconds) + _COPIES
        return request.timeout is None or request.timeout - deadline.elapsed() > needed

    def _phases(
        self, engine: PvmEngine, graph: Graph, pattern: Pattern, request: Request, deadline: Deadline
    ) -> PhysicalPlan | None:
        """Return the plan of phases, once its kernels are compiled; None until then, or if it has none."""
        phases = self.phases
        if phases is None:
            phases = self.phases = engine.plan_beside(graph, pattern, request, _whole(deadline, request))
            if phases is None:
                self.faster = False
                return None
        return phases if engine.is_compiled(graph, phases, request) else None

    def _try(
        self,
        engine: PvmEngine,
        graph: Graph,
        phases: PhysicalPlan,
        request: Request,
        deadline: Deadline,
        found: Outcome,
        seconds: float,
    ) -> None:
        """Count in phases, and take the faster engine.

        The first time makes tables, and the second one may allocate larger frontiers.
        """
        longest = _LONGEST * (_tables_seconds(graph) + seconds) + _COPIES
        within = _whole(deadline, request).within(longest)
        times = []
        for _ in range(_RUNS):
            began = time.perf_counter()
            again = engine.count(graph, phases, replace(request, progress=None), within)
            times.append(time.perf_counter() - began)
            if not again.complete:
                self.faster = False
                return
            if again.value != found.value:
                raise InternalError(
                    f"count of {phases.plan.asked}: expected {found.value} in phases as by the engine 'dfs', "
                    f"found {again.value}; please report this graph and pattern"
                )
        taken = min(times[1:])
        self.faster = taken < _TAKEN * seconds
        self.why = f"phases took {seconds_text(taken)} in an earlier call, 'dfs' {seconds_text(seconds)}"
        log.ENGINE.info("count of %s: %s", phases.plan.asked, self.why)


def _whole(deadline: Deadline, request: Request) -> Deadline:
    """Return the deadline of the whole call: a choice between devices gives each of them less."""
    return Deadline.after(request.timeout, deadline.started)


def _tables_seconds(graph: Graph) -> float:
    """Return the expected seconds for tables of a graph that are not made yet."""
    if RowTables.of(graph).are_divided:
        return 0.0
    return _TABLES * (graph.forward.num_arcs + (graph.reverse.num_arcs if graph.directed else 0))
