"""Listings of sharded graphs: batches and files of rows that tasks return in ids of the graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

from motiflux.api.listing import LateRows
from motiflux.api.matching import DEFAULT_BATCH_ROWS, MAX_BATCH_ROWS, WithBar
from motiflux.arguments import check_integer
from motiflux.cluster.jobs import RowJob, WrittenRows, run_jobs
from motiflux.cluster.rows import ClusterRows
from motiflux.cluster.shards.columns import ColumnsOfIds, IdColumns, parquet_of_ids
from motiflux.cluster.shards.counting import job_of
from motiflux.cluster.shards.planning import plan_search
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.search import Ranged
from motiflux.cluster.shards.store import digest_of_shards
from motiflux.cluster.shards.tasks import ShardJob, rows_of_range, write_range
from motiflux.cluster.shares import Share
from motiflux.cluster.tasks import Bounds, Done
from motiflux.errors import ArgumentError, ClusterError
from motiflux.pattern import Pattern
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.request.deadline import Deadline
from motiflux.request.progress import FoundSoFar, progress_callback
from motiflux.request.request import make_request
from motiflux.result.matches import Matches
from motiflux.result.rows import NoRows, RowSource

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers


class ShardedRows:
    """Tasks of a listing of a sharded graph; see `motiflux.cluster.row_tasks.RowTasks`.

    Parameters
    ----------
    kind
        The kind of device of which each task has one; None: tasks list on CPUs.
    """

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        found: Ranged,
        columns: IdColumns,
        kind: str | None = None,
    ) -> None:
        self._workers, self._graph, self._found, self._kind = workers, graph, found, kind
        self.columns, self.slots = columns, workers.slots_on(kind)
        self.units = 0 if found.plan.impossible is not None else graph.layout.entries

    @cached_property
    def _job(self) -> ShardJob:
        return job_of(self._workers, self._graph, self._found)

    def rows(self, name: str, share: Share, bounds: Bounds) -> Any:
        """Start a task that returns rows."""
        return self._submit(rows_of_range, name, share, bounds, self._kind)

    def file(self, name: str, share: Share, bounds: Bounds, folder: str, file: str) -> Any:
        """Start a task that writes rows into a file."""
        return self._submit(write_range, name, share, bounds, folder, file, self.columns, self._kind)

    def _submit(self, function: Callable[..., Done], name: str, *given: Any) -> Any:
        on_gpu = self._kind is not None
        return self._workers.submit(
            function, name, self._job, *given, cpus=None if on_gpu else 1, on_gpu=on_gpu
        )

    def renew(self) -> None:
        """Share the plan again; servers start again by themselves."""
        self.__dict__.pop("_job", None)

    def digest(self) -> str:
        """Return a digest of the graph, the memory and the device: the rows of a share depend on them."""
        kind = "" if self._kind is None else f", on {self._kind}"
        return f"{digest_of_shards(self._graph.folder)}, memory {self._graph.memory}{kind}"

    def empty_file(self) -> bytes:
        """Return a file without rows."""
        return parquet_of_ids(self.columns, [])[1]


def refuse_columns(options: Mapping[str, Any]) -> None:
    """Refuse columns that rows of a sharded graph do not have."""
    for name in ("edges", "attributes"):
        if options.get(name):
            raise ArgumentError(
                name, "none for a sharded graph, whose rows are ids of vertices", options[name]
            )


def match_sharded(
    workers: Workers,
    graph: ShardedGraph,
    pattern: Pattern,
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    *,
    late: bool,
    kind: str | None = None,
) -> Matches:
    """Return the rows of a pattern; the search begins at once, or late: with the first rows.

    Parameters
    ----------
    chosen
        The options of the search.
    kind
        See `ShardedRows`.
    """
    refuse_columns(options)
    given = options.get("batch_rows", DEFAULT_BATCH_ROWS)
    batch_rows = check_integer("batch_rows", given, 1, MAX_BATCH_ROWS)
    bar = ExitStack()
    callback = bar.enter_context(progress_callback(options.get("progress", False), "matching"))
    with bar:
        request = make_request(**chosen, progress=None if callback is None else FoundSoFar(callback))
        check_symmetry(request.semantics, request.symmetry)
        deadline = Deadline.after(request.timeout)
        columns = IdColumns(pattern, bool(options.get("names", False)))
        view, found = plan_search(graph, pattern, request, deadline, counting=False)
        planned = time.perf_counter()

        def begin() -> RowSource:
            if found is None or found.plan.impossible is not None:
                return NoRows(complete=found is not None)
            tasks = ShardedRows(workers, view, found, columns, kind)
            return ClusterRows(workers, tasks, request, batch_rows, deadline, tasks.slots)

        graph.served()  # refuses a closed one
        source: RowSource = LateRows(begin) if late else begin()
        return Matches(
            WithBar(source, bar.pop_all()),
            ColumnsOfIds(columns),
            started=planned,
            plan_seconds=planned - deadline.started,
            engine="cluster",
            device=workers.device_on(kind),
            reason=reason_of(found, view.layout, kind),
            batch_rows=batch_rows,
            limit=request.limit,
        )


def write_sharded(
    workers: Workers,
    graph: ShardedGraph,
    patterns: Sequence[Pattern],
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    folders: Sequence[str],
    job: str | None,
    kind: str | None = None,
) -> list[WrittenRows]:
    """Write the rows of each pattern into a data set in a folder of its own."""
    refuse_columns(options)
    with progress_callback(options.get("progress", False), "matching") as callback:
        request = make_request(**chosen, progress=callback)
        check_symmetry(request.semantics, request.symmetry)
        deadline = Deadline.after(request.timeout)
        graph.served()  # refuses a closed one
        planned = []
        for pattern in patterns:
            view, found = plan_search(graph, pattern, request, deadline, counting=False)
            if found is None:
                raise ClusterError("match: time was up before the search was planned; nothing was written")
            planned.append((view, found))
        ended = time.perf_counter()
        jobs = []
        for at, (pattern, (view, found), folder) in enumerate(zip(patterns, planned, folders, strict=True)):
            columns = IdColumns(pattern, bool(options.get("names", False)))
            tasks = ShardedRows(workers, view, found, columns, kind)
            number = f", {at + 1}" if len(patterns) > 1 else ""
            jobs.append(RowJob(workers, tasks, found.plan, request, folder, job, number, tasks.slots))
        return run_jobs(workers, jobs, request, deadline, ended)
