"""Several devices that share one search: each has the graph, and its share of the root arcs.

One thread of the host drives all: it asks each kernel whether it is done.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer
from motiflux.errors import DeviceMemoryError, MotifluxError, MotifluxWarning
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.gpu.storage.candidate_space import DeviceSpace, copy_space
from motiflux.gpu.storage.device_csr import UploadContext
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.request import Request


@contextmanager
def working_on(accelerator: Accelerator) -> Iterator[None]:
    """Make a device the thread's for a while; errors say which it was."""
    device = accelerator.device
    with device.current():
        try:
            yield
        except MotifluxError as error:
            error.args = (f"on {device.name}: {error}", *error.args[1:])
            raise


class Team:
    """The searches of all devices that take part. Close it, or use it as a context.

    Parameters
    ----------
    accelerators
        The devices asked for.
    make
        Prepares the search on one of them.
    """

    def __init__(
        self,
        accelerators: Sequence[Accelerator],
        make: Callable[[Accelerator], DeviceSearch],
        graph: Graph,
        plan: Plan,
        request: Request,
        deadline: float | None,
    ) -> None:
        self._accelerators = accelerators
        self._make = make
        self._graph = graph
        self._plan = plan
        self._request = request
        self._deadline = deadline
        self._open = ExitStack()
        self._seen: dict[DeviceSearch, tuple[int, int, int]] = {}
        self.searches: list[DeviceSearch] = []

    def gather(self) -> None:
        """Prepare the search on all devices, and deal out its work.

        A device that has no memory for it is left out, with a warning; so is one whose work is not the same.

        Raises
        ------
        DeviceMemoryError
            None of them has.
        OutOfTimeError
            Time was up before all were ready.
        """
        refused: list[DeviceMemoryError] = []
        for accelerator in self._accelerators:
            try:
                with working_on(accelerator):
                    self._prepare(accelerator)
            except DeviceMemoryError as error:
                refused.append(error)
        if not self.searches:
            raise refused[0]
        for one in refused:
            warnings.warn(f"a device takes no part: {one}", MotifluxWarning, stacklevel=2)
        devices = len(self.searches)
        piece = self.searches[0].deal.piece_for(devices)
        for number, search in enumerate(self.searches):
            with working_on(search.accelerator):
                search.take_share(number, devices, piece)

    def _prepare(self, accelerator: Accelerator) -> None:
        if self.searches and (space := _space_of(self.searches[0])) is not None:
            self._share(space, accelerator)
        search = self._make(accelerator)
        self._open.push(Closing(search))
        if self.searches and not _alike(search, self.searches[0]):
            name, first = accelerator.device.name, self.searches[0].accelerator.device.name
            warnings.warn(
                f"{name} takes no part: its work is not cut up as {first}'s is", MotifluxWarning, stacklevel=2
            )
            return
        self.searches.append(search)

    def _share(self, space: DeviceSpace, accelerator: Accelerator) -> None:
        first = self.searches[0]

        def fetch(buffer: Buffer, nbytes: int) -> NDArray[np.uint8]:
            with first.accelerator.device.current():
                return first.fetch(buffer, nbytes)

        with DeviceSearch(accelerator) as carrier:
            budget = self._request.gpu_memory
            means = UploadContext(carrier.stream, self._request.threads, budget, self._deadline)
            copy_space(space, fetch, carrier, self._graph, self._plan, means)

    def launch(self) -> None:
        """Start all kernels."""
        for search in self.searches:
            with working_on(search.accelerator):
                search.launch()

    def done(self) -> bool:
        """Whether all kernels have ended, or one was stopped by its limit; raises what failed on one."""
        ended = 0
        for search in self.searches:
            with working_on(search.accelerator):
                if search.done():
                    ended += 1
                    if search.was_limited() or search.passed_128_bits():
                        return True
        return ended == len(self.searches)

    def look(self) -> tuple[int, int, int]:
        """Return units done, units in all and what was found, as far as is known."""
        for search in self.searches:
            if not search.is_open:  # a device that lists is done before others
                continue
            with working_on(search.accelerator):
                seen = search.look()
            if seen is not None:
                before = self._seen.get(search, (0, 0, 0))
                done = min(max(before[0], seen[0]), seen[1])
                self._seen[search] = (done, seen[1], max(before[2], seen[2]))
        known = self._seen.values()
        units = sum(int(search.task.arcs) for search in self.searches)
        return sum(one[0] for one in known), units, sum(one[2] for one in known)

    def stop(self) -> None:
        """Stop the kernels that run; what they had found counts."""
        for search in self.searches:
            with working_on(search.accelerator):
                search.stop_and_wait()

    def tell_time(self) -> None:
        """Add the kernels' time on all devices to what is being taken."""
        for search in self.searches:
            with working_on(search.accelerator):
                search.tell_time()

    def found(self) -> int:
        """Return what was found, once all kernels have ended."""
        return sum(search.found() for search in self.searches)

    def close(self) -> None:
        """Stop what runs, and give everything back."""
        self._open.close()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class Closing:
    """Closes a search on its device."""

    def __init__(self, search: DeviceSearch) -> None:
        self._search = search

    def __enter__(self) -> None: ...

    def __exit__(self, *raised: object) -> None:
        with self._search.accelerator.device.current():
            self._search.close()


def _space_of(search: DeviceSearch) -> DeviceSpace | None:
    return next((rows for rows in search.rows if isinstance(rows, DeviceSpace)), None)


def _alike(one: DeviceSearch, other: DeviceSearch) -> bool:
    """Return whether units of two searches are the same work.

    Rows of the graph are the same wherever they are; rows of spaces if those were filtered together.
    """
    spaces = [_space_of(search) for search in (one, other)]
    filtered = [None if space is None else space.filtered for space in spaces]
    same = type(one.deal) is type(other.deal) and one.deal.extent == other.deal.extent
    return same and filtered[0] is filtered[1]
