"""Groups of one or several devices of one machine that share a job.

Each device has a copy of the graph and a share of the work; one thread of the host drives all of them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer
from motiflux.errors import DeviceMemoryError, MotifluxError, MotifluxWarning
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.job import AnyJob, SearchJob
from motiflux.gpu.runtime.launches import Result
from motiflux.gpu.storage.candidate_space import DeviceSpace, copy_space
from motiflux.gpu.storage.upload import UploadContext
from motiflux.gpu.strategy import DeviceFacts
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline, Work
from motiflux.request.request import Request

_LIMIT_SECONDS = 1e-3
"""Seconds between two reads of the number found by all devices, if there is a limit."""


@contextmanager
def working_on(accelerator: Accelerator) -> Iterator[None]:
    """Make a device the thread's current device in the context; errors name it."""
    device = accelerator.device
    with device.current():
        try:
            yield
        except MotifluxError as error:
            error.args = (f"on {device.name}: {error}", *error.args[1:])
            raise


@dataclass(frozen=True)
class DeviceGroup:
    """Devices of one machine that work together. The first one alone does work that cannot be shared."""

    accelerators: tuple[Accelerator, ...]

    @classmethod
    def open(cls, names: Sequence[str]) -> DeviceGroup:
        """Return the group of devices of these names, opened; raises `DeviceError`."""
        group = cls(tuple(open_accelerator(name) for name in names))
        if len(names) > 1:
            group.first.device.use()
        return group

    @property
    def first(self) -> Accelerator:
        """The first device."""
        return self.accelerators[0]

    @property
    def name(self) -> str:
        """The names of all devices."""
        return ", ".join(accelerator.device.name for accelerator in self.accelerators)

    @cached_property
    def alone(self) -> bool:
        """Whether it is a group of one."""
        return len(self.accelerators) == 1

    @property
    def facts(self) -> DeviceFacts:
        """Facts of one device, for a strategy."""
        device = self.first.device
        return DeviceFacts(device.multiprocessors, getattr(device, "speed", 0.0))

    def only_first(self) -> DeviceGroup:
        """Return the group of the first device."""
        return self if self.alone else DeviceGroup(self.accelerators[:1])


class Job(Work, Protocol):
    """A job that counts, on one device or on several. Close it after use."""

    watched: bool
    """Whether `look` will be called: set before the launch."""

    def launch(self) -> None:
        """Start the kernels."""

    def result(self) -> Result:
        """Return the result, once the kernels have ended."""

    def close(self) -> None:
        """Stop the kernels if they run, and release all resources."""


@dataclass(frozen=True, slots=True)
class Call:
    """The call that a job is prepared for: a plan of a request on a graph, and a deadline."""

    graph: Graph
    plan: Plan
    request: Request
    deadline: Deadline


