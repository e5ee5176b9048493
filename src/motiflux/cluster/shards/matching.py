"""Listings of sharded graphs: batches and files of rows that tasks return in ids of the graph."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from motiflux.api.listing import LateRows
from motiflux.api.matching import DEFAULT_BATCH_ROWS, MAX_BATCH_ROWS, WithBar
from motiflux.arguments import check_integer
from motiflux.cluster.jobs import RowJob, WrittenRows, run_jobs
from motiflux.cluster.rows import ClusterRows
from motiflux.cluster.shards.row_tasks import listed
from motiflux.errors import ArgumentError, ClusterError
from motiflux.pattern import Pattern, Query
from motiflux.request.deadline import Deadline
from motiflux.request.progress import FoundSoFar, progress_callback
from motiflux.request.request import make_request
from motiflux.result.matches import Matches
from motiflux.result.rows import NoRows, RowSource

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers


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
    pattern: Pattern | Query,
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    *,
    late: bool,
    kind: str | None = None,
) -> Matches:
    """Return the rows of a pattern or a query; the search begins at once, or late: with the first rows.

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
        deadline = Deadline.after(request.timeout)
        names = bool(options.get("names", False))
        found = listed(workers, graph, pattern, request, deadline, names=names, kind=kind)
        planned, tasks = time.perf_counter(), found.tasks

        def begin() -> RowSource:
            if tasks is None or tasks.units == 0:
                return NoRows(complete=tasks is not None)
            return ClusterRows(workers, tasks, request, batch_rows, deadline, tasks.slots)

        graph.served()  # refuses a closed one
        source: RowSource = LateRows(begin) if late else begin()
        return Matches(
            WithBar(source, bar.pop_all()),
            found.layout,
            started=planned,
            plan_seconds=planned - deadline.started,
            engine="cluster",
            device=workers.device_on(kind),
            reason=found.reason,
            batch_rows=batch_rows,
            limit=request.limit,
        )


def write_sharded(
    workers: Workers,
    graph: ShardedGraph,
    patterns: Sequence[Pattern | Query],
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    folders: Sequence[str],
    job: str | None,
    kind: str | None = None,
) -> list[WrittenRows]:
    """Write the rows of each pattern or query into a data set in a folder of its own."""
    refuse_columns(options)
    with progress_callback(options.get("progress", False), "matching") as callback:
        request = make_request(**chosen, progress=callback)
        deadline = Deadline.after(request.timeout)
        graph.served()  # refuses a closed one
        names = bool(options.get("names", False))
        planned = []
        for pattern in patterns:
            found = listed(workers, graph, pattern, request, deadline, names=names, kind=kind)
            if found.tasks is None:
                raise ClusterError("match: time was up before the search was planned; nothing was written")
            planned.append(found.tasks)
        ended = time.perf_counter()
        jobs = []
        for at, (tasks, folder) in enumerate(zip(planned, folders, strict=True)):
            number = f", {at + 1}" if len(patterns) > 1 else ""
            jobs.append(RowJob(workers, tasks, tasks.plan, request, folder, job, number, tasks.slots))
        return run_jobs(workers, jobs, request, deadline, ended)
