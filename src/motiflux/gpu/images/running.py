"""Running a job whose results are read from its memory while it is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer
from motiflux.gpu.runtime.job import AnyJob
from motiflux.request.deadline import Deadline, wait_for
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
