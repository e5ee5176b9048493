"""The orbits of graphlets of up to five vertices on a device, from sums that are linear in them.

The sums are those of `motiflux.cpu.five_orbits`, by kernels (``include/motiflux/local_counts/five``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.local_counts_kernels import LocalCountKernel
from motiflux.cpu.five_orbits import coefficients_of_edges, coefficients_of_vertices
from motiflux.gpu.images.five_sums import FiveSums, check_fits
from motiflux.gpu.images.orbits import prepare_orbits, prepare_tables
from motiflux.gpu.images.running import evaluated
from motiflux.gpu.kernels.table_run import Numbers, TableRun
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.graph import Graph
from motiflux.plan.graphlets import EDGE_ORBITS, ORBITS
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request


def numbers_of_five_orbits(
    accelerator: Accelerator, graph: Graph, request: Request, deadline: Deadline
) -> NDArray[np.uint64]:
    """Return the number of induced subgraphs of each orbit at each vertex, one vertex after another.

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `motiflux.gpu.images.orbits.numbers_of_orbits`.
    """
    vertices, known = graph.num_vertices, ORBITS[4]
    coefficients = coefficients_of_vertices().reshape(-1, ORBITS[5])

    def prepare(run: TableRun) -> Numbers:
        tables = prepare_tables(run, graph)
        check_fits(tables.rows, coefficients)
        small = prepare_orbits(run, vertices, tables)
        sums = FiveSums(run, vertices, tables, places=vertices, number=len(coefficients))
        sums.list_triangles()
        sums.count_hubs(LocalCountKernel.FIVE_HUBS)
        sums.look_opposite(LocalCountKernel.FIVE_OPPOSITES)
        sums.count_pairs(LocalCountKernel.FIVE_PAIRS, counters=2)
        sums.count_walks(LocalCountKernel.FIVE_WALKS, counters=2)
        sums.sum_rows(passes=3)
        return [(sums.solve(small, coefficients, known), ORBITS[5] * vertices)]

    [numbers] = evaluated(accelerator, graph, ("orbits", 5), request, deadline, prepare)
    return numbers


def numbers_of_edge_orbits(
    accelerator: Accelerator, graph: Graph, size: int, request: Request, deadline: Deadline
) -> NDArray[np.uint64]:
    """Return the number of induced subgraphs of each orbit at each adjacent pair, one pair after another.

    Pairs are in the order of the rows, each from its lesser vertex.

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `motiflux.gpu.images.orbits.numbers_of_orbits`.
    """
    vertices, known = graph.num_vertices, EDGE_ORBITS[4]
    coefficients = coefficients_of_edges().reshape(-1, 1 + EDGE_ORBITS[5])

    def prepare(run: TableRun) -> Numbers:
        tables = prepare_tables(run, graph)
        check_fits(tables.rows, coefficients)
        edges, large = tables.above.arcs, size == max(EDGE_ORBITS)
        sums = FiveSums(run, vertices, tables, places=edges, number=len(coefficients) if large else 0)
        sums.number_edges()
        sums.list_triangles()
        sums.count_hubs(LocalCountKernel.FIVE_HUBS_AT_EDGES)
        sums.sum_rows(passes=2)
        small = sums.close_edges(known)
        if not large:
            return [(small, known * edges)]
        sums.look_opposite(LocalCountKernel.FIVE_OPPOSITES_AT_EDGES)
        sums.count_pairs(LocalCountKernel.FIVE_PAIRS_AT_EDGES, counters=3)
        sums.count_walks(LocalCountKernel.FIVE_WALKS_AT_EDGES, counters=3)
        return [(sums.solve(small, coefficients, known), EDGE_ORBITS[5] * edges)]

    [numbers] = evaluated(accelerator, graph, ("edge orbits", size), request, deadline, prepare)
    return numbers