class GroupJob:
    """A job on each device of a group that takes part in the work.

    Parameters
    ----------
    limit
        Stop when all devices together have found more than this number.
    """

    watched = False

    def __init__(self, limit: int | None = None) -> None:
        self.jobs: list[AnyJob] = []
        self._made: list[AnyJob] = []
        self._ended: dict[AnyJob, Result] = {}
        self._limit = limit
        self._next_look = 0.0
        self._seen: dict[AnyJob, tuple[int, int, int]] = {}

    @classmethod
    def searching(
        cls,
        group: DeviceGroup,
        make: Callable[[Accelerator], SearchJob],
        call: Call,
        limit: int | None = None,
    ) -> GroupJob:
        """Return a search that is prepared on all devices, its work partitioned between them.

        Devices without enough memory, or whose work is partitioned differently, are left out with a warning.

        Parameters
        ----------
        make
            Prepares the job on one device.

        Raises
        ------
        DeviceMemoryError
            No device has enough memory.
        OutOfTimeError
            Time was up before all devices were ready.
        """
        made = cls(limit)
        try:
            made._gather(group, make, call)
        except BaseException:
            made.close()
            raise
        return made

    @classmethod
    def of_shares(
        cls, group: DeviceGroup, make: Callable[[Accelerator, tuple[int, int]], AnyJob]
    ) -> GroupJob:
        """Return a job of all devices; `make` takes the index of the device and the number of devices."""
        made = cls()
        try:
            for number, accelerator in enumerate(group.accelerators):
                with working_on(accelerator):
                    job = make(accelerator, (number, len(group.accelerators)))
                    made._made.append(job)
                    made.jobs.append(job)
        except BaseException:
            made.close()
            raise
        return made

    def _gather(self, group: DeviceGroup, make: Callable[[Accelerator], SearchJob], call: Call) -> None:
        refused: list[DeviceMemoryError] = []
        for accelerator in group.accelerators:
            try:
                with working_on(accelerator):
                    if self.jobs:
                        _share_space(self.jobs[0], accelerator, call)
                    self._add(make(accelerator))
            except DeviceMemoryError as error:
                refused.append(error)
        if not self.jobs:
            raise refused[0]
        for one in refused:
            warnings.warn(f"a device takes no part: {one}", MotifluxWarning, stacklevel=2)
        devices = len(self.jobs)
        piece = self.jobs[0].launches.partition.piece_for(devices)
        for number, job in enumerate(self.jobs):
            job.launches.take_share(number, devices, piece)

    def _add(self, job: SearchJob) -> None:
        self._made.append(job)
        if self.jobs and not _alike(job, self.jobs[0]):
            name, first = job.accelerator.device.name, self.jobs[0].accelerator.device.name
            warnings.warn(
                f"{name} takes no part: its work is not cut up as {first}'s is", MotifluxWarning, stacklevel=2
            )
            return
        self.jobs.append(job)

    def launch(self) -> None:
        """Start all kernels."""
        for job in self.jobs:
            with working_on(job.accelerator):
                job.watched = self.watched or self._limit is not None
                job.launch()

    def done(self) -> bool:
        """Whether all kernels have ended, or enough was found; raises the error of a device."""
        for job in self.jobs:
            if job not in self._ended:
                with working_on(job.accelerator):
                    if job.done():
                        result = self._ended[job] = job.result()
                        if result.limited or result.overflow:
                            break
        else:
            if len(self._ended) < len(self.jobs) and not self._has_enough():
                return False
        self.stop_and_wait()
        return True

    def _has_enough(self) -> bool:
        now = time.perf_counter()
        if self._limit is None or now < self._next_look:
            return False
        self._next_look = now + _LIMIT_SECONDS
        return self.look()[2] > self._limit

    def look(self) -> tuple[int, int, int]:
        """Return units done, units in total and the number found, as last seen."""
        for job in self.jobs:
            with working_on(job.accelerator):
                if not job.is_open:  # in a row listing, one device may end before others
                    continue
                seen = job.look()
                if seen is not None:
                    before = self._seen.get(job, (0, 0, 0))
                    done = min(max(before[0], seen[0]), seen[1])
                    self._seen[job] = (done, seen[1], max(before[2], seen[2]))
        known = self._seen.values()
        units = sum(job.reader.units for job in self.jobs)
        return sum(one[0] for one in known), units, sum(one[2] for one in known)

    def stop_and_wait(self) -> None:
        """Stop the kernels and wait for their end; numbers found until then are kept."""
        for job in self.jobs:
            with working_on(job.accelerator):
                job.stop_and_wait()

    def tell_time(self) -> None:
        """Add the kernels' time on all devices to the times that are being measured."""
        for job in self.jobs:
            with working_on(job.accelerator):
                job.tell_time()

    def result(self) -> Result:
        """Return the combined result of all jobs, once all kernels have ended."""
        results = [job.result() for job in self.jobs]
        return Result(
            sum(result.found for result in results),
            any(result.limited for result in results),
            any(result.overflow for result in results),
        )

    def close(self) -> None:
        """Stop all kernels that run, and release all resources."""
        _close_all(self._made)

    def __enter__(self) -> GroupJob:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _close_all(jobs: list[AnyJob]) -> None:
    """Close jobs, each on its device, the last one first. All are closed, even if one raises."""
    while jobs:
        job = jobs.pop()
        try:
            with job.accelerator.device.current():
                job.close()
        finally:
            _close_all(jobs)


def _share_space(first: AnyJob, accelerator: Accelerator, call: Call) -> None:
    """Copy the candidate space of the first device, if any, so that the units of work are the same."""
    space = space_of(first)
    if space is None:
        return

    def fetch(buffer: Buffer, nbytes: int) -> NDArray[np.uint8]:
        with first.accelerator.device.current():
            return first.session.fetch(buffer, nbytes)

    with SearchJob(accelerator) as carrier:
        request = call.request
        context = UploadContext.of(carrier.stream, request, call.deadline)
        copy_space(space, fetch, carrier, call.graph, call.plan, context)


def space_of(job: AnyJob) -> DeviceSpace | None:
    """Return the candidate space that a job reads, if any."""
    return next((rows for rows in job.memory.entries if isinstance(rows, DeviceSpace)), None)


def _alike(one: AnyJob, other: AnyJob) -> bool:
    """Return whether units of two jobs are the same work.

    Rows of the graph are the same on all devices; those of candidate spaces only if one is a copy.
    """
    spaces = [space_of(job) for job in (one, other)]
    filtered = [None if space is None else space.filtered for space in spaces]
    first, second = one.launches.partition, other.launches.partition
    same = type(first) is type(second) and (first.extent, first.cut) == (second.extent, second.cut)
    return same and filtered[0] is filtered[1]
