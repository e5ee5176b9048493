"""The launches of kernels that make the sums for orbits of five vertices, at vertices or at edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import local_counts_layout as layout
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.local_counts_kernels import LocalCountKernel
from motiflux.cpu.five_orbits import most_trees
from motiflux.device import Buffer
from motiflux.gpu.images.orbits import Tables
from motiflux.gpu.kernels.table_run import TableRun, TooWide
from motiflux.gpu.storage.device_csr import DeviceRows
from motiflux.gpu.storage.wedge_roots import DeviceRoots

_MOST_ARCS = 1 << 32
"""Counters of wedges, and numbers of edges, have 32 bits."""
_MOST_BIT_WORDS = 1 << 28
"""Most words of all matrices of neighbours: 1 GiB."""
_HUBS = ((1024, 16, 512), (256, 4, 512), (1, 1, 128))
"""Classes of hubs: least length of a row (exclusive), parts of each hub, threads of a block."""
_COUNTER_THREADS = 512
_WARP = 32
_TIMES = 4
"""Kernels add up this multiple of a result at most, before they divide."""


def check_fits(rows: DeviceRows, coefficients: NDArray[np.uint64]) -> None:
    """Raise `TooWide` if numbers, as multiples that kernels add up, may pass 63 bits.

    Parameters
    ----------
    coefficients
        Of all numbers in each sum: [sums, numbers]. The last numbers are those of the sums.
    """
    if rows.arcs >= _MOST_ARCS:
        raise TooWide
    sums, numbers = coefficients.shape
    greatest = _TIMES * int(coefficients.diagonal(numbers - sums).max())
    # A vertex is in at most 9 d^4 trees of five vertices: d is the greatest degree.
    most = 9 * float(rows.longest) ** 4
    if most * greatest >= 2**63 and most_trees(*rows.origin) * greatest >= 2**63:
        raise TooWide


class FiveSums:
    """Adds launches to a run. Each method needs what those before it write.

    Parameters
    ----------
    vertices
        Number of vertices.
    tables
        Triangles and 4-cycles.
    places
        Vertices or edges that have sums.
    number
        Number of sums of a place; 0: there are none.
    """

    def __init__(self, run: TableRun, vertices: int, tables: Tables, *, places: int, number: int) -> None:
        self._run = run
        self._vertices = vertices
        self._tables = tables
        self._arcs = tables.rows.arcs
        self._places = places
        reverse, begins, ends, sides, cliques = (run.table(self._arcs) for _ in range(5))
        self._graph = layout.FiveGraph(Adjacency(*tables.rows.addresses))
        self._graph.closed, self._graph.squares = tables.triangles.address, tables.squares.address
        self._graph.reverse, self._graph.begins = reverse.address, begins.address
        self._graph.ends, self._graph.sides = ends.address, sides.address
        self._graph.cliques, self._graph.vertices = cliques.address, vertices
        self._graph.sums = run.zeros(8 * number * places).address if number else 0
        self._graph.places = places
        self._of = run.table(layout.ROW_SUMS * vertices).address

    def number_edges(self) -> None:
        """Have sums at edges, which are numbered by `list_triangles`."""
        self._graph.edges = self._run.table(-(-self._arcs // 2)).address

    def list_triangles(self) -> None:
        """Write reverse arcs, and the common neighbours of the ends of each arc."""
        starts = self._run.list_starts(self._tables.key)
        self._graph.lists = self._run.table(-(-starts.size // 2)).address  # 32 bits each
        for links in (True, False):
            args = layout.ListArgs(self._graph, Adjacency(*self._tables.above.addresses))
            args.ranks, args.starts = self._run.ranks_of(self._tables.rows), starts.starts.address
            args.edges, args.arcs, args.links = self._graph.edges, self._arcs, links
            threads = _WARP * self._vertices if links else self._arcs
            self._run.launch_pass(LocalCountKernel.FIVE_LISTS, threads, args)

    def count_hubs(self, name: LocalCountKernel) -> None:
        """Add the sums over neighbours of hubs, those of long rows first."""
        roots = self._run.roots_by_row(self._tables.rows)
        begin = 0
        for longer, parts, threads in _HUBS:
            end = roots.heavier(longer)
            if end > begin:
                self._count_some(name, roots, begin, end, parts, threads)
            begin = end

    def _count_some(
        self, name: LocalCountKernel, roots: DeviceRoots, begin: int, end: int, parts: int, threads: int
    ) -> None:
        kernel = self._run.kernel_of(name)
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
        arrays = 2 + threads // _WARP
        args.members = self._run.table(-(-grid * arrays * longest // 2)).address
        self._run.launch_parts(kernel, grid, threads, shared, args, (end - begin) * parts)

    def look_opposite(self, name: LocalCountKernel) -> None:
        """Add the sums over triangles of numbers of other edges, for edges also of other vertices."""
        args = layout.OppositeArgs(self._graph, of=self._of, arcs=self._arcs)
        self._run.launch_pass(name, self._arcs, args)

    def count_pairs(self, name: LocalCountKernel, counters: int) -> None:
        """Add the sums over pairs of vertices with common neighbours."""
        rows = self._tables.rows
        self._count(name, self._run.order_of(rows, rows, layout.Ends.ALL), counters)

    def count_walks(self, name: LocalCountKernel, counters: int) -> None:
        """Add the closed walks of five steps."""
        rows = self._tables.rows
        self._count(name, self._run.order_of(rows, rows, layout.Ends.UNDER_ROOT), counters)

    def _count(self, name: LocalCountKernel, roots: DeviceRoots, counters: int) -> None:
        """Launch a kernel whose blocks take a root each, with some counters of each vertex."""
        kernel = self._run.kernel_of(name)
        args = layout.CounterArgs(self._graph, self._run.ranks_of(self._tables.rows))
        args.room = min(self._vertices, self._run.room_of_two() // (4 * counters))
        shared, threads = layout.SCRATCH_BYTES + 4 * counters * args.room, _COUNTER_THREADS
        most = self._run.most_blocks(kernel, threads, shared)
        grid = max(1, min(most, roots.count))
        far = 4 * counters * (self._vertices - args.room)
        if far > 0:
            grid, memory = self._run.for_blocks(grid, far, f"counters of {name}")
            args.far = memory.address
        args.touched = self._run.table(-(-grid * self._vertices // 2)).address
        self._run.launch_over(kernel, grid, threads, shared, args, roots, roots.count)

    def sum_rows(self, *, passes: int) -> None:
        """Sum numbers of arcs and neighbours over rows; the third pass adds sums at vertices."""
        for step in range(passes):
            args = layout.CloseArgs(self._graph, of=self._of, step=step)
            self._run.launch_pass(LocalCountKernel.FIVE_ROWS, _WARP * self._vertices, args)

    def close_edges(self, orbits: int) -> Buffer:
        """Add sums of numbers of both ends of edges; return the memory of so many small orbits of each."""
        small = self._run.table(orbits * self._places)
        args = layout.EdgeArgs(self._graph, Adjacency(*self._tables.above.addresses))
        args.of, args.small = self._of, small.address
        self._run.launch_pass(LocalCountKernel.FIVE_EDGES, _WARP * self._vertices, args)
        return small

    def solve(self, small: Buffer, coefficients: NDArray[np.uint64], orbits: int) -> Buffer:
        """Return the memory of all orbits, from the first `orbits` of each place, and the sums."""
        unknown, numbers = coefficients.shape
        args = layout.SolveArgs(small.address, self._graph.sums)
        args.coefficients = self._run.coefficients(coefficients)
        args.known, args.unknown = numbers - unknown, unknown
        args.unnamed, args.places = args.known - orbits, self._places
        solved = self._run.table((numbers - args.unnamed) * self._places)
        args.orbits = solved.address
        self._run.launch_pass(LocalCountKernel.FIVE_SOLVE, self._places, args)
        return solved


def _bit_words(members: int) -> int:
    """Return the words of a matrix of bits (``local_counts/five/hub.cuh``)."""
    return members * (-(-members // 32) | 1)
