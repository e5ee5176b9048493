"""A search of a run before its launch: its argument, candidate lists, and the queue of its work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from motiflux.codegen import layout
from motiflux.codegen.changing import (
    BITMAP_LANES,
    POOLED_LANES,
    UTILISATION,
    ChangingArgs,
    ChangingPlans,
    PooledArgs,
)
from motiflux.codegen.kernels import THREADS, Goal
from motiflux.device import Buffer, Kernel, Mark, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.manner import Manner, Measured
from motiflux.gpu.changing.memory import Room
from motiflux.gpu.changing.searches.searched import Searched
from motiflux.gpu.launch.prepare import grid_of
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob, set_up_search
from motiflux.gpu.runtime.work_partition import ArcPartition
from motiflux.jit import Source
from motiflux.request.deadline import moments

_LINE_WORDS = 32
STAGED_WORDS = 8192
"""Most words in which a group stages rows of the host."""
_MOST_CHUNK, _CHUNKS_PER_GROUP = 4, 8
_FIRST_LEVEL = 2
"""The first level that is searched: an update matches the two before."""
_FEW_ROOTS = 4096
"""As many roots are searched by the next launch with the same argument, but for the roots."""
MANY_ROOTS = (1 << 32) - 1

Roots = tuple[int, int]
"""The address and the number of roots."""


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


class PooledSearch:
    """A search in stages that was set up.

    Parameters
    ----------
    kernels
        Those of its stages; the job is set up for the first one.
    grid
        Number of blocks of each launch.
    argument
        It may be changed between launches.
    """

    def __init__(self, kernels: Sequence[Kernel], grid: int, argument: PooledArgs) -> None:
        self._kernels, self._grid, self.argument = kernels, grid, argument
        self._used = 0

    def use(self, job: SearchJob, number: int) -> None:
        """Have a job launch this one of the kernels from now on, or the last one if there are fewer."""
        number = min(number, len(self._kernels) - 1)
        if number == self._used:
            return
        task = self.argument.task
        partition = ArcPartition(int(task.arcs), lambda _: int(task.chunk))
        set_up_search(job, self._kernels[number], self.argument, self._grid, POOLED_LANES, partition)
        self._used = number


class SearchSetUp:
    """Sets searches from updates up and launches them, with memory that is kept between runs.

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
        self._queue = Room(device, "work that changes hands", budget)
        self._clear_queue: Callable[[], None] | None = None
        self._prepared: _Prepared | None = None

    @property
    def _rooms(self) -> tuple[Room, ...]:
        return self._lists, self._queue, self._clocks

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return sum(room.nbytes for room in self._rooms)

    def release(self) -> None:
        """Free the memory."""
        for room in self._rooms:
            room.release()
        self._clear_queue = self._prepared = None

    def search(
        self, job: SearchJob, searched: Searched, goal: Goal, roots: Roots, bitmaps: int = 0
    ) -> ChangingArgs:
        """Set a search from roots up; return its argument, which may be changed until the launch.

        Parameters
        ----------
        bitmaps
            The address of bitmaps of long rows; 0: there are none.
        """
        address, count = roots
        lanes = BITMAP_LANES if bitmaps else searched.lanes
        source = self._manner.source(
            goal,
            lanes,
            searched.most_levels,
            count,
            coalesced=searched.sharing is not None,
            in_bits=bitmaps > 0,
        )
        kernel = self._accelerator.kernel(source)
        if goal is Goal.STORE or count > _FEW_ROOTS or self.measured is not None or bitmaps:
            argument = ChangingArgs()
            argument.plan.bitmaps = bitmaps
            self._lay_out(job, searched, (kernel,), argument, goal, lanes, roots, count)
            return argument
        covered = _covered(count)
        again = self._prepared_for(job, kernel, searched, covered)
        if again is None:
            argument = ChangingArgs()
            grid, queue = self._lay_out(job, searched, (kernel,), argument, goal, lanes, roots, covered)
            if queue is not None:
                lists, places = self._lists.of(1, job.stream), (queue.address, queue.nbytes)
                self._prepared = _Prepared(
                    job,
                    job.stream,
                    kernel,
                    searched,
                    covered,
                    grid * (THREADS // lanes),
                    (lists.address, lists.nbytes),
                    places,
                    self._clear_queue,
                    argument,
                )
            return argument
        known = again.argument
        known.plan.roots = address
        known.task.arcs = known.task.all_arcs = count
        known.task.chunk = chunk_for(count, again.groups)
        return known

    def pooled(
        self, job: SearchJob, searched: Searched, sources: Sequence[Source], roots: Roots
    ) -> PooledSearch:
        """Set a search up that pools partial matches; any stage may have more roots than the first one."""
        kernels, argument = [self._accelerator.kernel(source) for source in sources], PooledArgs()
        grid, _ = self._lay_out(job, searched, kernels, argument, Goal.COUNT, POOLED_LANES, roots, MANY_ROOTS)
        return PooledSearch(kernels, grid, argument)

    def _lay_out(
        self,
        job: SearchJob,
        searched: Searched,
        kernels: Sequence[Kernel],
        argument: ChangingArgs | PooledArgs,
        goal: Goal,
        lanes: int,
        roots: Roots,
        covered: int,
    ) -> tuple[int, Buffer | None]:
        """Fill an argument and set the job up for it; return the blocks of a launch, and the work queue.

        Parameters
        ----------
        kernels
            Those that are launched with it; the job is set up for the first one.
        covered
            For how many roots the launch has groups.
        """
        self._prepared = None  # the job launches what it was set up with last
        self._tell_of(argument.plan, searched, roots[0], job.stream)
        task, count = argument.task, roots[1]
        task.arcs = task.all_arcs = count
        task.stride, task.vertices, task.limit = 1, searched.vertices, layout.NO_LIMIT
        task.max_spans = self._manner.access.spans_of_timed * searched.most_spans
        task.shared_bytes = layout.shared_bytes_of_group(
            searched.most_levels, task.max_spans, listing=goal.lists
        )
        list_words = -(-searched.longest // _LINE_WORDS) * _LINE_WORDS
        levels = searched.most_levels - _FIRST_LEVEL
        task.group_words = list_words * levels
        for level in range(levels):
            task.buffer_at[_FIRST_LEVEL + level] = list_words * level
        if self._manner.access.two_parts:
            task.buffer_at[1] = task.group_words
            task.group_words += list_words
        if self._manner.access.stages:
            task.buffer_at[0] = task.group_words
            task.group_words += min(STAGED_WORDS, list_words * searched.most_spans)
        groups_of_block = THREADS // lanes
        shared, device = groups_of_block * task.shared_bytes, self._accelerator.device
        grid = min(grid_of(device, kernel, shared, covered, groups_of_block) for kernel in kernels)
        saved = layout.saved_bytes_of_group(searched.most_levels) if goal.lists else 0
        grid, lists = self._lists_for(job, grid, groups_of_block * (4 * task.group_words + saved))
        groups = grid * groups_of_block
        task.buffers, task.group_bytes = lists.address, saved
        task.saved = lists.address + 4 * task.group_words * groups
        task.chunk = chunk_for(count, groups)
        queue = self._add_queue(job, task, groups)
        set_up_search(job, kernels[0], argument, grid, lanes, ArcPartition(count, lambda _: int(task.chunk)))
        return grid, queue

    def _tell_of(self, plan: ChangingPlans, searched: Searched, roots: int, stream: Stream) -> None:
        """Have an argument name plans, rows, roots and candidates."""
        plan.plans, plan.rows, plan.roots = searched.plans, searched.rows, roots
        plan.most_levels, plan.columns = searched.most_levels, 1 + searched.most_levels
        if searched.sharing is not None:
            plan.sharing, plan.numbers = searched.sharing
        if self.measured is not None:
            plan.utilisation = self._clocks.of(UTILISATION.itemsize, stream).address
        plan.candidates, plan.candidate_bytes = searched.candidates, searched.candidate_bytes

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
            grid = max(1, min(grid, (self._lists.nbytes + self.room_left()) // max(1, bytes_of_block)))
        while True:
            try:
                return grid, self._lists.of(max(1, bytes_of_block * grid), job.stream)
            except DeviceMemoryError:
                if grid == 1:
                    raise
                grid = max(1, min(grid // 2, self.room_left() // bytes_of_block))

    def room_left(self) -> int:
        """Return the bytes that lists may take more: half of what is free, since rows grow."""
        device = self._accelerator.device
        available = device.free_memory()
        if self._budget is not None:
            available = min(available, self._budget - device.used_memory())
        return max(0, available // 2)

    def launch(self, job: SearchJob, *, resume: bool = False) -> None:
        """Start the kernel that was set up last; with `resume`, go on with what groups have saved."""
        if self._clear_queue is not None:
            self._clear_queue()
        if self.measured is not None:
            job.stream.clear(self._clocks.of(UTILISATION.itemsize, job.stream), 0, UTILISATION.itemsize)
        job.launch(resume=resume)

    def measure_anew(self) -> None:
        """Forget the launches that were measured."""
        self.measured = Measured() if self._manner.measures else None

    def note(self, job: SearchJob, stage: int = 0) -> None:
        """Add the time and the clocks of a launch that has ended, of a stage, if they are measured."""
        job.tell_time()
        if self.measured is None:
            return
        clocks = np.empty(UTILISATION.itemsize, np.uint8)
        job.stream.download(self._clocks.of(UTILISATION.itemsize, job.stream), clocks)
        counts = np.zeros(layout.WORK_QUEUE_COUNTS, np.uint64)
        if self._clear_queue is not None:
            job.stream.download(self._queue.of(1, job.stream), counts)
        job.stream.wait()
        self.measured.add_launch(clocks, int(job.control.final.stolen), int(counts[-1]), stage)


def chunk_for(count: int, groups: int) -> int:
    """Return the roots that a group takes at a time."""
    return max(1, min(_MOST_CHUNK, count // (groups * _CHUNKS_PER_GROUP)))


def _covered(count: int) -> int:
    """Return the next power of two: launches of about as many roots are alike."""
    return 1 << (count - 1).bit_length()


def do_meanwhile(job: SearchJob, work: Callable[[], None]) -> None:
    """Do something while the kernel runs, and stop the kernel if that fails."""
    try:
        work()
    except BaseException:
        job.stop_and_wait()
        raise


def waited(job: SearchJob, end: Mark | SearchJob, goes_on: Callable[[], bool]) -> bool:
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
