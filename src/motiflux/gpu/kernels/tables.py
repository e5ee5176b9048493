"""Counts from tables of local counts on a device, like those of `motiflux.cpu.local` on the host.

All kernels of a formula are enqueued in sequence; their results are fetched once. Numbers have 64 bits, sums
128 bits; a larger number is reported as an overflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from motiflux.codegen import local_counts_layout as layout
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.local_counts_kernels import LocalCountKernel
from motiflux.codegen.local_counts_layout import Ends
from motiflux.cpu import native
from motiflux.device import Buffer
from motiflux.gpu.kernels.table_run import TableJob, TableRun, TooWide
from motiflux.gpu.launch.job_pool import job_pool
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import setting_up
from motiflux.gpu.runtime.kernel_times import on_host
from motiflux.gpu.runtime.session import MOST_BLOCK_BYTES
from motiflux.gpu.storage.device_csr import DeviceRows
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph
from motiflux.plan.ir import (
    Finish,
    Searched,
    Step,
    Table,
    Triangles,
    Walks,
    Wedges,
)
from motiflux.plan.local_counts.schedule import Domain, Join, Product, Schedule
from motiflux.plan.native_plan import native_problem
from motiflux.plan.physical import Stage
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request

_TURNED = {Ends.LESSER: Ends.GREATER, Ends.UNDER_ROOT: Ends.GREATEST}
"""The same pairs of vertices from the other one of both as the root."""
_MOST_VERTICES = 1 << 31
"""Kernels count vertices in 32 bits."""
_HALF, _COUNTER = 1 << 16, 2
"""A root with fewer middles has counters of 16 bits: two bytes."""


class _Preparation:
    """Makes memory, arguments and launches of one formula, by a `TableRun`.

    Parameters
    ----------
    share
        Index of the device, and number of devices. Devices share the roots of sums, and their totals are
        added. Each device computes the tables that these sums need; the first one computes the rest.
    wanted
        Tables whose numbers are read after the kernels.
    given
        The memory of searched tables whose numbers are there already.
    """

    def __init__(
        self,
        run: TableRun,
        graph: Graph,
        schedule: Schedule,
        share: tuple[int, int] = (0, 1),
        wanted: Sequence[Table] = (),
        given: Mapping[Searched, Buffer] = MappingProxyType({}),
    ) -> None:
        self._share = share
        self._wanted = wanted
        self._given = given
        self._run = run
        self._graph = graph
        self._vertices = graph.num_vertices
        self._schedule = schedule
        self._made: dict[Table, Buffer] = {}

    def prepare(self) -> dict[Table, Buffer]:
        """Prepare all kernels; return the memory of the tables that are read after them.

        Raises
        ------
        TooWide
            The formula has more parts than a kernel takes, or the graph more vertices.
        DeviceMemoryError
            The tables do not fit.
        OutOfTimeError
            Time was up.
        """
        if self._vertices > _MOST_VERTICES:
            raise TooWide
        self._enqueue()
        return {table: self._made[table] for table in self._wanted}

    def _enqueue(self) -> None:
        uses = Counter(self._used())
        for table, join in self._needed().items():
            self._make(table, join)
            for part in _parts(table, join):
                uses[part] -= 1
                self._drop_unused(part, uses)
        products: dict[Domain, list[tuple[Product, int]]] = {}
        for scalar, times in self._schedule.scalars.items():
            match scalar:
                case Product():
                    if self._share[0] == 0:
                        products.setdefault(scalar.domain, []).append((scalar, times))
                case Walks():
                    self._run.share = self._share
                    self._run.reader.sums.append((self._walk(scalar, None), times))
                case Wedges():
                    self._run.share = self._share
                    self._wedge_total(scalar, times)
        for domain, several in products.items():
            self._sum(domain, several)

    def _used(self) -> Iterator[Table]:
        yield from self._wanted
        for table, join in self._schedule.tables.items():
            yield from _parts(table, join)
        for scalar in self._schedule.scalars:
            if isinstance(scalar, Product):
                yield from (factor.table for factor in scalar.factors)
            elif isinstance(scalar, Walks):
                yield from _parts(scalar, None)

    def _needed(self) -> dict[Table, Join | None]:
        """Return the tables to compute: all on the first device, inputs of shared sums on other devices."""
        tables = self._schedule.tables
        if self._share[0] == 0:
            return tables
        wanted: set[Table] = set()
        for scalar in self._schedule.scalars:
            if isinstance(scalar, Walks):
                wanted.update(_parts(scalar, None))
        for table, join in reversed(tables.items()):  # a table comes before tables that need it
            if table in wanted:
                wanted.update(_parts(table, join))
        return {table: join for table, join in tables.items() if table in wanted}

    def _drop_unused(self, table: Table, uses: Counter[Table]) -> None:
        if uses[table] == 0:
            self._run.reuse(self._made.pop(table))

    # Tables.

    def _make(self, table: Table, join: Join | None) -> None:
        self._run.context.deadline.check()
        if join is not None:
            self._made[table] = self._join(join)
            return
        match table:
            case Triangles():
                self._made[table] = self._triangles(table)
            case Wedges():
                made = (
                    self._cycles_of_arcs(table) if table.pattern.roots == 2 else self._wedges_of_ends(table)
                )
                self._made[table] = made
            case Walks():
                self._made[table] = self._walks_of_roots(table)
            case Searched():
                self._made[table] = self._given.get(table) or self._search_arcs(table)

    def _search_arcs(self, table: Searched) -> Buffer:
        """Have the host search from each arc, and copy the counts to the device."""
        with on_host():
            threads = self._run.context.threads
            search = native_problem(
                self._graph, table.plan, intersect="auto", threads=threads, adaptive=True, again=True
            )
            self._run.context.deadline.check()
            left = self._run.context.deadline.left()
            counts = native.count_arcs(search, threads=threads, timeout=left)
        if counts is None:
            raise OutOfTimeError
        return self._run.filled(counts)

    def _triangles(self, table: Triangles) -> Buffer:
        rows = self._rows(table, (0, 1))
        ranks = self._run.ranks_of(rows)
        roots = self._run.order_of(rows, rows, Ends.UNDER_ROOT, divided=True)
        words = -(-self._vertices // 32)
        shape = self._run.shape_of(rows, roots, 4 * words)
        out = self._run.table(rows.arcs)
        args = layout.TriangleArgs(Adjacency(*rows.addresses))
        args.ranks = ranks
        args.vertices, args.near_words, args.hash_slots = self._vertices, shape.words, shape.slots
        args.slices = _address(roots.parts)
        args.out = out.address
        kernel = self._run.kernel_of(LocalCountKernel.TRIANGLES)
        grid = self._run.root_grid(kernel, shape, roots)
        if words > shape.words:
            args.far_words = words
            grid, far = self._run.for_blocks(grid, 4 * words, "rows as bits")
            args.far = far.address
        self._run.launch_roots(kernel, grid, shape, args, roots)
        return out

    def _cycles_of_arcs(self, table: Wedges) -> Buffer:
        rows = self._rows(table, table.kinds[0].first)
        out = self._run.zeros(8 * rows.arcs)
        self._histogram(LocalCountKernel.WEDGE_ARCS, rows, rows, Ends.UNDER_ROOT, 2, out.address)
        args = layout.MergeArgs(Adjacency(*rows.addresses))
        args.ranks = self._run.ranks_of(rows)
        args.vertices, args.table = self._vertices, out.address
        self._run.launch_pass(LocalCountKernel.MERGE, 32 * self._vertices, args)
        return out

    def _wedges_of_ends(self, table: Wedges) -> Buffer:
        out = self._run.zeros(8 * self._vertices)
        if len(table.kinds) > 1:
            self._kinds_of_wedges(table, Ends.ALL, ends=out.address)
        else:
            first, second = self._wedge_rows(table)
            number = table.kinds[0].number
            self._histogram(LocalCountKernel.WEDGE_ENDS, first, second, Ends.ALL, number, out.address)
        return out

    def _wedge_total(self, table: Wedges, times: int) -> None:
        ends = Ends.ALL
        if not table.pattern.roots and table.symmetric:
            ends, times = Ends.LESSER, 2 * times
        if not table.pattern.roots and table.uniform:
            ends, times = Ends.UNDER_ROOT, 2 * times
        slot = self._run.slot()
        if len(table.kinds) > 1:
            self._kinds_of_wedges(table, ends, total=self._run.address(slot))
        else:
            first, second = self._wedge_rows(table)
            number = table.kinds[0].number
            self._histogram(
                LocalCountKernel.WEDGE_TOTAL, first, second, ends, number, self._run.address(slot)
            )
            times *= number
        self._run.reader.sums.append((slot, times))

    def _wedge_rows(self, table: Wedges) -> tuple[DeviceRows, DeviceRows]:
        kind = table.kinds[0]
        return self._rows(table, kind.first), self._rows(table, kind.second)

    def _histogram(
        self,
        kernel: LocalCountKernel,
        first: DeviceRows,
        second: DeviceRows,
        ends: Ends,
        number: int,
        out: int,
    ) -> None:
        ranks = 0
        if ends is Ends.UNDER_ROOT:  # 4-cycles, so the rows are symmetric
            assert first is second
            ranks = self._run.ranks_of(first)
        room = _COUNTER * self._vertices
        if ends in _TURNED and self._run.turns_wedges(room):
            ends = _TURNED[ends]
            room = self._run.room_of_two()
        roots = self._run.order_of(first, second, ends)
        shape = self._run.shape_of(first, roots, room)
        args = layout.WedgeArgs(Adjacency(*first.addresses), Adjacency(*second.addresses))
        args.ranks, args.ends = ranks, ends
        args.vertices, args.number = self._vertices, number
        args.near_words, args.hash_slots = shape.words, shape.slots
        args.out = out
        loaded = self._run.kernel_of(kernel)
        grid = self._run.root_grid(loaded, shape, roots)
        near = shape.words << (first.longest < _HALF)
        if self._vertices > near and roots.count:
            args.far_words = self._vertices - near
            grid, far = self._run.for_blocks(grid, 4 * args.far_words, "counters of wedges")
            args.far = far.address
        self._run.launch_roots(loaded, grid, shape, args, roots)

    def _kinds_of_wedges(self, table: Wedges, which: Ends, *, total: int = 0, ends: int = 0) -> None:
        if len(table.kinds) > layout.MOST_KINDS:
            raise TooWide
        rows = [
            (
                self._rows(table, kind.first),
                self._rows(table, kind.second),
            )
            for kind in table.kinds
        ]
        args = layout.KindArgs()
        for at, ((first, second), kind) in enumerate(zip(rows, table.kinds, strict=True)):
            args.kinds[at] = layout.WedgeKind(
                Adjacency(*first.addresses), Adjacency(*second.addresses), kind.number
            )
        args.count, args.below = len(table.kinds), which is not Ends.ALL
        args.vertices, args.total, args.ends = self._vertices, total, ends
        roots = self._run.order_of(*rows[0], Ends.ALL)
        bytes_of_block = 4 * len(table.kinds) * self._vertices
        self._run.launch_blocks(LocalCountKernel.KINDS, args, rows[0][0], roots, bytes_of_block)

    # Walks.

    def _walks_of_roots(self, walks: Walks) -> Buffer:
        if walks.finish is Finish.ARCS:
            out = self._run.zeros(8 * self._rows(walks, _ends(walks)).arcs)
        else:
            out = self._run.zeros(8 * self._vertices)
        self._walk(walks, out)
        return out

    def _walk(self, walks: Walks, out: Buffer | None) -> int:
        """Walk from each root into `out`, or into a sum if `out` is None; return the slot of the sum."""
        registers = 1 + max(step.into for step in walks.steps)
        if len(walks.steps) > layout.MOST_STEPS or registers > layout.MOST_REGISTERS:
            raise TooWide
        args = layout.WalkArgs()
        for at, step in enumerate(walks.steps):
            packed = layout.WalkStep()
            if step.ends is not None:
                packed.rows = Adjacency(*self._rows(walks, step.ends).addresses)
            if step.weights is not None:
                packed.weights = self._made[step.weights].address
            packed.move, packed.into, packed.source = step.move, step.into, step.source
            packed.power, packed.below = step.power, step.below
            args.steps[at] = packed
        args.count, args.registers = len(walks.steps), registers
        args.apart, args.finish = walks.apart, walks.finish
        if walks.ends is not None:
            args.rows = Adjacency(*self._rows(walks, walks.ends).addresses)
        args.vertices = self._vertices
        slot = 0 if out is not None else self._run.slot()
        args.totals, args.out = out is None, self._run.address(slot) if out is None else out.address
        first = walks.steps[0]
        seeds = self._rows(walks, _ends(first))
        roots = self._run.order_of(seeds, seeds, Ends.UNDER_ROOT if first.below else Ends.ALL)
        self._run.launch_blocks(LocalCountKernel.WALKS, args, seeds, roots, 12 * registers * self._vertices)
        return slot

    # Passes over whole tables.

    def _join(self, join: Join) -> Buffer:
        domain = self._domain(join.product.domain, [join.product], by_rows=join.sum_rows)
        if len(join.minus) > layout.MOST_LESSER:
            raise TooWide
        args = layout.JoinArgs(domain)
        args.product = self._product(join.product)
        for at, (times, lesser) in enumerate(join.minus):
            args.lesser[at] = layout.Lesser(self._made[lesser].address, times)
        args.count, args.sum_rows = len(join.minus), join.sum_rows
        out = self._run.table(self._vertices if join.sum_rows else domain.size)
        args.out = out.address
        self._run.launch_pass(
            LocalCountKernel.JOIN, 32 * self._vertices if domain.by_rows else domain.size, args
        )
        return out

    def _sum(self, of: Domain, products: list[tuple[Product, int]]) -> None:
        for product, times in products:
            if not product.factors:
                size = self._vertices if of is None else self._run.rows_of(of).arcs
                self._run.reader.constant += times * size
        left = [one for one in products if one[0].factors]
        for first in range(0, len(left), layout.MOST_PRODUCTS):
            few = left[first : first + layout.MOST_PRODUCTS]
            domain = self._domain(of, [product for product, _ in few], by_rows=False)
            args = layout.SumArgs(domain)
            for at, (product, times) in enumerate(few):
                args.products[at] = self._product(product)
                self._run.reader.sums.append((self._run.slot(), times))
            args.count, args.out = len(few), self._run.address(self._run.reader.sums[-len(few)][0])
            self._run.launch_pass(
                LocalCountKernel.SUMS, 32 * self._vertices if domain.by_rows else domain.size, args
            )

    def _domain(self, of: Domain, products: list[Product], *, by_rows: bool) -> layout.Domain:
        if of is None:
            return layout.Domain(Adjacency(), self._vertices, self._vertices, 0)
        rows = self._run.rows_of(of)
        sources = any(factor.at == layout.SOURCE for product in products for factor in product.factors)
        return layout.Domain(Adjacency(*rows.addresses), rows.arcs, self._vertices, by_rows or sources)

    def _product(self, product: Product) -> layout.Product:
        if len(product.factors) > layout.MOST_FACTORS:
            raise TooWide
        packed = layout.Product()
        for at, factor in enumerate(product.factors):
            packed.factors[at] = layout.Factor(self._made[factor.table].address, factor.at, 0)
        packed.count = len(product.factors)
        return packed

    def _rows(self, table: Table, ends: tuple[int, int]) -> DeviceRows:
        return self._run.rows_of(self._schedule.key(table, ends))


def prepare_tables(
    accelerator: Accelerator,
    graph: Graph,
    stage: Stage,
    request: Request,
    deadline: Deadline,
    search: Callable[[Searched], int],
    share: tuple[int, int] = (0, 1),
) -> TableJob:
    """Return the job that evaluates a formula, kept from an earlier call or set up now.

    Parameters
    ----------
    search
        Returns the number of embeddings that a search finds. Searches run first, one after another.
    share
        Index of the device, and number of devices (`_Preparation`).

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `_Preparation.prepare`.
    """
    deadline.check()
    schedule = stage.schedule
    assert schedule is not None
    searched = 0
    if stage.searched and share[0] == 0:
        scalars = schedule.scalars.items()
        searched = sum(times * search(scalar) for scalar, times in scalars if isinstance(scalar, Searched))
    pool = job_pool(graph, accelerator)
    name = ("tables", id(schedule.formula), share, request.gpu_memory, request.switches)
    job = pool.begin(name, request)
    if job is None:
        with setting_up(TableJob(accelerator, "tables", MOST_BLOCK_BYTES, request.gpu_memory)) as job:
            context = UploadContext.of(job.stream, request, deadline)
            run = TableRun(job, graph, context, request.tuning["wedge_ends"])
            _Preparation(run, graph, schedule, share).prepare()
            run.end()
            if run.repeatable:
                pool.keep(name, job, stage, request)
    job.reader.searched = searched
    return job


def prepare_rooted_tables(
    run: TableRun,
    graph: Graph,
    schedule: Schedule,
    wanted: Sequence[Table],
    given: Mapping[Searched, Buffer] = MappingProxyType({}),
) -> dict[Table, Buffer]:
    """Add the launches that compute tables with roots; return their memory, 64 bits for each root.

    Parameters
    ----------
    given
        The memory of tables of searches from each arc. The host searches for others.

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `_Preparation.prepare`.
    """
    for buffer in given.values():
        run.hold(buffer)
    return _Preparation(run, graph, schedule, wanted=wanted, given=given).prepare()


def table_bytes(graph: Graph, schedule: Schedule) -> int:
    """Return the approximate bytes of a device that the tables of a formula and their rows take."""
    arcs, vertices = graph.forward.num_arcs, graph.num_vertices
    sizes = (vertices, arcs)
    tables = sum(8 * sizes[table.pattern.roots == 2] for table in schedule.tables)
    return tables + 8 * (arcs + vertices) + 8 * vertices


def _parts(table: Table, join: Join | None) -> Iterator[Table]:
    """Yield the tables from which a table is computed, one for each use."""
    if join is not None:
        yield from (factor.table for factor in join.product.factors)
        yield from (lesser for _, lesser in join.minus)
    elif isinstance(table, Walks):
        yield from (step.weights for step in table.steps if step.weights is not None)


def _ends(one: Walks | Step) -> tuple[int, int]:
    assert one.ends is not None
    return one.ends


def _address(buffer: Buffer | None) -> int:
    return 0 if buffer is None else buffer.address
