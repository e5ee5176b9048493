"""Counts by images on one GPU: the ways are tried in turn, and the CPU takes over what no kernel counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux import log
from motiflux.codegen import layout
from motiflux.cpu.image_counter import HostImageCounter
from motiflux.cpu.image_counts import exact, times_of, usable_tables, ways, zeros_of
from motiflux.cpu.orbits import rows_of
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.images.five_orbits import numbers_of_edge_orbits, numbers_of_five_orbits
from motiflux.gpu.images.orbits import numbers_of_orbits
from motiflux.gpu.images.search import Places, numbers_of_search, places_of
from motiflux.gpu.images.tables import numbers_of_tables
from motiflux.gpu.kernels.table_run import TooWide
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.strategy import MOST_VERTICES
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.graphlets import EDGE_ORBITS, ORBITS
from motiflux.plan.image_counts import Asked, ImagePlan, image_plan
from motiflux.plan.ir import Table
from motiflux.plan.local_counts.speeds import DEVICE_IMAGE_SPEEDS
from motiflux.plan.rooted import Kinds
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.images import CountedImages, CountedOrbits, Numbers, joined
from motiflux.request.planning import plan_options
from motiflux.request.registry import IMAGES_ON_GPU_BY
from motiflux.request.request import Request
from motiflux.result.arc_counts import at_pairs_of_edges

_WORTH_COMPARING = 0.5
"""Least expected seconds on the GPU for which a plan of the CPU, which takes as long, is made to compare."""
_TOO_LARGE = "a number passed 64 bits"
_NO_ROOM = "not enough memory"
_FROM_SUMS = "from sums over triangles, pairs of vertices and walks"


class _OnHost(Exception):  # noqa: N818 - no error: the CPU counts
    """No kernel counts this; says why."""


class DeviceImageCounter:
    """Counts from tables of local counts and by searches with counters on one device.

    Parameters
    ----------
    accelerator
        The device.
    """

    engine = IMAGES_ON_GPU_BY

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._name = accelerator.device.name

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        asked: Sequence[Asked],
        request: Request,
        deadline: Deadline,
    ) -> ImagePlan:
        """Return a plan: that of the CPU if its closed forms are expected to take less time than a search."""
        options = plan_options(request, deadline, speeds=DEVICE_IMAGE_SPEEDS, closed_forms=False)
        plan = image_plan(graph, pattern, asked, options)
        if plan.seconds < _WORTH_COMPARING or len(plan.tables) == len(plan.classes):
            return plan
        there = image_plan(graph, pattern, asked, plan_options(request, deadline))
        return there if there.seconds < plan.seconds else plan

    def count(
        self, graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
    ) -> CountedImages:
        """Return the counts of plans. A plan that the CPU counts does not keep others from the GPU."""
        by_table = usable_tables(plans, request)
        reasons = [_why_host(plan, at, by_table) for at, plan in enumerate(plans)]
        if any(reasons) and len(plans) > 1:
            ours = [plan for plan, why in zip(plans, reasons, strict=True) if why is None]
            theirs = [plan for plan, why in zip(plans, reasons, strict=True) if why is not None]
            parts = iter(self.count(graph, ours, request, deadline).apart() if ours else ())
            others = iter([self.count(graph, [plan], request, deadline) for plan in theirs])
            return joined([next(parts if why is None else others) for why in reasons])
        try:
            if (why := next(filter(None, reasons), None)) is not None:
                raise _OnHost(why)
            found, complete = self._count(graph, plans, by_table, request, deadline)
        except _OnHost as reason:
            if len(plans) > 1:  # numbers of one may be the reason
                return joined([self.count(graph, [plan], request, deadline) for plan in plans])
            return self._host(str(reason)).count(graph, plans, request, deadline)
        way = f"the GPU was asked for; {ways(plans, by_table)}"
        return CountedImages(found, complete, self.engine, self._name, way)

    def orbits(self, graph: Graph, size: int, request: Request, deadline: Deadline) -> CountedOrbits:
        """Return the orbits of vertices."""
        large = size == max(ORBITS)
        numbers_of = numbers_of_five_orbits if large else numbers_of_orbits

        def count() -> Numbers:
            words = numbers_of(self._accelerator, graph, request, deadline)
            numbers: Numbers = exact(words).reshape(-1, ORBITS[size])
            return numbers

        found = self._orbits(count, _FROM_SUMS if large else "from tables of local counts")
        if isinstance(found, str):
            return self._host(found).orbits(graph, size, request, deadline)
        return found

    def edge_orbits(self, graph: Graph, size: int, request: Request, deadline: Deadline) -> CountedOrbits:
        """Return the orbits of edges."""

        def count() -> Numbers:
            words = numbers_of_edge_orbits(self._accelerator, graph, size, request, deadline)
            numbers: Numbers = exact(words).reshape(-1, EDGE_ORBITS[size])
            return at_pairs_of_edges(graph, rows_of(graph, request), numbers)

        found = self._orbits(count, _FROM_SUMS)
        if isinstance(found, str):
            return self._host(found).edge_orbits(graph, size, request, deadline)
        return found

    def _orbits(self, count: Callable[[], Numbers], way: str) -> CountedOrbits | str:
        """Return the orbits, or why the CPU has to count them."""
        try:
            numbers = count()
        except OutOfTimeError:
            return CountedOrbits(None, IMAGES_ON_GPU_BY, self._name, f"the GPU was asked for; {way}")
        except TooWide:
            return _TOO_LARGE
        except DeviceMemoryError:
            return _NO_ROOM
        return CountedOrbits(numbers, IMAGES_ON_GPU_BY, self._name, f"the GPU was asked for; {way}")

    def _host(self, why: str) -> HostImageCounter:
        log.ENGINE.info("the CPU takes over: %s", why)
        return HostImageCounter(f"the CPU took over from {self._name}: {why}")

    def _count(
        self,
        graph: Graph,
        plans: Sequence[ImagePlan],
        by_table: Sequence[tuple[int, int]],
        request: Request,
        deadline: Deadline,
    ) -> tuple[list[list[Numbers]], bool]:
        """Return the counts, and whether all embeddings were found; raises `_OnHost`."""
        if graph.num_vertices > MOST_VERTICES:
            raise _OnHost(f"a graph of more than {MOST_VERTICES:,} vertices")
        found = [zeros_of(graph, plan, request.threads) for plan in plans]
        try:
            if by_table:
                self._from_tables(graph, plans, by_table, request, deadline, found)
            complete = True
            for at, plan in enumerate(plans):
                left = [number for number in range(len(plan.searches)) if (at, number) not in by_table]
                while left and complete:
                    together = left if plan.classes[left[0]].rows is None else left[:1]
                    complete = self._by_search(graph, plan, together, request, deadline, found[at])
                    left = left[len(together) :]
        except OutOfTimeError:
            return found, False
        except TooWide:
            raise _OnHost(_TOO_LARGE) from None
        except DeviceMemoryError:
            raise _OnHost(_NO_ROOM) from None
        return found, complete

    def _from_tables(
        self,
        graph: Graph,
        plans: Sequence[ImagePlan],
        classes: Sequence[tuple[int, int]],
        request: Request,
        deadline: Deadline,
        found: list[list[Numbers]],
    ) -> None:
        kinds = plans[classes[0][0]].kinds
        assert kinds is not None
        tables = [plans[at].tables[number].table for at, number in classes]
        numbers = self._tables(graph, kinds, tables, request, deadline)
        for (at, number), words in zip(classes, numbers, strict=True):
            found[at][number] = exact(words)

    def _tables(
        self,
        graph: Graph,
        kinds: Kinds,
        tables: Sequence[Table],
        request: Request,
        deadline: Deadline,
    ) -> list[NDArray[np.uint64]]:
        """Return the numbers of tables; raises `TooWide`, `DeviceMemoryError` and `OutOfTimeError`."""
        return numbers_of_tables(self._accelerator, graph, kinds, tables, request, deadline)

    def _by_search(
        self,
        graph: Graph,
        plan: ImagePlan,
        classes: Sequence[int],
        request: Request,
        deadline: Deadline,
        found: list[Numbers],
    ) -> bool:
        """Count some classes by one search; return whether it ended."""
        search = plan.searches[classes[0]]
        places = places_of(graph, plan, search, classes, request.threads)
        if places is None:
            raise _OnHost(f"more than {layout.MOST_PLACES} places in one subgraph")
        words, complete = self._search(graph, search.plan, places, request, deadline)
        each = words.reshape(len(classes), -1)
        for number, one in zip(classes, each, strict=True):
            found[number] = exact(one, times=times_of(plan, search, number))
        return complete

    def _search(
        self, graph: Graph, plan: Plan, places: Places, request: Request, deadline: Deadline
    ) -> tuple[NDArray[np.uint64], bool]:
        """Return the numbers of a search, and whether it ended; raises the errors of `numbers_of_search`."""
        return numbers_of_search(self._accelerator, graph, plan, places, request, deadline)


def _why_host(plan: ImagePlan, at: int, by_table: Sequence[tuple[int, int]]) -> str | None:
    """Return why the CPU counts the plan at this position; None if kernels can."""
    searches = [one for number, one in enumerate(plan.searches) if (at, number) not in by_table]
    if any(search.plan.comparisons is not None for search in searches):
        return "it compares attributes"
    if any(step.apart for search in searches for step in search.plan.args.steps):
        return "it looks for negated edges"
    if all(search.listing for search in searches):
        return None
    return "it counts the last levels of this pattern in closed form"


def open_counter(name: str) -> DeviceImageCounter:
    """Return who counts by images on the device of this name; raises `DeviceError`."""
    return DeviceImageCounter(open_accelerator(name))
