"""Launches of the phases of a search, one by one, and what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from motiflux.codegen import layout
from motiflux.codegen.pvm import ITEMS, PhaseControl
from motiflux.device import Buffer
from motiflux.gpu.pvm.frontiers import Frontier
from motiflux.gpu.pvm.launches import PhaseLaunches, Room, Step, View
from motiflux.gpu.pvm.phase_reader import PhaseReader, counted
from motiflux.gpu.pvm.programs import ExtensionProgram
from motiflux.gpu.pvm.resident_tile import TableRows
from motiflux.gpu.pvm.work import NOTHING, ItemArray, PhaseWork
from motiflux.gpu.rows.found_rows import HAND_OUT_SECONDS
from motiflux.gpu.runtime.job import KernelJob
from motiflux.request.deadline import Deadline, OutOfTimeError, moments
from motiflux.request.reports import ProgressCallback, ProgressReport

_LOOK_SECONDS = 0.05

PhaseJob = KernelJob[PhaseLaunches, PhaseReader]
"""A search by phases."""


@dataclass(frozen=True)
class Chunk:
    """Embeddings in the frontier behind the last phase."""

    frontier: Frontier
    rows: int


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


def nothing_beside() -> None:
    """Do nothing while kernels run."""


@dataclass
class Filling:
    """The output of a phase: a frontier, None if the phase counts; its rows; whether it is to be emptied."""

    frontier: Frontier | None
    rows: int = 0
    full: bool = False


class PhaseSteps:
    """Launches phases.

    Parameters
    ----------
    job
        The job, set up.
    room
        Its memory.
    watch
        When it ends early.

    Attributes
    ----------
    found
        Embeddings counted.
    rows, made
        Embeddings that each program found, and before its tests.
    complete, overflow
        Whether nothing was left out; whether a number passed the range of the kernels.
    """

    def __init__(self, job: PhaseJob, room: Room, watch: Watch) -> None:
        self._job, self._room, self._watch = job, room, watch
        self._programs = job.launches.programs
        self._counts = job.launches.counts
        self._last = len(self._programs.phases) - 1
        self._next_report = watch.deadline.started + _LOOK_SECONDS
        self._paused = False
        job.reader.share = 0.0
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

    def _fill(
        self,
        at: int,
        work: PhaseWork,
        rows: Sequence[TableRows],
        output: Filling,
        source: View | None = None,
        beside: Callable[[], None] = nothing_beside,
    ) -> None:
        """Launch a phase until its output is full or its work is over.

        Parameters
        ----------
        rows
            Those of its tables.
        beside
            Called once while its kernel runs.
        """
        while not (work.over or output.full) and self.complete:
            before = self.found
            seen = self._launch(at, work, rows, output, source, beside)
            beside = nothing_beside
            if seen is None:
                break
            if seen.overflow:
                self.complete, self.overflow = False, True
                break
            self.made[at] += int(seen.made)
            if self._counts and at == self._last:
                self.rows[at] += self.found - before
                self.stayed += int(seen.reserved)
            else:
                written = rows_of(seen, output.rows)
                self.rows[at] += written - output.rows
                output.rows, output.full = written, bool(seen.refused) or self._paused
            self._after_launch(at, work)

    def _after_launch(self, at: int, work: PhaseWork) -> None:
        """Note how far the search is."""

    def _look(self) -> None:
        """Note how far the kernels are that run now."""

    def _tell(self, share: float) -> None:
        """Have reports tell the share of the search that is over; it does not go back."""
        self._job.reader.share = max(self._job.reader.share, share)

    def _note(self, work: PhaseWork, seen: PhaseControl, *, left: int = 0, took_batches: bool = True) -> None:
        """Note the work that the last launch of a phase took, and what it left.

        Parameters
        ----------
        left
            Parts of earlier launches that it was given: those that wait on the host are not among them,
            though its warps may have asked for more than there were.
        """
        batches, room = int(seen.batches_taken), self._room
        if room.positions is not None:  # each warp knows its next batch
            batches = 0 if seen.refused or self._paused else work.batches
        put_off = int(seen.long_parts)
        first = min(int(seen.long_taken), put_off)
        added = NOTHING
        if seen.parked or first < put_off:
            parts = self._download(room.left.long_parts, first, put_off)
            if (
                room.places is not None
            ):  # the first pass puts off parts of batches that the second did not reach
                parts = parts[parts["batch"] < work.first_batch + batches]
            added = np.concatenate([self._download(room.left.parked, 0, int(seen.parked)), parts])
        work.launched(batches if took_batches else 0, min(int(seen.left_taken), left), added)

    def _launch(
        self,
        at: int,
        work: PhaseWork,
        rows: Sequence[TableRows],
        output: Filling,
        source: View | None,
        beside: Callable[[], None],
    ) -> PhaseControl | None:
        """Launch a phase, and wait for it; return its control block, or None if the search is to end."""
        self._check()
        if not self.complete:
            return None
        launches, limit = self._job.launches, self._watch.limit
        left = self._upload(work.left)
        takes = left == len(work.left)
        step = Step(
            work,
            left,
            takes,
            output.rows,
            None if limit is None else limit - self.found,
            source,
            output.frontier,
        )
        launches.single(at, self._room, rows, self._job.control.address, step)
        if not self._run(beside, hands_out=not self._counts and self._may_pause(at)):
            return None
        seen = launches.controls.seen(at)
        if not seen.overflow:
            self._note(work, seen, left=left, took_batches=takes)
        return seen

    def _may_pause(self, at: int) -> bool:
        """Whether a phase waits after some time, so that rows of a listing reach the caller."""
        return True

    def _run(self, beside: Callable[[], None] = nothing_beside, *, hands_out: bool | None = None) -> bool:
        """Launch, and wait for the end; return False if the search is ended early."""
        job, watch = self._job, self._watch
        job.watched = watch.progress is not None
        job.reader.found = self.found
        if self._paused:
            job.session.side.wait()  # for a late flag, which is not meant for this launch,
            job.control.clear()  # and may be written after the block was cleared for it
            self._paused = False
        job.launch()
        try:
            beside()
        except OutOfTimeError:
            job.stop_and_wait()
        hands_out = not self._counts if hands_out is None else hands_out
        # Two passes ignore a pause: noted as paused, slow launches would be made again and again.
        in_time = self._wait(hands_out=hands_out and self._room.places is None)
        job.tell_time()
        seen = job.reader.result()
        self.found += counted(seen)
        if not in_time or seen.stop == layout.STOP_LIMIT:
            self.complete = False
        if watch.limit is not None and self.found > watch.limit:
            self.complete = False
        return in_time

    def _wait(self, *, hands_out: bool) -> bool:
        """Wait for the kernels; stop them and return False if time runs out or the caller ends the search."""
        job, watch = self._job, self._watch
        hand_out = time.perf_counter() + HAND_OUT_SECONDS if hands_out else inf
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
        return not job.control.stopped

    def _report(self, now: float) -> None:
        progress = self._watch.progress
        if progress is None or now < self._next_report:
            return
        self._look()
        if (seen := self._job.look()) is None:
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
        """Copy the first parts to the device, as many as there is room for; return their number."""
        left = self._room.left
        parts = parts[: left.most_left]
        if len(parts):
            self._job.stream.upload(left.left, np.ascontiguousarray(parts).view(np.uint8))
            self._job.stream.wait()
        return len(parts)


def rows_of(seen: PhaseControl, filled: int) -> int:
    """Return the rows of the output of a phase."""
    return min(filled + int(seen.reserved), layout.NO_LIMIT - int(seen.refused))
