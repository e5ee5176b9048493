"""Candidate spaces on a device: filtered, measured and filled there, and kept with the graph.

The kernels of ``include/motiflux/candidates`` do the same as `csrc/candidates` on the CPU. Rows hold data
vertices, not positions, so that the same kernels search them and the graph's rows.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import space as kernels
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.space import SPACE_THREADS, TILE, WARP, SpaceKernel, space_source
from motiflux.device import Buffer, Device, Kernel
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.runtime.job import AnyJob
from motiflux.gpu.runtime.kernel_times import times_taken
from motiflux.gpu.storage.device_csr import DeviceCsr, DeviceRows, RowsKey, resident
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.plan import Plan
from motiflux.plan.bind import BoundEdge, BoundPattern
from motiflux.plan.candidates.space import allowed_vertices, max_space_bytes
from motiflux.plan.passes.steps import degree_bounds
from motiflux.plan.shape import SpaceKey

Lent = TypeVar("Lent", bound=CacheEntry)

_BLOCKS_OF_MULTIPROCESSOR = 16
_WHAT = "a candidate space"


class SlotKey(NamedTuple):
    """Names rows of a space: the adjacency of a query edge, and bitsets of query vertices at both ends."""

    kind: AdjacencyKey
    start: int
    end: int


class SlotRows(NamedTuple):
    """The rows of one slot, as a search reads them (`WalkedRows`)."""

    addresses: tuple[int, int]
    arcs: int
    longest: int
    starts: int
    """Largest number of candidates of a query vertex to which the rows belong."""


@dataclass(eq=False)
class DeviceSpace(CacheEntry):
    """A candidate space on a device.

    Parameters
    ----------
    name
        Name in the cache.
    serves
        A word per data vertex: bit u is set if it is a candidate of query vertex u.
    memory
        Buffers of the space.
    sizes
        Number of candidates of each query vertex.
    rounds
        Number of filter rounds that removed candidates.
    seconds
        Time of its kernels by the device's clock, without work of the host in between.
    """

    name: Hashable
    serves: Buffer
    memory: tuple[Buffer, ...]
    sizes: tuple[int, ...]
    rounds: int
    seconds: float = 0.0
    filtered: object = field(default_factory=object, repr=False)
    """The same object for copies of one space, whose rows are equal. Spaces that were filtered separately may
    differ, since the progress of the filter differs from run to run."""
    report: kernels.Report | None = field(default=None, repr=False)
    """Report of the kernels that filtered and measured."""
    slots: dict[SlotKey, SlotRows] = field(default_factory=dict, repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of the space."""
        return self.memory


class _TooLarge(Exception):  # noqa: N818 - no error: rows of the graph are searched
    """A space exceeds the maximum size for the graph, however much memory is free."""


def slot_keys(plan: Plan) -> list[list[SlotKey]]:
    """Return the names of the rows of the candidate space that the sources of each level read."""
    assert plan.space is not None
    pattern = plan.space.pattern
    together: dict[int, int] = {}
    required: dict[int, object] = {}
    for vertex, number in zip(plan.order, plan.classes, strict=True):
        together[number] = together.get(number, 0) | 1 << vertex
        asked = pattern.labels[vertex], pattern.filters[vertex]
        assert required.setdefault(number, asked) == asked, "query vertices of one class differ"
    bits = {vertex: together[number] for vertex, number in zip(plan.order, plan.classes, strict=True)}
    keys: list[list[SlotKey]] = []
    for args in plan.args.steps:
        keys.append([])
        for position, from_source in args.edges:
            edge = pattern.edges[position]
            start, end = (edge.source, edge.target) if from_source else (edge.target, edge.source)
            keys[-1].append(SlotKey(_kind(edge, start), bits[start], bits[end]))
    return keys


def device_space(job: AnyJob, graph: Graph, plan: Plan, context: UploadContext) -> DeviceSpace | None:
    """Return the candidate space of a plan, made if necessary; None if it does not fit.

    If the device has too little memory, the next call tries again. If the space exceeds the maximum size for
    the graph, the graph's memo, whose size is bounded, records that.

    Raises
    ------
    OutOfTimeError
        Time was up before the space was ready.
    """
    assert plan.space is not None
    copies = resident(graph, job.accelerator.device)
    name, wanted = _named(plan)
    too_large = ("too large", id(copies), name)
    if graph.memo.knows(too_large):
        return None
    builder = _Builder(job, graph, plan.space, wanted, context, copies)
    try:
        return copies.keep(name, lambda: builder.build(name))
    except DeviceMemoryError:
        return None
    except _TooLarge:
        graph.memo.get(too_large, lambda: True)
        return None


