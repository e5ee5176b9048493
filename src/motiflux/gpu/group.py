"""One device or several of one machine that share a job: each has the graph, and its share of the work.

One thread of the host drives all of them. One device is a group of one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer
from motiflux.errors import DeviceMemoryError, MotifluxError, MotifluxWarning
from motiflux.gpu.runtime.accelerator import Accelerator, known_accelerator, open_accelerator
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.gpu.storage.candidate_space import DeviceSpace, copy_space
from motiflux.gpu.storage.device_csr import UploadContext
from motiflux.gpu.strategy import DeviceFacts
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline, moments
from motiflux.request.reports import ProgressReport
from motiflux.request.request import ProgressCallback, Request

_LOOK_SECONDS = 0.05
"""Time between two reports of progress."""
_LIMIT_SECONDS = 1e-3
"""Time between two looks at the number found by all devices, where there is a limit."""


@contextmanager
def working_on(accelerator: Accelerator) -> Iterator[None]:
    """Make a device the thread's for a while; errors say which device it was."""
    device = accelerator.device
    with device.current():
        try:
            yield
        except MotifluxError as error:
            error.args = (f"on {device.name}: {error}", *error.args[1:])
            raise


@dataclass(frozen=True)
class DeviceGroup:
    """Devices of one machine that work together, the first of which does what cannot be shared."""

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
        """What a strategy has to know of one of them."""
        device = self.first.device
        return DeviceFacts(device.multiprocessors, getattr(device, "speed", 0.0))

    def only_first(self) -> DeviceGroup:
        """Return the group of the first device."""
        return self if self.alone else DeviceGroup(self.accelerators[:1])

    def is_current(self) -> bool:
        """Whether this process would take the same devices, by their names, now."""
        if self.alone:
            return known_accelerator(self.first.device.name) is self.first
        return all(known_accelerator(one.device.name) is one for one in self.accelerators)


class Work(Protocol):
    """Work of devices that goes on."""

    def done(self) -> bool:
        """Whether it has ended; raises what failed."""

    def stop_and_wait(self) -> None:
        """Stop it, and wait for its end."""

    def look(self) -> tuple[int, int, int] | None:
        """Return units of work done, units in all, and the number found; None if not known."""

    def tell_time(self) -> None:
        """Add the kernels' time to the times that are being taken, once they are done."""


def wait_for(
    work: Work, deadline: Deadline, progress: ProgressCallback | None = None, before: int = 0, times: int = 1
) -> bool:
    """Wait for the end of work; stop it and return False if time runs out first.

    Parameters
    ----------
    before, times
        What progress reports add to the number found, and then multiply it by.
    """
    next_report = deadline.started + _LOOK_SECONDS
    for now in moments():
        if work.done():
            break
        if deadline.at is not None and now >= deadline.at:
            work.stop_and_wait()
            work.tell_time()
            return False
        if progress is not None and now >= next_report:
            next_report = now + _LOOK_SECONDS
            if (seen := work.look()) is not None:
                done, total, found = seen
                progress(ProgressReport(done, total, (before + found) * times, now - deadline.started))
    work.tell_time()
    return True


