"""The job that evaluates a formula on a device: rows, memory and launches in order on one stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import local_counts_layout as layout
from motiflux.codegen.kernels import ENTRY
from motiflux.codegen.layout import Control
from motiflux.codegen.local_counts_kernels import MOST_THREADS, LocalCountKernel, local_counts_source
from motiflux.device import Buffer, Device, Kernel
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.launch.group_memory import USABLE
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.runtime.job import KernelJob
from motiflux.gpu.runtime.kernel_times import marked
from motiflux.gpu.runtime.launches import LaunchSequence, Result, check_not_stopped
from motiflux.gpu.runtime.session import CONTROL_BYTES, MOST_BLOCK_BYTES
from motiflux.gpu.runtime.work_partition import every
from motiflux.gpu.storage.device_csr import DeviceRows, RowsKey, resident
from motiflux.gpu.storage.orbit_tables import ListStarts, coefficients, list_starts
from motiflux.gpu.storage.upload import UploadContext
from motiflux.gpu.storage.wedge_roots import TABLE_THREADS, DeviceRoots, ranks_of, roots_by_row, roots_of
from motiflux.graph import AdjacencyKey, Graph

_FIRST_WORD = CONTROL_BYTES // 8
_TABLE = "a table of local counts"
_BLOCK_THREADS = 512
"""Threads of blocks in kernels whose blocks take all roots, including light ones."""
_LEAST_THREADS = 256
"""Fewest threads of a block; four such blocks run on one multiprocessor at once."""
_TURNING_ROOM = 4
"""Counters of all vertices, over the shared memory of a block, from which on the lesser of two is the root.
On an H100 4-cycles of R-MAT 18 and 20, 2.3 and 9 times that memory, take 1.36 and .25 times as long so."""
MEMBER_THREADS = 256
"""Threads of blocks in the kernel that finds triangles of the neighbours of a vertex."""
_LANES = 32
_SMALL = 1 << 14
"""Most arcs for which blocks have 128 threads."""
_SOURCES = {kernel: local_counts_source(kernel, ENTRY) for kernel in LocalCountKernel}

T = TypeVar("T", bound=CacheEntry)
Numbers = Sequence[tuple[Buffer, int]]
"""Arrays of 64-bit numbers: their memory, and how many there are."""


class TooWide(Exception):  # noqa: N818 - no error: the count is made in another way
    """The formula has more parts than a kernel takes, or the graph more vertices."""


@dataclass(frozen=True)
class Shape:
    """Size of a block of the kernels that take roots.

    Parameters
    ----------
    threads
        Threads of a block.
    words
        Words of its shared memory behind the scratch that every block has.
    slots
        Slots of each warp's hash table in these words.
    """

    threads: int
    words: int
    slots: int

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        return layout.SCRATCH_BYTES + 4 * self.words

    @property
    def light(self) -> int:
        """Most work of a root that a warp takes: its vertices fill three quarters of the hash table."""
        return 3 * self.slots // 4


def shape_of(device: Device, arcs: int, room: int, share: float = 0.0) -> Shape:
    """Return the smallest blocks that have `room` bytes of shared memory each.

    If no block has that much, return the largest one. With small blocks, a multiprocessor hides the latency
    of several roots at once; but the heaviest root must not outlast all others.

    Parameters
    ----------
    share
        Share of the heaviest root in all work.
    """
    most = device.shared_per_block - layout.SCRATCH_BYTES
    least = max(_LEAST_THREADS, MOST_THREADS * share * device.multiprocessors)
    threads = MOST_THREADS
    while threads // 2 >= least and room + layout.SCRATCH_BYTES <= threads * most // MOST_THREADS // 2:
        threads //= 2
    words = (threads * device.shared_per_block // MOST_THREADS - 2 * layout.SCRATCH_BYTES) // 4
    if arcs <= _SMALL:
        threads = 128
    slots = 512
    while 2 * slots * (threads // 32) > words:
        slots //= 2
    return Shape(threads, words, slots)


class TableReader:
    """Reads the value of a formula.

    Attributes
    ----------
    sums
        The slot of each number that kernels write, and its factor.
    constant
        A number to add.
    searched
        Sum of the searches in the formula, which each call runs first.
    units
        Total number of roots that kernels take.
    numbers
        Numbers that are read once the kernels have ended.
    """

    def __init__(self, control: ControlBlock) -> None:
        self._control = control
        self.sums: list[tuple[int, int]] = []
        self.constant = 0
        self.searched = 0
        self.units = 0
        self.numbers: Numbers = ()

    def progress(self, seen: Control) -> tuple[int, int, int]:
        """Return roots done, roots in total, and 0."""
        return int(seen.done), self.units, 0

    def result(self) -> Result:
        """Return the value, once all kernels have ended; an overflow if a number passed 64 bits."""
        check_not_stopped(self._control)
        words: list[int] = self._control.numbers.tolist()
        if words[_FIRST_WORD]:
            return Result(0, overflow=True)
        total = sum(times * (words[at] | words[at + 1] << 64) for at, times in self.sums)
        return Result(self.searched + self.constant + total)


TableJob = KernelJob[LaunchSequence, TableReader]
"""The job of all kernels of a formula."""


class TableRun:
    """Prepares the job of a formula: rows, memory and launches.

    Parameters
    ----------
    wedge_ends
        The switch of this name.

    Attributes
    ----------
    repeatable
        Whether kernels compute everything, so that the job can be launched again.
    share
        Roots that the next launches take: index of the first one, and stride.
    """

    def __init__(self, job: TableJob, graph: Graph, context: UploadContext, wedge_ends: str) -> None:
        self.context = context
        self._wedge_ends = wedge_ends
        self.repeatable = True
        self.share = (0, 1)
        self.reader = TableReader(job.control)
        self._job = job
        self._accelerator = job.accelerator
        self._graph = graph
        self._vertices = graph.num_vertices
        self._launches = LaunchSequence()
        self._frames: list[Any] = []
        self._names: dict[int, str] = {}
        self._free: dict[int, list[Buffer]] = {}
        self._next_word = _FIRST_WORD + 1  # the first one flags an overflow of 64 bits

    def end(self) -> None:
        """Set up the job with the launches that were prepared."""
        control = self._job.control
        frame = layout.Frame(control.address, self.address(_FIRST_WORD))
        for args in self._frames:
            args.frame = frame
        control.fetched = 8 * self._next_word
        self._job.set_up(self._launches, self.reader)

    def rows_of(self, key: AdjacencyKey) -> DeviceRows:
        """Return rows of the graph, copied if they are not on the device yet."""
        copies = resident(self._graph, self._accelerator.device)
        return self._read(copies.rows(self._graph, RowsKey(key, above=False), self.context))

    def order_of(
        self, first: DeviceRows, second: DeviceRows, ends: layout.Ends, *, divided: bool = False
    ) -> DeviceRoots:
        """Return the order of the roots of wedges along `first` and `second` (`roots_of`)."""
        graph, device = self._graph, self._accelerator
        roots = roots_of(graph, device, first, second, ends=ends, divided=divided, context=self.context)
        return self._read(roots)

    def rows_above(self, key: AdjacencyKey) -> DeviceRows:
        """Return the arcs to greater vertices of these rows."""
        copies = resident(self._graph, self._accelerator.device)
        return self._read(copies.rows(self._graph, RowsKey(key, above=True), self.context))

    def roots_by_row(self, rows: DeviceRows) -> DeviceRoots:
        """Return the vertices with two entries or more, those of the longest rows first."""
        return self._read(roots_by_row(self._graph, self._accelerator, rows, self.context))

    def list_starts(self, key: AdjacencyKey) -> ListStarts:
        """Return where the lists of common neighbours of arcs begin."""
        return self._read(list_starts(self._graph, key, self._accelerator, self.context))

    def coefficients(self, numbers: NDArray[np.uint64]) -> int:
        """Return the address of coefficients of orbits, which are the same for all graphs."""
        return self._read(coefficients(self._graph, self._accelerator, numbers, self.context)).buffer.address

    def ranks_of(self, rows: DeviceRows) -> int:
        """Return the address of the places of arcs in the rows of their targets."""
        return self._read(ranks_of(self._graph, self._accelerator, rows, self.context)).ranks.address

    def _read(self, entry: T) -> T:
        return entry if self._job.memory.reads(entry) else self._job.memory.read(entry)

    def _allocate(self, nbytes: int, what: str) -> Buffer:
        nbytes = max(nbytes, 8)
        if free := self._free.get(nbytes):
            return free.pop()
        buffer = self._accelerator.device.allocate(nbytes, what, budget=self.context.budget)
        self._job.memory.hold(buffer)
        return buffer

    def reuse(self, buffer: Buffer) -> None:
        """Reuse a buffer in later launches: the launches added so far are the last to need its contents."""
        self._free.setdefault(buffer.nbytes, []).append(buffer)

    def hold(self, buffer: Buffer) -> None:
        """Have memory that another job filled outlive the launches."""
        self.repeatable = False
        self._job.memory.hold(buffer)

    def filled(self, numbers: NDArray[np.uint64]) -> Buffer:
        """Return device memory with these numbers, which the host computed for this evaluation."""
        self.repeatable = False
        buffer = self._accelerator.device.allocate(max(numbers.nbytes, 8), _TABLE, budget=self.context.budget)
        self._job.memory.hold(buffer)
        if numbers.nbytes:
            self.context.stream.upload(buffer, numbers)
            self.context.stream.wait()
        return buffer

    def table(self, size: int) -> Buffer:
        """Return memory for `size` 64-bit numbers."""
        return self._allocate(8 * size, _TABLE)

    def zeros(self, nbytes: int, what: str = _TABLE) -> Buffer:
        """Return zeroed memory."""
        buffer = self._allocate(nbytes, what)
        self._launches.add(lambda stream: stream.clearing(buffer))
        return buffer

    def for_blocks(self, grid: int, bytes_of_block: int, what: str) -> tuple[int, Buffer]:
        """Return the number of blocks that fit, at most `grid`, and zeroed memory for them."""
        device, budget = self._accelerator.device, self.context.budget
        while True:
            try:
                return grid, self.zeros(bytes_of_block * grid, what)
            except DeviceMemoryError:
                if grid == 1:
                    raise
            available = device.free_memory()
            if budget is not None:
                available = min(available, budget - device.used_memory())
            grid = max(1, min(grid // 2, int(USABLE * available) // bytes_of_block))

    def slot(self) -> int:
        """Reserve two words that are zero at the start and fetched at the end; return the first one."""
        at = self._next_word
        self._next_word += 2
        if 8 * self._next_word > MOST_BLOCK_BYTES:
            raise TooWide
        return at

    def address(self, slot: int) -> int:
        """Return the address of a word of `slot`."""
        return self._job.control.address + 8 * slot

    def kernel_of(self, kernel: LocalCountKernel) -> Kernel:
        """Return a kernel, compiled if necessary."""
        loaded = self._accelerator.kernel(_SOURCES[kernel], self.context.deadline)
        self._names[id(loaded)] = kernel
        return loaded

    def shape_of(self, rows: DeviceRows, roots: DeviceRoots, room: int) -> Shape:
        """Return the size of blocks that take the roots of `rows` and need `room` bytes each."""
        return shape_of(self._accelerator.device, rows.arcs, room, roots.share)

    def turns_wedges(self, room: int) -> bool:
        """Return whether the lesser one of two vertices is the root of their wedges.

        Most wedges then end in few vertices, those of most neighbours, but roots and parts of rows are more.
        So it pays where `room` bytes of counters exceed the shared memory of a block several times.
        """
        if self._wedge_ends == "auto":
            return room > _TURNING_ROOM * self._accelerator.device.shared_per_block
        return self._wedge_ends == "greater"

    def room_of_two(self) -> int:
        """Return the bytes of shared memory that each of two blocks of a multiprocessor has."""
        return self._accelerator.device.shared_per_block // 2 - 2 * layout.SCRATCH_BYTES

    def root_grid(self, kernel: Kernel, shape: Shape, roots: DeviceRoots) -> int:
        """Return the number of blocks that take roots."""
        heavy = roots.heavier(shape.light)
        light = -(-(roots.count - heavy) // (shape.threads // 32))
        return max(1, min(self.most_blocks(kernel, shape.threads, shape.shared), heavy + light))

    def most_blocks(self, kernel: Kernel, threads: int, shared: int) -> int:
        """Return the number of blocks that run at once."""
        return self._accelerator.device.multiprocessors * kernel.blocks_per_multiprocessor(threads, shared)

    def launch_members(
        self, name: LocalCountKernel, args: layout.DiamondArgs, rows: DeviceRows, roots: DeviceRoots
    ) -> None:
        """Launch a kernel whose blocks take roots of long rows, each with a matrix of bits of its entries."""
        kernel, device = self.kernel_of(name), self._accelerator.device
        needed = rows.longest * (-(-rows.longest // 32) | 1)
        heavy = roots.heavier(_LANES)
        args.near_words = min(needed, self.room_of_two() // 4) if heavy else 0
        shared = layout.SCRATCH_BYTES + 4 * args.near_words
        most = self.most_blocks(kernel, MEMBER_THREADS, shared)
        light = -(-(roots.count - heavy) // (MEMBER_THREADS // _LANES))
        grid = max(1, min(most, heavy + light))
        if heavy and needed > args.near_words:
            args.far_words = needed
            grid, far = self.for_blocks(min(grid, device.multiprocessors), 4 * needed, "bits of neighbours")
            args.far = far.address
        self.launch_over(kernel, grid, MEMBER_THREADS, shared, args, roots, heavy)

    def launch_roots(self, kernel: Kernel, grid: int, shape: Shape, args: Any, roots: DeviceRoots) -> None:
        """Launch a kernel whose blocks take heavy roots, and whose warps take light ones."""
        self.launch_over(kernel, grid, shape.threads, shape.shared, args, roots, roots.heavier(shape.light))

    def launch_blocks(
        self, name: LocalCountKernel, args: Any, rows: DeviceRows, roots: DeviceRoots, bytes_of_block: int
    ) -> None:
        """Launch a kernel whose blocks take all roots; each block has its own memory."""
        kernel = self.kernel_of(name)
        threads = _BLOCK_THREADS if rows.arcs > _SMALL else 128
        most = self.most_blocks(kernel, threads, layout.SCRATCH_BYTES)
        if roots.count == 0:
            return
        grid, memory = self.for_blocks(max(1, min(most, roots.count)), bytes_of_block, f"numbers of {name}")
        if isinstance(args, layout.WalkArgs):
            args.values = memory.address
            args.reached = memory.address + 8 * args.registers * self._vertices * grid
        elif isinstance(args, layout.KindArgs):
            args.counters = memory.address
        self.launch_over(kernel, grid, threads, layout.SCRATCH_BYTES, args, roots, roots.count)
        self.reuse(memory)

    def launch_over(
        self,
        kernel: Kernel,
        grid: int,
        threads: int,
        shared: int,
        args: Any,
        roots: DeviceRoots,
        heavy: int,
    ) -> None:
        """Launch a kernel whose blocks take the first `heavy` roots, and whose warps take the others."""
        first, stride = self.share
        mine = every(roots.count, first, stride)
        if mine == 0:
            return
        addresses = roots.order.address, roots.work.address
        taken = self.address(self.slot())
        args.roots = layout.Roots(*addresses, every(heavy, first, stride), mine, taken, first, stride)
        self.reader.units += mine
        self._launch_plain(kernel, grid, threads, shared, args)

    def launch_parts(
        self, kernel: Kernel, grid: int, threads: int, shared: int, args: Any, parts: int
    ) -> None:
        """Launch a kernel whose blocks take `parts` parts of its work, one after another."""
        args.taken = self.address(self.slot())
        self.reader.units += parts
        self._launch_plain(kernel, grid, threads, shared, args)

    def launch_pass(self, name: LocalCountKernel, threads: int, args: Any) -> None:
        """Launch a kernel over all roots, which keeps at most `threads` threads busy."""
        kernel = self.kernel_of(name)
        most = self.most_blocks(kernel, TABLE_THREADS, layout.SCRATCH_BYTES)
        grid = max(1, min(most, -(-threads // TABLE_THREADS)))
        self._launch_plain(kernel, grid, TABLE_THREADS, layout.SCRATCH_BYTES, args)

    def _launch_plain(self, kernel: Kernel, grid: int, threads: int, shared: int, args: Any) -> None:
        self.context.deadline.check()
        if hasattr(args, "frame"):
            self._frames.append(args)
        name = self._names[id(kernel)]
        self._launches.add(
            lambda stream: marked(name, stream.launching(kernel, grid, threads, shared, args), stream)
        )
