"""Tables of local counts with roots, computed by kernels and read as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.images.running import evaluated
from motiflux.gpu.images.search import search_from_arcs
from motiflux.gpu.kernels.table_run import Numbers, TableRun
from motiflux.gpu.kernels.tables import prepare_rooted_tables
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.graph import Graph
from motiflux.plan.ir import Searched, Table
from motiflux.plan.local_counts.schedule import schedule_of_tables
from motiflux.plan.rooted import Kinds
from motiflux.request.deadline import Deadline
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

    def prepare(run: TableRun) -> Numbers:
        schedule = schedule_of_tables(kinds, wanted)
        given = {
            table: search_from_arcs(accelerator, graph, table, request, deadline)
            for table in schedule.tables
            if isinstance(table, Searched)
        }
        made = prepare_rooted_tables(run, graph, schedule, wanted, given)

        def size(table: Table) -> int:
            by_arc = table.pattern.roots == 2
            return run.rows_of(schedule.key(table, (0, 1))).arcs if by_arc else graph.num_vertices

        return [(made[table], size(table)) for table in wanted]

    name = ("tables", kinds, tuple(wanted))
    numbers = evaluated(accelerator, graph, name, request, deadline, prepare)
    found = dict(zip(wanted, numbers, strict=True))
    return [found[table] for table in tables]
