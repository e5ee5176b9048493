"""The search of a run: every update root, at its moment, in one launch, or in stages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.codegen.changing import BITMAP_LANES, ChangingArgs, bitmaps_source
from motiflux.codegen.kernels import Goal
from motiflux.device import Buffer, Mark, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.manner import Manner, Measured
from motiflux.gpu.changing.memory import Room
from motiflux.gpu.changing.searches.bitmaps import LongRowBitmaps
from motiflux.gpu.changing.searches.searched import Searched
from motiflux.gpu.changing.searches.set_up import MANY_ROOTS, Roots, SearchSetUp, do_meanwhile, waited
from motiflux.gpu.changing.searches.stages import StagedSearch
from motiflux.gpu.changing.searches.totals import Totals
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_VERTICES

_FIRST_ROWS, _MOST_ROWS = 1 << 20, 64 << 20
"""Bytes of rows that the first launch may store, and any launch."""


class RunSearch:
    """Launches searches from updates, with memory that is kept between runs.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    manner
        How updates are searched.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None, manner: Manner) -> None:
        self._manner = manner
        device = accelerator.device
        self._set_up = SearchSetUp(accelerator, budget, manner)
        self._totals = Totals(device, budget)
        self._found = Room(device, "rows that were found", budget)
        self._bitmaps = LongRowBitmaps(accelerator, budget, manner.bitmaps)
        self._stages = StagedSearch(accelerator, budget, manner, self._set_up)
        self.pools = self._stages.pools
        """The pools of partial matches."""
        self._end: Mark | None = None
        self._room = _FIRST_ROWS

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        parts = self._set_up, self._totals, self._found, self._bitmaps, self.pools
        return sum(part.nbytes for part in parts)

    @property
    def measured(self) -> Measured | None:
        """How busy the launches were since `measure_anew`, if that is measured."""
        return self._set_up.measured

    def measure_anew(self) -> None:
        """Forget the launches that were measured."""
        self._set_up.measure_anew()

    def begin(self, typical: float) -> None:
        """Have kernels compiled in the background that large runs over rows of this typical length need."""
        if self._manner.bitmaps != "off":
            self._bitmaps.begin(typical, self._source_in_bits(MAX_PATTERN_VERTICES, MANY_ROOTS))

    def awaited(self, levels: int, roots: int) -> list[Source]:
        """Return the units that counting from so many roots needs beside its search, by its switches."""
        found = []
        if self._manner.bitmaps == "on":
            found += [bitmaps_source(), self._source_in_bits(levels, roots)]
        if self._manner.pooling == "on":
            found += self._stages.sources(levels)
        return found

    def _source_in_bits(self, levels: int, roots: int) -> Source:
        return self._manner.source(Goal.COUNT, BITMAP_LANES, levels, roots, in_bits=True)

    def release(self) -> None:
        """Free the memory."""
        for part in (self._set_up, self._totals, self._found, self._bitmaps, self._stages):
            part.release()
        self._end = None

    def count(
        self,
        job: SearchJob,
        searched: Searched,
        roots: Roots,
        slots: int,
        goes_on: Callable[[], bool],
        behind: Callable[[], None],
        meanwhile: Callable[[], None],
    ) -> NDArray[np.uint64] | None:
        """Return the totals of all slots, [slots, 2], low words first; None if it was stopped.

        Parameters
        ----------
        roots
            Their address and number.
        goes_on
            Whether to go on, asked while the kernel runs.
        behind
            Called at most once, while the last kernel runs; what it enqueues is done, too, at the end. An
            error that it raises stops the kernel.
        meanwhile
            Called once, while a kernel runs; likewise, but it enqueues nothing.
        """
        totals = self._totals.clear(job.stream, slots)
        pooled = self._stages.set_up(job, searched, roots)
        if pooled is None:
            self._set_up_count(job, searched, roots).plan.totals = totals
            self._set_up.launch(job)
            self._totals.copy(job.stream)
            do_meanwhile(job, behind)
            do_meanwhile(job, meanwhile)
            self._end = job.stream.mark(self._end)
            if not waited(job, self._end, goes_on):
                return None
            self._set_up.note(job)
            self._bitmaps.were_read()
        else:
            pooled.argument.plan.totals = totals
            if not self._stages.count(job, searched, pooled, roots, goes_on, behind, meanwhile):
                return None
        return self._totals.found(job.stream)

    def end(self, stream: Stream) -> None:
        """Note that all searches of a run have ended, and do what the next ones would do first."""
        self.pools.were_used(stream)

    def _set_up_count(self, job: SearchJob, searched: Searched, roots: Roots) -> ChangingArgs:
        """Set a search up that counts, with bitmaps of long rows if it should have some."""
        bitmaps = self._write_bitmaps(job.stream, searched, roots[1])
        try:
            return self._set_up.search(job, searched, Goal.COUNT, roots, bitmaps)
        except DeviceMemoryError:
            if not bitmaps:
                raise
        self._bitmaps.release()  # the lists come first
        job.stream.wait()
        return self._set_up.search(job, searched, Goal.COUNT, roots)

    def _write_bitmaps(self, stream: Stream, searched: Searched, roots: int) -> int:
        """Return the address of bitmaps of long rows, written for this search; 0 for none."""
        wanted = self._bitmaps.wanted(searched.row_sets, roots, searched.most_walked)
        if not wanted:
            return 0
        nbytes = min(wanted, self._bitmaps.nbytes + self._set_up.room_left() // 2)
        search = self._source_in_bits(searched.most_levels, roots)
        return self._bitmaps.write(stream, searched.row_sets, searched.vertices, nbytes, search)

    def list(
        self,
        job: SearchJob,
        searched: Searched,
        roots: Roots,
        goes_on: Callable[[], bool],
        meanwhile: Callable[[], None],
    ) -> NDArray[np.uint32] | None:
        """Return the rows, [rows, 1 + levels]: the root's number, then vertices; None if it was stopped.

        `roots`, `goes_on` and `meanwhile` are as for `count`; `meanwhile` enqueues nothing.
        """
        columns = 1 + searched.most_levels
        row_bytes = 4 * columns
        argument = self._set_up.search(job, searched, Goal.STORE, roots)
        pieces: list[NDArray[np.uint32]] = []
        resumes = False
        while True:
            buffer = self._rows_buffer(job, row_bytes)
            argument.task.rows = buffer.address
            argument.task.row_capacity = buffer.nbytes // row_bytes
            self._set_up.launch(job, resume=resumes)
            if not resumes:
                do_meanwhile(job, meanwhile)
            if not waited(job, job, goes_on):
                return None
            self._set_up.note(job)
            stored = job.reader.rows_stored()
            if stored:
                piece = np.empty((stored, columns), np.uint32)
                job.stream.download(buffer, piece)
                job.stream.wait()
                pieces.append(piece)
            if job.reader.parked() == 0:
                break
            resumes = True
            self._room = min(_MOST_ROWS, 4 * self._room)
        rows = np.concatenate(pieces) if pieces else np.empty((0, columns), np.uint32)
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def _rows_buffer(self, job: SearchJob, row_bytes: int) -> Buffer:
        least = row_bytes * layout.STAGED_ROWS
        while True:
            try:
                return self._found.of(max(self._room, least), job.stream)
            except DeviceMemoryError:
                if self._room <= least:
                    raise
                self._room = max(self._room // 4, least)
