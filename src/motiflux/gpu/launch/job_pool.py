"""Counts that are over and kept with the graph: one that comes again is only launched.

What it was set up with stays: memory, arguments, kernels. Rows that it reads do not: where they were given
up, it is set up anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from functools import partial
from typing import TypeVar

from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.graph import Graph
from motiflux.request.request import Request

S = TypeVar("S", bound=DeviceSearch)

_MOST, _ROOM = 64, 1 << 30
"""Searches that are kept with one graph, and bytes of their own memory, at most."""


class JobPool:
    """Searches of one graph on one accelerator that are over, by what they are for.

    A search that is taken is the taker's alone, and comes back when it is closed. If another thread asks
    meanwhile, it sets up one of its own, and one of them is kept. Single operations only, as in `Memo`:
    threads share this without a lock.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._places: dict[Hashable, deque[DeviceSearch]] = {}
        accelerator.add_job_pool(self)

    def begin(self, name: Hashable, kind: type[S], request: Request) -> S | None:
        """Return the search of that name, open again; None if there is none that can be used."""
        place = self._places.get(name)
        if not place:
            return None
        try:
            search = place.pop()
        except IndexError:  # another thread was faster
            return None
        assert isinstance(search, kind)
        try:
            if self._fits(request) and self._same_kernel(search, request) and search.begin_again():
                search.keep_when_over(partial(self._put, name))
                return search
        except BaseException:
            search.close()
            raise
        return None

    def keep(self, name: Hashable, search: DeviceSearch, subject: object, request: Request) -> None:
        """Have a search rest under a name when it is over.

        Parameters
        ----------
        subject
            What the name tells by its identity, which stays its own for as long as the search is kept.
        """
        if request.tuning["rest"] == "on":
            search.subject = subject
            search.keep_when_over(partial(self._put, name))

    def reclaim(self, needed: int) -> int:
        """Give up searches, those kept for longest first; return their bytes."""
        freed = 0
        for name in list(self._places):
            if freed >= needed:
                break
            place = self._places.pop(name, None)
            if place:
                freed += sum(search.nbytes for search in list(place))  # another thread may take one
        return freed

    def _fits(self, request: Request) -> bool:
        """Whether no more is held than may be: what is there already passes no other look."""
        return request.gpu_memory is None or self._accelerator.device.used_memory() <= request.gpu_memory

    def _same_kernel(self, search: DeviceSearch, request: Request) -> bool:
        """Whether it would be given the same kernel now."""
        if search.units is None:
            return True
        general, special, specialized = search.units
        return self._accelerator.choose(general, special, request.tuning["specialize"])[1] == specialized

    def _put(self, name: Hashable, search: DeviceSearch) -> None:
        place = self._places.get(name)
        if place is not None:
            place.append(search)
            return
        if search.nbytes > _ROOM:
            return
        self._places[name] = deque([search], maxlen=1)
        room, names = _ROOM, list(self._places)
        for old in reversed(names):
            room -= sum(one.nbytes for one in list(self._places.get(old, ())))
            if room < 0:
                self._places.pop(old, None)
        for old in names[:-_MOST]:
            self._places.pop(old, None)


def job_pool(graph: Graph, accelerator: Accelerator) -> JobPool:
    """Return the counts that are kept with `graph`."""
    return graph.memo.keep(("job pool", id(accelerator)), lambda: JobPool(accelerator))
