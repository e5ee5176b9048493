"""Counts by images on a cluster: a sum of the numbers of tasks for each image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.engine import NAME
from motiflux.cluster.shares import Order
from motiflux.cluster.tasks import Bounds, Done, images_of_share, images_whole, native_search, plain
from motiflux.cluster.timed_shares import TimedShares
from motiflux.cpu import native
from motiflux.cpu.image_counter import HostImageCounter
from motiflux.cpu.image_counts import Searched, count_all_images, usable_tables, ways
from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan.image_counts import ImagePlan, RootedSearch
from motiflux.request.deadline import Deadline
from motiflux.request.images import CountedImages
from motiflux.request.request import Request

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

_SECONDS_OF_NUMBER = 4e-9
"""Time of a task for each number that it sends, in seconds: sending and adding takes a tenth of that."""


class ClusterImageCounter(HostImageCounter):
    """Counts by images as the CPU does, with searches cut into tasks, and tables on one node.

    Parameters
    ----------
    why
        Why CPUs count, where GPUs were asked for.
    """

    def __init__(self, workers: Workers, why: str = "") -> None:
        super().__init__(why or "a cluster was asked for")
        self._workers, self._instead = workers, why

    def count(
        self, graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
    ) -> CountedImages:
        """Return the counts of plans."""
        by_table = usable_tables(plans, request)
        if by_table:
            found, complete = self._count_whole(graph, plans, request, deadline)
        else:
            found, complete = count_all_images(graph, plans, request, deadline, self._search)
        way = "; ".join(filter(None, (self._instead, ways(plans, by_table))))
        return CountedImages(found, complete, NAME, self._workers.device, way)

    def _count_whole(
        self, graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
    ) -> tuple[list[Any], bool]:
        workers = self._workers
        name = f"count_per_vertex {workers.pattern}"
        content = (list(plans), plain(request))
        job = workers.job(graph, content)
        found = workers.whole(name, images_whole, job, deadline, graph=graph, content=content)
        if found is None:
            nothing = count_all_images(graph, plans, request, Deadline.after(0.0))
            return nothing[0], False
        whole: tuple[list[Any], bool] = found
        return whole

    def _search(
        self,
        graph: Graph,
        search: RootedSearch,
        levels: Sequence[tuple[int, int, int]],
        rows: AdjacencyKey | None,
        size: int,
        request: Request,
        deadline: Deadline,
    ) -> Searched:
        shared = _ImageSearch(self._workers, graph, search, levels, rows, size, request)
        driver = self._workers.driver()
        driver.run_all([shared], deadline)
        return shared.words, sorted(shared.above.items()), driver.has_all_of(shared)


class _ImageSearch:
    divisible = True
    over = False

    def __init__(
        self,
        workers: Workers,
        graph: Graph,
        search: RootedSearch,
        levels: Sequence[tuple[int, int, int]],
        rows: AdjacencyKey | None,
        size: int,
        request: Request,
    ) -> None:
        self._workers, self._graph = workers, graph
        self._given = (list(levels), rows, size, search.listing)
        self._content = (search.plan, plain(request))
        units = native_search(graph, search.plan, request, images=True).units
        self._job = workers.job(graph, self._content, units, plan=search.plan)
        self.name = f"count_per_vertex {workers.pattern}"
        self.shares = TimedShares(units, workers.slots, cost=_SECONDS_OF_NUMBER * size)
        self.words: NDArray[np.uint64] = np.zeros(size, np.uint64)
        self.above: dict[int, int] = {}

    def submit(self, order: Order) -> Any:
        bounds = Bounds(self._workers.threads, seconds=order.seconds)
        return self._workers.submit(images_of_share, self.name, self._job, order.share, bounds, *self._given)

    def take(self, order: Order, done: Done) -> None:
        words, above = done.value
        self.words += words
        for at in np.flatnonzero(self.words < words).tolist():  # the sum passed 2^64
            self.above[at] = self.above.get(at, 0) + 2**64
        for at, more in above:
            self.above[at] = self.above.get(at, 0) + more
        left = done.left if done.stop == native.Stop.NONE else []
        self.shares.ended(order, left, done.seconds)

    def renew(self) -> None:
        plan, units = self._content[0], self.shares.units
        self._job = self._workers.job(self._graph, self._content, units, plan=plan, again=True)
