"""The orbits of graphlets of up to five vertices on a device, from sums that are linear in them.

The sums are those of `motiflux.cpu.five_orbits`, by kernels (``include/motiflux/local_counts/five``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import local_counts_layout as layout
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.local_counts_kernels import LocalCountKernel
from motiflux.cpu.five_orbits import coefficients_of_vertices, most_trees
from motiflux.device import Buffer
from motiflux.gpu.images.orbits import Prepared, prepare_small
from motiflux.gpu.images.running import evaluated
from motiflux.gpu.kernels.table_run import Numbers, TableRun, TooWide
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.storage.device_csr import DeviceRows
from motiflux.gpu.storage.wedge_roots import DeviceRoots
from motiflux.graph import Graph
from motiflux.plan.graphlets import ORBITS
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request

_SMALL, _ALL = ORBITS[4], ORBITS[5]
_MOST_ARCS = 1 << 32
"""Counters of wedges have 32 bits."""
_MOST_BIT_WORDS = 1 << 28
"""Most words of all matrices of neighbours: 1 GiB."""
_HUBS = ((1024, 16, 512), (256, 4, 512), (1, 1, 128))
"""Classes of hubs: least length of a row (exclusive), parts of each hub, threads of a block."""
_PAIR_THREADS = 512
_TIMES = 4
"""Kernels add up this multiple of a result at most, before they divide."""


def numbers_of_five_orbits(
    accelerator: Accelerator, graph: Graph, request: Request, deadline: Deadline
) -> NDArray[np.uint64]:
    """Return the number of induced subgraphs of each orbit at each vertex, one vertex after another.

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `motiflux.gpu.images.orbits.numbers_of_orbits`.
    """

    def prepare(run: TableRun) -> Numbers:
        small = prepare_small(run, graph)
        if small.rows.arcs >= _MOST_ARCS or not _fits(small.rows):
            raise TooWide
        orbits = _Preparation(run, graph.num_vertices, small).prepare()
        return [(orbits, _ALL * graph.num_vertices)]

    [numbers] = evaluated(accelerator, graph, ("orbits", 5), request, deadline, prepare)
    return numbers


def _fits(rows: DeviceRows) -> bool:
    """Return whether all numbers, as multiples that kernels add up, have 63 bits."""
    coefficients = coefficients_of_vertices().reshape(_ALL - _SMALL, _ALL)
    greatest = _TIMES * int(coefficients.diagonal(_SMALL).max())
    # A vertex is in at most 9 d^4 trees of five vertices: d is the greatest degree.
    most = 9 * float(rows.longest) ** 4
    if most * greatest < 2**63:
        return True
    return most_trees(*rows.origin) * greatest < 2**63


class _Preparation:
    """Adds the launches for the sums, behind those for orbits of four vertices."""

    def __init__(self, run: TableRun, vertices: int, small: Prepared) -> None:
        self._run = run
        self._vertices = vertices
        self._small = small
        self._arcs = small.rows.arcs
        sums = run.zeros(8 * layout.FIVE_SUMS * vertices)
        reverse, begins, ends, sides, cliques = (run.table(self._arcs) for _ in range(5))
        self._graph = layout.FiveGraph(Adjacency(*small.rows.addresses))
        self._graph.closed, self._graph.squares = small.triangles.address, small.squares.address
        self._graph.reverse, self._graph.begins = reverse.address, begins.address
        self._graph.ends, self._graph.sides = ends.address, sides.address
        self._graph.cliques = cliques.address
        self._graph.sums, self._graph.vertices = sums.address, vertices

    def prepare(self) -> Buffer:
        """Add all launches; return the memory of the orbits."""
        self._list()
        self._count_hubs()
        self._run.launch_pass(
            LocalCountKernel.FIVE_OPPOSITES, self._arcs, layout.OppositeArgs(self._graph, arcs=self._arcs)
        )
        rows = self._small.rows
        pairs = self._run.order_of(rows, rows, layout.Ends.ALL)
        walks = self._run.order_of(rows, rows, layout.Ends.UNDER_ROOT)
        self._count(LocalCountKernel.FIVE_PAIRS, pairs)
        self._count(LocalCountKernel.FIVE_WALKS, walks)
        return self._close()

    def _list(self) -> None:
        """Write reverse arcs, and the common neighbours of the ends of each arc."""
        starts = self._run.list_starts(self._small.key)
        self._graph.lists = self._run.table(-(-starts.size // 2)).address  # 32 bits each
        for links in (True, False):
            args = layout.ListArgs(self._graph, Adjacency(*self._small.above.addresses))
            args.ranks, args.starts = self._run.ranks_of(self._small.rows), starts.starts.address
            args.arcs, args.links = self._arcs, links
            threads = 32 * self._vertices if links else self._arcs
            self._run.launch_pass(LocalCountKernel.FIVE_LISTS, threads, args)

    def _count_hubs(self) -> None:
        """Add the sums over neighbours of hubs, those of long rows first."""
        roots = self._run.roots_by_row(self._small.rows)
        kernel = self._run.kernel_of(LocalCountKernel.FIVE_HUBS)
        begin = 0
        for longer, parts, threads in _HUBS:
            end = roots.heavier(longer)
            if end == begin:
                continue
            longest = int(roots.host_work[begin])
            words = min(_bit_words(longest), _MOST_BIT_WORDS)
            near = min(words, self._run.room_of_two() // 4)
            shared = layout.SCRATCH_BYTES + 4 * near
            grid = min(self._run.most_blocks(kernel, threads, shared), (end - begin) * parts)
            args = layout.HubArgs(self._graph, order=roots.order.address, begin=begin, count=end - begin)
            args.parts, args.longest, args.near_words = parts, longest, near
            if words > near:
                grid = min(grid, _MOST_BIT_WORDS // words)
                args.far_words, args.far = words, self._run.table(grid * -(-words // 2)).address
            args.members = self._run.table(grid * longest).address  # two words for each
            self._run.launch_parts(kernel, grid, threads, shared, args, (end - begin) * parts)
            begin = end

    def _count(self, name: LocalCountKernel, roots: DeviceRoots) -> None:
        """Add the sums over pairs of vertices, or closed walks: a block takes each root."""
        kernel = self._run.kernel_of(name)
        args = layout.CounterArgs(self._graph, self._run.ranks_of(self._small.rows))
        args.room = min(self._vertices, self._run.room_of_two() // 8)
        shared, threads = layout.SCRATCH_BYTES + 8 * args.room, _PAIR_THREADS
        most = self._run.most_blocks(kernel, threads, shared)
        grid = max(1, min(most, roots.count))
        far = 8 * (self._vertices - args.room)
        if far > 0:
            grid, memory = self._run.for_blocks(grid, far, f"counters of {name}")
            args.far = memory.address
        args.touched = self._run.table(-(-grid * self._vertices // 2)).address
        self._run.launch_over(kernel, grid, threads, shared, args, roots, roots.count)

    def _close(self) -> Buffer:
        """Add the sums over rows, and the solution; return the memory of the orbits."""
        of = self._run.table(layout.ROW_SUMS * self._vertices)
        for step in range(3):
            args = layout.CloseArgs(self._graph, of=of.address, step=step)
            self._run.launch_pass(LocalCountKernel.FIVE_CLOSE, 32 * self._vertices, args)
        orbits = self._run.table(_ALL * self._vertices)
        solve = layout.SolveArgs(self._small.orbits.address, self._graph.sums)
        solve.coefficients = self._run.coefficients()
        solve.orbits, solve.vertices = orbits.address, self._vertices
        self._run.launch_pass(LocalCountKernel.FIVE_SOLVE, self._vertices, solve)
        return orbits


def _bit_words(members: int) -> int:
    """Return the words of a matrix of bits (``local_counts/five/hub.cuh``)."""
    return members * (-(-members // 32) | 1)
