"""Tasks of a listing: what differs between graphs that fit a node, on CPUs and on GPUs, and sharded ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from motiflux.cluster.case_tasks import QueryListing, empty_file, rows_of_cases, write_cases
from motiflux.cluster.digests import digest_of
from motiflux.cluster.shares import Share
from motiflux.cluster.tasks import (
    Bounds,
    Columns,
    Done,
    native_search,
    parquet_of,
    plain,
    rows_of_groups,
    rows_of_share,
    write_groups,
    write_share,
)
from motiflux.cpu.projection import prepare_rows
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.request import Request

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers


class RowTasks(Protocol):
    """Starts tasks that list the rows of shares."""

    units: int
    """Number of root arcs, or of entries in their place."""
    columns: Any
    """The pattern and the columns of files."""
    images: int
    """The most rows that one found stands for: its images under automorphisms."""

    def rows(self, name: str, share: Share, bounds: Bounds) -> Any:
        """Start a task that returns rows."""

    def file(self, name: str, share: Share, bounds: Bounds, folder: str, file: str) -> Any:
        """Start a task that writes rows into a file."""

    def renew(self) -> None:
        """Share the graph again."""

    def digest(self) -> str:
        """Return a digest of what the rows of a share depend on, beside the plan."""

    def empty_file(self) -> bytes:
        """Return a file without rows."""


def rows_of_task(rows: int, tasks: RowTasks) -> int:
    """Return the number of rows, without their images, after which a task ends: with them about `rows`."""
    return max(1, rows // tasks.images)


def images_of_plan(plan: Plan) -> int:
    """Return the number of rows that one found stands for."""
    return max(1, len(plan.images))


class WholeRows:
    """Listings of a graph that fits a node.

    Parameters
    ----------
    columns
        The columns of files; None for a listing without files.

    Attributes
    ----------
    slots
        Number of tasks that can run at a time.
    """

    lists: Callable[..., Done] = staticmethod(rows_of_share)
    writes: Callable[..., Done] = staticmethod(write_share)

    def __init__(
        self, workers: Workers, graph: Graph, plan: Any, request: Request, columns: Columns | None = None
    ) -> None:
        self._workers, self._graph = workers, graph
        self.plan, self.slots, self.images = plan, workers.slots, self._images(plan)
        self.units = self._root_arcs(graph, plan, request)
        self._content: Any = (plan, plain(request))
        self._job: Any = None
        self.columns = columns

    def _root_arcs(self, graph: Graph, plan: Plan, request: Request) -> int:
        return 0 if plan.impossible is not None else native_search(graph, plan, request).units

    def _images(self, plan: Any) -> int:
        return images_of_plan(plan)

    def rows(self, name: str, share: Share, bounds: Bounds) -> Any:
        """Start a task that returns rows."""
        return self._workers.submit(self.lists, name, self._shared(), share, bounds, cpus=1)

    def file(self, name: str, share: Share, bounds: Bounds, folder: str, file: str) -> Any:
        """Start a task that writes rows into a file."""
        given = (self._shared(), share, bounds, folder, file, self.columns)
        return self._workers.submit(self.writes, name, *given, cpus=1)

    def renew(self) -> None:
        """Share the graph again."""
        self._job = self._new_job(again=True)

    def _shared(self) -> Any:
        if self._job is None:
            self._job = self._new_job()
        return self._job

    def _new_job(self, *, again: bool = False) -> Any:
        plan = self.plan if isinstance(self.plan, Plan) else None
        return self._workers.job(self._graph, self._content, self.units, plan=plan, again=again)

    def digest(self) -> str:
        """Return a digest of the graph."""
        return digest_of(self._graph)

    def empty_file(self) -> bytes:
        """Return a file without rows."""
        assert self.columns is not None
        return parquet_of(self._graph, self.columns, [])[1]


class GroupRows(WholeRows):
    """Distinct rows of a pattern: shares have different ones, as the plan's first vertex is returned.

    The plan is a `motiflux.plan.projection.ProjectedPlan`.
    """

    lists = staticmethod(rows_of_groups)
    writes = staticmethod(write_groups)

    def _root_arcs(self, graph: Graph, plan: Any, request: Request) -> int:
        return 0 if plan.plan.impossible is not None else prepare_rows(graph, plan, request).units

    def _images(self, plan: Any) -> int:
        return 1


class CaseRows(WholeRows):
    """Rows of a query: its plan is a `motiflux.cluster.case_tasks.QueryListing`."""

    lists = staticmethod(rows_of_cases)
    writes = staticmethod(write_cases)

    def __init__(
        self, workers: Workers, graph: Graph, listing: QueryListing, request: Request, columns: Columns
    ) -> None:
        super().__init__(workers, graph, listing, request, columns)
        plans = [one.plan for one in listing.cases]
        self.plan = request.semantics.value, request.symmetry.value, plans

    def _root_arcs(self, graph: Graph, plan: Any, request: Request) -> int:
        units: int = plan.units
        return units

    def _images(self, plan: Any) -> int:
        return max((images_of_plan(one.plan) for one in plan.cases), default=1)

    def empty_file(self) -> bytes:
        """Return a file without rows."""
        return empty_file(self._graph, *self._content)


class GpuRows(WholeRows):
    """The same, by tasks that have one GPU each.

    Parameters
    ----------
    kind
        The kind of device: ``"cuda"``.
    """

    def __init__(
        self,
        workers: Workers,
        graph: Graph,
        plan: Plan,
        request: Request,
        kind: str,
        columns: Columns | None = None,
    ) -> None:
        super().__init__(workers, graph, replace(plan, copy_walk=None), request, columns)
        self._kind, self.slots = kind, workers.gpus

    def _new_job(self, *, again: bool = False) -> Any:  # GPUs narrow rows themselves
        return self._workers.job(self._graph, self._content, self.units, again=again)

    def rows(self, name: str, share: Share, bounds: Bounds) -> Any:
        """Start a task that returns rows."""
        from motiflux.cluster.gpu_listing import rows_on_gpu

        given = (self._shared(), self._kind, share, bounds)
        return self._workers.submit(rows_on_gpu, name, *given, on_gpu=True)

    def file(self, name: str, share: Share, bounds: Bounds, folder: str, file: str) -> Any:
        """Start a task that writes rows into a file."""
        from motiflux.cluster.gpu_listing import write_rows_on_gpu

        given = (self._shared(), self._kind, share, bounds, folder, file, self.columns)
        return self._workers.submit(write_rows_on_gpu, name, *given, on_gpu=True)

    def digest(self) -> str:
        """Return a digest of the graph, and the kind of device: CPUs end tasks elsewhere."""
        return f"{super().digest()}, on {self._kind}"
