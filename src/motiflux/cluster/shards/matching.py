"""Listings of sharded graphs: batches and files of rows that tasks return in ids of the graph."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from motiflux.api.listing import LateRows
from motiflux.api.matching import WithBar
from motiflux.cluster.begin import begun
from motiflux.cluster.driver_rows import DriverRows, Told, run_all
from motiflux.cluster.jobs import RowJob, WrittenRows
from motiflux.cluster.shards.columns import QueryIds, layout_of
from motiflux.cluster.shards.distinct_rows import match_distinct_sharded, refuse_columns
from motiflux.cluster.shards.parts import PartsRows, Searching, has_parts
from motiflux.cluster.shards.row_tasks import ShardedRows, listed
from motiflux.cluster.shards.store import digest_of_shards
from motiflux.errors import ClusterError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.progress import progress_callback
from motiflux.request.request import make_request
from motiflux.result.matches import Matches
from motiflux.result.rows import RowSource

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers


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
    graph.served()  # refuses a closed one
    with ExitStack() as bar:
        batch_rows, request, deadline = begun(options, chosen, bar)
        names = bool(options.get("names", False))
        source: RowSource
        if isinstance(pattern, Query) and has_parts(pattern):
            searching = Searching(workers, graph, request, deadline, graph.memory, batch_rows, kind)
            source = parts = PartsRows(searching, pattern.shapes, pattern)
            layout, reason = layout_of(QueryIds(pattern, names, tuple(parts.listed))), parts.reason
        else:
            found = listed(workers, graph, pattern, request, deadline, names=names, kind=kind)
            layout, reason = found.layout, found.reason
            begin = partial(found.begin, workers, request, batch_rows, deadline)
            source = LateRows(begin) if late else begin()
        planned = time.perf_counter()
        return Matches(
            WithBar(source, bar.pop_all()),
            layout,
            started=planned,
            plan_seconds=planned - deadline.started,
            engine="cluster",
            device=workers.device_on(kind),
            reason=reason,
            batch_rows=batch_rows,
            limit=request.limit,
        )


def write_sharded(
    workers: Workers,
    graph: ShardedGraph,
    asked: Sequence[tuple[Pattern | Query, Projection | None]],
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    folders: Sequence[str],
    job: str | None,
    kind: str | None = None,
) -> list[WrittenRows]:
    """Write the rows of each pattern or query into a data set in a folder of its own.

    Parameters
    ----------
    asked
        Patterns or queries, and the projections of distinct rows.
    """
    refuse_columns(options)
    with progress_callback(options.get("progress", False), "matching") as callback:
        request = make_request(**chosen, progress=callback)
        deadline = Deadline.after(request.timeout)
        graph.served()  # refuses a closed one
        names = bool(options.get("names", False))
        planned: list[ShardedRows | Matches] = []
        for query, projection in asked:
            own, given = {"names": names}, dict(chosen) | {"timeout": deadline.left()}
            if projection is not None:
                planned.append(match_distinct_sharded(workers, graph, query, projection, own, given, kind))
                continue
            if isinstance(query, Query) and has_parts(query):
                planned.append(match_sharded(workers, graph, query, own, given, late=True, kind=kind))
                continue
            found = listed(workers, graph, query, request, deadline, names=names, kind=kind)
            if found.tasks is None:
                raise ClusterError("match: time was up before the search was planned; nothing was written")
            planned.append(found.tasks)
        ended = time.perf_counter()
        jobs: list[RowJob | DriverRows] = []
        for at, (rows, folder, (query, projection)) in enumerate(zip(planned, folders, asked, strict=True)):
            number = f", {at + 1}" if len(asked) > 1 else ""
            if isinstance(rows, Matches):
                told = Told(digest_of_shards(graph.folder), query, projection, request, (names,))
                jobs.append(DriverRows(rows, told, folder, job))
            else:
                jobs.append(RowJob(workers, rows, rows.plan, request, folder, job, number, rows.slots))
        return run_all(workers, jobs, request, deadline, ended)
