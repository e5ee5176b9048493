"""Counts at each vertex of a sharded graph: sums of the numbers of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.cluster.shards.conditions import Narrowed, narrowed
from motiflux.cluster.shards.counting import LEAST_SECONDS, job_of
from motiflux.cluster.shards.images import Sums
from motiflux.cluster.shards.planning import RangedImages, image_plan_of, ranged_images
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.server import vertex_ids_of
from motiflux.cluster.shards.tasks import images_of_range
from motiflux.cluster.shares import FEW_PARTS, Order, Shares
from motiflux.cluster.tasks import Bounds, Done
from motiflux.cpu.image_counter import HostImageCounter
from motiflux.cpu.image_counts import exact, times_of, ways
from motiflux.graph import Graph
from motiflux.graph.csr import Csr
from motiflux.pattern import Pattern
from motiflux.plan.image_counts import Asked, ImagePlan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.images import CountedImages, Numbers
from motiflux.request.request import Request

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

_SECONDS_OF_NUMBER = 4e-8
"""Time of a task for each number that it sends, in seconds: sending and adding takes a tenth of that."""


def vertices_of(graph: ShardedGraph) -> Graph:
    """Return a graph of the vertices of a sharded graph, without its edges: 8 bytes for a vertex, twice."""
    ids: Any = vertex_ids_of(graph.served())
    layout = graph.layout
    rows = Csr(np.zeros(len(ids) + 1, np.uint64), np.empty(0, np.uint32), None, None)
    return Graph(layout.directed, ids, rows, rows, None, layout.vertex_label_table, layout.edge_label_table)


class ShardedImageCounter(HostImageCounter):
    """Counts at each vertex by tasks; takes graphs that `vertices_of` returned.

    Parameters
    ----------
    kind
        The kind of device of which each task has one; None: tasks count on CPUs.
    """

    def __init__(self, workers: Workers, graph: ShardedGraph, kind: str | None = None) -> None:
        super().__init__("the graph is sharded")
        self._workers, self._graph, self._kind = workers, graph, kind
        self._planned: dict[int, tuple[ImagePlan, Narrowed]] = {}

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        asked: Sequence[Asked],
        request: Request,
        deadline: Deadline,
    ) -> ImagePlan:
        """Return a plan, made on the sketch."""
        try:
            subject = narrowed(self._graph, pattern, deadline)
        except OutOfTimeError as error:
            raise TimeoutError from error
        on_gpu = self._kind is not None
        plan = image_plan_of(subject.sketch, subject.pattern, asked, request, deadline, on_gpu=on_gpu)
        self._planned[id(plan)] = plan, subject
        return plan

    def count(
        self, graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
    ) -> CountedImages:
        """Return the counts of plans."""
        every, reasons, complete = [], [], True
        for plan in plans:
            found: list[Numbers] = [np.zeros(graph.num_vertices, np.int64)] * len(plan.classes)
            _, subject = self._planned[id(plan)]
            for images in ranged_images(
                subject.sketch, subject.pattern, plan, request, deadline, subject.allowed
            ):
                complete = complete and self._count(subject.graph, images, plan, found, request, deadline)
                reasons.append(reason_of(images, subject.graph.layout, self._kind))
            every.append(found)
        way = "; ".join(dict.fromkeys([*(reasons or ["the graph is sharded"]), ways(plans, ())]))
        device = f"{self._workers.device_on(self._kind)}, {self._graph.num_shards} shards"
        return CountedImages(every, complete, "cluster", device, way)

    def _count(
        self,
        graph: ShardedGraph,
        images: RangedImages,
        plan: ImagePlan,
        found: list[Numbers],
        request: Request,
        deadline: Deadline,
    ) -> bool:
        """Count some classes; return whether the search ended."""
        search = _VertexSearch(self._workers, graph, images, self._kind)
        driver = self._workers.driver(self._workers.slots_on(self._kind))
        try:
            driver.run_all([search], deadline)
        finally:
            driver.wait_for_cancelled()
        size = self._graph.num_vertices
        for place, number in enumerate(images.classes):
            begin, end = place * size, (place + 1) * size
            above = [(at - begin, more) for at, more in search.sums.above.items() if begin <= at < end]
            times = times_of(plan, plan.searches[number], number)
            found[number] = exact(search.sums.words[begin:end], 1, above, times)
        return driver.has_all_of(search)


class _VertexSearch:
    divisible = True
    over = False

    def __init__(self, workers: Workers, graph: ShardedGraph, images: RangedImages, kind: str | None) -> None:
        self._workers, self._kind = workers, kind
        units, size = graph.layout.entries, len(images.classes) * graph.num_vertices
        slots = workers.slots_on(kind)
        share = units // (FEW_PARTS * slots)
        self._job = job_of(workers, graph, replace(images, ranged=replace(images.ranged, share=share)))
        self.name = f"count_per_vertex {workers.pattern}"
        least = max(LEAST_SECONDS, _SECONDS_OF_NUMBER * size)
        self.shares = Shares(units, slots, least=least, parts=FEW_PARTS, short_ends=False)
        self.sums = Sums(size)

    def submit(self, order: Order) -> Any:
        bounds = Bounds(self._workers.threads, seconds=order.seconds)
        given = (self._job, order.share, bounds, self._kind)
        return self._workers.submit(images_of_range, self.name, *given, on_gpu=self._kind is not None)

    def take(self, order: Order, done: Done) -> None:
        self.sums.add(done.value)
        self.shares.finished(order.share, done.left, done.seconds)

    def renew(self) -> None:
        """Do nothing: servers start again by themselves."""
