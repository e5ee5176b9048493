"""``engine="dfs"``: depth-first search on a device by groups of lanes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from motiflux.codegen.kernels import Goal
from motiflux.engine.accelerator import Accelerator
from motiflux.engine.base import Outcome, Request
from motiflux.engine.deadline import OutOfTimeError
from motiflux.engine.device_memory import device_bytes
from motiflux.engine.device_search import DeviceSearch
from motiflux.engine.prepare import prepare
from motiflux.engine.results import NoRows, ProgressReport, RowSource
from motiflux.engine.ring_rows import RingRows
from motiflux.engine.stored_rows import StoredRows
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.predict import distinct_keys, expected_count, narrowed_bytes
from motiflux.plan.report import MemoryReport, Prediction

_SPIN_SECONDS = 300e-6
"""How long a thread asks again and again whether a kernel is done, before it sleeps in between."""
_LONGEST_SLEEP = 2e-3
_LOOK_SECONDS = 0.05
"""Time between two looks at how far a search is."""


class DfsEngine:
    """Executes plans on a device, over copies of the graph's rows that stay there."""

    name = "dfs"
    searches_space = False
    counts_tails = False
    counts_parts = False
    counts_tables = False
    tells_sizes = False
    shares_passes = False

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self.device = accelerator.device.name

    def count(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``."""
        deadline = _deadline(request, started)
        # total * multiplier > limit exactly when total > limit // multiplier.
        limit = None if request.limit is None else request.limit // plan.multiplier
        try:
            search = prepare(self._accelerator, graph, plan, request, Goal.COUNT, limit, deadline)
        except OutOfTimeError:
            return Outcome(0, False)
        with search:
            search.launch()
            in_time = self._watch(search, plan, request, started, deadline)
            total = search.found() * plan.multiplier
            complete = in_time and not search.was_limited()
        if request.limit is not None and total > request.limit:
            return Outcome(request.limit, False)
        return Outcome(total, complete)

    def count_together(
        self, graph: Graph, plans: Sequence[Plan], request: Request, started: float
    ) -> list[Outcome]:
        """Return the count of each plan; it takes a pass for each."""
        return [self.count(graph, plan, request, started) for plan in plans]

    def rows(self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float) -> RowSource:
        """Start an enumeration of at most ``request.limit`` rows."""
        deadline = _deadline(request, started)
        goal, source = (Goal.LIST, RingRows) if request.tuning["rows"] == "ring" else (Goal.STORE, StoredRows)
        try:
            search = prepare(self._accelerator, graph, plan, request, goal, None, deadline)
        except OutOfTimeError:
            return NoRows(complete=False)
        return source(search, plan, request, batch_rows, started, deadline)

    def predict(self, graph: Graph, plan: Plan, request: Request) -> Prediction:
        """Return what a count will give and take, without searching: no time, which was never measured."""
        memory = MemoryReport(
            rows=sum(narrowed_bytes(graph, key) for key in distinct_keys(plan)),
            search=0,
            device=device_bytes(self._accelerator.device, graph, plan, request),
        )
        count = expected_count(plan, request.limit)
        return Prediction(count, None, request.threads, memory, note="there is no model of times on a GPU")

    def _watch(
        self, search: DeviceSearch, plan: Plan, request: Request, started: float, deadline: float | None
    ) -> bool:
        """Wait for the end of a search; False if time ran out first."""
        next_look = started + _LOOK_SECONDS
        for now in _moments():
            if search.done():
                return True
            if deadline is not None and now >= deadline:
                search.stop_and_wait()
                return False
            if now >= next_look and request.progress is not None:
                next_look = now + _LOOK_SECONDS
                if (seen := search.look()) is not None:
                    done, total, found = seen
                    request.progress(ProgressReport(done, total, found * plan.multiplier, now - started))
        raise AssertionError


def _deadline(request: Request, started: float) -> float | None:
    return None if request.timeout is None else started + request.timeout


def _moments() -> Iterator[float]:
    """Give the time again and again: at once at first, then after longer and longer sleeps."""
    start = now = time.perf_counter()
    while True:
        yield now
        waited = now - start
        if waited > _SPIN_SECONDS:
            time.sleep(min(_LONGEST_SLEEP, waited / 10))
        now = time.perf_counter()
