"""Running a job whose results are read from its memory while it is open."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer
from motiflux.gpu.kernels.table_run import Numbers, TableJob, TableRun, TooWide
from motiflux.gpu.launch.job_pool import job_pool
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import AnyJob, setting_up
from motiflux.gpu.runtime.session import MOST_BLOCK_BYTES
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import Graph
from motiflux.request.deadline import Deadline, OutOfTimeError, wait_for
from motiflux.request.request import Request


@contextmanager
def finished(job: AnyJob, deadline: Deadline, request: Request) -> Iterator[bool]:
    """Launch a job and wait for its end; yield whether it ended in time. It is closed behind the context."""
    try:
        job.watched = request.progress is not None
        job.launch()
        yield wait_for(job, deadline, request.progress)
    finally:
        job.close()


def fetched(job: AnyJob, buffer: Buffer, size: int) -> NDArray[np.uint64]:
    """Return the first `size` numbers of a buffer, once the kernels of an open job have ended."""
    numbers = np.empty(size, np.uint64)
    if size:
        job.stream.download(buffer, numbers)
        job.stream.wait()
    return numbers


def evaluated(
    accelerator: Accelerator,
    graph: Graph,
    name: Hashable,
    request: Request,
    deadline: Deadline,
    prepare: Callable[[TableRun], Numbers],
) -> list[NDArray[np.uint64]]:
    """Return numbers that kernels of tables write, by a job that is kept for the next call.

    Parameters
    ----------
    name
        Of what is evaluated, among all for one graph.
    prepare
        Adds all launches; returns where the numbers are.

    Raises
    ------
    TooWide
        A number passes its range; or as `prepare` does.
    DeviceMemoryError
        The tables do not fit.
    OutOfTimeError
        Time was up.
    """
    deadline.check()
    pool, whole = job_pool(graph, accelerator), ("numbers", name, request.gpu_memory, request.switches)
    job: TableJob | None = pool.begin(whole, request)
    if job is None:
        with setting_up(TableJob(accelerator, "tables", MOST_BLOCK_BYTES, request.gpu_memory)) as job:
            context = UploadContext.of(job.stream, request, deadline)
            run = TableRun(job, graph, context, request.tuning["wedge_ends"])
            run.reader.numbers = prepare(run)
            run.end()
            if run.repeatable:
                pool.keep(whole, job, None, request)
    with finished(job, deadline, request) as in_time:
        if not in_time:
            raise OutOfTimeError
        if job.result().overflow:
            raise TooWide
        return [fetched(job, buffer, size) for buffer, size in job.reader.numbers]
