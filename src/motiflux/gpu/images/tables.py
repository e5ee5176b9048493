"""Tables of local counts with roots, computed by kernels and read as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.images.running import fetched, finished
from motiflux.gpu.images.search import search_from_arcs
from motiflux.gpu.kernels.table_run import TableJob, TableRun, TooWide
from motiflux.gpu.kernels.tables import prepare_rooted_tables
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import setting_up
from motiflux.gpu.runtime.session import MOST_BLOCK_BYTES
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph
from motiflux.plan.ir import Searched, Table
from motiflux.plan.local_counts.schedule import schedule_of_tables
from motiflux.plan.rooted import Kinds
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request


def numbers_of_tables(
    accelerator: Accelerator,
    graph: Graph,
    kinds: Kinds,
    tables: Sequence[Table],
    request: Request,
    deadline: Deadline,
) -> list[NDArray[np.uint64]]:
    """Return the numbers of tables with roots, in one evaluation.

    Raises
    ------
    TooWide
        A number passes 64 bits, a table has more parts than a kernel takes, or the graph more vertices.
    DeviceMemoryError
        The tables do not fit.
    OutOfTimeError
        Time was up.
    """
    wanted = list(dict.fromkeys(tables))
    schedule = schedule_of_tables(kinds, wanted)
    given = {
        table: search_from_arcs(accelerator, graph, table, request, deadline)
        for table in schedule.tables
        if isinstance(table, Searched)
    }
    with setting_up(TableJob(accelerator, "tables", MOST_BLOCK_BYTES, request.gpu_memory)) as job:
        context = UploadContext.of(job.stream, request, deadline)
        run = TableRun(job, graph, context, request.tuning["wedge_ends"])
        made = prepare_rooted_tables(run, graph, schedule, wanted, given)
        run.end()
        sizes = {}
        for table in wanted:
            by_arc = table.pattern.roots == 2
            sizes[table] = run.rows_of(schedule.key(table, (0, 1))).arcs if by_arc else graph.num_vertices
    with finished(job, deadline, request) as in_time:
        if not in_time:
            raise OutOfTimeError
        if job.result().overflow:
            raise TooWide
        found = {table: fetched(job, made[table], sizes[table]) for table in wanted}
    return [found[table] for table in tables]
