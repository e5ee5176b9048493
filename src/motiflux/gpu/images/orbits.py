"""The orbits of graphlets of up to four vertices on a device, in one evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import local_counts_layout as layout
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.local_counts_kernels import LocalCountKernel
from motiflux.device import Buffer
from motiflux.gpu.images.running import evaluated
from motiflux.gpu.kernels.table_run import Numbers, TableRun, TooWide
from motiflux.gpu.kernels.tables import prepare_rooted_tables
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.storage.device_csr import DeviceRows
from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan.graphlets import ORBITS
from motiflux.plan.ir import Middles, Triangles, Wedges
from motiflux.plan.local_counts.schedule import schedule_of_tables
from motiflux.plan.rooted import EdgeKind, Kinds, Rooted, VertexKind
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request

_ORBITS = ORBITS[4]
_MOST = 1 << 62
"""The product of the numbers of vertices and arcs is below this; it bounds the numbers that kernels add."""
_TRIANGLES = Triangles(Rooted((0, 0, 0), ((0, 1, 0), (0, 2, 0), (1, 2, 0)), 2))
_SQUARE = Rooted((0, 0, 0, 0), ((0, 1, 0), (0, 2, 0), (1, 3, 0), (2, 3, 0)), 2)
_SQUARES = Wedges(_SQUARE, (Middles((0, 1), (1, 3), 2),), symmetric=True, uniform=True)
"""Triangles and 4-cycles at each arc."""


@dataclass(frozen=True)
class Tables:
    """Triangles and 4-cycles at each arc, and the rows of these arcs."""

    key: AdjacencyKey
    rows: DeviceRows
    above: DeviceRows
    triangles: Buffer
    squares: Buffer


def numbers_of_orbits(
    accelerator: Accelerator, graph: Graph, request: Request, deadline: Deadline
) -> NDArray[np.uint64]:
    """Return the number of induced subgraphs of each orbit at each vertex, one vertex after another.

    Raises
    ------
    TooWide
        A number passes 63 bits, or the graph is too large.
    DeviceMemoryError
        The numbers do not fit.
    OutOfTimeError
        Time was up.
    """

    def prepare(run: TableRun) -> Numbers:
        orbits = prepare_orbits(run, graph.num_vertices, prepare_tables(run, graph))
        return [(orbits, _ORBITS * graph.num_vertices)]

    [numbers] = evaluated(accelerator, graph, ("orbits", 4), request, deadline, prepare)
    return numbers


def prepare_tables(run: TableRun, graph: Graph) -> Tables:
    """Add the launches for triangles and 4-cycles.

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `numbers_of_orbits`.
    """
    kinds = Kinds(graph.directed, (VertexKind(None, None),), (EdgeKind(None, either=True, where=None),))
    tables = (_TRIANGLES, _SQUARES)
    schedule = schedule_of_tables(kinds, tables)
    key = schedule.key(_TRIANGLES, (0, 1))
    rows, above = run.rows_of(key), run.rows_above(key)
    if rows.arcs * graph.num_vertices >= _MOST:
        raise TooWide
    made = prepare_rooted_tables(run, graph, schedule, tables)
    return Tables(key, rows, above, *(made[table] for table in tables))


def prepare_orbits(run: TableRun, vertices: int, made: Tables) -> Buffer:
    """Add the launches for orbits of up to four vertices; return their memory, and raise the same errors."""
    rows, above = made.rows, made.above
    triangles, squares = made.triangles.address, made.squares.address
    cliques, apart = (run.zeros(8 * vertices) for _ in range(2))
    args = layout.DiamondArgs(Adjacency(*rows.addresses), Adjacency(*above.addresses), triangles)
    args.cliques, args.apart = cliques.address, apart.address
    run.launch_members(LocalCountKernel.DIAMONDS, args, above, run.roots_by_row(above))
    closed, cycles, ends = (run.table(vertices) for _ in range(3))
    orbits = run.table(_ORBITS * vertices)
    for sums in (True, False):
        step = layout.OrbitArgs(Adjacency(*rows.addresses), triangles, squares)
        step.vertices, step.sums = vertices, sums
        step.closed, step.cycles, step.ends = closed.address, cycles.address, ends.address
        step.cliques, step.apart, step.orbits = cliques.address, apart.address, orbits.address
        run.launch_pass(LocalCountKernel.ORBITS, 32 * vertices, step)
    return orbits
