"""Projections on the CPU: rows of the images of some query vertices, each once, counted or listed."""

from __future__ import annotations

from motiflux import _native
from motiflux.cpu import native
from motiflux.graph import Graph
from motiflux.plan.native_plan import native_problem
from motiflux.plan.projection import ProjectedPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource
from motiflux.types import VertexArray


def count_rows(graph: Graph, plan: ProjectedPlan, request: Request, deadline: Deadline) -> Outcome:
    """Return the number of rows, at most ``request.limit``; without columns, 1 if there is a match."""
    if plan.plan.impossible is not None:
        return Outcome(0, True)
    total, reason = _native.count_rows(
        prepare_rows(graph, plan, request),
        native_projection(plan, request),
        request.threads,
        native.native_limit(request.limit),
        deadline.left(),
        _progress(request, deadline),
    )
    if not plan.projection.returned and total:
        return Outcome(1, True)
    if request.limit is not None and total > request.limit:
        return Outcome(request.limit, False)
    return Outcome(total, native.Stop(reason) is native.Stop.NONE)


def list_rows(
    graph: Graph, plan: ProjectedPlan, request: Request, batch_rows: int, deadline: Deadline
) -> RowSource:
    """Start a listing of at most ``request.limit`` rows."""
    if plan.plan.impossible is not None:
        return NoRows(complete=True)
    rows = native.Rows(
        prepare_rows(graph, plan, request),
        (),
        threads=request.threads,
        block_rows=batch_rows,
        limit=request.limit,
        timeout=deadline.left(),
        projection=native_projection(plan, request),
    )
    return _ProjectedRows(rows, _progress(request, deadline))


class _ProjectedRows:
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


def native_projection(plan: ProjectedPlan, request: Request) -> native.Projection:
    """Return the projection for the native search of its plan."""
    return *plan.native, request.tuning["witness"] == "first"


def prepare_rows(graph: Graph, plan: ProjectedPlan, request: Request) -> _native.NativePlan:
    """Return the native search of the rows of a projection."""
    tuning = request.tuning
    return native_problem(
        graph,
        plan.plan,
        intersect=tuning["intersect"],
        simd=tuning["simd"],
        threads=request.threads,
        backjump=tuning["backjump"],
        again=True,
    )


def _progress(request: Request, deadline: Deadline) -> native.Progress | None:
    report = request.progress
    if report is None:
        return None

    def progress(done: int, total: int, found: int) -> None:
        report(ProgressReport(done, total, found, deadline.elapsed()))

    return progress
