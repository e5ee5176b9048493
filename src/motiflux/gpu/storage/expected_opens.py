"""How often a search is expected to open each row: by the plan's sizes and the degrees of vertices.

A search opens rows of the vertex at a level once for each partial embedding up to that level, or more often
while that vertex stays, when the caches of the multiprocessor have the row. The planner has sampled how many
partial embeddings there are. A vertex has its part of them by the number of arcs through which it is reached,
the product of these numbers if a level has several sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.storage.device_csr import RowsKey
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.plan import Plan
from motiflux.plan.shape import PlanShape

Weights = NDArray[np.float64]


class Arcs(StrEnum):
    """The arcs of a vertex through which a level may reach it."""

    ALL = "all"
    FROM_LESSER = "from lesser"
    FROM_GREATER = "from greater"


@dataclass(frozen=True)
class Opens:
    """Rows of one kind that are opened for the vertex at one level.

    Parameters
    ----------
    times
        Expected number of partial embeddings up to that level.
    reached
        The arcs through which the level reaches a vertex, for each of its sources.
    """

    times: float
    reached: tuple[Arcs, ...]


@dataclass(frozen=True, slots=True)
class ArcsKey:
    """Names all arcs, by source or (`into`) by target."""

    into: bool


KindKey = RowsKey | ArcsKey
"""Names a kind of rows that a search reads."""


def opens_of(plan: Plan) -> Mapping[KindKey, Sequence[Opens]]:
    """Return what the search of a plan opens, by kind of rows.

    Kinds of which only degrees are read have no opens.
    """
    steps = plan.shape.steps
    levels: dict[KindKey, set[int]] = {}
    for level in range(1, len(steps)):
        step = steps[level]
        for source, key in zip(step.sources, plan.args.steps[level].adjacencies, strict=True):
            levels.setdefault(RowsKey(key, above=source.level in step.after), set()).add(source.level)
    for into in (False, True):
        apart = [step.not_in if into else step.not_out for step in steps]
        bounded = any(step.bounds_in if into else step.bounds_out for step in steps)
        if bounded or any(apart):
            levels[ArcsKey(into)] = {level for some in apart for level in some}
    return {
        key: [Opens(plan.estimates[level], reached(plan.shape, level)) for level in sorted(some)]
        for key, some in levels.items()
    }


def reached(shape: PlanShape, level: int) -> tuple[Arcs, ...]:
    """Return the arcs through which a level reaches its vertex."""
    step = shape.steps[level]
    found = () if step.reuse is None else reached(shape, step.reuse)
    return found + tuple(
        Arcs.FROM_LESSER
        if source.level in step.after
        else Arcs.FROM_GREATER
        if source.level in step.before
        else Arcs.ALL
        for source in step.sources
    )


@dataclass
class ArcNumbers:
    """The number of arcs of each vertex, whatever their labels.

    Parameters
    ----------
    graph
        The graph.
    threads
        Number of threads of the host.
    """

    graph: Graph
    threads: int

    def product(self, reached: Sequence[Arcs], first: int, end: int) -> Weights:
        """Return in how many ways vertices from `first` to `end` are reached: once, without sources."""
        found = np.ones(end - first)
        for arcs in reached:
            found *= self.of(arcs, first, end)
        return found

    def of(self, arcs: Arcs, first: int, end: int) -> Weights:
        """Return the numbers of some arcs of the vertices from `first` to `end`, float64 [end - first]."""
        graph = self.graph
        degrees = np.diff(graph.forward.offsets[first : end + 1])
        if graph.directed:
            degrees += np.diff(graph.reverse.offsets[first : end + 1])
        elif arcs is not Arcs.ALL and graph.forward.labels is None:  # parallel edges: all arcs will do
            greater = np.diff(self._above()[first : end + 1])
            degrees = greater if arcs is Arcs.FROM_GREATER else degrees - greater
        return degrees.astype(np.float64)

    def _above(self) -> NDArray[np.uint64]:
        everything = AdjacencyKey(Direction.EITHER, None, None, None)
        return self.graph.offsets_above(everything, self.threads)
