"""The kernels of the phases of a search: all of them in a chain, or one at a time.

In a chain, a phase takes the number of its embeddings from the control block of the phase before, so the host
waits once for all phases. That is enough if all frontiers have room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from motiflux.codegen import layout
from motiflux.codegen.pvm import (
    DEFAULT_FORM,
    FILTER_THREADS,
    OFFSET_THREADS,
    OPENED_BYTES,
    THREADS,
    ExtendArgs,
    ExtendByHashArgs,
    FilterArgs,
    KernelForm,
    OffsetArgs,
    PhaseKernel,
)
from motiflux.device import Buffer, Kernel, Stream
from motiflux.errors import DeviceError
from motiflux.gpu.pvm.arguments import Constants, arguments_of, set_rows
from motiflux.gpu.pvm.controls import PhaseControls
from motiflux.gpu.pvm.frontiers import Frontier, LeftRoom
from motiflux.gpu.pvm.phase_kernels import filter_kernel, kernels_of
from motiflux.gpu.pvm.programs import Programs
from motiflux.gpu.pvm.resident_tile import TableRows
from motiflux.gpu.pvm.work import LONG_BATCH, PhaseWork
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.launches import Wave
from motiflux.request.deadline import Deadline

WARPS_OF_BLOCK = THREADS // 32
PLACE_BYTES = 8
"""Bytes of the place of a unit of work."""
RESIDENT_WARPS = 64
"""Most warps of a multiprocessor."""
_FILTER_BLOCKS = 8
"""Blocks of a multiprocessor that filter candidates."""


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
    places
        Writes in two passes: the places of units of work; None: one pass.
    """

    frontiers: Sequence[Frontier]
    left: LeftRoom
    positions: Buffer | None
    places: Buffer | None = None

    @property
    def buffers(self) -> list[Buffer]:
        """All memory."""
        found = [one.buffer for one in self.frontiers] + self.left.buffers
        found += [] if self.places is None else [self.places]
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
    block: int = THREADS


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
    form
        How kernels are compiled.
    share
        The number of this device among those that share the roots, and how many these are.

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
        form: KernelForm = DEFAULT_FORM,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self._vertices, self._roots_ascend, self._share = vertices, roots_ascend, share
        self._places: Buffer | None = None
        self.programs, self.controls, self.counts = programs, controls, counts
        self._accelerator = accelerator
        self._form = form
        last = len(programs.phases) - 1
        self._kernels = [
            kernels_of(accelerator, phase, form, deadline, counts=counts and at == last, by_size=by_size)
            for at, phase in enumerate(programs.phases)
        ]
        self._arguments = [arguments_of(phase, constants, form) for phase in programs.phases]
        # A kept job belongs to its graph: with the constants, which hold the graph, both would stay.
        self._filters = self._filtering(constants.filters, deadline)
        self._is_filtered = False
        self._chain: list[Launch] = []
        self._packed: dict[int, Any] = {}  # arguments of phases that were launched one at a time
        self._single: list[Launch] = []

    def _filtering(self, filters: Sequence[FilterArgs], deadline: Deadline) -> list[Launch]:
        """Return the launches that find candidates by signatures."""
        if not filters:
            return []
        kernel = filter_kernel(self._accelerator, deadline)
        most = _FILTER_BLOCKS * self._accelerator.device.multiprocessors
        grid = max(1, min(most, -(-self._vertices // FILTER_THREADS)))
        return [Launch(kernel, grid, 0, args, FILTER_THREADS) for args in filters]

    def chain(self, room: Room, rows: Sequence[Sequence[TableRows]], control: int) -> None:
        """Set the launches of all phases.

        Parameters
        ----------
        rows
            The rows of the tables of each phase.
        control
            Address of the control block of the job.
        """
        self._chain = []
        for at in range(len(self.programs.phases)):
            args = self._packed_arguments(at, room, control)
            shared = self._set_rows(args, rows[at])
            if at == 0:
                args.work.size = self.roots
            else:
                args.work.before = self.controls.address(at - 1)
            self._chain += self._launches(at, room, args, shared, None)

    def single(self, at: int, room: Room, rows: Sequence[TableRows], control: int, step: Step) -> None:
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
            packed = self._packed[at] = self._packed_arguments(at, room, control)
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
        self._places = room.places
        self._single = self._launches(at, room, packed, shared, step.work.units)

    def fit(self, units: Sequence[int]) -> bool:
        """Have later chains launch as many warps as one had units of work; return whether that changes any.

        A job that is kept searches the same graph, so each phase has the same units. Blocks without work
        would load an index, and ask for units.
        """
        if len(self._chain) != len(units):  # two passes
            return False
        chain = [
            replace(launch, grid=self._grid(launch.kernel, launch.shared, number))
            for launch, number in zip(self._chain, units, strict=True)
        ]
        changes = any(new.grid != old.grid for new, old in zip(chain, self._chain, strict=True))
        self._chain = chain if changes else self._chain
        return changes

    def all_phases(self, limit: int | None) -> None:
        """Have the next launch run all phases."""
        self._single = []
        for launch in self._chain:
            launch.args.work.limit = _limit(limit)

    def _packed_arguments(self, at: int, room: Room, control: int) -> Any:
        """Return the arguments of a phase, all but the rows and the size of its work."""
        args = _copy(self._arguments[at])
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
            args.in_.first, args.in_.step = self._share
        if at < len(room.frontiers):
            _set_columns(args.out, room.frontiers[at])
        return args

    def _set_rows(self, args: Any, rows: Sequence[TableRows]) -> int:
        """Set the rows of a phase; return the bytes of shared memory of its kernel."""
        shared = set_rows(args, rows)
        extends = isinstance(args, ExtendArgs | ExtendByHashArgs)
        return shared + WARPS_OF_BLOCK * OPENED_BYTES if extends else shared

    def _launches(self, at: int, room: Room, args: Any, shared: int, units: int | None) -> list[Launch]:
        """Return the launch of a phase, or those of both passes.

        Parameters
        ----------
        args
            All of its arguments.
        units
            Most units of work; None: not known.
        """
        kernels = self._kernels[at]
        most = units if room.positions is None else None
        grid = min(
            self._grid(kernel, shared, most)
            for entry, kernel in kernels.items()
            if entry is not PhaseKernel.OFFSETS
        )
        if room.places is None or PhaseKernel.PLACE not in kernels:
            (kernel,) = kernels.values()
            return [Launch(kernel, grid, shared, args)]
        args.work.places = room.places.address
        measuring = _copy(args)
        measuring.work.control = measured = self.controls.address(len(self.programs.phases) + at)
        return [
            Launch(kernels[PhaseKernel.MEASURE], grid, shared, measuring),
            Launch(
                kernels[PhaseKernel.OFFSETS],
                1,
                OFFSET_THREADS // 32 * PLACE_BYTES,
                OffsetArgs(args.work, measured),
                OFFSET_THREADS,
            ),
            Launch(kernels[PhaseKernel.PLACE], grid, shared, args),
        ]

    @property
    def roots(self) -> int:
        """Number of roots of the first phase: vertices of the graph, or of this device's share."""
        first, step = self._share
        return max(0, -(-(self._vertices - first) // step))

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
        filters, bound = (
            [stream.launching(one.kernel, one.grid, one.block, one.shared, one.args) for one in some]
            for some in (self._filters, self._chain)
        )

        def launch() -> None:
            clear()
            if not (self._single and self._is_filtered):  # each search filters its candidates
                self._is_filtered = True
                for run in filters:
                    run()
            if self._single:
                if self._places is not None:
                    stream.hold(self._places)
                    stream.clear(self._places)  # round robin: some units were done by earlier launches
                for one in self._single:
                    stream.launch(one.kernel, one.grid, one.block, one.shared, one.args)
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
        self._chain, self._packed, self._single, self._filters = [], {}, [], []
        self._places = self.memory = None


def most_warps(multiprocessors: int) -> int:
    """Return the warps of the largest grid."""
    return multiprocessors * RESIDENT_WARPS


def _copy(args: Any) -> Any:
    return type(args).from_buffer_copy(args)


def _set_columns(packed: Any, frontier: Frontier) -> None:
    packed.words, packed.capacity = frontier.address, frontier.capacity


def _limit(limit: int | None) -> int:
    return layout.NO_LIMIT if limit is None else min(limit, layout.NO_LIMIT)
