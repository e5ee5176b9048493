"""The kernels of the phases of a search: all of them in a chain, or one at a time.

In a chain, a phase takes the number of its embeddings from the control block of the phase before, so the host
waits once for all phases. That is enough if all frontiers have room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from motiflux.codegen import layout
from motiflux.codegen.pcsr import IntervalRows
from motiflux.codegen.pvm import (
    OPENED_BYTES,
    THREADS,
    ExtendArgs,
    PhaseKernel,
    closing_source,
    elimination_source,
    extension_source,
)
from motiflux.device import Buffer, Kernel, Stream
from motiflux.errors import DeviceError
from motiflux.gpu.pvm.arguments import Constants, arguments_of, set_rows
from motiflux.gpu.pvm.controls import PhaseControls
from motiflux.gpu.pvm.frontiers import Frontier, LeftRoom
from motiflux.gpu.pvm.programs import ExtensionProgram, Program, Programs
from motiflux.gpu.pvm.work import LONG_BATCH, PhaseWork
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.launches import Wave, check_not_stopped
from motiflux.jit import Source
from motiflux.request.deadline import Deadline

WARPS_OF_BLOCK = THREADS // 32
RESIDENT_WARPS = 64
"""Most warps of a multiprocessor."""


@dataclass(frozen=True)
class Room:
    """Memory of a search.

    Parameters
    ----------
    frontiers
        Those behind all phases that write one.
    left
        Room for work that launches leave.
    positions
        Round robin: the next batch of each warp, for each phase; None: warps take batches from a counter.
    """

    frontiers: Sequence[Frontier]
    left: LeftRoom
    positions: Buffer | None

    @property
    def buffers(self) -> list[Buffer]:
        """All memory."""
        found = [one.buffer for one in self.frontiers] + self.left.buffers
        return found if self.positions is None else [*found, self.positions]


class View(NamedTuple):
    """Embeddings in columns: their first word, the distance between columns in words, and their number."""

    address: int
    capacity: int
    rows: int


@dataclass(frozen=True)
class Step:
    """The launch of one phase.

    Parameters
    ----------
    work
        What is left of it.
    left
        Parts of this that are in the room for parts that earlier launches left.
    takes_batches
        Whether batches are taken, too.
    filled
        Rows that are in its output.
    limit
        Stop once more than this many are counted.
    source
        The embeddings; None: those of the frontier before it, or all vertices.
    output
        The frontier that it writes; None: the one behind it, or none.
    """

    work: PhaseWork
    left: int
    takes_batches: bool
    filled: int
    limit: int | None
    source: View | None = None
    output: Frontier | None = None


@dataclass(frozen=True)
class Launch:
    """A kernel, and its launch."""

    kernel: Kernel
    grid: int
    shared: int
    args: Any


class PhaseLaunches:
    """The launches of a search (`motiflux.gpu.runtime.launches.Launches`).

    Parameters
    ----------
    vertices
        Number of vertices of the graph.
    roots_ascend
        Whether the search begins with the first vertex, not with the last.
    counts
        Whether the last phase counts.
    by_size
        Whether it counts by the numbers of candidates where it can, for several query vertices at a time.

    Attributes
    ----------
    memory
        Device memory and rows of the job, if it is kept.
    """

    memory: Any = None

    def __init__(
        self,
        accelerator: Accelerator,
        programs: Programs,
        controls: PhaseControls,
        constants: Constants,
        *,
        vertices: int,
        roots_ascend: bool,
        counts: bool,
        by_size: bool,
        deadline: Deadline,
    ) -> None:
        self._vertices, self._roots_ascend = vertices, roots_ascend
        self.programs, self.controls, self.counts = programs, controls, counts
        self._accelerator = accelerator
        self._constants = constants
        last = len(programs.phases) - 1
        self._kernels = [
            self._kernel(phase, counts=counts and at == last, by_size=by_size, deadline=deadline)
            for at, phase in enumerate(programs.phases)
        ]
        self._chain: list[Launch] = []
        self._packed: dict[int, Any] = {}  # arguments of phases that were launched one at a time
        self._single: Launch | None = None

    def _kernel(self, phase: Program, *, counts: bool, by_size: bool, deadline: Deadline) -> Kernel:
        entry = entry_of(phase, counts=counts, by_size=by_size)
        return self._accelerator.kernels(*unit_of(phase, entry), deadline)[entry]

    def chain(self, room: Room, rows: Sequence[Sequence[IntervalRows]], control: int) -> None:
        """Set the launches of all phases.

        Parameters
        ----------
        rows
            The rows of the tables of each phase.
        control
            Address of the control block of the job.
        """
        self._chain = []
        for at, kernel in enumerate(self._kernels):
            args = self._arguments(at, room, control)
            shared = self._set_rows(args, rows[at])
            if at == 0:
                args.work.size = self._vertices
            else:
                args.work.before = self.controls.address(at - 1)
            self._chain.append(Launch(kernel, self._grid(kernel, shared, None), shared, args))

    def single(self, at: int, room: Room, rows: Sequence[IntervalRows], control: int, step: Step) -> None:
        """Have the next launch run one phase.

        Parameters
        ----------
        rows
            The rows of its tables.
        control
            Address of the control block of the job.
        """
        packed = self._packed.get(at)
        if packed is None:
            packed = self._packed[at] = self._arguments(at, room, control)
        shared = self._set_rows(packed, rows)
        work = packed.work
        work.size = step.work.size
        work.first_batch = step.work.first_batch if step.takes_batches else step.work.batches
        work.left, work.left_count = room.left.left.address, step.left
        work.filled, work.limit = step.filled, _limit(step.limit)
        if step.source is not None:
            packed.in_.words, packed.in_.capacity = step.source.address, step.source.capacity
        if step.output is not None:
            _set_columns(packed.out, step.output)
        kernel, units = self._kernels[at], step.work.units
        grid = self._grid(kernel, shared, units if room.positions is None else None)
        self._single = Launch(kernel, grid, shared, packed)

    def all_phases(self, limit: int | None) -> None:
        """Have the next launch run all phases."""
        self._single = None
        for launch in self._chain:
            launch.args.work.limit = _limit(limit)

    def _arguments(self, at: int, room: Room, control: int) -> Any:
        """Return the arguments of a phase, all but the rows and the size of its work."""
        args = arguments_of(self.programs.phases[at], self._constants)
        work = args.work
        work.control, work.search = self.controls.address(at), control
        work.parked, work.long_parts = room.left.parked.address, room.left.long_parts.address
        work.most_long, work.long_batch = room.left.most_long, LONG_BATCH
        work.limit = layout.NO_LIMIT
        if room.positions is not None:
            work.next_batches = room.positions.address + at * self.position_bytes
        if at > 0:
            _set_columns(args.in_, room.frontiers[at - 1])
        else:
            args.in_.capacity = 0 if self._roots_ascend else self._vertices
        if at < len(room.frontiers):
            _set_columns(args.out, room.frontiers[at])
        return args

    @staticmethod
    def _set_rows(args: Any, rows: Sequence[IntervalRows]) -> int:
        """Set the rows of a phase; return the bytes of shared memory of its kernel."""
        shared = set_rows(args, rows)
        return shared + WARPS_OF_BLOCK * OPENED_BYTES if isinstance(args, ExtendArgs) else shared

    @property
    def position_bytes(self) -> int:
        """Bytes of the positions of all warps of a phase."""
        return 8 * most_warps(self._accelerator.device.multiprocessors)

    def _grid(self, kernel: Kernel, shared: int, units: int | None) -> int:
        """Return the blocks that run at once, at most one warp for each unit."""
        device = self._accelerator.device
        resident = kernel.blocks_per_multiprocessor(THREADS, shared)
        if resident == 0:
            raise DeviceError(
                f"device={device.name!r}: a block of a phase needs {shared:,} bytes of shared memory;"
                " use another engine"
            )
        most = min(resident, RESIDENT_WARPS // WARPS_OF_BLOCK) * device.multiprocessors
        return most if units is None else max(1, min(most, -(-units // WARPS_OF_BLOCK)))

    def bind(self, stream: Stream) -> Sequence[Wave]:
        """Return a function that runs the launches that were set last."""
        clear, fetch = self.controls.clearing(stream), self.controls.fetching(stream)
        bound = [stream.launching(one.kernel, one.grid, THREADS, one.shared, one.args) for one in self._chain]

        def launch() -> None:
            clear()
            if (one := self._single) is not None:
                stream.launch(one.kernel, one.grid, THREADS, one.shared, one.args)
            else:
                for run in bound:
                    run()
            fetch()

        work: list[Callable[[], None]] = [launch]
        return [work]

    def resume(self) -> None:
        """Refuse: a launch continues what `PhaseWork` says is left."""
        raise AssertionError("phases are not resumed by their control block")

    def release(self) -> None:
        """Drop all launches, and the memory that they use."""
        self._chain, self._packed, self._single, self.memory = [], {}, None, None


class PhaseReader:
    """Reads the number that all phases of a launch counted.

    Attributes
    ----------
    units
        Parts of a search of which progress tells how many are over.
    share
        Share of the search that is over: from 0 to 1.
    found
        The number counted before the launch.
    """

    units = 1000

    def __init__(self, control: ControlBlock) -> None:
        self._control = control
        self.share, self.found = 0.0, 0

    def progress(self, seen: layout.Control) -> tuple[int, int, int]:
        """Return the parts of the search that are over, all of them, and the number found."""
        return min(self.units, int(self.units * self.share)), self.units, self.found + counted(seen)

    def result(self) -> layout.Control:
        """Return the control block of the job; raises `InternalError` if another job stopped the kernels."""
        return check_not_stopped(self._control)


def counted(seen: layout.Control) -> int:
    """Return the number counted."""
    return int(seen.found[0]) | int(seen.found[1]) << 64


def entry_of(program: Program, *, counts: bool, by_size: bool) -> PhaseKernel:
    """Return the kernel of a phase.

    Parameters
    ----------
    by_size
        Whether several query vertices may be counted by the numbers of candidates.
    """
    if not counts:
        return PhaseKernel.WRITE
    if isinstance(program, ExtensionProgram):
        if program.following is not None:
            return PhaseKernel.NEXT
        if not program.tests and program.follows_from_sizes and (by_size or program.shape.members == 1):
            return PhaseKernel.SIZE
    return PhaseKernel.COUNT


def unit_of(program: Program, entry: PhaseKernel) -> tuple[Source, list[PhaseKernel]]:
    """Return the unit of a kernel, and all its entry points."""
    if not isinstance(program, ExtensionProgram):
        return elimination_source(), [PhaseKernel.WRITE, PhaseKernel.COUNT]
    if entry is PhaseKernel.SIZE:
        return closing_source(), [PhaseKernel.SIZE]
    return extension_source(program.shape), [PhaseKernel.WRITE, PhaseKernel.COUNT, PhaseKernel.NEXT]


def most_warps(multiprocessors: int) -> int:
    """Return the warps of the largest grid."""
    return multiprocessors * RESIDENT_WARPS


def _set_columns(packed: Any, frontier: Frontier) -> None:
    packed.words, packed.capacity = frontier.address, frontier.capacity


def _limit(limit: int | None) -> int:
    return layout.NO_LIMIT if limit is None else min(limit, layout.NO_LIMIT)
