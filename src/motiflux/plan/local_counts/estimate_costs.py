"""Estimates of the seconds that tables take on one graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph import Adjacency, AdjacencyKey, Graph
from motiflux.plan.estimate.predict import Work, distinct_keys, expected_work
from motiflux.plan.estimate.sampled import sample
from motiflux.plan.ir import Plan, Searched, Table, Walks, Wedges
from motiflux.plan.local_counts.family import Family
from motiflux.plan.local_counts.native import native_walk
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.plan.local_counts.stopwatch import Stopwatch
from motiflux.plan.local_counts.table_search import table_search_plan
from motiflux.plan.local_counts.wedges import is_uniform
from motiflux.plan.passes.order import CostModel, frequencies, promising_orders, rooted_orders
from motiflux.plan.passes.steps import adjacency_of
from motiflux.plan.rooted import Rooted
from motiflux.types import OffsetArray

_MEMBERS = 32
"""Number of random partial embeddings that estimate each search."""
_MORE_MEMBERS = 256
"""Number of random partial embeddings that estimate the searches of the formula that seems cheapest.

Of many estimates, the least is likely too low."""
_ORDERED = 1.8
"""Ratio of the time of a search to its estimate if one vertex must have the greatest image."""
_FROM_ARCS = 2.0
"""Ratio of the time of searches from all arcs to its estimate, on the host beside a device.

