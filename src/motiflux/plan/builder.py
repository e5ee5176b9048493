"""Builds plans of one pattern: options of planning, and the passes that make a plan of a matching order."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import frexp, inf

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Permutation, automorphisms
from motiflux.plan.bind import BoundPattern
from motiflux.plan.candidates.space import CandidateSpace
from motiflux.plan.estimate.sampled import Estimate, plan_in_whole, sample
from motiflux.plan.estimate.whole import edges_among, edges_of_reads, in_whole
from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.plan.passes.adaptive_order import adaptive_order_of
from motiflux.plan.passes.order import CostModel, Order, frequencies, ordered
from motiflux.plan.passes.part_builder import APART, LISTED, WEIGHTED, PartWay
from motiflux.plan.passes.parts import nest, part_order, way_of
from motiflux.plan.passes.reuse import share_intersections
from motiflux.plan.passes.steps import build_steps
from motiflux.plan.passes.symmetry import MOST_IMAGES, Restriction, has_images, restrictions, stabilizer
from motiflux.plan.passes.tail import FIRST_START, close_tail
from motiflux.plan.shape import AdaptiveOrder, PlanArgs, PlanShape, SpaceKey
from motiflux.types import Semantics, Symmetry

# A deadline further away than this number of seconds does not shorten planning. A formula must be found, and
# all probes made, within a share of the seconds left: a smaller share if the search is expected to end in
# time.
_NO_HURRY = 10.0
_SHARE_OF_TIMEOUT = 0.1
_SHARE_OF_SHORT_TIMEOUT = 0.5
_LEAST_LEFT = 1e-3


@dataclass(frozen=True)
class PlanOptions:
    """The checked arguments of `make_plan`. Equal options give the same plan of a pattern.

    They are part of the key of cached plans, with all fields but those with ``compare=False``.

    Parameters
    ----------
    switches
        All switches of `motiflux.config`.
    haste
        0 if there is enough time before the deadline; greater by 1 each time that the time left halves. A
        cached plan serves calls of equal or greater haste. Other calls have more time, which may give a
        better plan, so it is made again.
    """

    semantics: Semantics
    symmetry: Symmetry
    counting: bool
    images: bool
    space: bool
    tail: bool
    parts: bool
    parts_cost: float
    searchers: int
    tables: Speeds | None
    threads: int = field(compare=False)
    deadline: float | None = field(compare=False)
    switches: Mapping[str, str] = field(hash=False)
    beside: tuple[Plan, ...]
    count_choices: bool = False
    copy_walks: bool = True
    haste: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        left = inf if self.deadline is None else self.deadline - time.perf_counter()
        haste = 0 if left >= _NO_HURRY else frexp(_NO_HURRY / max(left, _LEAST_LEFT))[1]
        object.__setattr__(self, "haste", haste)

    def of_order(self) -> PlanOptions:
        """Return the options with default values for fields on which the matching order does not depend."""
        return replace(
            self, parts=False, parts_cost=1.0, searchers=1, tables=None, deadline=None, copy_walks=True
        )

    def planning_seconds(self, search: float | None) -> float:
        """Return the seconds that may be spent on finding a better plan than a search of `search` seconds.

        If the search is not expected to end before the deadline, or is of unknown length, this is half of the
        time left.
        """
        if self.deadline is None:
            return inf
        left = self.deadline - time.perf_counter()
        in_time = search is not None and search < left
        return left * (_SHARE_OF_TIMEOUT if in_time else _SHARE_OF_SHORT_TIMEOUT)


class PlanBuilder:
    """Builds plans of one pattern in different orders; each query vertex has candidates."""

    def __init__(
        self,
        graph: Graph,
        pattern: Pattern,
        options: PlanOptions,
        bound: BoundPattern,
        key: SpaceKey | None,
        space: CandidateSpace | None,
    ) -> None:
        self.graph = graph
        self.options = options
        self.bound = bound
        self.space = space
        if space is not None:
            self.model = CostModel(bound, space.sizes, space.arcs)
        else:
            self.model = CostModel(bound, *frequencies(bound, graph))
        self.parts = options.counting and options.parts and options.switches["parts"] != "off"
        self.tails = options.counting and options.tail and options.switches["tail"] == "on"
        self._pattern = pattern
        self._key = key if space is not None else None
        if bound.comparisons is not None:  # each level is matched for itself
            self.parts = self.tails = False
        symmetric = has_images(options.semantics, options.symmetry, bound.may_coincide)
        self._multiply = symmetric and options.counting and options.switches["multiply"] == "on"
        self.images: tuple[Permutation, ...] = ()
        """Automorphisms whose images of each embedding found are listed; empty without symmetry breaking."""
        if symmetric and options.images and not options.counting and options.switches["images"] == "on":
            group = automorphisms(pattern, directed=graph.directed, every_edge=options.count_choices)
            if 1 < group.order <= MOST_IMAGES:
                self.images = group.elements()

    @property
    def cheap_to_sample(self) -> bool:
        """Whether sampling needs no narrowed rows that the search does not need.

        True over a candidate space, and without labels and conditions. Edge labels alone are allowed if the
        engine searches candidate spaces: then it narrows rows by edge labels itself.
        """
        if self.space is not None:
            return True
        narrowing = (
            *self.bound.labels,
            *self.bound.filters,
            *(edge.where for edge in self.bound.edges),
            *(edge.labels for edge in self.bound.edges if not self.options.space),
        )
        return all(one is None for one in narrowing)

    def order(self, vertices: tuple[int, ...]) -> Order:
        """Return the order of `vertices`, with estimates by the cost model."""
        return ordered(self.bound, self.model, vertices)

    def plan(self, order: Order) -> Plan:
        """Return the plan in `order`."""
        return self._draft(order, *self._breaking(order))

    def sampled(self, plan: Plan, members: int) -> Estimate:
        """Return what is expected of a plan; on a sketch, that of the larger graph."""
        estimate = sample(self.graph, plan, members, self.options.threads)
        return estimate.in_whole(self.graph.sketched, plan.order, self.bound)

    def in_whole(self, plan: Plan) -> Plan:
        """Return a plan that was sampled, with the sizes of the larger graph if this one is a sketch."""
        return plan_in_whole(plan, self.graph.sketched, self.bound)

    def seconds_in_whole(self, plan: Plan, seconds: float) -> float:
        """Return the seconds of a plan that a probe says; on a sketch, those in the larger graph.

        A sketch has so few of the larger subgraphs that a plan which opens them again and again seems fast.
        So its time is taken to grow as what it reads in its deepest level does.
        """
        shares = self.graph.sketched
        if shares is None:
            return seconds
        return in_whole(seconds, shares.edges, edges_of_reads(plan, self.bound))

    def sketch(self, order: Order) -> Plan:
        """Return a plan in `order` for sampling: without symmetry breaking.

        Over a candidate space, whose candidates have the degrees already, it has no degree bounds.
        """
        return self._draft(order, degrees=self.space is None)

    def without_tail(self, order: Order) -> Plan:
        """Return the plan in `order` that enumerates all levels but the last."""
        return self._draft(order, *self._breaking(order), tail=False)

    def projected(self, order: Order, breaking: tuple[Restriction, ...]) -> Plan:
        """Return the plan in `order` that enumerates all levels, with these order restrictions."""
        return self._draft(order, breaking, tail=False)

    def rooted(self, order: Order, roots: int, way: PartWay | None = None) -> Plan | None:
        """Return the plan in `order` that counts for each image of the first `roots` vertices.

        Restrictions break the automorphisms that fix these vertices; the multiplier is their number.

        Parameters
        ----------
        way
            To count the levels after the roots in parts. None is returned if the order has no parts.
        """
        group = stabilizer(
            automorphisms(self._pattern, directed=self.graph.directed, base=order.vertices), roots
        )
        breaking = restrictions(group) if self._multiply else ()
        plan = self._draft(order, breaking, group.order, nested=way, first=roots)
        return plan if way is None or plan.tail is not None else None

    @property
    def part_ways(self) -> tuple[PartWay, ...]:
        """Ways to count pieces that may share data vertices, in the order in which they are tried."""
        if self.options.switches["meetings"] == "off":
            return (APART,)
        return (LISTED, WEIGHTED, APART) if self.options.switches["lists"] == "on" else (WEIGHTED, APART)

    def nested(self, order: Order, way: PartWay) -> Plan | None:
        """Return the plan in `order` that counts in parts; None if the order has no parts."""
        plan = self._draft(order, *self._breaking(order), nested=way)
        return plan if plan.tail is not None else None

    def widened(self, plan: Plan) -> Plan:
        """Return a plan in parts that enumerates enough levels to keep the engine busy."""
        if self.options.searchers <= 1 or plan.tail is None or not plan.tail.nested:
            return plan
        levels = range(FIRST_START, len(plan.order) - 1)
        wide = [level for level in levels if plan.estimates[level - 1] >= self.options.searchers]
        start = min(wide, default=levels[-1])
        if start <= plan.tail.start:
            return plan
        order = self.order(plan.order)
        way = way_of(plan.tail)
        found = self._draft(order, plan.restrictions, plan.automorphisms, nested=way, start=start)
        return replace(plan, shape=found.shape, args=found.args, tail=found.tail)

    def part_orders(self, vertices: tuple[int, ...], way: PartWay) -> list[tuple[int, ...]]:
        """Return orders similar to `vertices` that may have more parts."""
        order = Order(vertices, (0.0,) * len(vertices))
        shape, args, classes = self._steps(order, ())
        coinciding = self._coinciding_levels(order)
        found = [vertices]
        for largest_first in (False, True):
            levels = part_order(shape, args, coinciding, classes, largest_first=largest_first, way=way)
            if levels is not None:
                found.append(tuple(vertices[level] for level in levels))
        return list(dict.fromkeys(reversed(found)))

    def _breaking(self, order: Order) -> tuple[tuple[Restriction, ...], int]:
        """Return the order restrictions of a plan in `order`, and the number of automorphisms."""
        group = automorphisms(
            self._pattern,
            directed=self.graph.directed,
            base=order.vertices,
            every_edge=self.options.count_choices,
        )
        once_each = self.options.symmetry is Symmetry.SUBGRAPHS
        return restrictions(group) if once_each or self._multiply or self.images else (), group.order

    def _steps(
        self, order: Order, breaking: tuple[Restriction, ...], *, degrees: bool = True
    ) -> tuple[PlanShape, PlanArgs, tuple[int, ...] | None]:
        shape, args = build_steps(
            self.bound,
            order.vertices,
            breaking,
            self.options.semantics,
            degrees=degrees and self.options.switches["degrees"] == "on",
        )
        return shape, args, self.classes(order.vertices)

    def classes(self, vertices: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return a number for each vertex, equal for equal candidates; None without a candidate space."""
        return None if self.space is None else tuple(self.space.classes[vertex] for vertex in vertices)

    def adaptive_order(self, plan: Plan) -> AdaptiveOrder | None:
        """Return the data for an adaptive order of the levels of `plan`; None if the order is fixed."""
        switch = self.options.switches["order"]
        some = not (self.options.counting and self.options.parts) and switch == "sampled"
        if (
            self.space is None
            or self.options.semantics is Semantics.INDUCED
            or self.bound.negated
            or not (some or switch == "adaptive")
        ):
            return None
        shape, args = plan.shape, plan.args
        compared = sum(len(step.after) + len(step.before) for step in shape.steps)
        if (
            plan.tail is not None
            or compared < len(plan.restrictions)
            or any(step.reuse is not None for step in shape.steps)
        ):
            shape, args, _ = self._steps(Order(plan.order, plan.estimates), plan.restrictions)
        return adaptive_order_of(shape, args, always=switch == "adaptive")

    def _draft(
        self,
        order: Order,
        breaking: tuple[Restriction, ...] = (),
        automorphisms: int = 1,
        *,
        degrees: bool = True,
        tail: bool = True,
        nested: PartWay | None = None,
        start: int = FIRST_START,
        first: int = 1,
    ) -> Plan:
        options = self.options
        shape, args, classes = self._steps(order, breaking, degrees=degrees)
        closed = None
        if nested is not None:
            found = nest(shape, args, self._coinciding_levels(order), classes, start=start, way=nested)
            shape, closed = (shape, None) if found is None else found
        elif self.tails and tail:
            shape, closed = close_tail(shape, args, self._coinciding_levels(order), classes, first=first)
        if options.switches["reuse"] == "on" and self.bound.comparisons is None:
            shape, args = share_intersections(shape, args, classes, closed)
        return Plan(
            order=order.vertices,
            shape=shape,
            args=args,
            semantics=options.semantics,
            symmetry=options.symmetry,
            multiplier=automorphisms if self._multiply else 1,
            automorphisms=automorphisms,
            restrictions=breaking,
            estimates=self._sizes(order),
            tail=closed,
            space=self._key,
            classes=classes or (),
            comparisons=self.bound.comparisons,
        )

    def _sizes(self, order: Order) -> tuple[float, ...]:
        """Return the expected sizes of levels; on a sketch, those in it, as samples are."""
        shares = self.graph.sketched
        if shares is None:
            return order.estimates
        among = [edges_among(order.vertices[: level + 1], self.bound) for level in range(1, self.bound.size)]
        parts = [shares.vertices, *(shares.edges**number for number in among)]
        return tuple(size * part if part else 0.0 for size, part in zip(order.estimates, parts, strict=True))

    def _coinciding_levels(self, order: Order) -> frozenset[tuple[int, int]]:
        level_of = {vertex: level for level, vertex in enumerate(order.vertices)}
        return frozenset((level_of[u], level_of[v]) for u, v in self.bound.may_coincide)
