"""Counts and lists embeddings by the phases of a plan (GENEVA, algorithm 1)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field

import numpy as np

from motiflux.gpu.pvm.host_frontiers import host_room
from motiflux.gpu.pvm.phase_steps import Chunk, PhaseJob, Watch
from motiflux.gpu.pvm.resident_tables import Traffic
from motiflux.gpu.pvm.row_tables import TableKey
from motiflux.gpu.pvm.run import FullFrontier, PhaseRun
from motiflux.gpu.pvm.set_up import Memory, PhaseQuery, phase_job
from motiflux.gpu.pvm.tiled_run import TiledRun
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.graph import Graph
from motiflux.plan.phases.data import PhasePlan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request
from motiflux.result.images import Block
from motiflux.result.rows import RowSource
from motiflux.types import VERTEX_DTYPE, VertexArray


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
    job, memory = phase_job(accelerator, query, watch.deadline, grows=grows)
    with job, closing(memory):
        run = _run(job, memory, query, watch)
        try:
            for _ in run.chunks(job.launches.roots, may_grow=memory.is_first):
                pass
        except FullFrontier:
            job.keep_when_over(None)  # the next search begins with larger ones
            raise
        traffic = memory.traffic if memory.tiled is None else memory.tiled.tables.traffic()
        return Counted(run.found, run.complete, run.sizes(), run.overflow, traffic)


def _run(job: PhaseJob, memory: Memory, query: PhaseQuery, watch: Watch) -> PhaseRun | TiledRun:
    tiled = memory.tiled
    if tiled is None:
        return PhaseRun(job, memory.room, memory.rows, watch)
    return TiledRun(job, memory.room, tiled, watch, host_room(), hurries=query.request.limit is not None)


def list_phases(
    accelerator: Accelerator,
    graph: Graph,
    phases: PhasePlan,
    request: Request,
    batch_rows: int,
    deadline: Deadline,
) -> RowSource:
    """Return the embeddings that the phases find, in blocks of at most `batch_rows` rows; raises the same."""
    return FoundEmbeddings(accelerator, graph, phases, request, batch_rows, deadline)


class FoundEmbeddings:
    """Embeddings of a search by phases, found while they are taken.

    Attributes
    ----------
    complete
        Whether nothing was cut.
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
    ) -> None:
        self._over, self._closing = False, threading.Event()
        self._lock = threading.RLock()
        self._accelerator, self._batch_rows = accelerator, batch_rows
        self._query = PhaseQuery(graph, phases, request, counts=False)
        self._watch = Watch(deadline, request.progress, is_closing=self._closing.is_set)
        self._rows: VertexArray = np.empty((0, len(phases.order)), VERTEX_DTYPE)
        self._delivered = 0
        self._job: PhaseJob | None = None
        self._memory: Memory | None = None
        self._run: PhaseRun | TiledRun | None = None
        self._chunks: Iterator[Chunk] = iter(())
        try:
            self._begin(grows=False)
        except OutOfTimeError:
            self._end(complete=False)

    def _begin(self, *, grows: bool) -> None:
        """Begin the search; it runs while rows are taken."""
        query = self._query
        self._job, memory = phase_job(self._accelerator, query, self._watch.deadline, grows=grows)
        self._memory = memory
        self._run = _run(self._job, memory, query, self._watch)
        self._chunks = self._run.chunks(self._job.launches.roots, may_grow=memory.is_first)

    def next(self) -> Block | None:
        """Return the next block of internal ids, or None at the end."""
        self._accelerator.device.use()  # before the lock: refuses forked children
        with self._lock:
            if self._over:
                return None
            try:
                return self._next()
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
                self._end(complete=self._run is not None and self._run.complete)
                return None
            self._rows = self._fetched(chunk)
        block, self._rows = self._rows[: self._batch_rows], self._rows[self._batch_rows :]
        limit = self._query.request.limit
        if limit is not None and self._delivered + len(block) > limit:
            block = block[: limit - self._delivered]
            self._end(complete=False)
        self._delivered += len(block)
        return block if len(block) else None

    def _next_chunk(self) -> Chunk | None:
        """Return the next embeddings; begin again with larger frontiers if one was full at first."""
        with suppress(FullFrontier):  # once it is handled, nothing refers to the memory of the first search
            return next(self._chunks, None)
        if self._job is not None:
            self._job.keep_when_over(None)  # the next search begins with larger ones
        self._release()
        self._begin(grows=True)
        return next(self._chunks, None)

    def _fetched(self, chunk: Chunk) -> VertexArray:
        """Return the embeddings of a chunk by the pattern's vertices."""
        assert self._job is not None, "the search is over"
        stream, frontier = self._job.stream, chunk.frontier
        columns = np.empty((frontier.width, chunk.rows), VERTEX_DTYPE)
        for at, column in enumerate(self._job.launches.programs.output):
            stream.download(frontier.buffer, columns[at], 4 * column * frontier.capacity)
        stream.wait()
        return np.ascontiguousarray(columns.T)

    def _end(self, *, complete: bool) -> None:
        self.complete = complete
        self._over = True
        self._release()

    def _release(self) -> None:
        """Stop the search, and release its memory."""
        job, self._job = self._job, None
        if job is None:
            return
        memory, self._memory, self._run = self._memory, None, None  # frontiers would outlive the job
        self._chunks = iter(())
        try:
            job.close()
        finally:
            if memory is not None:
                memory.close()

    def close(self) -> None:
        """Stop the search; rows not taken are dropped."""
        self._closing.set()
        if self._job is not None and self._job.inherited:
            return
        with self._lock:
            if not self._over:
                with self._accelerator.device.current():
                    self._end(complete=False)

    def __del__(self) -> None:
        # When Python exits, streams are gone, and the kernel ends with the process.
        if hasattr(self, "_over") and not sys.is_finalizing():
            self.close()