def _named(plan: Plan) -> tuple[Hashable, tuple[SlotKey, ...]]:
    """Return the name of the space of a plan, and its rows."""
    # The rows of root arcs come first, so that their offsets, and thus the units of work, begin at 0.
    wanted = tuple(dict.fromkeys(key for keys in slot_keys(plan) for key in keys))
    return ("space", plan.space, wanted), wanted


@dataclass(frozen=True)
class GivenFilter:
    """Results of the filter on another device: `DeviceSpace.serves`, `DeviceSpace.report`."""

    serves: NDArray[np.uint32]
    report: kernels.Report
    filtered: object

    def report_words(self) -> NDArray[np.uint8]:
        """Return the report as it was after the filter, before measuring."""
        blank = kernels.Report.from_buffer_copy(bytes(self.report))
        blank.arcs, blank.longest = type(blank.arcs)(), type(blank.longest)()
        return np.frombuffer(bytes(blank), np.uint8).copy()


def copy_space(
    space: DeviceSpace,
    fetch: Callable[[Buffer, int], NDArray[np.uint8]],
    job: AnyJob,
    graph: Graph,
    plan: Plan,
    context: UploadContext,
) -> None:
    """Copy a space from another device to that of `job`, with the same rows.

    Parameters
    ----------
    fetch
        Returns bytes of a buffer of the other device.

    Raises
    ------
    DeviceMemoryError
        The space does not fit.
    OutOfTimeError
        Time was up before the space was ready.
    """
    assert plan.space is not None
    assert space.report is not None
    copies = resident(graph, job.accelerator.device)
    known = copies.known(space.name)
    if isinstance(known, DeviceSpace) and known.filtered is space.filtered:
        return
    copies.drop(space.name)
    serves = fetch(space.serves, 4 * graph.num_vertices).view(np.uint32).copy()
    given = GivenFilter(serves, space.report, space.filtered)
    builder = _Builder(job, graph, plan.space, tuple(space.slots), context, copies)
    with contextlib.suppress(_TooLarge):
        copies.keep(space.name, lambda: builder.build(space.name, given))


def known_space(graph: Graph, plan: Plan, device: Device) -> DeviceSpace | None:
    """Return the candidate space of a plan if the device has it."""
    known = resident(graph, device).known(_named(plan)[0])
    return known if isinstance(known, DeviceSpace) else None


def keep_space(
    job: AnyJob, graph: Graph, plan: Plan, given: GivenFilter, context: UploadContext
) -> DeviceSpace | None:
    """Return the space of a plan, made of a filter that ran elsewhere; None if it does not fit.

    Raises
    ------
    OutOfTimeError
        Time was up before the space was ready.
    """
    assert plan.space is not None
    copies = resident(graph, job.accelerator.device)
    name, wanted = _named(plan)
    copies.drop(name)
    builder = _Builder(job, graph, plan.space, wanted, context, copies)
    try:
        return copies.keep(name, lambda: builder.build(name, given))
    except (DeviceMemoryError, _TooLarge):
        return None