Measured: 2.0 on 16 threads and on 32."""
_WEIGHTED = 4.0
"""Ratio of the time of 4-cycles with weights to that of a histogram that counts them, as assumed."""
_WALK_ROOTS, _MOST_WALK_WORK = 64, 5e5
"""Walks are tried from this number of vertices, until they have read this number of entries."""


class CostEstimator:
    """Estimates the seconds of searches, histograms and walks on one graph."""

    def __init__(
        self,
        graph: Graph,
        family: Family,
        threads: int,
        speeds: Speeds,
        watch: Stopwatch,
        *,
        tails: bool,
    ) -> None:
        self.watch = watch
        self._graph = graph
        self._family = family
        self._threads = threads
        self._speeds = speeds
        self._shared = speeds.shared(threads)
        self._tails = tails
        whole = family.whole
        if is_uniform(whole, family):
            self._above(adjacency_of(family.kinds.bound(whole), *whole.edges[0][:2]))

    def search(self, pattern: Rooted) -> tuple[Plan, float] | None:
        """Return the plan of a search from each image of the roots, and its seconds."""
        if pattern.roots == 1 or len(pattern.vertices) <= 2:
            return None
        bound = self._family.kinds.bound(pattern)
        with self.watch.preparing():
            model = CostModel(bound, *frequencies(bound, self._graph))
        best = None
        if pattern.roots:
            orders = rooted_orders(bound, model, tuple(range(pattern.roots)))
            tails = self._speeds.threads or not self._speeds.arcs
        else:
            orders = promising_orders(bound, model, tails=True)
            tails = self._tails
        for order in orders:
            plan = table_search_plan(
                pattern,
                bound,
                order.vertices,
                injective=self._family.injective,
                tails=tails,
            )
            plan = replace(plan, estimates=order.estimates)
            self._prepare(plan)
            estimate = sample(self._graph, plan, _MEMBERS, self._threads)
            plan = replace(plan, estimates=estimate.sizes, scanned=estimate.read)
            work = expected_work(plan)
            if work is not None and (best is None or self._search_seconds(pattern, work) < best[1]):
                best = plan, self._search_seconds(pattern, work)
        if best is not None and pattern.below:
            return best[0], best[1] * _ORDERED
        return best

    def _prepare(self, plan: Plan) -> None:
        """Make the rows that a search reads."""
        for key in distinct_keys(plan):
            self._rows(key)

    def _rows(self, key: AdjacencyKey) -> Adjacency:
        with self.watch.preparing():
            return self._graph.adjacency(key, self._threads)

    def _search_seconds(self, pattern: Rooted, work: Work) -> float:
        """Return the seconds of a search; searches from all arcs may run on the host."""
        seconds = work.seconds(self._threads)
        if not pattern.roots or self._speeds.arcs:
            return self._speeds.of_search(seconds, self._threads)
        return seconds if self._speeds.threads else _FROM_ARCS * seconds

    def correction(self, table: Table) -> float:
        """Return the seconds that more samples add to the estimate of a search; 0 for other tables."""
        before = expected_work(table.plan) if isinstance(table, Searched) else None
        if before is None or not isinstance(table, Searched):
            return 0.0
        estimate = sample(self._graph, table.plan, _MORE_MEMBERS, self._threads)
        work = expected_work(replace(table.plan, estimates=estimate.sizes, scanned=estimate.read))
        if work is None:
            return 0.0
        times = _ORDERED if table.pattern.below else 1.0
        more = self._search_seconds(table.pattern, work) - self._search_seconds(table.pattern, before)
        return more * times

    def wedges(self, wedges: Wedges) -> float:
        """Return the seconds of histograms of wedges, which visit every wedge twice."""
        bound = self._family.kinds.bound(wedges.pattern)
        number = 0.0
        for middles in wedges.kinds:
            first = self._rows(adjacency_of(bound, *middles.first))
            key = adjacency_of(bound, *middles.second)
            second = self._rows(key)
            if wedges.uniform and wedges.pattern.roots != 1:
                number += _native.row_work(second[0], self._above(key))[1]
            elif first[1] is second[1] is self._graph.forward.neighbors and not self._graph.directed:
                # Each vertex is as often a middle as it has neighbours.
                number += _native.squares_of_rows(second[0])
            else:
                number += _native.lengths_of_neighbors(first[1], second[0], self._threads)
        halved = wedges.symmetric and not wedges.uniform and wedges.pattern.roots == 0
        pairs = len(wedges.kinds) == 1 and wedges.kinds[0].number == 2
        seconds = self._speeds.wedge + (0.0 if pairs else self._speeds.choice)
        return self._speeds.start + number * seconds / self._shared / (2 if halved else 1)

    def weighted_cycles(self, wedges: Wedges) -> float:
        """Return the seconds of 4-cycles with weights, from the histogram that counts them."""
        return _WEIGHTED * self.wedges(wedges)

    def walks(self, walks: Walks) -> float:
        """Return the seconds of walks, estimated by walks without weights from some roots."""
        if self._graph.num_vertices == 0:
            return 0.0
        if not self._speeds.threads and walks.is_near:
            return self._speeds.begin + self._graph.forward.num_arcs * self._speeds.number
        roots, chances = self._sampled_roots()
        native = native_walk(self._graph, self._family.kinds, walks, self._threads)
        work = _native.walk_work(native, self._graph.num_vertices, roots, _MOST_WALK_WORK)
        read = float((work / chances[: len(work)]).mean())
        return self._speeds.start + read * self._speeds.walk / self._shared

    def _sampled_roots(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return some vertices and the chance of each: half of it by degree, half uniform."""

        def draw() -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
            sides = [self._graph.forward, self._graph.reverse][: 1 + self._graph.directed]
            vertices = self._graph.num_vertices
            arcs = sum(side.num_arcs for side in sides)
            whole = 2.0 if arcs else 1.0

            def chance(arcs_of: NDArray[Any], vertices_of: NDArray[np.int64] | int) -> NDArray[np.float64]:
                return (arcs_of / max(arcs, 1) + vertices_of / vertices) / whole

            def before(vertex: NDArray[np.int64]) -> NDArray[Any]:
                return np.asarray(sum(side.offsets[vertex].astype(np.int64) for side in sides))

            # A golden-ratio sequence: every prefix is spread evenly over all vertices.
            points = (np.arange(_WALK_ROOTS) * 0.6180339887498949 + 0.5) % 1.0
            low, high = np.zeros(_WALK_ROOTS, np.int64), np.full(_WALK_ROOTS, vertices - 1)
            while (low < high).any():  # the first vertex up to which the chances add up to the point
                middle = (low + high) // 2
                reached = chance(before(middle + 1), middle + 1) >= points
                low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
                low = np.minimum(low, high)
            return low.astype(np.uint32), chance(before(low + 1) - before(low), 1)

        return self._graph.memo.keep("roots to walk from", draw)

    def triangles(self, pattern: Rooted) -> float:
        """Return the seconds of counting the triangles of all arcs.

        For each vertex, the lesser neighbours of its lesser neighbours are read.
        """
        bound = self._family.kinds.bound(pattern)
        key = adjacency_of(bound, 0, 1)
        rows, above = self._rows(key), self._above(key)
        if rows[1] is self._graph.forward.neighbors and not self._graph.directed:
            # Each vertex is a lesser neighbour of its greater neighbours, so degrees are enough.
            read, _ = _native.row_work(rows[0], above)
        else:
            read = _native.lesser_of_lesser(*rows, above, self._threads)
        return self._speeds.start + read * self._speeds.triangle / self._shared

    def _above(self, key: AdjacencyKey) -> OffsetArray:
        """Return the offsets of the greater neighbours in the rows that `key` names."""
        with self.watch.preparing():
            return self._graph.offsets_above(key, self._threads)
