"""A GPU that is made up, for tests of how `device="auto"` chooses."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import motiflux as mf
from motiflux.cpu.engine import CpuEngine
from motiflux.dispatch.auto import AutoEngine
from motiflux.dispatch.gpu_probe import Gpu
from motiflux.dispatch.planning import plan_for
from motiflux.dispatch.runtime_history import RuntimeHistory
from motiflux.errors import DeviceMemoryError
from motiflux.request.costs import HostWork
from motiflux.request.engine import Engine, Outcome
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
    parts_cost = 2.0
    searchers = 20_000
    shares_passes = False

    def __init__(
        self, seconds: float = 0.0, error: Exception | None = None, answer: int | None = None
    ) -> None:
        self.seconds, self.error, self.answer = seconds, error, answer
        self.calls = 0
        self.ended = threading.Event()

    def count(self, graph: Any, plan: Any, request: Request, started: float) -> Outcome:
        self.calls += 1
        try:
            end = time.perf_counter() + self.seconds
            while time.perf_counter() < end:
                if request.timeout is not None and time.perf_counter() >= started + request.timeout:
                    return Outcome(0, False)
                if request.check is not None:
                    request.check()
                if request.progress is not None:
                    request.progress(ProgressReport(1, 100, 1, 0.0))
                time.sleep(0.002)
            if self.error is not None:
                raise self.error
            if self.answer is not None:
                return Outcome(self.answer, True)
            return super().count(graph, plan, request, started)
        finally:
            self.ended.set()

    def rows(self, graph: Any, plan: Any, request: Request, batch_rows: int, started: float) -> Any:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return super().rows(graph, plan, request, batch_rows, started)


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

    def why_not(self) -> str | None:
        return self.absent

    def is_open(self) -> bool:
        return self.opened

    def seconds(self, work: HostWork | None, graph: mf.Graph, *, new: bool = False) -> float:
        if work is None:
            return 0.0
        return self.expected + (self.more_at_first if new else 0.0)

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
    started = time.perf_counter()
    plan = plan_for(graph, pattern, request, engine, started)
    assert plan is not None
    if again:
        graph.memo.get(("met", id(plan), request.threads), lambda: RuntimeHistory(plan)).times += 1
    outcome = engine.count(graph, plan, request, started)
    assert outcome.ran is not None
    return outcome, outcome.ran.engine, outcome.ran.why


def asking(**options: Any) -> Request:
    given = {"semantics": "isomorphism", "symmetry": "embeddings", "threads": 1, **options}
    return make_request(**given)
