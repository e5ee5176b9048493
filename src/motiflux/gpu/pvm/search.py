"""Counts and lists embeddings by the phases of a plan (GENEVA, algorithm 1)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from motiflux.gpu.pvm.frontiers import (
    MOST_BYTES,
    SHARE,
    allocate_frontiers,
    allocate_left,
)
from motiflux.gpu.pvm.programs import Layout, programs_of
from motiflux.gpu.pvm.resident_tables import TILES, ResidentTables
from motiflux.gpu.pvm.row_tables import RowTables
from motiflux.gpu.pvm.run import Chunk, PhaseJob, PhaseLaunch, PhaseReader, PhaseRun, Room, most_warps
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import setting_up
from motiflux.graph import Graph
from motiflux.plan.phases.data import PhasePlan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request
from motiflux.result.images import Block
from motiflux.result.rows import RowSource
from motiflux.types import VERTEX_DTYPE, VertexArray

_MOST_ROW_BYTES = 32 << 20
"""Most bytes of the last frontier, if embeddings are listed."""


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
    """

    found: int
    complete: bool
    sizes: tuple[int, ...]
    overflow: bool = False


def count_phases(
    accelerator: Accelerator,
    graph: Graph,
    phases: PhasePlan,
    request: Request,
    deadline: Deadline,
    *,
    limit: int | None = None,
) -> Counted:
    """Count the embeddings that the phases find.

    Parameters
    ----------
    limit
        Stop once more than this many are found.

    Raises
    ------
    DeviceMemoryError
        The rows of a vertex, or one step of a warp, do not fit.
    """
    with PhaseJob(accelerator, budget=request.gpu_memory) as job:
        try:
            run = _set_up(job, graph, phases, request, deadline, counts=True, limit=limit)
            with run:
                for _ in run.chunks(graph.num_vertices):
                    pass
        except OutOfTimeError:
            return Counted(0, False, ())
        return Counted(run.found, run.complete, tuple(run.sizes), run.overflow)


def list_phases(
    accelerator: Accelerator,
    graph: Graph,
    phases: PhasePlan,
    request: Request,
    batch_rows: int,
    deadline: Deadline,
) -> RowSource:
    """Return the embeddings that the phases find, in blocks of at most `batch_rows` rows; raises the same."""
    return PhaseRows(accelerator, graph, phases, request, batch_rows, deadline)


class PhaseRows:
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
        self._over = self._closing = False
        self._lock = threading.RLock()
        self._graph, self._request, self._batch_rows = graph, request, batch_rows
        self._rows: VertexArray = np.empty((0, len(phases.order)), VERTEX_DTYPE)
        self._delivered = 0
        self._job = PhaseJob(accelerator, budget=request.gpu_memory)
        with setting_up(self._job):
            try:
                self._run = _set_up(
                    self._job, graph, phases, request, deadline, counts=False, is_closing=lambda: self._closing
                )
            except OutOfTimeError:
                self._end(complete=False)
                return
        self._chunks: Iterator[Chunk] = self._run.chunks(graph.num_vertices)

    def next(self) -> Block | None:
        """Return the next block of internal ids, or None at the end."""
        self._job.accelerator.device.use()  # before the lock: refuses forked children
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
            chunk = next(self._chunks, None)
            if chunk is None:
                self._end(complete=self._run.complete)
                return None
            self._rows = self._fetched(chunk)
        block, self._rows = self._rows[: self._batch_rows], self._rows[self._batch_rows :]
        limit = self._request.limit
        if limit is not None and self._delivered + len(block) > limit:
            block = block[: limit - self._delivered]
            self._end(complete=False)
        self._delivered += len(block)
        return block if len(block) else None

    def _fetched(self, chunk: Chunk) -> VertexArray:
        """Return the embeddings of a chunk by the pattern's vertices."""
        stream, frontier = self._job.stream, chunk.frontier
        columns = np.empty((frontier.width, chunk.rows), VERTEX_DTYPE)
        for at, column in enumerate(self._run.output):
            stream.download(frontier.buffer, columns[at], 4 * column * frontier.capacity)
        stream.wait()
        return np.ascontiguousarray(columns.T)

    def _end(self, *, complete: bool) -> None:
        self.complete = complete
        self._over = True
        self._chunks.close()
        self._job.close()
        if self._run is not None:
            self._run.close()

    def close(self) -> None:
        """Stop the search; rows not taken are dropped."""
        self._closing = True
        if self._job.inherited:
            return
        with self._lock:
            if not self._over:
                with self._job.accelerator.device.current():
                    self._end(complete=False)

    def __del__(self) -> None:
        # When Python exits, streams are gone, and the kernel ends with the process.
        if hasattr(self, "_job") and not sys.is_finalizing():
            self.close()


def _set_up(
    job: PhaseJob,
    graph: Graph,
    phases: PhasePlan,
    request: Request,
    deadline: Deadline,
    *,
    counts: bool,
    limit: int | None = None,
    is_closing: Callable[[], bool] = bool,
) -> PhaseRun:
    """Make the tables that a search reads, and allocate its memory."""
    job.set_up(PhaseLaunch(), PhaseReader(job.control))
    device, budget = job.accelerator.device, request.gpu_memory
    host = RowTables.of(graph, request.threads)
    layout = Layout(
        graph.directed,
        1 if graph.forward.labels is None else len(graph.edge_label_table),
        graph.vertex_labels is not None,
        host.by_target,
        host.grouped,
    )
    programs = programs_of(phases, layout, lists=not counts)
    room = device.free_memory() if budget is None else max(0, budget - device.used_memory())
    room -= ResidentTables.vertex_bytes(host)
    frontiers = min(MOST_BYTES, int(SHARE * room))
    tables = ResidentTables(
        job.accelerator, host, budget, room - frontiers, expected=programs.tables, deadline=deadline
    )
    if not tables.fits:
        programs = programs_of(
            phases,
            layout,
            lists=not counts,
            most_tables=TILES - 1,
            is_tiled=lambda key: tables.tiles(key) > 1,
        )
    written = programs.phases[:-1] if counts else programs.phases
    last = MOST_BYTES if counts else _MOST_ROW_BYTES
    memory = Room(
        allocate_frontiers(device, written, budget, frontiers, last),
        allocate_left(device, most_warps(device.multiprocessors), budget),
    )
    for frontier in memory.frontiers:
        job.memory.hold(frontier.buffer)
    job.memory.hold(memory.left.parked)
    job.memory.hold(memory.left.long_batches)
    return PhaseRun(
        job,
        graph,
        programs,
        tables,
        memory,
        deadline,
        counts=counts,
        budget=budget,
        limit=limit,
        round_robin=request.tuning.get("pvm_distribution") == "round_robin",
        progress=request.progress,
        is_closing=is_closing,
    )
