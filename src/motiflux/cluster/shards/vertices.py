"""Counts at each vertex of a sharded graph: sums of the numbers of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.api.per_vertex import count_per_vertex
from motiflux.arguments import check_seconds
from motiflux.cluster.shards.asking import result_of_server
from motiflux.cluster.shards.conditions import Narrowed
from motiflux.cluster.shards.counting import LEAST_SECONDS, job_of
from motiflux.cluster.shards.ids import AskIds, VertexIds
from motiflux.cluster.shards.images import Sums
from motiflux.cluster.shards.layout import Ids
from motiflux.cluster.shards.planning import RangedImages, image_plan_of, plan_narrowed, ranged_images
from motiflux.cluster.shards.progress import tell_end, telling
from motiflux.cluster.shards.reasons import reason_of
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
from motiflux.request.progress import of_equal_parts
from motiflux.request.reports import ProgressCallback
from motiflux.request.request import Request
from motiflux.result.image_counts import VertexCounts

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

_SECONDS_OF_NUMBER = 4e-8
"""Time of a task for each number that it sends, in seconds: sending and adding takes a tenth of that."""


TOO_LATE = "time was up before servers had told the ids of all vertices"
"""The reason of results without vertices."""


def vertices_of(graph: ShardedGraph, deadline: Deadline) -> Graph:
    """Return a graph of the vertices of a sharded graph, without its edges: 8 bytes for a vertex, twice.

    Raises
    ------
    OutOfTimeError
        Time was up before the servers had told all ids.
    """
    asks = [_asking(graph, deadline, actor) for actor in graph.served().actors]
    return _without_edges(graph, VertexIds(graph.layout, asks).all())


def no_vertices_of(graph: ShardedGraph) -> Graph:
    """Return a graph of the same labels without vertices."""
    return _without_edges(graph, np.empty(0, np.int64))


def _without_edges(graph: ShardedGraph, ids: Any) -> Graph:
    layout = graph.layout
    rows = Csr(np.zeros(len(ids) + 1, np.uint64), np.empty(0, np.uint32), None, None)
    return Graph(layout.directed, ids, rows, rows, None, layout.vertex_label_table, layout.edge_label_table)


def _asking(graph: ShardedGraph, deadline: Deadline, actor: Any) -> AskIds:
    def ask(places: Ids) -> Callable[[], Ids]:
        reference = actor.ids.remote(places)
        return lambda: result_of_server(graph, deadline, reference)

    return ask


def count_per_vertex_sharded(
    workers: Workers, graph: ShardedGraph, pattern: Pattern, options: Mapping[str, Any], kind: str | None
) -> VertexCounts:
    """Return the counts at vertices, where the call counts by images elsewhere; none if time is up before."""
    timeout = options.get("timeout")
    deadline = Deadline.after(None if timeout is None else check_seconds("timeout", timeout))
    try:
        vertices, late = vertices_of(graph, deadline), False
    except OutOfTimeError:  # the call refuses what it always refuses
        vertices, late = no_vertices_of(graph), True
    waited = deadline.elapsed()
    found = count_per_vertex(vertices, pattern, **{**options, "timeout": deadline.left()})
    found = replace(found, seconds=waited + found.seconds)
    return replace(found, counts=found.counts[:0], complete=False, reason=TOO_LATE) if late else found


def device_of(workers: Workers, graph: ShardedGraph, kind: str | None) -> str:
    """Return the device of a call on GPUs of a kind, or on CPUs, in words."""
    return f"{workers.device_on(kind)}, {graph.num_shards} shards"


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

        def made(subject: Narrowed) -> tuple[ImagePlan, Narrowed]:
            sketch, narrow, on_gpu = subject.sketch, subject.pattern, self._kind is not None
            return image_plan_of(sketch, narrow, asked, request, deadline, on_gpu=on_gpu), subject

        _, found = plan_narrowed(self._graph, pattern, deadline, made)
        if found is None:
            raise TimeoutError
        self._planned[id(found[0])] = found
        return found[0]

    def count(
        self, graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
    ) -> CountedImages:
        """Return the counts of plans."""
        every, reasons, complete = [], [], True
        for plan, report in zip(plans, of_equal_parts(request.progress, len(plans)), strict=True):
            found: list[Numbers] = [np.zeros(graph.num_vertices, np.int64)] * len(plan.classes)
            _, subject = self._planned[id(plan)]
            searches = ranged_images(
                subject.sketch, subject.pattern, plan, request, deadline, subject.allowed
            )
            if not searches:
                tell_end(report, deadline)
            for images, part in zip(searches, of_equal_parts(report, len(searches)), strict=True):
                complete = complete and self._count(subject.graph, images, plan, found, part, deadline)
                reasons.append(reason_of(images, subject.graph.layout, self._kind))
            every.append(found)
        way = "; ".join(dict.fromkeys([*(reasons or ["the graph is sharded"]), ways(plans, ())]))
        device = device_of(self._workers, self._graph, self._kind)
        return CountedImages(every, complete, "cluster", device, way)

    def _count(
        self,
        graph: ShardedGraph,
        images: RangedImages,
        plan: ImagePlan,
        found: list[Numbers],
        report: ProgressCallback | None,
        deadline: Deadline,
    ) -> bool:
        """Count some classes; return whether the search ended."""
        times = times_of(plan, plan.searches[images.classes[0]], images.classes[0])
        search = _VertexSearch(self._workers, graph, images, times, self._kind)
        driver = self._workers.driver(self._workers.slots_on(self._kind))
        try:
            driver.run_all([search], deadline, telling(report, search, deadline))
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

    def __init__(
        self, workers: Workers, graph: ShardedGraph, images: RangedImages, times: int, kind: str | None
    ) -> None:
        self._workers, self._times, self._kind = workers, times, kind
        units, size = graph.layout.entries, len(images.classes) * graph.num_vertices
        slots = workers.slots_on(kind)
        share = units // (FEW_PARTS * slots)
        content = replace(images, ranged=replace(images.ranged, share=share))
        self._make_job = partial(job_of, workers, graph, content)
        self._job = self._make_job()
        self.name = f"count_per_vertex {workers.pattern}"
        least = max(LEAST_SECONDS, _SECONDS_OF_NUMBER * size)
        self.shares = Shares(units, slots, least=least, parts=FEW_PARTS, short_ends=False)
        self.sums = Sums(size)
        self.found = 0

    @property
    def progress(self) -> tuple[int, int]:
        return self.shares.done, self.shares.units

    def submit(self, order: Order) -> Any:
        bounds = Bounds(self._workers.threads, seconds=order.seconds)
        given = (self._job, order.share, bounds, self._kind)
        return self._workers.submit(images_of_range, self.name, *given, on_gpu=self._kind is not None)

    def take(self, order: Order, done: Done) -> None:
        total, added = done.value
        self.found += self._times * total
        self.sums.add(added)
        self.shares.finished(order.share, done.left, done.seconds)

    def renew(self) -> None:
        """Share the plan again; servers start again by themselves."""
        self._job = self._make_job()
