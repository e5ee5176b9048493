"""A search by phases on one device: launches of kernels, chunk by chunk of the frontiers between phases.

When the frontier behind a phase is full, the phase waits while the chunk goes through all later phases, and goes
on afterwards. So memory is bounded, for any number of embeddings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.codegen.pvm import (
    ITEMS,
    OPENED_BYTES,
    THREADS,
    PhaseKernel,
    elimination_source,
    extension_source,
)
from motiflux.device import Buffer, Kernel, Stream
from motiflux.errors import DeviceError
from motiflux.gpu.pvm.arguments import Constants, arguments_of, set_rows
from motiflux.gpu.pvm.frontiers import MOST_LONG, Frontier, LeftRoom
from motiflux.gpu.pvm.programs import EliminationProgram, Program, Programs
from motiflux.gpu.pvm.resident_tables import ResidentTables
from motiflux.gpu.pvm.work import ItemArray, PhaseWork, fill
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.job import KernelJob
from motiflux.gpu.runtime.launches import Bound, Wave, check_not_stopped
from motiflux.graph import Graph
from motiflux.jit import Source
from motiflux.request.deadline import Deadline, moments
from motiflux.request.reports import ProgressCallback, ProgressReport

_WARPS_OF_BLOCK = THREADS // 32
_RESIDENT_WARPS = 64
"""Most warps of a multiprocessor."""
_LOOK_SECONDS = 0.05


class PhaseLaunch:
    """The launch of one phase, which changes between launches."""

    def __init__(self) -> None:
        self.kernel: Kernel | None = None
        self.grid = self.shared = 0
        self.args: Any = None

    def bind(self, stream: Stream) -> Sequence[Wave]:
        """Return the launch."""

        def launch() -> None:
            assert self.kernel is not None, "the phase is not set"
            stream.launch(self.kernel, self.grid, THREADS, self.shared, self.args)

        work: list[Bound] = [launch]
        return [work]

    def resume(self) -> None:
        """Refuse: a launch continues what `PhaseWork` says is left."""
        raise AssertionError("phases are not resumed by their control block")

    def release(self) -> None:
        """Drop the kernel and its arguments."""
        self.kernel = self.args = None


class PhaseReader:
    """Reads the control block of a phase, and the progress of the search: root batches done."""

    def __init__(self, control: ControlBlock) -> None:
        self._control = control
        self.units = 0
        self.done = 0
        self.found = 0
        self.at_roots = True

    def progress(self, seen: layout.Control) -> tuple[int, int, int]:
        """Return root batches done, all root batches, and the number found."""
        now = int(seen.taken) if self.at_roots else 0
        found = int(seen.found[0]) | int(seen.found[1]) << 64
        return min(self.units, self.done + now), self.units, self.found + found

    def result(self) -> layout.Control:
        """Return the control block after the kernel; raises `InternalError` if another job stopped it."""
        return check_not_stopped(self._control)


PhaseJob = KernelJob[PhaseLaunch, PhaseReader]
"""A search by phases."""


@dataclass(frozen=True)
class Room:
    """Memory of a search: frontiers behind all phases that write one, and room for work that is left."""

    frontiers: Sequence[Frontier]
    left: LeftRoom


@dataclass(frozen=True)
class Chunk:
    """Embeddings in the frontier behind the last phase."""

    frontier: Frontier
    rows: int


class PhaseRun:
    """The phases of one search.

    Parameters
    ----------
    job
        The job, set up with `PhaseLaunch` and `PhaseReader`.
    limit
        Stop once more than this many are counted.
    is_closing
        Whether the caller wants the search to end early.

    Attributes
    ----------
    found
        Embeddings counted.
    sizes
        Embeddings that each phase found.
    complete, overflow
        Whether nothing was left out; whether a number passed the range of the kernels.
    """

    def __init__(
        self,
        job: PhaseJob,
        graph: Graph,
        programs: Programs,
        tables: ResidentTables,
        room: Room,
        deadline: Deadline,
        *,
        counts: bool,
        budget: int | None = None,
        limit: int | None = None,
        round_robin: bool = False,
        progress: ProgressCallback | None = None,
        is_closing: Callable[[], bool] = bool,
    ) -> None:
        self._job, self._programs, self._tables, self._room = job, programs, tables, room
        self._deadline, self._counts, self._budget, self._limit = deadline, counts, budget, limit
        self._round_robin, self._progress, self._is_closing = round_robin, progress, is_closing
        self._constants = Constants(job.accelerator.device, job.stream, graph, budget)
        self._args: dict[int, Any] = {}
        self._next_report = deadline.started + _LOOK_SECONDS
        self.output = programs.output
        self.found = 0
        self.sizes = [0] * len(programs.phases)
        self.complete, self.overflow = True, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the tables to later searches."""
        self._tables.close()

    def chunks(self, vertices: int) -> Iterator[Chunk]:
        """Run all phases; yield the embeddings of each chunk of the last frontier, if they are listed."""
        self._job.reader.units = PhaseWork(vertices).batches
        yield from self._through(0, vertices)

    def _through(self, at: int, size: int) -> Iterator[Chunk]:
        """Run the phases from one on with the embeddings of the frontier before it."""
        last = at + 1 == len(self._programs.phases)
        for tiles in self._tiles(at):
            work = PhaseWork(size)
            positions = self._positions() if self._round_robin else None
            while not work.over and self.complete:
                rows = self._fill(at, work, tiles, positions)
                self.sizes[at] += rows
                if rows == 0 or (last and self._counts):
                    continue
                if last:
                    yield Chunk(self._room.frontiers[at], rows)
                else:
                    yield from self._through(at + 1, rows)

    def _tiles(self, at: int) -> Iterator[tuple[int, ...]]:
        """Yield the tiles of the tables of a phase that are read at a time: together, all pairs of rows."""
        return product(*(range(self._tables.tiles(key)) for key in self._programs.phases[at].tables))

    def _fill(self, at: int, work: PhaseWork, tiles: Sequence[int], positions: Buffer | None) -> int:
        """Launch a phase until its output is full or its work is over; return the rows of the output."""
        rows, full = 0, False
        while not (work.over or full) and self.complete:
            seen = self._launch(at, work, tiles, positions, rows)
            if seen is None:
                break
            if seen.overflow:
                self.complete, self.overflow = False, True
                break
            batches = int(seen.taken)
            if positions is not None:  # each warp knows its next batch
                batches = 0 if seen.refused else work.batches
            work.launched(batches, int(seen.done), self._left_by(seen))
            counted = int(seen.found[0]) | int(seen.found[1]) << 64
            self.found += counted
            self._job.reader.found = self.found
            if at == 0:
                self._job.reader.done = work.first_batch
            if seen.stop == layout.STOP_LIMIT or (self._limit is not None and self.found > self._limit):
                self.complete = False
            if self._counts and at + 1 == len(self._programs.phases):
                rows += counted
                continue
            full = bool(seen.refused)
            rows = min(rows + int(seen.reserved), layout.NO_LIMIT - int(seen.refused))
        return rows

    def _launch(
        self, at: int, work: PhaseWork, tiles: Sequence[int], positions: Buffer | None, filled: int
    ) -> layout.Control | None:
        """Launch a phase, and wait for it; return the control block, or None if time was up."""
        self._deadline_check()
        if not self.complete:
            return None
        job, program = self._job, self._programs.phases[at]
        launch, last = job.launches, at + 1 == len(self._programs.phases)
        args = launch.args = self._arguments(at)
        rows = self._tables.acquire(job.stream, list(zip(program.tables, tiles, strict=True)))
        launch.shared = set_rows(args, rows, [4 * (2 * one.intervals + 1) for one in rows])
        if not isinstance(program, EliminationProgram):
            launch.shared += _WARPS_OF_BLOCK * OPENED_BYTES
        counts = self._counts and last
        kernels = job.accelerator.kernels(source_of(program), PhaseKernel, self._deadline)
        launch.kernel = kernels[PhaseKernel.COUNT if counts else PhaseKernel.WRITE]
        launch.grid = self._grid(launch.kernel, launch.shared, work, positions)
        self._set_work(args.work, work, positions, filled, counts=counts)
        if at > 0:
            self._set_columns(args.in_, self._room.frontiers[at - 1])
        if not counts:
            self._set_columns(args.out, self._room.frontiers[at])
        job.reader.at_roots = at == 0
        job.watched = self._progress is not None
        job.launch()
        if not last:
            following = self._programs.phases[at + 1].tables
            self._tables.prefetch([(key, 0) for key in following])
        return job.reader.result() if self._wait() else None

    def _arguments(self, at: int) -> Any:
        if at not in self._args:
            program, labels = self._programs.phases[at], self._tables.labels
            self._args[at] = arguments_of(program, self._constants, 0 if labels is None else labels.address)
        return self._args[at]

    def _grid(self, kernel: Kernel, shared: int, work: PhaseWork, positions: Buffer | None) -> int:
        device = self._job.accelerator.device
        resident = kernel.blocks_per_multiprocessor(THREADS, shared)
        if resident == 0:
            raise DeviceError(f"device={device.name!r}: a block of a phase needs {shared} bytes of shared memory")
        most = min(resident * _WARPS_OF_BLOCK, _RESIDENT_WARPS) // _WARPS_OF_BLOCK * device.multiprocessors
        if positions is not None:
            return most  # the same warps in all launches
        return max(1, min(most, -(-work.units // _WARPS_OF_BLOCK)))

    def _set_work(
        self, packed: Any, work: PhaseWork, positions: Buffer | None, filled: int, *, counts: bool
    ) -> None:
        fill(packed, work)
        packed.control = self._job.control.address
        if len(work.left):
            packed.left = self._upload(work.left)
            packed.pieces = self._upload(work.pieces())
        packed.parked, packed.long_batches = self._room.left.parked.address, self._room.left.long_batches.address
        packed.most_long = MOST_LONG
        packed.next_batches = 0 if positions is None else positions.address
        packed.filled = filled
        packed.limit = layout.NO_LIMIT
        if counts and self._limit is not None:
            packed.limit = min(self._limit - self.found, layout.NO_LIMIT)

    @staticmethod
    def _set_columns(packed: Any, frontier: Frontier) -> None:
        packed.words, packed.capacity = frontier.address, frontier.capacity

    def _left_by(self, seen: layout.Control) -> ItemArray:
        """Return the parts of batches that a launch left."""
        left = self._room.left
        parts = [
            self._download(buffer, number)
            for buffer, number in (
                (left.parked, int(seen.parked)),
                (left.long_batches, min(int(seen.stolen), MOST_LONG)),
            )
            if number
        ]
        return np.concatenate(parts) if parts else np.zeros(0, ITEMS)

    def _download(self, buffer: Buffer, number: int) -> ItemArray:
        found = np.empty(number, ITEMS)
        self._job.stream.download(buffer, found.view(np.uint8))
        self._job.stream.wait()
        return found

    def _upload(self, array: NDArray[Any]) -> int:
        """Return the address of a copy on the device, until the next launch is over."""
        device, stream = self._job.accelerator.device, self._job.stream
        buffer = device.allocate(array.nbytes, "work that a launch left", budget=self._budget)
        stream.hold(buffer)
        stream.upload(buffer, np.ascontiguousarray(array).view(np.uint8))
        stream.wait()
        self._uploaded = [*self._uploaded[-1:], buffer]
        return buffer.address

    _uploaded: list[Buffer] = []  # noqa: RUF012 - replaced, never changed

    def _positions(self) -> Buffer:
        """Return the first batch of each warp of the largest grid, for round robin."""
        device = self._job.accelerator.device
        warps = np.arange(device.multiprocessors * _RESIDENT_WARPS, dtype=np.uint64)
        buffer = device.allocate(warps.nbytes, "work that a launch left", budget=self._budget)
        self._job.stream.hold(buffer)
        self._job.stream.upload(buffer, warps.view(np.uint8))
        self._job.stream.wait()
        return buffer

    def _deadline_check(self) -> None:
        if self._deadline.passed or self._is_closing():
            self.complete = False

    def _wait(self) -> bool:
        """Wait for the kernel; stop it and return False if time runs out, or the caller ends the search."""
        job = self._job
        for now in moments():
            if job.done():
                break
            if (self._deadline.at is not None and now >= self._deadline.at) or self._is_closing():
                job.stop_and_wait()
                self.complete = False
                job.tell_time()
                self.found += self._stopped_at()
                return False
            self._report(now)
        job.tell_time()
        return True

    def _stopped_at(self) -> int:
        """Return the number that a stopped kernel had counted."""
        seen = self._job.reader.result()
        return int(seen.found[0]) | int(seen.found[1]) << 64

    def _report(self, now: float) -> None:
        if self._progress is None or now < self._next_report or (seen := self._job.look()) is None:
            return
        self._next_report = now + _LOOK_SECONDS
        done, total, found = seen
        self._progress(ProgressReport(done, total, found, time.perf_counter() - self._deadline.started))


def source_of(program: Program) -> Source:
    """Return the unit of the kernels of a phase."""
    if isinstance(program, EliminationProgram):
        return elimination_source()
    return extension_source(*program.shape, tuples=program.tuples)


def most_warps(multiprocessors: int) -> int:
    """Return the warps of the largest grid."""
    return multiprocessors * _RESIDENT_WARPS