class _Builder:
    """Makes one space. While it works, it is a user of the rows that it reads."""

    def __init__(
        self,
        job: AnyJob,
        graph: Graph,
        key: SpaceKey,
        wanted: Sequence[SlotKey],
        context: UploadContext,
        copies: DeviceCsr,
    ) -> None:
        self._accelerator = job.accelerator
        self._device = job.accelerator.device
        self._graph = graph
        self._key = key
        self._wanted = wanted
        self._context = context
        self._copies = copies
        kinds = (_kind(edge, end) for edge in key.pattern.edges for end in (edge.source, edge.target))
        self._lent: list[CacheEntry] = []
        self._kinds = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}

    def build(self, name: Hashable, given: GivenFilter | None = None) -> DeviceSpace:
        """Make the space of a name, from the filter results of another device if given."""
        try:
            return self._build(name, given)
        finally:
            for copies in self._lent:
                copies.users.discard(self)

    def _build(self, name: Hashable, given: GivenFilter | None) -> DeviceSpace:
        rows = len(self._wanted) * self._graph.num_vertices
        room = max_space_bytes(self._graph) - 8 * (rows + 1) - 4 * self._graph.num_vertices
        if len(self._kinds) > kernels.MAX_KINDS or len(self._wanted) > kernels.MAX_ROW_SETS or room < 0:
            raise _TooLarge
        stream, entries = self._context.stream, self._entries()
        args = describe(self._key, self._kinds, self._wanted, self._graph)
        self._lend_graph(args)
        serves = self._allocate(4 * self._graph.num_vertices)
        offsets = self._allocate(8 * (rows + 1))
        temporary = self._lend_temporary(args, rows)
        args.serves, args.offsets = serves.address, offsets.address
        began = stream.mark()
        stream.clear(offsets)
        if given is None:
            self._filter(entries, args)
        else:
            stream.upload(serves, given.serves)
            stream.upload(temporary, given.report_words())
            stream.wait()  # both arrays may be freed now
        for kernel in (SpaceKernel.MEASURE, SpaceKernel.ADD_TILES, SpaceKernel.PLACE_TILES):
            self._launch(entries, kernel, args, 1 if kernel is SpaceKernel.PLACE_TILES else None)
        self._launch(entries, SpaceKernel.PLACE_ROWS, args)
        placed = stream.mark()
        report = self._report(temporary)
        total = sum(report.arcs)
        if 4 * total > room:
            raise _TooLarge
        neighbors = self._allocate(4 * total)
        args.neighbors = neighbors.address
        again = stream.mark()
        if total:
            self._launch(entries, SpaceKernel.FILL, args)
        filled = stream.mark()
        stream.wait()  # searches on other streams may read it from now on
        milliseconds = placed.milliseconds_since(began) + filled.milliseconds_since(again)
        if (times := times_taken()) is not None:
            times.add("spaces", milliseconds / 1000)
        made = self._made(name, report, (serves, offsets, neighbors), milliseconds / 1000)
        if given is not None:
            made.filtered = given.filtered
        return made

    def _filter(self, entries: Mapping[str, Kernel], args: kernels.SpaceArgs) -> None:
        self._launch(entries, SpaceKernel.START, args)
        for number in range(self._key.rounds):
            args.round = number
            self._launch(entries, SpaceKernel.SWEEP, args)

    def _made(
        self, name: Hashable, report: kernels.Report, buffers: tuple[Buffer, ...], seconds: float
    ) -> DeviceSpace:
        sizes = np.array(report.started, np.int64) - np.array(report.removed, np.int64).sum(axis=0)
        rounds = int(np.count_nonzero(np.array(report.removed).any(axis=1)))
        size = self._key.pattern.size
        made = DeviceSpace(name, buffers[0], buffers, tuple(sizes[:size].tolist()), rounds, seconds)
        made.report = report
        offsets, neighbors = buffers[1].address, buffers[2].address
        for number, key in enumerate(self._wanted):
            place = offsets + 8 * number * self._graph.num_vertices
            arcs, longest = int(report.arcs[number]), int(report.longest[number])
            starts = max(made.sizes[vertex] for vertex in range(size) if key.start >> vertex & 1)
            made.slots[key] = SlotRows((place, neighbors), arcs, longest, starts)
        return made

    def _entries(self) -> Mapping[str, Kernel]:
        return self._accelerator.kernels(space_source(), SpaceKernel, self._context.deadline)

    def _launch(
        self,
        entries: Mapping[str, Kernel],
        kernel: SpaceKernel,
        args: kernels.SpaceArgs,
        warps: int | None = None,
    ) -> None:
        warps_of_block = SPACE_THREADS // WARP
        wanted = self._graph.num_vertices if warps is None else warps
        grid = min(self._device.multiprocessors * _BLOCKS_OF_MULTIPROCESSOR, -(-wanted // warps_of_block))
        threads = SPACE_THREADS if warps is None else WARP
        self._context.stream.launch(entries[kernel], max(1, grid), threads, 0, args)

    def _allocate(self, nbytes: int) -> Buffer:
        buffer = self._device.allocate(max(nbytes, 8), _WHAT, budget=self._context.budget)
        self._context.stream.hold(buffer)
        return buffer

    def _lend_graph(self, args: Any) -> None:
        """Fill in the addresses of the graph's rows and labels."""
        rows = [
            self._used(self._copies.rows(self._graph, RowsKey(kind, False), self._context))
            for kind in self._kinds
        ]
        for number, one in enumerate(rows):
            args.kinds[number] = Adjacency(*one.addresses)
        args.out = args.in_ = args.kinds[0]  # not read, unless set below
        if any(args.min_out):
            args.out = Adjacency(*self._used(self._arcs(into=False)).addresses)
        if any(args.min_in):
            args.in_ = Adjacency(*self._used(self._arcs(into=True)).addresses)
        labels = self._copies.labels(self._graph, self._context)
        if labels is not None:
            self._used(labels)
            args.labels = labels.buffer.address

    def _arcs(self, *, into: bool) -> DeviceRows:
        return self._copies.arcs(self._graph, into=into, context=self._context)

    def _used(self, copies: Lent) -> Lent:
        copies.users.add(self)
        self._lent.append(copies)
        for buffer in copies.buffers:
            self._context.stream.hold(buffer)
        return copies

    def _lend_temporary(self, args: kernels.SpaceArgs, rows: int) -> Buffer:
        """Fill in temporary memory: a report, tiles, bitsets by label and by vertex."""
        stream = self._context.stream
        given = [of_label(self._key.pattern, self._graph)]
        if (allowed := _allowed_words(self._key.pattern, self._graph)) is not None:
            given.append(allowed)
        tiles = 8 * (-(-rows // TILE))
        report = ctypes.sizeof(kernels.Report)
        temporary = self._allocate(report + tiles + sum(array.nbytes for array in given))
        stream.clear(temporary, 0, report)
        args.report, args.tiles = temporary.address, temporary.address + report
        place = report + tiles
        args.of_label = temporary.address + place
        self._given = given  # alive until the uploads are done
        for array in given:
            stream.upload(temporary, array, place)
            args.allowed = temporary.address + place
            place += array.nbytes
        if allowed is None:
            args.allowed = 0
        return temporary

    def _report(self, temporary: Buffer) -> kernels.Report:
        words = np.zeros(ctypes.sizeof(kernels.Report), np.uint8)
        self._context.stream.download(temporary, words)
        self._context.stream.wait()
        return kernels.Report.from_buffer_copy(words.tobytes())


def describe(
    key: SpaceKey, kinds: Mapping[AdjacencyKey, int], wanted: Sequence[SlotKey], graph: Graph
) -> kernels.SpaceArgs:
    """Return the kernels' arguments for a pattern, without addresses."""
    pattern = key.pattern
    args = kernels.SpaceArgs()
    args.vertices, args.query_vertices = graph.num_vertices, pattern.size
    args.kind_count, args.row_set_count, args.rounds = len(kinds), len(wanted), key.rounds
    for edge in pattern.edges:
        for end in (edge.source, edge.target):
            args.needs[kinds[_kind(edge, end)]][end] |= 1 << edge.other(end)
    for vertex in range(pattern.size):
        if key.degrees:
            args.min_out[vertex], args.min_in[vertex] = degree_bounds(pattern, vertex, set())
    groups = _groups(args, pattern) if key.injective else []
    for number, (_, *group) in enumerate(groups[: kernels.MAX_GROUPS]):
        args.groups[number] = kernels.Group(*group)
    for vertex in range(pattern.size + 1):
        args.first_group[vertex] = min(sum(at < vertex for at, *_ in groups), kernels.MAX_GROUPS)
    for number, slot in enumerate(wanted):
        args.row_sets[number] = kernels.RowSet(kinds[slot.kind], slot.start, slot.end)
    return args


def _groups(args: Any, pattern: BoundPattern) -> list[tuple[int, int, int, int]]:
    """Return groups of neighbours of a query vertex with the same labels, which compete for data vertices.

    Each group: query vertex, kind, bitset of the neighbours, their number.
    """
    found = []
    for vertex in range(pattern.size):
        for kind in range(args.kind_count):
            by_labels: dict[Any, int] = {}
            for other in range(pattern.size):
                if args.needs[kind][vertex] >> other & 1:
                    labels = pattern.labels[other]
                    by_labels[labels] = by_labels.get(labels, 0) | 1 << other
            found += [
                (vertex, kind, bits, bits.bit_count()) for bits in by_labels.values() if bits.bit_count() > 1
            ]
    return found


def of_label(pattern: BoundPattern, graph: Graph) -> NDArray[np.uint32]:
    """Return the bitset of the query vertices that allow each label code."""
    bits = np.zeros(max(1, len(graph.vertex_label_table)), np.uint32)
    for vertex, codes in enumerate(pattern.labels):
        bits[slice(None) if codes is None else list(codes)] |= np.uint32(1 << vertex)
    return bits


def _allowed_words(pattern: BoundPattern, graph: Graph) -> NDArray[np.uint32] | None:
    """Return the bitset of the query vertices whose filters each vertex passes; None without filters."""
    if all(narrowing is None for narrowing in pattern.filters):
        return None
    words = np.zeros(graph.num_vertices, np.uint32)
    for vertex, narrowing in enumerate(pattern.filters):
        allowed = allowed_vertices(graph, narrowing)
        words |= np.uint32(1 << vertex) if allowed is None else allowed.astype(np.uint32) << np.uint32(vertex)
    return words


def _kind(edge: BoundEdge, start: int) -> AdjacencyKey:
    """Return the adjacency of a query edge seen from one of its ends, for any vertex labels."""
    direction = Direction.OUT if start == edge.source else Direction.IN
    return AdjacencyKey(
        Direction.EITHER if edge.either else direction, edge.labels, None, None, edge_where=edge.where
    )
