"""A run of the phases of a search on one device, chunk by chunk of the frontiers between them.

All phases are launched in a chain first. If a frontier is full before its phase is over, the phase waits
while the chunk goes through all later phases, and goes on afterwards. So memory is bounded, for any number of
embeddings. If embeddings are listed, a phase also waits after some time, so that those found wait little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np

from motiflux.codegen import layout
from motiflux.codegen.pcsr import IntervalRows
from motiflux.codegen.pvm import ITEMS, PhaseControl
from motiflux.device import Buffer
from motiflux.gpu.pvm.frontiers import Frontier
from motiflux.gpu.pvm.launches import PhaseLaunches, PhaseReader, Room, counted
from motiflux.gpu.pvm.programs import ExtensionProgram
from motiflux.gpu.pvm.resident_tables import ResidentTables
from motiflux.gpu.pvm.work import NOTHING, ItemArray, PhaseWork
from motiflux.gpu.rows.found_rows import HAND_OUT_SECONDS
from motiflux.gpu.runtime.job import KernelJob
from motiflux.request.deadline import Deadline, moments
from motiflux.request.reports import ProgressCallback, ProgressReport

_LOOK_SECONDS = 0.05

PhaseJob = KernelJob[PhaseLaunches, PhaseReader]
"""A search by phases."""


@dataclass(frozen=True)
class Chunk:
    """Embeddings in the frontier behind the last phase."""

    frontier: Frontier
    rows: int


class FullFrontier(Exception):  # noqa: N818 - no error: the search begins again
    """A frontier was full while the chain ran, and larger ones are to be tried."""


@dataclass
class Watch:
    """When a run ends early, and to whom it reports.

    Parameters
    ----------
    deadline, progress
        The deadline of the call, and the function that takes reports.
    limit
        Stop once more than this many are counted.
    is_closing
        Whether the caller wants the search to end.
    """

    deadline: Deadline
    progress: ProgressCallback | None = None
    limit: int | None = None
    is_closing: Callable[[], bool] = bool


class PhaseRun:
    """One run.

    Parameters
    ----------
    job
        The job, set up.
    room
        Its memory.
    tables
        Tables that are made resident for each launch; None: all are.
    rows
        The rows of each phase, if all tables are resident.

    Attributes
    ----------
    found
        Embeddings counted.
    rows, made
        Embeddings that each program found, and before its tests.
    complete, overflow
        Whether nothing was left out; whether a number passed the range of the kernels.
    """

    def __init__(
        self,
        job: PhaseJob,
        room: Room,
        tables: ResidentTables | None,
        rows: Sequence[Sequence[IntervalRows]],
        watch: Watch,
        budget: int | None,
    ) -> None:
        self._job, self._room, self._tables, self._rows, self._watch = job, room, tables, rows, watch
        self._budget = budget
        self._programs = job.launches.programs
        self._counts = job.launches.counts
        self._last = len(self._programs.phases) - 1
        self._next_report = watch.deadline.started + _LOOK_SECONDS
        self._left: Buffer | None = None
        self._paused = False
        self.found = 0
        self.rows = [0] * (self._last + 1)
        self.made = [0] * (self._last + 1)
        self.stayed = 0  # embeddings whose extensions the last program counted
        self.complete, self.overflow = True, False

    def sizes(self) -> tuple[int, ...]:
        """Return the number of embeddings behind each phase of the plan.

        Elimination phases that one kernel tests together have the number that passes all of them.
        """
        found: dict[int, int] = {}
        for program, rows, made in zip(self._programs.phases, self.rows, self.made, strict=True):
            stayed = rows
            if isinstance(program, ExtensionProgram) and program.following is not None:
                stayed, found[program.following.of[0]] = self.stayed, rows
            for at in program.of:
                found[at] = stayed
            if isinstance(program, ExtensionProgram) and len(program.of) > 1:
                found[program.of[0]] = made
        return tuple(found[at] for at in sorted(found))

    def chunks(self, vertices: int, *, may_grow: bool = False) -> Generator[Chunk, None, None]:
        """Run all phases; yield the embeddings of each chunk of the last frontier, if they are listed.

        Parameters
        ----------
        vertices
            Number of vertices of the graph: roots of the search.
        may_grow
            Whether `FullFrontier` is raised if a frontier but the last one is full before anything is
            yielded.
        """
        self._job.reader.units = PhaseWork(vertices).batches
        if self._tables is not None:
            yield from self._through(0, vertices)
            return
        chained = self._run_chain(vertices, may_grow=may_grow)
        if chained is not None:
            yield from self._go_on(*chained)

    def _run_chain(self, vertices: int, *, may_grow: bool) -> tuple[int, PhaseWork] | None:
        """Run all phases in a chain; return the first one with work left, or the last one, and that work.

        None: the search is to end.
        """
        launches = self._job.launches
        launches.all_phases(self._watch.limit)
        self._clear_positions()
        self._check()
        if not self.complete or not self._run():
            return None
        size = vertices
        for at in range(self._last + 1):
            seen = launches.controls.seen(at)
            if seen.overflow:
                self.complete, self.overflow = False, True
                return None
            if seen.refused and may_grow and at < self._last:
                raise FullFrontier
            work = PhaseWork(size)
            self._note(work, seen)
            self.made[at] = int(seen.made)
            counts = self._counts and at == self._last
            self.rows[at] = size = self.found if counts else _rows(seen, 0)
            if counts:
                self.stayed = int(seen.reserved)
            if not work.over or at == self._last:
                return at, work
        raise AssertionError("there is a last phase")

    def _go_on(self, at: int, work: PhaseWork) -> Iterator[Chunk]:
        """Go on behind the chain, whose first phases are over: `at` is the first that is not, or the last."""
        if rows := self.rows[at]:
            yield from self._beyond(at, rows)
        yield from self._rest(at, work, self._tiles(at)[0])

    def _through(self, at: int, size: int) -> Iterator[Chunk]:
        """Run the phases from one on with the embeddings of the frontier before it."""
        for tiles in self._tiles(at):
            self._clear_positions(at)
            yield from self._rest(at, PhaseWork(size), tiles)

    def _rest(self, at: int, work: PhaseWork, tiles: Sequence[int]) -> Iterator[Chunk]:
        """Do the work that is left of a phase, and what follows from it."""
        while not work.over and self.complete:
            rows = self._fill(at, work, tiles)
            self.rows[at] += rows
            if rows:
                yield from self._beyond(at, rows)

    def _beyond(self, at: int, rows: int) -> Iterator[Chunk]:
        """Run the phases behind one, with the rows that it wrote."""
        if at < self._last:
            yield from self._through(at + 1, rows)
        elif not self._counts:
            yield Chunk(self._room.frontiers[at], rows)

    def _tiles(self, at: int) -> list[tuple[int, ...]]:
        """Return the tiles of the tables of a phase that are read at a time: all combinations."""
        keys = self._programs.phases[at].tables
        if self._tables is None:
            return [(0,) * len(keys)]
        return list(product(*(range(self._tables.tiles(key)) for key in keys)))

    def _fill(self, at: int, work: PhaseWork, tiles: Sequence[int]) -> int:
        """Launch a phase until its output is full or its work is over; return the rows of the output."""
        rows, full = 0, False
        while not (work.over or full) and self.complete:
            before = self.found
            seen = self._launch(at, work, tiles, rows)
            if seen is None:
                break
            if seen.overflow:
                self.complete, self.overflow = False, True
                break
            self._note(work, seen)
            self.made[at] += int(seen.made)
            if at == 0:
                self._job.reader.done = work.first_batch
            if self._counts and at == self._last:
                rows += self.found - before
                self.stayed += int(seen.reserved)
            else:
                full, rows = bool(seen.refused) or self._paused, _rows(seen, rows)
        return rows

    def _note(self, work: PhaseWork, seen: PhaseControl) -> None:
        """Note the work that the last launch of a phase took, and what it left."""
        batches, room = int(seen.batches_taken), self._room
        if room.positions is not None:  # each warp knows its next batch
            batches = 0 if seen.refused or self._paused else work.batches
        put_off = int(seen.long_parts)
        first = min(int(seen.long_taken), put_off)
        added = NOTHING
        if seen.parked or first < put_off:
            added = np.concatenate(
                [
                    self._download(room.left.parked, 0, int(seen.parked)),
                    self._download(room.left.long_parts, first, put_off),
                ]
            )
        work.launched(batches, min(int(seen.left_taken), len(work.left)), added)

    def _launch(self, at: int, work: PhaseWork, tiles: Sequence[int], filled: int) -> PhaseControl | None:
        """Launch a phase, and wait for it; return its control block, or None if the search is to end."""
        self._check()
        if not self.complete:
            return None
        job, keys = self._job, self._programs.phases[at].tables
        if self._tables is None:
            rows = self._rows[at]
        else:
            rows = self._tables.acquire(job.stream, list(zip(keys, tiles, strict=True)))
        limit = self._watch.limit
        job.launches.single(
            at,
            self._room,
            rows,
            job.control.address,
            work,
            self._upload(work.left),
            filled,
            None if limit is None else limit - self.found,
        )
        return job.launches.controls.seen(at) if self._run(following=at + 1) else None

    def _run(self, following: int | None = None) -> bool:
        """Launch, and wait for the end; return False if the search is ended early."""
        job, watch = self._job, self._watch
        job.watched = watch.progress is not None
        job.reader.found = self.found
        if self._paused:
            job.session.side.wait()  # for a late flag, which is not meant for this launch,
            job.control.clear()  # and may be written after the block was cleared for it
            self._paused = False
        job.launch()
        if self._tables is not None and following is not None and following <= self._last:
            self._tables.prefetch([(key, 0) for key in self._programs.phases[following].tables])
        in_time = self._wait()
        job.tell_time()
        seen = job.reader.result()
        self.found += counted(seen)
        if not in_time or seen.stop == layout.STOP_LIMIT:
            self.complete = False
        if watch.limit is not None and self.found > watch.limit:
            self.complete = False
        return in_time

    def _wait(self) -> bool:
        """Wait for the kernels; stop them and return False if time runs out or the caller ends the search."""
        job, watch = self._job, self._watch
        hand_out = inf if self._counts else time.perf_counter() + HAND_OUT_SECONDS
        for now in moments():
            if job.done():
                break
            if now >= hand_out and not self._paused:  # rows that were found go through all phases
                self._paused = True
                job.pause()
            if (watch.deadline.at is not None and now >= watch.deadline.at) or watch.is_closing():
                job.stop_and_wait()
                return False
            self._report(now)
        return True

    def _report(self, now: float) -> None:
        progress = self._watch.progress
        if progress is None or now < self._next_report or (seen := self._job.look()) is None:
            return
        self._next_report = now + _LOOK_SECONDS
        done, total, found = seen
        progress(ProgressReport(done, total, found, time.perf_counter() - self._watch.deadline.started))

    def _check(self) -> None:
        if self._watch.deadline.passed or self._watch.is_closing():
            self.complete = False

    def _clear_positions(self, at: int | None = None) -> None:
        """Have all warps begin with their first batch, in all phases or in one."""
        if self._room.positions is None:
            return
        each = self._job.launches.position_bytes
        first, nbytes = (0, self._room.positions.nbytes) if at is None else (at * each, each)
        self._job.stream.clear(self._room.positions, first, nbytes)

    def _download(self, buffer: Buffer, first: int, end: int) -> ItemArray:
        """Return some of the parts in a buffer."""
        found = np.empty(max(0, end - first), ITEMS)
        if len(found):
            self._job.stream.download(buffer, found.view(np.uint8), first * ITEMS.itemsize)
            self._job.stream.wait()
        return found

    def _upload(self, parts: ItemArray) -> int:
        """Return the address of a copy on the device, until the next launch is over."""
        if not len(parts):
            return 0
        device, stream = self._job.accelerator.device, self._job.stream
        if self._left is None or self._left.nbytes < parts.nbytes:
            self._left = device.allocate(parts.nbytes, "work that a launch left", budget=self._budget)
            stream.hold(self._left)
        stream.upload(self._left, np.ascontiguousarray(parts).view(np.uint8))
        stream.wait()
        return self._left.address


def _rows(seen: PhaseControl, filled: int) -> int:
    """Return the rows of the output of a phase."""
    return min(filled + int(seen.reserved), layout.NO_LIMIT - int(seen.refused))
