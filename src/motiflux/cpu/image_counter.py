"""Counts by images on the CPU, behind the interface that GPUs have too."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.cpu.five_orbits import five_edge_orbits, five_orbits
from motiflux.cpu.image_counts import count_all_images, usable_tables, ways
from motiflux.cpu.orbits import small_edge_orbits, small_orbits
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.graphlets import EDGE_ORBITS, ORBITS
from motiflux.plan.image_counts import Asked, ImagePlan, image_plan
from motiflux.request.deadline import Deadline
from motiflux.request.images import CountedImages, CountedOrbits
from motiflux.request.planning import plan_options
from motiflux.request.registry import HOST_ENGINE
from motiflux.request.request import Request


class HostImageCounter:
    """Counts by tables of local counts and by searches on the CPU.

    Parameters
    ----------
    why
        Why the CPU counts, in words.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        asked: Sequence[Asked],
        request: Request,
        deadline: Deadline,
    ) -> ImagePlan:
        """Return a plan."""
        return image_plan(graph, pattern, asked, plan_options(request, deadline))

    def count(
        self, graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
    ) -> CountedImages:
        """Return the counts of plans."""
        found, complete = count_all_images(graph, plans, request, deadline)
        way = f"{self._why}; {ways(plans, usable_tables(plans, request))}"
        return CountedImages(found, complete, HOST_ENGINE, "cpu", way)

    def orbits(self, graph: Graph, size: int, request: Request, deadline: Deadline) -> CountedOrbits:
        """Return the orbits of vertices."""
        count = five_orbits if size == max(ORBITS) else small_orbits
        return CountedOrbits(count(graph, request, deadline), HOST_ENGINE, "cpu", self._why)

    def edge_orbits(self, graph: Graph, size: int, request: Request, deadline: Deadline) -> CountedOrbits:
        """Return the orbits of edges."""
        count = five_edge_orbits if size == max(EDGE_ORBITS) else small_edge_orbits
        return CountedOrbits(count(graph, request, deadline), HOST_ENGINE, "cpu", self._why)
