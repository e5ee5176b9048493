"""Jobs that have ended and are kept with the graph: an equal query launches the same job again.

A kept job holds its memory, arguments and kernel, but not the rows that it reads: if they are no longer on
the device, the job is set up anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from functools import partial

from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import AnyJob
from motiflux.graph import Graph
from motiflux.request.request import Request

_MOST, _ROOM = 64, 1 << 30
"""Maximum number of kept jobs of one graph, and of bytes of their memory."""


class JobPool:
    """Jobs of one graph on one accelerator that have ended, by name.

    One thread at a time uses a job, which returns to the pool when it is closed. Another thread that asks for
    it meanwhile sets up a second one; the pool keeps one of the two. All accesses are single operations, as
    in `Memo`, so that threads share the pool without a lock.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._places: dict[Hashable, deque[AnyJob]] = {}
        accelerator.add_job_pool(self)

    def begin(self, name: Hashable, request: Request) -> AnyJob | None:
        """Return the job of that name, open again; None if there is no usable one."""
        place = self._places.get(name)
        if not place:
            return None
        try:
            job = place.pop()
        except IndexError:  # another thread was faster
            return None
        budget = request.gpu_memory
        if budget is not None and self._accelerator.device.used_memory() > budget:
            return None  # kept jobs allocate nothing, which would check the budget
        try:
            best = job.has_best_kernel(request.tuning["specialize"])
            if best and job.begin_again(partial(self._put_back, name)):
                return job
        except BaseException:
            job.close()
            raise
        return None

    def keep(self, name: Hashable, job: AnyJob, subject: object, request: Request) -> None:
        """Have a job return to the pool under a name when it is closed.

        Parameters
        ----------
        subject
            An object whose id is part of the name. The job holds it, so that no other object gets its id.
        """
        if request.tuning["rest"] == "on":
            job.subject = subject
            job.keep_when_over(partial(self._put, name))

    def reclaim(self, needed: int) -> int:
        """Drop jobs, in the order in which their names were first kept; return their bytes."""
        freed = 0
        for name in list(self._places):
            if freed >= needed:
                break
            place = self._places.pop(name, None)
            if place:
                freed += sum(job.nbytes for job in list(place))  # another thread may take one
        return freed

    @property
    def nbytes(self) -> int:
        """Bytes of the device that kept jobs hold."""
        return sum(job.nbytes for place in list(self._places.values()) for job in list(place))

    def _put_back(self, name: Hashable, job: AnyJob) -> None:
        """Keep a job that was kept before: it holds as much memory as then."""
        place = self._places.get(name)
        if place is None:
            self._put(name, job)
        else:
            place.append(job)

    def _put(self, name: Hashable, job: AnyJob) -> None:
        """Keep a job that was set up, in place of another one of its name, if its memory is not too large."""
        if job.nbytes > _ROOM:
            return
        place = self._places.setdefault(name, deque(maxlen=1))
        place.append(job)
        room, names = _ROOM, list(self._places)
        for old in reversed(names):
            room -= sum(one.nbytes for one in list(self._places.get(old, ())))
            if room < 0:
                self._places.pop(old, None)
        for old in names[:-_MOST]:
            self._places.pop(old, None)


def job_pool(graph: Graph, accelerator: Accelerator) -> JobPool:
    """Return the pool of a graph on a device."""
    return graph.memo.keep(("job pool", id(accelerator)), lambda: JobPool(accelerator))
