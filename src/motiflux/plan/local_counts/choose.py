"""What the operations on tables cost on one graph, and the formula that costs least."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph import AdjacencyKey, Graph
from motiflux.graph.adjacency import Adjacency
from motiflux.pattern import Pattern, QueryEdge, QueryVertex
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import BoundPattern
from motiflux.plan.cost_model import CostModel, frequencies
from motiflux.plan.estimate.predict import Work, distinct_keys, expected_work
from motiflux.plan.estimate.sampled import sample
from motiflux.plan.ir import Formula, Plan, Searched, Table, Walks, Wedges
from motiflux.plan.local_counts.derive import (
    MOST_VERTICES,
    ROOM_OF_KNOWN,
    Costs,
    Derivation,
    Known,
    is_uniform,
)
from motiflux.plan.local_counts.family import Family, Undecided
from motiflux.plan.local_counts.native import native_walk
from motiflux.plan.local_counts.speeds import HOST_SPEEDS, Speeds
from motiflux.plan.passes.order import promising_orders, rooted_orders
from motiflux.plan.passes.reuse import share_intersections
from motiflux.plan.passes.steps import adjacency_of, build_steps
from motiflux.plan.passes.symmetry import Restriction, closure, restrictions
from motiflux.plan.passes.tail import close_tail
from motiflux.plan.rooted import Rooted
from motiflux.types import Semantics, Symmetry

_MEMBERS = 32
_MORE_MEMBERS = 256
"""For the searches of the formula that seems cheapest: of many tried, likely one that seems too cheap."""
_ORDERED = 1.8
"""Times more that a search takes, than its estimate says, where one vertex is the greatest."""
_FROM_ARCS = 2.0
"""Times more that searches from all arcs take the host beside a device: 2.0 on 16 threads and on 32."""
_WALKED, _MOST_WORK = 64, 5e5
"""Walks are tried from so many vertices, until they have read so much."""


def cheapest_formula(
    graph: Graph,
    bound: BoundPattern,
    threads: int,
    semantics: Semantics = Semantics.ISOMORPHISM,
    *,
    seconds: float = float("inf"),
    most: float = float("inf"),
    speeds: Speeds = HOST_SPEEDS,
    tails: bool = True,
) -> Formula | None:
    """Return how to count `bound` from tables.

    Parameters
    ----------
    seconds
        To be found in, at most. What rows and label frequencies take that are prepared on the way, and kept
        with the graph, is not part of it, up to as much again: else what is found would depend on what the
        graph was asked before.
    most
        Seconds that it may take itself.
    speeds
        What operations on tables take.
    tails
        Whether searches without roots count tails in closed form.

    Returns
    -------
    Formula or None
        None where no formula is known but a search for the whole.
    """
    if not 2 < bound.size <= MOST_VERTICES or bound.may_coincide or semantics is Semantics.INDUCED:
        return None
    family = Family(bound, injective=semantics is Semantics.ISOMORPHISM)
    prices = _Prices(graph, family, threads, speeds, Stopwatch(seconds), tails=tails)
    costs = Costs(
        vertices=graph.num_vertices * speeds.number + speeds.begin,
        arcs=graph.forward.num_arcs * speeds.number + speeds.begin,
        search=prices.search,
        triangles=prices.triangles,
        wedges=prices.wedges,
        walks=prices.walks,
    )
    known = Known()
    if len(family.kinds.vertices) == 1:  # no others come of merging, so that the numbers of kinds stay theirs
        name = (family.kinds, family.injective, threads, speeds, tails)
        known = graph.memo.get_sized("tables", name, Known, ROOM_OF_KNOWN)
    try:
        table, cost = Derivation(family, costs, seconds, most, known, prices.watch.elapsed).table(
            family.whole
        )
    except Undecided:
        return None
    if isinstance(table, Searched):
        return None
    formula = Formula(family.kinds, table, cost)
    return replace(formula, seconds=cost + sum(map(prices.missed, formula.tables())))


class Stopwatch:
    """Tells how long a look for something has taken, but for preparations that serve other calls too.

    Parameters
    ----------
    most
        Seconds of preparations that are left out.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._began = time.perf_counter()
        self._left_out = 0.0

    def elapsed(self) -> float:
        """Return the seconds so far."""
        return time.perf_counter() - self._began - min(self._left_out, self._most)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Leave out what goes on in the ``with`` block."""
        began = time.perf_counter()
        yield
        self._left_out += time.perf_counter() - began


class _Prices:
    """What searches and histograms cost on one graph."""

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
        self._lower: dict[AdjacencyKey, NDArray[np.float64]] = {}
        whole = family.whole
        if is_uniform(whole, family):
            with watch.preparing():
                self._lower_degrees(adjacency_of(family.kinds.bound(whole), *whole.edges[0][:2]))

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
        else:
            orders = promising_orders(bound, model, tails=True)
        for order in orders:
            plan = _plan(
                pattern,
                bound,
                order.vertices,
                injective=self._family.injective,
                tails=self._tails or pattern.roots > 0,
            )
            plan = replace(plan, estimates=order.estimates)
            self._prepare(plan)
            estimate = sample(self._graph, plan, _MEMBERS, self._threads)
            plan = replace(plan, estimates=estimate.sizes, scanned=estimate.read)
            work = expected_work(plan)
            if work is not None and (best is None or self._of_search(pattern, work) < best[1]):
                best = plan, self._of_search(pattern, work)
        if best is not None and pattern.below:
            return best[0], best[1] * _ORDERED
        return best

    def _prepare(self, plan: Plan) -> None:
        """Have the rows there that a search reads."""
        for key in distinct_keys(plan):
            self._rows(key)

    def _rows(self, key: AdjacencyKey) -> Adjacency:
        with self.watch.preparing():
            return self._graph.adjacency(key, self._threads)

    def _of_search(self, pattern: Rooted, work: Work) -> float:
        """Return the seconds of a search: from each arc it is the host's."""
        seconds = work.seconds(self._threads)
        if not pattern.roots:
            return self._speeds.of_search(seconds, self._threads)
        return seconds if self._speeds.threads else _FROM_ARCS * seconds

    def missed(self, table: Table) -> float:
        """Return by how many seconds more members change the estimate of a search; 0 for other tables."""
        before = expected_work(table.plan) if isinstance(table, Searched) else None
        if before is None or not isinstance(table, Searched):
            return 0.0
        estimate = sample(self._graph, table.plan, _MORE_MEMBERS, self._threads)
        work = expected_work(replace(table.plan, estimates=estimate.sizes, scanned=estimate.read))
        if work is None:
            return 0.0
        times = _ORDERED if table.pattern.below else 1.0
        more = self._of_search(table.pattern, work) - self._of_search(table.pattern, before)
        return more * times

    def wedges(self, wedges: Wedges) -> float:
        """Return the seconds of histograms: every wedge is gone through twice."""
        bound = self._family.kinds.bound(wedges.pattern)
        number = 0.0
        for middles in wedges.kinds:
            first = self._rows(adjacency_of(bound, *middles.first))
            key = adjacency_of(bound, *middles.second)
            second = self._rows(key)
            degrees = np.diff(second[0]).astype(np.float64)
            if wedges.uniform and wedges.pattern.roots != 1:
                below = self._lower_degrees(key)
                number += float(((degrees * (degrees - 1) - below * (below - 1)) / 2).sum())
            else:
                number += float(degrees[first[1]].sum())
        halved = wedges.symmetric and not wedges.uniform and wedges.pattern.roots == 0
        pairs = len(wedges.kinds) == 1 and wedges.kinds[0].number == 2
        seconds = self._speeds.wedge + (0.0 if pairs else self._speeds.choice)
        return self._speeds.start + number * seconds / self._shared / (2 if halved else 1)

    def walks(self, walks: Walks) -> float:
        """Return the seconds of walks: from some roots they are walked, without weights."""
        if self._graph.num_vertices == 0:
            return 0.0
        if not self._speeds.threads and walks.is_near:
            return self._speeds.begin + self._graph.forward.num_arcs * self._speeds.number
        roots, chances = self._roots()
        native = native_walk(self._graph, self._family.kinds, walks, self._threads)
        work = _native.walk_work(native, self._graph.num_vertices, roots, _MOST_WORK)
        read = float((work / chances[: len(work)]).mean())
        return self._speeds.start + read * self._speeds.walk / self._shared

    def _roots(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return some vertices and the chance of each: half by their degrees, half alike."""

        def draw() -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
            degrees = np.diff(self._graph.forward.offsets).astype(np.float64)
            if self._graph.directed:
                degrees += np.diff(self._graph.reverse.offsets)
            chances = (degrees / max(degrees.sum(), 1.0) + 1 / len(degrees)) / 2
            chances /= chances.sum()
            # Evenly over all, in an order that is spread over all as well.
            points = (np.arange(_WALKED) * 0.6180339887498949 + 0.5) % 1.0
            roots = np.minimum(np.searchsorted(chances.cumsum(), points), len(degrees) - 1)
            return roots.astype(np.uint32), chances[roots]

        return self._graph.memo.keep("roots to walk from", draw)

    def triangles(self, pattern: Rooted) -> float:
        """Return the seconds it takes to count the triangles of all arcs.

        Each vertex reads, of its lesser neighbours, the lesser neighbours.
        """
        bound = self._family.kinds.bound(pattern)
        key = adjacency_of(bound, 0, 1)
        rows = self._rows(key)
        lower = self._lower_degrees(key)
        if rows[1] is self._graph.forward.neighbors and not self._graph.directed:
            # Each is the lesser neighbour of all its greater ones: no arcs need be gone through (.3 s on
            # 15.7 million edges).
            read = float(lower @ (np.diff(rows[0]) - lower))
        else:
            read = float(lower[rows[1][rows[1] < _sources(rows)]].sum())
        return self._speeds.start + read * self._speeds.triangle / self._shared

    def _lower_degrees(self, key: AdjacencyKey) -> NDArray[np.float64]:
        """Return how many entries of each row, narrowed as its degree is, are less than its vertex."""
        rows = self._rows(key)

        def count() -> NDArray[np.float64]:
            sources = _sources(rows)
            lower = np.bincount(sources[rows[1] < sources], minlength=self._graph.num_vertices)
            return lower.astype(np.float64)

        if rows[1] is self._graph.forward.neighbors:
            return self._graph.memo.keep("lower degrees", count)
        if key not in self._lower:
            self._lower[key] = count()
        return self._lower[key]


def _sources(rows: Adjacency) -> NDArray[np.uint32]:
    offsets, _ = rows
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.int64))


@lru_cache(maxsize=2048)
def _plan(
    pattern: Rooted, bound: BoundPattern, order: tuple[int, ...], *, injective: bool, tails: bool
) -> Plan:
    """Return the plan of a search from the roots, without estimates: that of no graph in particular."""
    semantics = Semantics.ISOMORPHISM if injective else Semantics.HOMOMORPHISM
    breaking: tuple[Restriction, ...] = ()
    images = 1
    if injective and not pattern.roots:
        group = automorphisms(_as_pattern(pattern, bound), base=order)
        breaking, images = restrictions(group), group.order
    if pattern.below:
        breaking = _not_implied({*breaking, *((vertex, 0) for vertex in pattern.below)})
    shape, args = build_steps(bound, order, breaking, semantics, degrees=True)
    tail = None
    if tails:
        shape, tail = close_tail(shape, args, frozenset(), None)
    shape, args = share_intersections(shape, args, None, tail)
    return Plan(
        order=order,
        shape=shape,
        args=args,
        semantics=semantics,
        symmetry=Symmetry.EMBEDDINGS,
        multiplier=images,
        automorphisms=images,
        restrictions=breaking,
        estimates=(),
        tail=tail,
    )


def _not_implied(pairs: set[Restriction]) -> tuple[Restriction, ...]:
    known = closure(tuple(pairs))
    middles = {v for _, v in known}
    return tuple(
        sorted((u, v) for u, v in pairs if not any((u, w) in known and (w, v) in known for w in middles))
    )


def _as_pattern(pattern: Rooted, bound: BoundPattern) -> Pattern:
    """Return a pattern with the same automorphisms: kinds, and what is ordered, become labels."""
    looks = [
        (kind, bool(pattern.below) and at == 0, at in pattern.below)
        for at, kind in enumerate(pattern.vertices)
    ]
    labels = {look: number for number, look in enumerate(sorted(set(looks)))}
    return Pattern(
        tuple(QueryVertex(str(at), frozenset([labels[look]])) for at, look in enumerate(looks)),
        tuple(
            QueryEdge(u, v, frozenset([kind]), directed=not edge.either)
            for (u, v, kind), edge in zip(pattern.edges, bound.edges, strict=True)
        ),
    )
