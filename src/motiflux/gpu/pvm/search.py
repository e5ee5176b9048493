"""Counts and lists embeddings by the phases of a plan (GENEVA, algorithm 1)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Self, TypeVar

import numpy as np

from motiflux.gpu.pvm.host_frontiers import host_room
from motiflux.gpu.pvm.phase_query import PhaseQuery
from motiflux.gpu.pvm.phase_steps import Chunk, PhaseJob, Watch
from motiflux.gpu.pvm.resident_tile import Traffic
from motiflux.gpu.pvm.row_tables import TableKey
from motiflux.gpu.pvm.run import FullFrontier, PhaseRun
from motiflux.gpu.pvm.set_up import Memory, phase_job
from motiflux.gpu.pvm.tiled_run import TiledRun
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.graph import Graph
from motiflux.plan.phases.data import PhasePlan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request
from motiflux.result.images import Block
from motiflux.types import VERTEX_DTYPE, VertexArray

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Counted:
    """The result of a count.

    Parameters
    ----------
    found
        Number of embeddings that the phases found.
    complete
        Whether these are all.
    sizes
        Embeddings that each phase found, before it was cut short.
    overflow
        Whether a number passed the range of the kernels; `found` is then meaningless.
    traffic
        Bytes of each table that was read, and those of them that the search copied to the device.
    """

    found: int
    complete: bool
    sizes: tuple[int, ...]
    overflow: bool = False
    traffic: Mapping[TableKey, Traffic] = field(default_factory=dict)


def count_phases(
    accelerator: Accelerator,
    graph: Graph,
    phases: PhasePlan,
    request: Request,
    deadline: Deadline,
) -> Counted:
    """Count the embeddings that the phases find, and stop once there are more than ``request.limit``.

    Raises
    ------
    DeviceMemoryError
        The rows of a vertex, or one step of a warp, do not fit.
    """
    query = PhaseQuery(graph, phases, request, counts=True)
    watch = Watch(deadline, request.progress, request.limit)
    try:
        with suppress(FullFrontier):  # once it is handled, nothing refers to the memory of the first search
            return _counted(accelerator, query, watch, grows=False)
        return _counted(accelerator, query, watch, grows=True)
    except OutOfTimeError:
        return Counted(0, False, ())


def _counted(accelerator: Accelerator, query: PhaseQuery, watch: Watch, *, grows: bool) -> Counted:
    with closing(Begun.of(accelerator, query, watch, grows=grows)) as begun:
        return begun.count()


@dataclass(frozen=True)
class Begun:
    """A search that is set up on a device. Close it after use.

    Parameters
    ----------
    job, memory, run
        Its job, its memory, and its run.
    """

    job: PhaseJob
    memory: Memory
    run: PhaseRun | TiledRun

    @classmethod
    def of(cls, accelerator: Accelerator, query: PhaseQuery, watch: Watch, *, grows: bool) -> Self:
        """Set up a search, with larger frontiers if those of the first size were full."""
        job, memory = phase_job(accelerator, query, watch.deadline, grows=grows)
        return cls(job, memory, _run(job, memory, query, watch))

    def chunks(self) -> Generator[Chunk, None, None]:
        """Run all phases (`PhaseRun.chunks`)."""
        return self.run.chunks(self.job.launches.roots, may_grow=self.memory.is_first)

    def count(self) -> Counted:
        """Count; raises `FullFrontier`."""
        try:
            for _ in self.chunks():
                pass
        except FullFrontier:
            self.grow()
            raise
        run, tiled = self.run, self.memory.tiled
        traffic = self.memory.traffic if tiled is None else tiled.tables.traffic()
        return Counted(run.found, run.complete, run.sizes(), run.overflow, traffic)

    def grow(self) -> None:
        """Have the job not be kept: the next search begins with larger frontiers."""
        self.job.keep_when_over(None)

    def close(self) -> None:
        """Stop the kernels if they run, and leave tables to later searches."""
        try:
            self.job.close()
        finally:
            self.memory.close()


def _run(job: PhaseJob, memory: Memory, query: PhaseQuery, watch: Watch) -> PhaseRun | TiledRun:
    tiled = memory.tiled
    if tiled is None:
        return PhaseRun(job, memory.room, memory.rows, watch)
    of_host = host_room() // query.share[1]
    return TiledRun(job, memory.room, tiled, watch, of_host, hurries=query.request.limit is not None)


@dataclass(frozen=True, slots=True)
class Stored:
    """Embeddings that are on the device until more are asked for.

    Parameters
    ----------
    job
        The job that found them.
    address
        Address of the first vertex of the first column.
    capacity, rows
        Vertices from one column to the next one; number of embeddings.
    columns
        The column of each vertex of the pattern.
    """

    job: PhaseJob
    address: int
    capacity: int
    rows: int
    columns: tuple[int, ...]


def list_phases(
    accelerator: Accelerator,
    graph: Graph,
    phases: PhasePlan,
    request: Request,
    batch_rows: int,
    deadline: Deadline,
) -> FoundEmbeddings:
    """Return the embeddings that the phases find, in blocks of at most `batch_rows` rows; raises the same."""
    return FoundEmbeddings(accelerator, graph, phases, request, batch_rows, deadline)


class FoundEmbeddings:
    """Embeddings of a search by phases, found while they are taken; raises the same as `count_phases`.

    They are taken as blocks of at most `batch_rows` rows, or on the device.

    Attributes
    ----------
    complete
        Whether nothing was cut.
    accelerator
        The device that searches.
    """

    complete = False

    def __init__(
        self,
        accelerator: Accelerator,
        graph: Graph,
        phases: PhasePlan,
        request: Request,
        batch_rows: int,
        deadline: Deadline,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self._over, self._closing = False, threading.Event()
        self._lock = threading.RLock()
        self.accelerator, self._batch_rows = accelerator, batch_rows
        self._query = PhaseQuery(graph, phases, request, counts=False, share=share)
        self._watch = Watch(deadline, request.progress, is_closing=self._closing.is_set)
        self._rows: VertexArray = np.empty((0, len(phases.order)), VERTEX_DTYPE)
        self._delivered = 0
        self._there: Chunk | None = None
        self._numbered = 0
        self._begun: Begun | None = None
        self._chunks: Generator[Chunk, None, None] | None = None
        try:
            self._begin(grows=False)
        except OutOfTimeError:
            self._end(complete=False)

    def _begin(self, *, grows: bool) -> None:
        """Begin the search; it runs while rows are taken."""
        self._begun = Begun.of(self.accelerator, self._query, self._watch, grows=grows)
        self._chunks = self._begun.chunks()

    def next(self) -> Block | None:
        """Return the next block of internal ids, or None at the end."""
        return self._guarded(self._next)

    def next_on_device(self, take: Callable[[Stored], tuple[int, T]]) -> T | None:
        """Return what is made of the next embeddings on the device, or None at the end.

        Parameters
        ----------
        take
            Returns the number of embeddings that it took, of those that are stored, and what it made of them.
            Nothing reads them afterwards. Do not mix calls with `next`.
        """
        return self._guarded(lambda: self._next_on_device(take))

    def _guarded(self, find: Callable[[], T]) -> T | None:
        """Return what is found, None at the end; end the search if that fails."""
        self.accelerator.device.use()  # before the lock: refuses forked children
        with self._lock:
            if self._over:
                return None
            try:
                return find()
            except OutOfTimeError:
                self._end(complete=False)
                return None
            except BaseException:
                self._end(complete=False)
                raise

    def _next(self) -> Block | None:
        while not len(self._rows):
            chunk = self._next_chunk()
            if chunk is None:
                assert self._begun is not None
                self._end(complete=self._begun.run.complete)
                return None
            self._rows = self._fetched(chunk)
        block, self._rows = self._rows[: self._batch_rows], self._rows[self._batch_rows :]
        limit = self._query.request.limit
        if limit is not None and self._delivered + len(block) > limit:
            block = block[: limit - self._delivered]
            self._end(complete=False)
        self._delivered += len(block)
        return block if len(block) else None

    def _next_on_device(self, take: Callable[[Stored], tuple[int, T]]) -> T | None:
        if self._there is None or self._numbered == self._there.rows:
            self._there, self._numbered = self._next_chunk(), 0
        chunk, limit = self._there, self._query.request.limit
        assert self._begun is not None
        if chunk is None:
            self._end(complete=self._begun.run.complete)
            return None
        rows = chunk.rows - self._numbered
        if limit is not None and (rows := min(rows, limit - self._delivered)) == 0:
            self._end(complete=False)
            return None
        job, frontier = self._begun.job, chunk.frontier
        columns = tuple(job.launches.programs.output)
        first = frontier.address + 4 * self._numbered
        taken, made = take(Stored(job, first, frontier.capacity, rows, columns))
        self._numbered += taken
        self._delivered += taken
        return made

    def _next_chunk(self) -> Chunk | None:
        """Return the next embeddings; begin again with larger frontiers if one was full at first."""
        with suppress(FullFrontier):  # once it is handled, nothing refers to the memory of the first search
            return self._taken()
        if self._begun is not None:
            self._begun.grow()
        self._release()
        self._begin(grows=True)
        return self._taken()

    def _taken(self) -> Chunk | None:
        assert self._chunks is not None, "the search is over"
        return next(self._chunks, None)

    def _fetched(self, chunk: Chunk) -> VertexArray:
        """Return the embeddings of a chunk by the pattern's vertices."""
        assert self._begun is not None, "the search is over"
        job, frontier = self._begun.job, chunk.frontier
        stream = job.stream
        columns = np.empty((frontier.width, chunk.rows), VERTEX_DTYPE)
        for at, column in enumerate(job.launches.programs.output):
            stream.download(frontier.buffer, columns[at], 4 * column * frontier.capacity)
        stream.wait()
        return np.ascontiguousarray(columns.T)

    def _end(self, *, complete: bool) -> None:
        self.complete = complete
        self._over = True
        self._release()

    def _release(self) -> None:
        """Stop the search, and release its memory."""
        begun, self._begun = self._begun, None  # frontiers would outlive the job
        chunks, self._chunks = self._chunks, None
        self._there = None
        if begun is None:
            return
        try:
            if chunks is not None:
                chunks.close()
        finally:
            begun.close()

    def close(self) -> None:
        """Stop the search; rows not taken are dropped."""
        self._closing.set()
        if self._begun is not None and self._begun.job.inherited:
            return
        with self._lock:
            if not self._over:
                with self.accelerator.device.current():
                    self._end(complete=False)

    def __del__(self) -> None:
        # When Python exits, streams are gone, and the kernel ends with the process.
        if hasattr(self, "_over") and not sys.is_finalizing():
            self.close()
