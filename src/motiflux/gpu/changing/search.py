"""The search of a run: every update root, at its moment, in one launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.codegen.changing import (
    BITMAP_LANES,
    POOLED_LANES,
    ROOT,
    SPANS_OF_TIMED,
    UTILISATION,
    ChangingArgs,
    Pool,
    PooledArgs,
    bitmaps_source,
)
from motiflux.codegen.kernels import THREADS, Goal
from motiflux.device import Buffer, HostBuffer, Kernel, Mark, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.bitmaps import LongRowBitmaps, SearchedRows
from motiflux.gpu.changing.manner import Manner, Measured
from motiflux.gpu.changing.memory import Room
from motiflux.gpu.changing.pooling import Pools
from motiflux.gpu.launch.prepare import grid_of
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob, set_up_search
from motiflux.gpu.runtime.work_partition import ArcPartition
from motiflux.jit import Source
from motiflux.request.deadline import moments
from motiflux.types import MAX_PATTERN_VERTICES

_LINE_WORDS = 32
_MOST_CHUNK, _CHUNKS_PER_GROUP = 4, 8
_SHORT_ROWS = 16.0
"""Length of a typical row below which a group has few lanes."""
_FIRST_LEVEL = 2
"""The first level that is searched: an update matches the two before."""
_FEW_TOTALS = 4096
"""As many totals come to the host without a further wait."""
_FEW_ROOTS = 4096
"""As many roots are searched by the next launch with the same argument, but for the roots."""
_MANY = (1 << 32) - 1
_FIRST_ROWS, _MOST_ROWS = 1 << 20, 64 << 20
"""Bytes of rows that the first launch may store, and any launch."""


@dataclass(frozen=True)
class Searched:
    """What searches of a run need.

    Parameters
    ----------
    plans, rows
        Addresses of the plans and of the table of rows.
    most_levels, most_spans
        Most levels of a plan, and most sets that a step intersects.
    longest, lanes
        Room for the longest row, in entries, and lanes of a group.
    vertices
        Number of vertices.
    most_walked
        Most levels of a plan that are walked before those that are counted.
    row_sets
        The rows of the table, in its order.
    stages, pooled_walk
        Most stages of the search by a plan whose partial matches are pooled, and most levels that are walked
        until they are pooled for the last time.
    sharing
        Addresses of the roots that share levels with each root, and of their numbers; None: no plan shares.
    candidates, candidate_bytes
        Address of the candidate table, 0 if candidates are not filtered, and bytes of a vertex in it.
    """

    plans: int
    rows: int
    most_levels: int
    most_spans: int
    longest: int
    lanes: int
    vertices: int
    most_walked: int
    row_sets: tuple[SearchedRows, ...]
    stages: int = 1
    pooled_walk: int = 0
    sharing: tuple[int, int] | None = None
    candidates: int = 0
    candidate_bytes: int = 0


def lanes_for(typical: float) -> int:
    """Return the lanes of a group, by the size of the row that an entry is in on average."""
    return 8 if typical < _SHORT_ROWS else 32


@dataclass(frozen=True)
class _Prepared:
    """A search of few roots that was set up, for the next one that differs in its roots alone.

    Parameters
    ----------
    covered, groups
        The most roots that it is for, and the groups of its launch.
    lists, queue
        Address and bytes of the memory that its argument names, which may have been freed since.
    clear_queue
        Clears the work queue before the launch.
    """

    job: SearchJob
    stream: Stream
    kernel: Kernel
    searched: Searched
    covered: int
    groups: int
    lists: tuple[int, int]
    queue: tuple[int, int]
    clear_queue: Callable[[], None] | None
    argument: ChangingArgs


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
        self._accelerator, self._budget, self._manner = accelerator, budget, manner
        device = accelerator.device
        self._clocks = Room(device, "clocks of a search", budget)
        self.measured: Measured | None = None
        """How busy the launches were since `measure_anew`, if that is measured."""
        self.measure_anew()
        self._lists = Room(device, "candidate lists of the search", budget)
        self._totals = Room(device, "totals of updates", budget)
        self._found = Room(device, "rows that were found", budget)
        self._queue = Room(device, "work that changes hands", budget)
        self._bitmaps = LongRowBitmaps(accelerator, budget, manner.bitmaps)
        self._pools = Pools(accelerator, budget, manner.pooling)
        self._clear_queue: Callable[[], None] | None = None
        self._few_totals: HostBuffer | None = None
        self._end: Mark | None = None
        self._prepared: _Prepared | None = None
        self._room = _FIRST_ROWS

    @property
    def _rooms(self) -> tuple[Room, ...]:
        return self._lists, self._totals, self._found, self._queue, self._clocks

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return sum(room.nbytes for room in self._rooms) + self._bitmaps.nbytes + self._pools.nbytes

    def begin(self, typical: float) -> None:
        """Have kernels compiled in the background that large runs over rows of this typical length need."""
        if self._manner.bitmaps != "off":
            self._bitmaps.begin(typical, self._source_in_bits(MAX_PATTERN_VERTICES, _MANY))

    def awaited(self, levels: int, roots: int) -> list[Source]:
        """Return the units that counting from so many roots needs beside its search, by its switches."""
        found = []
        if self._manner.bitmaps == "on":
            found += [bitmaps_source(), self._source_in_bits(levels, roots)]
        if self._manner.pooling == "on":
            found.append(self._pooled_source(levels, roots))
        return found

    def _source_in_bits(self, levels: int, roots: int) -> Source:
        return self._manner.source(Goal.COUNT, BITMAP_LANES, levels, roots, in_bits=True)

    def _pooled_source(self, levels: int, roots: int) -> Source:
        return self._manner.source(Goal.COUNT, POOLED_LANES, levels, roots, pooled=True)

    def release(self) -> None:
        """Free the memory."""
        for room in self._rooms:
            room.release()
        self._bitmaps.release()
        self._pools.release()
        self._few_totals = self._end = self._clear_queue = self._prepared = None

    def measure_anew(self) -> None:
        """Forget the launches that were measured."""
        self.measured = Measured() if self._manner.measures else None

    def _note_launch(self, job: SearchJob) -> None:
        """Add the time and the clocks of a launch that has ended, if they are measured."""
        job.tell_time()
        if self.measured is None:
            return
        clocks = np.empty(UTILISATION.itemsize, np.uint8)
        job.stream.download(self._clocks.of(UTILISATION.itemsize, job.stream), clocks)
        counts = np.zeros(layout.WORK_QUEUE_COUNTS, np.uint64)
        if self._clear_queue is not None:
            job.stream.download(self._queue.of(1, job.stream), counts)
        job.stream.wait()
        self.measured.add_launch(clocks, int(job.control.final.stolen), int(counts[-1]))

    def count(
        self,
        job: SearchJob,
        searched: Searched,
        roots: tuple[int, int],
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
        totals = self._totals.of(16 * slots, job.stream)
        job.stream.clear(totals, 0, 16 * slots)
        pooled = self._set_up_pooled(job, searched, roots)
        if pooled is not None:
            pooled.plan.totals = totals.address
            if not self._count_in_stages(job, searched.stages, pooled, roots, goes_on, behind, meanwhile):
                return None
            self._pools.were_used()
            found = self._totals_on_host(slots)
            job.stream.download(totals, found)
            job.stream.wait()
            return found.copy() if slots <= _FEW_TOTALS else found
        argument = self._set_up(job, searched, Goal.COUNT, roots)
        argument.plan.totals = totals.address
        self._launch(job)
        found = self._totals_on_host(slots)
        if slots <= _FEW_TOTALS:
            job.stream.download(totals, found)
        _do_meanwhile(job, behind)
        _do_meanwhile(job, meanwhile)
        self._end = job.stream.mark(self._end)
        if not _waited(job, self._end, goes_on):
            return None
        self._note_launch(job)
        self._bitmaps.were_read()
        if slots <= _FEW_TOTALS:
            return found.copy()  # its memory is used again
        job.stream.download(totals, found)
        job.stream.wait()
        return found

    def _set_up_pooled(self, job: SearchJob, searched: Searched, roots: tuple[int, int]) -> PooledArgs | None:
        """Set a search up with pools, if it should pool partial matches; None if it goes without."""
        typical = max((rows.typical for rows in searched.row_sets), default=1.0)
        if not self._pools.are_wanted(searched.stages, searched.pooled_walk, typical):
            return None
        source = self._pooled_source(searched.most_levels, roots[1])
        if self._pools.switch != "on" and not self._is_compiled(source):
            return None
        most = self._room_left() // 2
        if not self._pools.open(job.stream, searched.stages, roots[1], searched.vertices, most):
            return None
        try:
            argument: PooledArgs = self._set_up_with(job, searched, Goal.COUNT, roots, 0, pooled=True)
        except DeviceMemoryError:
            self._pools.release()  # the lists come first
            return None
        return argument

    def _is_compiled(self, source: Source) -> bool:
        """Whether a kernel is compiled, which begins in the background if it is not."""
        return self._accelerator.begin(source) and self._accelerator.is_compiled(source)

    def _count_in_stages(
        self,
        job: SearchJob,
        stages: int,
        argument: PooledArgs,
        roots: tuple[int, int],
        goes_on: Callable[[], bool],
        behind: Callable[[], None],
        meanwhile: Callable[[], None],
    ) -> bool:
        """Search in stages, from as many roots at a time as pools suffice for; False if it was stopped."""
        (address, count), plan, task, pools = roots, argument.plan, argument.task, self._pools
        first = 0
        while first < count:
            piece = min(pools.roots, count - first)
            plan.roots = address + ROOT.itemsize * first
            arcs = piece
            for stage in range(stages):
                if (first or stage) and not goes_on():
                    return False
                ends = stage + 1 == stages
                plan.stage = stage
                plan.source = pools.of(stage - 1) if stage else Pool()
                plan.target = Pool() if ends else pools.cleared(job.stream, stage)
                task.arcs = task.all_arcs = arcs
                task.chunk = _chunk_for(arcs, job.launches.groups)
                self._launch(job)
                if first == 0 and stage == 0:
                    _do_meanwhile(job, meanwhile)
                if ends and first + piece == count:
                    _do_meanwhile(job, behind)
                self._end = job.stream.mark(self._end)
                if not _waited(job, self._end, goes_on):
                    return False
                self._note_launch(job)
                arcs = 0 if ends else pools.entries(job.stream, stage)
                if not arcs:
                    break
            first += piece
            pools.adapt()
        return True

    def _totals_on_host(self, slots: int) -> NDArray[np.uint64]:
        """Return memory for totals: if they are few, memory that a copy writes while the host goes on."""
        if slots > _FEW_TOTALS:
            return np.empty((slots, 2), np.uint64)
        if self._few_totals is None:
            device = self._accelerator.device
            self._few_totals = device.allocate_host(16 * _FEW_TOTALS, "totals of updates")
        return self._few_totals.array[: 16 * slots].view(np.uint64).reshape(slots, 2)

    def _launch(self, job: SearchJob, *, resume: bool = False) -> None:
        if self._clear_queue is not None:
            self._clear_queue()
        if self.measured is not None:
            job.stream.clear(self._clocks.of(UTILISATION.itemsize, job.stream), 0, UTILISATION.itemsize)
        job.launch(resume=resume)

    def list(
        self,
        job: SearchJob,
        searched: Searched,
        roots: tuple[int, int],
        goes_on: Callable[[], bool],
        meanwhile: Callable[[], None],
    ) -> NDArray[np.uint32] | None:
        """Return the rows, [rows, 1 + levels]: the root's number, then vertices; None if it was stopped.

        `roots`, `goes_on` and `meanwhile` are as for `count`; `meanwhile` enqueues nothing.
        """
        columns = 1 + searched.most_levels
        row_bytes = 4 * columns
        argument = self._set_up(job, searched, Goal.STORE, roots)
        pieces: list[NDArray[np.uint32]] = []
        resumes = False
        while True:
            buffer = self._rows_buffer(job, row_bytes)
            argument.task.rows = buffer.address
            argument.task.row_capacity = buffer.nbytes // row_bytes
            self._launch(job, resume=resumes)
            if not resumes:
                _do_meanwhile(job, meanwhile)
            if not _waited(job, job, goes_on):
                return None
            self._note_launch(job)
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
        self._bitmaps.were_read()
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

    def _set_up(self, job: SearchJob, searched: Searched, goal: Goal, roots: tuple[int, int]) -> Any:
        bitmaps = self._write_bitmaps(job.stream, searched, roots[1]) if goal is Goal.COUNT else 0
        try:
            return self._set_up_with(job, searched, goal, roots, bitmaps)
        except DeviceMemoryError:
            if not bitmaps:
                raise
        self._bitmaps.release()  # the lists come first
        job.stream.wait()
        return self._set_up_with(job, searched, goal, roots, 0)

    def _write_bitmaps(self, stream: Stream, searched: Searched, roots: int) -> int:
        """Return the address of bitmaps of long rows, written for this search; 0 for none."""
        wanted = self._bitmaps.wanted(searched.row_sets, roots, searched.most_walked)
        if not wanted:
            return 0
        nbytes = min(wanted, self._bitmaps.nbytes + self._room_left() // 2)
        search = self._source_in_bits(searched.most_levels, roots)
        return self._bitmaps.write(stream, searched.row_sets, searched.vertices, nbytes, search)

    def _set_up_with(
        self,
        job: SearchJob,
        searched: Searched,
        goal: Goal,
        roots: tuple[int, int],
        bitmaps: int,
        *,
        pooled: bool = False,
    ) -> Any:
        address, count = roots
        lanes = BITMAP_LANES if bitmaps else POOLED_LANES if pooled else searched.lanes
        kernel = self._accelerator.kernel(
            self._manner.source(
                goal,
                lanes,
                searched.most_levels,
                count,
                coalesced=searched.sharing is not None,
                in_bits=bitmaps > 0,
                pooled=pooled,
            )
        )
        may_return = (
            goal is Goal.COUNT and count <= _FEW_ROOTS and self.measured is None and not (bitmaps or pooled)
        )
        covered = _MANY if pooled else _covered(count) if may_return else count
        if may_return and (again := self._prepared_for(job, kernel, searched, covered)) is not None:
            known = again.argument
            known.plan.roots = address
            known.task.arcs = known.task.all_arcs = count
            known.task.chunk = _chunk_for(count, again.groups)
            return known
        self._prepared = None  # the job launches what it was set up with last
        argument: Any = PooledArgs() if pooled else ChangingArgs()
        plan, task = argument.plan, argument.task
        plan.plans, plan.rows, plan.roots = searched.plans, searched.rows, address
        plan.most_levels, plan.columns, plan.bitmaps = searched.most_levels, 1 + searched.most_levels, bitmaps
        if searched.sharing is not None:
            plan.sharing, plan.numbers = searched.sharing
        if self.measured is not None:
            plan.utilisation = self._clocks.of(UTILISATION.itemsize, job.stream).address
        plan.candidates, plan.candidate_bytes = searched.candidates, searched.candidate_bytes
        task.arcs = task.all_arcs = count
        task.stride, task.vertices, task.limit = 1, searched.vertices, layout.NO_LIMIT
        task.max_spans = SPANS_OF_TIMED * searched.most_spans
        task.shared_bytes = layout.shared_bytes_of_group(
            searched.most_levels, task.max_spans, listing=goal.lists
        )
        list_words = -(-searched.longest // _LINE_WORDS) * _LINE_WORDS
        levels = searched.most_levels - _FIRST_LEVEL
        task.group_words = list_words * levels
        for level in range(levels):
            task.buffer_at[_FIRST_LEVEL + level] = list_words * level
        groups_of_block = THREADS // lanes
        grid = grid_of(
            self._accelerator.device, kernel, groups_of_block * task.shared_bytes, covered, groups_of_block
        )
        saved = layout.saved_bytes_of_group(searched.most_levels) if goal.lists else 0
        grid, lists = self._lists_for(job, grid, groups_of_block * (4 * task.group_words + saved))
        groups = grid * groups_of_block
        task.buffers, task.group_bytes = lists.address, saved
        task.saved = lists.address + 4 * task.group_words * groups
        task.chunk = _chunk_for(count, groups)
        queue = self._add_queue(job, task, groups)
        set_up_search(job, kernel, argument, grid, lanes, ArcPartition(count, lambda _: int(task.chunk)))
        if may_return and queue is not None:
            places = (lists.address, lists.nbytes), (queue.address, queue.nbytes)
            self._prepared = _Prepared(
                job, job.stream, kernel, searched, covered, groups, *places, self._clear_queue, argument
            )
        return argument

    def _prepared_for(
        self, job: SearchJob, kernel: Kernel, searched: Searched, covered: int
    ) -> _Prepared | None:
        """Return the search that the job has already, if it serves as many other roots."""
        old, stream = self._prepared, job.stream
        if old is None or old.job is not job or old.stream is not stream:
            return None
        if old.kernel is not kernel or old.covered != covered or old.searched != searched:
            return None
        for room, place in (self._lists, old.lists), (self._queue, old.queue):
            if room.nbytes != place[1] or room.of(place[1], stream).address != place[0]:
                return None
        self._clear_queue = old.clear_queue
        return old

    def _add_queue(self, job: SearchJob, task: layout.Task, groups: int) -> Buffer | None:
        """Give a search a work queue, through which groups hand over work, if memory suffices."""
        self._clear_queue = None
        if not self._manner.queue:
            return None
        slots = layout.wait_slots_for(groups)
        try:
            buffer = self._queue.of(layout.work_queue_bytes(slots), job.stream)
        except DeviceMemoryError:
            return None
        self._clear_queue = job.stream.clearing(buffer, 0, layout.work_queue_cleared_bytes(slots))
        task.work_queue = layout.work_queue_at(buffer.address, slots)
        return buffer

    def _lists_for(self, job: SearchJob, grid: int, bytes_of_block: int) -> tuple[int, Buffer]:
        """Return the number of blocks that there is memory for, at most `grid`, and the memory."""
        if bytes_of_block * grid > self._lists.nbytes:
            grid = max(1, min(grid, (self._lists.nbytes + self._room_left()) // max(1, bytes_of_block)))
        while True:
            try:
                return grid, self._lists.of(max(1, bytes_of_block * grid), job.stream)
            except DeviceMemoryError:
                if grid == 1:
                    raise
                grid = max(1, min(grid // 2, self._room_left() // bytes_of_block))

    def _room_left(self) -> int:
        """Return the bytes that lists may take more: half of what is free, since rows grow."""
        device = self._accelerator.device
        available = device.free_memory()
        if self._budget is not None:
            available = min(available, self._budget - device.used_memory())
        return max(0, available // 2)


def _chunk_for(count: int, groups: int) -> int:
    """Return the roots that a group takes at a time."""
    return max(1, min(_MOST_CHUNK, count // (groups * _CHUNKS_PER_GROUP)))


def _covered(count: int) -> int:
    """Return the next power of two: launches of about as many roots are alike."""
    return 1 << (count - 1).bit_length()


def _do_meanwhile(job: SearchJob, work: Callable[[], None]) -> None:
    """Do something while the kernel runs, and stop the kernel if that fails."""
    try:
        work()
    except BaseException:
        job.stop_and_wait()
        raise


def _waited(job: SearchJob, end: Mark | SearchJob, goes_on: Callable[[], bool]) -> bool:
    """Wait for the kernel, or for work behind it; stop it and return False if the call is to stop."""
    asked = 0.0
    for now in moments():
        if end.done() and job.done():
            break
        if now - asked > 1e-3:
            asked = now
            if not goes_on():
                job.stop_and_wait()
                job.stream.wait()
                return False
    if job.result().overflow:
        raise OverflowError("the count exceeds 2^128 - 1")
    return True
