"""The interface of those who count by images: per vertex, per edge, and orbits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from numpy.typing import NDArray

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.image_counts import Asked, ImagePlan
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request

Numbers = NDArray[Any]
"""A number for each image: int64, or Python integers if some pass 2^63."""


@dataclass(frozen=True, slots=True)
class CountedImages:
    """The embeddings at each image of the classes of one or several plans.

    Parameters
    ----------
    found
        By plan and class: a number for each vertex, or for each arc of the rows of the class.
    complete
        Whether all embeddings were found; else the numbers are lower bounds.
    engine, device
        The engine and device that counted.
    way
        How, in words.
    """

    found: list[list[Numbers]]
    complete: bool
    engine: str
    device: str
    way: str

    def apart(self) -> list[CountedImages]:
        """Return the counts of each plan."""
        return [replace(self, found=[found]) for found in self.found]


def joined(parts: Sequence[CountedImages]) -> CountedImages:
    """Return the counts of several plans by different engines; the first one that is not the CPU is named."""
    named = next((part for part in parts if part.device != "cpu"), parts[0])
    return CountedImages(
        [found for part in parts for found in part.found],
        all(part.complete for part in parts),
        named.engine,
        named.device,
        "; ".join(dict.fromkeys(part.way for part in parts)),
    )


@dataclass(frozen=True, slots=True)
class CountedOrbits:
    """The numbers of orbits, [vertices or edges, orbits], None if time was up; and who counted."""

    numbers: Numbers | None
    engine: str
    device: str
    way: str


class ImageCounter(Protocol):
    """Plans and makes counts by images."""

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        asked: Sequence[Asked],
        request: Request,
        deadline: Deadline,
    ) -> ImagePlan:
        """Return a plan; raises the errors of `motiflux.plan.image_counts.image_plan`."""

    def count(
        self, graph: Graph, plans: Sequence[ImagePlan], request: Request, deadline: Deadline
    ) -> CountedImages:
        """Return the counts of plans that `plan` returned. Tables that they share are computed once."""

    def orbits(self, graph: Graph, size: int, request: Request, deadline: Deadline) -> CountedOrbits:
        """Return the number of induced subgraphs of each orbit of up to `size` vertices at each vertex.

        Parameters
        ----------
        size
            4 or 5.

        Raises
        ------
        CountOverflowError
            The graph is too large.
        """

    def edge_orbits(self, graph: Graph, size: int, request: Request, deadline: Deadline) -> CountedOrbits:
        """Return those of each orbit of edges at each edge, in the order of `Graph.to_edges`."""
