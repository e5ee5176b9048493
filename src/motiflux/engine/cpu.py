"""``engine="cpu"``: the native search."""

from __future__ import annotations

import time

from motiflux.cpu import native
from motiflux.engine.base import Outcome, ProgressCallback, Request
from motiflux.engine.results import ProgressReport, RowSource
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.predict import expected_count, expected_seconds, host_memory
from motiflux.plan.report import Prediction
from motiflux.types import VertexArray


class CpuEngine:
    """Native depth-first search on the threads of this machine."""

    name = "cpu"
    device = "cpu"
    searches_space = True
    counts_tails = True
    tells_sizes = True

    def count(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``."""
        search = _prepare(graph, plan, request)
        # total * multiplier > limit exactly when total > limit // multiplier.
        limit = None if request.limit is None else request.limit // plan.multiplier
        total, stop, sizes = native.count(
            search,
            threads=request.threads,
            limit=limit,
            timeout=_remaining(request.timeout, started),
            progress=_callback(request.progress, plan.multiplier, started),
        )
        total *= plan.multiplier
        enumerated = tuple(sizes if plan.tail is None else sizes[: plan.tail.start])
        if request.limit is not None and total > request.limit:
            return Outcome(request.limit, False, enumerated)
        return Outcome(total, stop is native.Stop.NONE, enumerated)

    def rows(self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float) -> RowSource:
        """Start an enumeration of at most ``request.limit`` rows."""
        search = _prepare(graph, plan, request)
        rows = native.Rows(
            search,
            threads=request.threads,
            block_rows=batch_rows,
            limit=request.limit,
            timeout=_remaining(request.timeout, started),
        )
        return _CpuRows(rows, _callback(request.progress, 1, started))

    def predict(self, graph: Graph, plan: Plan, request: Request) -> Prediction:
        """Return what a count will give and take, without searching."""
        seconds = expected_seconds(plan, request.threads, request.limit)
        return Prediction(
            count=expected_count(plan, request.limit),
            seconds=seconds,
            threads=request.threads,
            memory=host_memory(graph, plan, request.threads),
            note="nothing was sampled" if seconds is None else None,
        )


def _prepare(graph: Graph, plan: Plan, request: Request) -> native.Search:
    return native.prepare(graph, plan, intersect=request.tuning["intersect"], threads=request.threads)


class _CpuRows:
    def __init__(self, rows: native.Rows, progress: native.Progress | None) -> None:
        self._rows = rows
        self._progress = progress

    def next(self) -> VertexArray | None:
        return self._rows.next(self._progress)

    def close(self) -> None:
        self._rows.close()

    @property
    def complete(self) -> bool:
        return self._rows.stop is native.Stop.NONE


def _remaining(timeout: float | None, started: float) -> float | None:
    return None if timeout is None else max(0.0, timeout - (time.perf_counter() - started))


def _callback(report: ProgressCallback | None, multiplier: int, started: float) -> native.Progress | None:
    if report is None:
        return None

    def progress(done: int, total: int, found: int) -> None:
        report(ProgressReport(done, total, found * multiplier, time.perf_counter() - started))

    return progress
