"""A GPU that is made up, for tests of how `device="auto"` chooses."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import motiflux as mf
from motiflux.cpu.engine import CpuEngine
from motiflux.dispatch.auto import AutoEngine
from motiflux.dispatch.gpu_probe import Gpu
from motiflux.dispatch.prepared_query import PreparedQuery, keep_query
from motiflux.errors import DeviceMemoryError
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.costs import HostWork
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request, make_request

ENDLESS = 3600.0
NO_MEMORY = DeviceMemoryError("a copy of the graph", 100, 10, "free some")


class FakeEngine(CpuEngine):
    """The CPU under another name, with the abilities of a GPU engine, which takes so many seconds more.

    It may be told the answer instead, or fail.
    """

    name = "fake"
    device = "fake"
    capabilities = replace(CpuEngine.capabilities, parts_cost=2.0, searchers=20_000, shares_passes=False)

    def __init__(
        self, seconds: float = 0.0, error: Exception | None = None, answer: int | None = None
    ) -> None:
        self.seconds, self.error, self.answer = seconds, error, answer
        self.calls = self.begun = 0
        self.compiled = True
        self.compiler_error: Exception | None = None
        self.ended = threading.Event()

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        self.begun += 1
        if self.compiler_error is not None:
            raise self.compiler_error
        return self.compiled

    def count(self, graph: Any, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        self.calls += 1
        try:
            end = time.perf_counter() + self.seconds
            while time.perf_counter() < end:
                if deadline.passed:
                    return Outcome(0, False)
                if request.progress is not None:
                    request.progress(ProgressReport(1, 100, 1, 0.0))
                time.sleep(0.002)
            if self.error is not None:
                raise self.error
            if self.answer is not None:
                return Outcome(self.answer, True)
            return super().count(graph, physical, request, deadline)
        finally:
            self.ended.set()

    def rows(self, graph: Any, physical: Any, request: Any, batch_rows: int, deadline: Any) -> Any:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return super().rows(graph, physical, request, batch_rows, deadline)


@dataclass
class FakeGpu:
    """A GPU that is expected to take so many seconds."""

    made: Engine
    expected: float
    opened: bool = True
    absent: str | None = None
    error: Exception | None = None
    openings: int = 0
    more_at_first: float = 0.0
    ready: float = 0.0
    compile_seconds: float = 0.0
    on_host: bool = False
    asked: list[HostWork] = field(default_factory=list)

    def why_not(self) -> str | None:
        return self.absent

    def is_open(self) -> bool:
        return self.opened

    def seconds(self, work: HostWork | None, graph: mf.Graph, *, new: bool = False) -> float:
        if work is None:
            return self.ready
        self.asked.append(work)
        return self.ready + self.expected + (self.more_at_first if new else 0.0)

    def stays_on_host(self, graph: mf.Graph, gpu_memory: int | None) -> bool:
        return self.on_host

    def engine(self) -> Engine:
        self.openings += 1
        if self.error is not None:
            raise self.error
        self.opened = True
        return self.made


def counted(
    gpu: Gpu,
    graph: mf.Graph,
    pattern: mf.Pattern,
    host: Engine | None = None,
    *,
    again: bool = False,
    **options: Any,
) -> tuple[Outcome, str, str]:
    """Return the count as auto finds it, of a query that comes again or not, the engine and the reason."""
    request = asking(**options)
    engine = AutoEngine(host or CpuEngine(), gpu)
    deadline = Deadline.after(request.timeout)
    if again:
        keep(graph, pattern, request, engine)
    physical = engine.plan(graph, pattern, request, deadline)
    assert physical is not None
    outcome = engine.count(graph, physical, request, deadline)
    assert outcome.ran is not None
    return outcome, outcome.ran.engine, outcome.ran.why


def keep(graph: mf.Graph, pattern: mf.Pattern, request: Request, engine: Engine, **state: Any) -> None:
    """Have a query be known to the graph."""
    physical = CpuEngine().plan(graph, pattern, request, Deadline.after(None))
    assert physical is not None
    keep_query(graph, pattern, request, PreparedQuery(engine, physical, Ran("cpu", "cpu", ""), **state))


def plans_of(
    engine: Engine, graph: mf.Graph, patterns: Sequence[mf.Pattern], request: Request
) -> list[PhysicalPlan]:
    """Return the plan of each pattern."""
    planned = [engine.plan(graph, pattern, request, Deadline.after(None)) for pattern in patterns]
    return [physical for physical in planned if physical is not None]


def asking(**options: Any) -> Request:
    given = {"semantics": "isomorphism", "symmetry": "embeddings", "threads": 1, **options}
    return make_request(**given)
