"""Parts of a sharded graph that a GPU searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from motiflux.cluster.gpu_listing import sorted_rows
from motiflux.cluster.shards.edge_images import PlacesInPart
from motiflux.cluster.shards.images import Words
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.listing import TooManyRowsError
from motiflux.cluster.shards.part import Part
from motiflux.cluster.shards.planning import RangedImages
from motiflux.cluster.shards.reach import reach_of, rows_of_plan
from motiflux.cluster.shards.search import MakeSearch, Ranged, RangeSearch
from motiflux.cluster.shares import Item
from motiflux.codegen.layout import MOST_PLACES
from motiflux.device import Buffer
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.engine import run_job
from motiflux.gpu.group import DeviceGroup, working_on
from motiflux.gpu.images.running import fetched, finished
from motiflux.gpu.images.search import Places, add_numbers, images_kernel, too_many
from motiflux.gpu.launch.prepare import ROOT, NarrowedSearch, Rows, set_up_narrowed, without_bounds
from motiflux.gpu.rows.stored_rows import StoredRows
from motiflux.gpu.runtime.job import SearchJob, setting_up
from motiflux.gpu.storage.upload import UploadContext
from motiflux.gpu.strategy import (
    MOST_VERTICES,
    DeviceFacts,
    counting_kernel,
    is_countable,
    listing_kernel,
)
from motiflux.plan import Plan
from motiflux.plan.physical import SearchKernel
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.types import VertexArray

_BLOCK_ROWS = 1 << 20
Choose = Callable[[Plan, DeviceFacts, Request], SearchKernel | None]
"""Returns the kernel for a plan; None if there is none."""


def why_cpu(planned: Ranged, layout: Layout) -> str | None:
    """Return why the CPUs of tasks search parts; None if kernels do, or nothing can match."""
    plan, bound = planned.plan, planned.bound
    if plan.impossible is not None:
        return None
    if plan.comparisons is not None:
        return "it counts choices of copies" if planned.request.copies else "it compares attributes"
    if rows_of_plan(bound, plan, reach_of(bound, plan, layout), layout).apart:
        return "it looks for negated edges of some kinds"
    return None if is_countable(plan) else "kernels do not count the last levels of this pattern"


class PartsOnGpu:
    """Searches parts on a GPU, for one goal.

    A part is copied to the device, searched by the kernels of the engine ``dfs``, and forgotten. What kernels
    do not search is left to the native search of the part, and so are numbers beyond their range.

    Parameters
    ----------
    device
        Its name.
    """

    def __init__(self, search: RangeSearch, device: str) -> None:
        self._search = search
        self._group = DeviceGroup.open((device,))
        self._kernels: dict[int, tuple[Plan, Plan, SearchKernel | None]] = {}
        self.by_cpu = 0
        """Parts that were left to the native search."""

    def counted(self, part: Part, search: MakeSearch, item: Item) -> int:
        """Return the number of embeddings in a part.

        Raises
        ------
        DeviceMemoryError
            The part and its search do not fit on the GPU.
        """
        with self._working():
            made = self._job(part, counting_kernel)
            result = None if made is None else run_job(made[0], Deadline.after(None), None)[1]
        if result is None or result.overflow:
            self.by_cpu += 1
            return self._search.counted(part, search, item)
        return result.found

    def rows(self, part: Part, most: int) -> VertexArray | None:
        """Return the rows of a part, without images, in ascending order; None if no kernel lists them.

        Raises
        ------
        TooManyRowsError
            There are more than `most`, 1 or more.
        DeviceMemoryError
            As `counted`.
        """
        with self._working():
            if (made := self._job(part, listing_kernel)) is None:
                self.by_cpu += 1
                return None
            job, plan = made
            request, plan = replace(self._search.request, limit=most + 1), replace(plan, images=())
            source = StoredRows(job, plan, request, _BLOCK_ROWS, Deadline.after(None))
            blocks: list[VertexArray] = []
            try:
                while (block := source.next()) is not None:
                    blocks.append(block)  # type: ignore[arg-type]  # without images, blocks are rows
            finally:
                source.close()
        if sum(map(len, blocks)) > most:
            raise TooManyRowsError
        return sorted_rows(np.concatenate([np.empty((0, len(plan.order)), np.uint32), *blocks]))

    def numbers(self, part: Part, images: RangedImages) -> Words | None:
        """Return a number for each class and vertex of a part; None if no kernel counts them, or all of one.

        Raises
        ------
        DeviceMemoryError
            As `counted`.
        """
        size = part.vertices
        levels = tuple((levels, place * size) for levels, place in images.levels)
        return self._numbers_at(part, images, Places(levels, None, len(images.classes) * size), ())

    def numbers_of_arcs(self, part: Part, images: RangedImages, places: PlacesInPart) -> Words | None:
        """Return the numbers of arcs of a part; None if no kernel counts them, or all of one.

        Raises
        ------
        DeviceMemoryError
            As `counted`.
        """
        root = self._search.planned[1].sources[0]
        before = int(part.rows[root][0][part.first])
        levels: list[tuple[tuple[int, ...], int]] = []
        rows = []
        for (earlier, later, first), key in zip(places.levels, places.keys, strict=True):
            of_roots = earlier == 0 and key == root  # these arcs are on the device as root arcs, if no more
            levels.append(((earlier, later), first + before if of_roots else first))
            rows.append(ROOT if of_roots else key)
        return self._numbers_at(part, images, Places(tuple(levels), None, places.size), rows)

    def _numbers_at(
        self, part: Part, images: RangedImages, places: Places, rows: Sequence[int]
    ) -> Words | None:
        """Return the numbers of places; None if no kernel counts them, or all of one.

        Parameters
        ----------
        rows
            For each place the rows on the device that have its arcs; empty for places of vertices.
        """
        if not images.listing or len(places.levels) > MOST_PLACES:  # closed forms
            self.by_cpu += 1
            return None
        deepest = max(max(levels) for levels, _ in places.levels)
        buffers: list[Buffer] = []

        def add(job: SearchJob, there: Rows, context: UploadContext) -> None:
            buffers.append(add_numbers(job, places, context, [there[key].addresses for key in rows]))

        def choose(plan: Plan, facts: DeviceFacts, request: Request) -> SearchKernel | None:
            return None if plan.comparisons is not None else images_kernel(plan, deepest, facts, request)

        with self._working():
            words, made = None, self._job(part, choose, add)
            if made is not None:
                job, request = made[0], self._search.request
                with finished(job, Deadline.after(None), request):
                    result = job.result()
                    if not (result.overflow or too_many(result.found, places)):
                        words = fetched(job, buffers[0], places.size)
        self.by_cpu += words is None
        return words

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Work on the device; an error for its memory says what helps."""
        with working_on(self._group.first):
            try:
                yield
            except DeviceMemoryError as error:
                error.advise("a sharded graph with a smaller memory= has smaller parts")
                raise

    def _job(
        self,
        part: Part,
        choose: Choose,
        add: Callable[[SearchJob, Rows, UploadContext], None] = lambda job, there, context: None,
    ) -> tuple[SearchJob, Plan] | None:
        """Return the job that searches a part, and its plan; None if no kernel does it.

        Parameters
        ----------
        add
            Gives the job more, once it is set up and has rows.
        """
        planned, rows = self._search.planned
        plan, kernel = self._kernel_of(planned, choose)
        if kernel is None or rows.apart or part.vertices > MOST_VERTICES:
            return None
        found = NarrowedSearch(
            plan, part.rows, rows.sources, rows.out, rows.into, (part.first, part.last), part.vertices
        )
        request = self._search.request
        with setting_up(SearchJob(self._group.first)) as job:
            context = UploadContext.of(job.stream, request, Deadline.after(None))
            add(job, set_up_narrowed(job, found, kernel, request, context), context)
            job.launches.set_limit(None)
        return job, plan

    def _kernel_of(self, planned: Plan, choose: Choose) -> tuple[Plan, SearchKernel | None]:
        """Return a plan without bounds, and its kernel if there is one."""
        if id(planned) not in self._kernels:  # the entry holds the plan: its id stays its own
            plan = without_bounds(planned)
            kernel = choose(plan, self._group.facts, self._search.request)
            self._kernels[id(planned)] = planned, plan, kernel
        return self._kernels[id(planned)][1:]