class Job(Work, Protocol):
    """A job that counts, on one device or on several. Close it, or use it as a context."""

    def expect_looks(self) -> None:
        """Have `look` never return what an earlier job has left in the same memory: before the launch."""

    def launch(self) -> None:
        """Start it."""

    def found(self) -> int:
        """Return the number found, once it has ended."""

    def was_limited(self) -> bool:
        """Whether it stopped because of its limit."""

    def passed_128_bits(self) -> bool:
        """Whether a number did not fit; the number found is of no use then."""

    def __enter__(self) -> Job: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class GroupJob:
    """A job on each device of a group that takes part.

    Parameters
    ----------
    limit
        Stop when all devices together have found more than this.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.searches: list[DeviceSearch] = []
        self._limit = limit
        self._next_look = 0.0
        self._made: list[DeviceSearch] = []
        self._seen: dict[DeviceSearch, tuple[int, int, int]] = {}

    def gather(
        self,
        group: DeviceGroup,
        make: Callable[[Accelerator], DeviceSearch],
        graph: Graph,
        plan: Plan,
        request: Request,
        deadline: Deadline,
    ) -> None:
        """Prepare the job on all devices, and partition its work.

        Devices without memory for it are left out, with a warning; so are devices whose work is not the same.

        Parameters
        ----------
        make
            Prepares the job on one device.

        Raises
        ------
        DeviceMemoryError
            No device has memory for it.
        OutOfTimeError
            Time was up before all were ready.
        """
        refused: list[DeviceMemoryError] = []
        for accelerator in group.accelerators:
            try:
                with working_on(accelerator):
                    if self.searches:
                        _share_space(self.searches[0], accelerator, graph, plan, request, deadline)
                    self._add(make(accelerator))
            except DeviceMemoryError as error:
                refused.append(error)
        if not self.searches:
            raise refused[0]
        for one in refused:
            warnings.warn(f"a device takes no part: {one}", MotifluxWarning, stacklevel=2)
        devices = len(self.searches)
        piece = self.searches[0].partition.piece_for(devices)
        for number, search in enumerate(self.searches):
            with working_on(search.accelerator):
                search.take_share(number, devices, piece)

    def _add(self, search: DeviceSearch) -> None:
        self._made.append(search)
        if self.searches and not _alike(search, self.searches[0]):
            name, first = search.accelerator.device.name, self.searches[0].accelerator.device.name
            warnings.warn(
                f"{name} takes no part: its work is not cut up as {first}'s is", MotifluxWarning, stacklevel=2
            )
            return
        self.searches.append(search)

    def expect_looks(self) -> None:
        """Have `look` never return what an earlier job has left in the same memory: before the launch."""
        for search in self.searches:
            with working_on(search.accelerator):
                search.expect_looks()

    def launch(self) -> None:
        """Start all kernels."""
        for search in self.searches:
            with working_on(search.accelerator):
                search.launch()

    def done(self) -> bool:
        """Whether all kernels have ended, or enough was found; raises what failed on a device."""
        ended = 0
        for search in self.searches:
            with working_on(search.accelerator):
                if search.done():
                    ended += 1
                    if search.was_limited() or search.passed_128_bits():
                        break
        else:
            if ended < len(self.searches) and not self._has_enough():
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
        """Return units done, units in all and the number found, as far as is known."""
        for search in self.searches:
            with working_on(search.accelerator):
                if not search.is_open:  # a device that lists is done before others
                    continue
                seen = search.look()
                if seen is not None:
                    before = self._seen.get(search, (0, 0, 0))
                    done = min(max(before[0], seen[0]), seen[1])
                    self._seen[search] = (done, seen[1], max(before[2], seen[2]))
        known = self._seen.values()
        units = sum(int(search.task.arcs) for search in self.searches)
        return sum(one[0] for one in known), units, sum(one[2] for one in known)

    def stop_and_wait(self) -> None:
        """Stop the kernels that run; what they had found counts."""
        for search in self.searches:
            with working_on(search.accelerator):
                search.stop_and_wait()

    def tell_time(self) -> None:
        """Add the kernels' time on all devices to the times that are being taken."""
        for search in self.searches:
            with working_on(search.accelerator):
                search.tell_time()

    def found(self) -> int:
        """Return the number found, once all kernels have ended."""
        return sum(search.found() for search in self.searches)

    def was_limited(self) -> bool:
        """Whether a kernel stopped because of its limit."""
        return any(search.was_limited() for search in self.searches)

    def passed_128_bits(self) -> bool:
        """Whether a number did not fit; the number found is of no use then."""
        return any(search.passed_128_bits() for search in self.searches)

    def close(self) -> None:
        """Stop what runs, and give everything back."""
        close_all(self._made)

    def __enter__(self) -> GroupJob:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def close_all(searches: list[DeviceSearch]) -> None:
    """Close jobs, each on its device, the last one first; all are closed, whatever is raised meanwhile."""
    while searches:
        search = searches.pop()
        try:
            with search.accelerator.device.current():
                search.close()
        finally:
            close_all(searches)


def _share_space(
    first: DeviceSearch,
    accelerator: Accelerator,
    graph: Graph,
    plan: Plan,
    request: Request,
    deadline: Deadline,
) -> None:
    """Copy the candidate space of the first device, if it has one: then the work is the same."""
    space = _space_of(first)
    if space is None:
        return

    def fetch(buffer: Buffer, nbytes: int) -> NDArray[np.uint8]:
        with first.accelerator.device.current():
            return first.fetch(buffer, nbytes)

    with DeviceSearch(accelerator) as carrier:
        context = UploadContext(carrier.stream, request.threads, request.gpu_memory, deadline)
        copy_space(space, fetch, carrier, graph, plan, context)


def _space_of(search: DeviceSearch) -> DeviceSpace | None:
    return next((rows for rows in search.rows if isinstance(rows, DeviceSpace)), None)


def _alike(one: DeviceSearch, other: DeviceSearch) -> bool:
    """Return whether units of two jobs are the same work.

    Rows of the graph are the same on all devices; rows of spaces if those were filtered together.
    """
    spaces = [_space_of(search) for search in (one, other)]
    filtered = [None if space is None else space.filtered for space in spaces]
    same = type(one.partition) is type(other.partition) and one.partition.extent == other.partition.extent
    return same and filtered[0] is filtered[1]
