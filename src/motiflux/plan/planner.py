"""Sequences the passes; decides nothing itself."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf

from motiflux.config import resolve_tuning
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Automorphisms, automorphisms
from motiflux.plan.bind import BoundPattern, bind
from motiflux.plan.cost import CostModel, frequencies, probe, sample
from motiflux.plan.free import free_order
from motiflux.plan.groups import find_groups
from motiflux.plan.ir import FreeOrder, Plan, PlanArgs, PlanShape, SpaceKey, Tail
from motiflux.plan.local.choose import cheapest_formula
from motiflux.plan.local.formula import Formula
from motiflux.plan.local.speeds import Speeds
from motiflux.plan.order import Order, core_first, core_of, given_order, ordered, promising_orders
from motiflux.plan.parts import lists_of, nest, part_order
from motiflux.plan.passes import shared_levels
from motiflux.plan.predict import expected_seconds, expected_work
from motiflux.plan.reuse import share_intersections
from motiflux.plan.room import room_needed
from motiflux.plan.space import CandidateSpace, candidate_space, space_key
from motiflux.plan.steps import build_steps
from motiflux.plan.symmetry import Restriction, restrictions
from motiflux.plan.tail import FIRST_START, close_tail
from motiflux.types import Semantics, Symmetry

# Members of the population that compares orders, and of the one behind the estimates of the chosen plan.
_FEW_MEMBERS = 64
_MANY_MEMBERS = 256

# An order that costs at most so many times as much as the best may be taken for the levels it shares.
_ABOUT_AS_CHEAP = 1.5

# A search of this cost takes at most 54 us, less than comparing two orders does.
_NOT_WORTH_COMPARING = 2000

# Searches expected to take so many seconds are worth a look for parts, in so many orders. All probes together
# take a share of the time expected, and each no longer than an interrupt may wait.
_WORTH_PARTS = 0.1
_PART_ORDERS = 3
_PROBE_SHARE = 0.1
_LONGEST_PROBE = 0.06

# Above so many seconds, what is remembered decides, of which a probe sees little: a plan that matches the
# core first and then has lists is taken unless it seems so many times as slow.
_PROBES_SAY_LITTLE = 10.0
_MAY_SEEM_SLOWER = 8.0

# Seconds that a search must be expected to take before a formula is looked for, which takes milliseconds,
# and the share of these seconds in which it must be found.
_WORTH_A_FORMULA = 0.01
_SHARE_OF_SEARCH = 0.25
_LONGEST_LOOK = 2.0

# Seconds left from which on a timeout is no hurry, and the share of those left in which a formula must be
# found, and all probes made. Plans made in a hurry are remembered apart.
_NO_HURRY = 10.0
_SHARE_OF_TIMEOUT = 0.1

NO_CANDIDATES = "some query vertex has no candidate"
"""Why nothing matches where a candidate set is empty."""


def make_plan(
    graph: Graph,
    pattern: Pattern,
    *,
    semantics: Semantics = Semantics.ISOMORPHISM,
    symmetry: Symmetry = Symmetry.EMBEDDINGS,
    counting: bool = True,
    space: bool = False,
    tail: bool = False,
    parts: bool = False,
    meetings: bool = True,
    searchers: int = 1,
    tables: Speeds | None = None,
    threads: int = 1,
    deadline: float | None = None,
    tuning: Mapping[str, str] | None = None,
    beside: Sequence[Plan] = (),
) -> Plan:
    """Return the plan that finds `pattern` in `graph`, remembered with the graph.

    Parameters
    ----------
    counting
        Only the number is wanted: embeddings may then be counted as subgraphs times the order of the
        automorphism group (not where query vertices may share a data vertex: under homomorphism, or if the
        pattern says so; there an automorphism may leave a map as it is).
    space
        Whether the engine can search a candidate space.
    tail
        Whether the engine can count a tail in closed form.
    parts
        Whether the engine can count a tail that is a tree of parts, and is to count all of them.
    meetings
        Whether the engine can count parts that meet others in vertices from which something hangs.
    searchers
        Partial embeddings that the engine needs to be busy: parts begin at a level that has as many.
    tables
        What counting from tables of local counts takes on the engine; None if it cannot.
    threads
        Threads that filter candidates.
    deadline
        When to give up, as a moment of `time.perf_counter`; None is never.
    tuning
        Switches of `motiflux.config.TUNING`.
    beside
        Other plans of the call: of orders that are about as cheap, the one that shares the most levels with
        one of these is taken.

    Raises
    ------
    ArgumentError
        Subgraphs where query vertices may share a data vertex, or an unknown switch.
    TimeoutError
        The deadline passed while candidates were filtered.
    PatternError
        The pattern asks for directions in an undirected graph.
    """
    check_symmetry(semantics, symmetry, pattern)
    switches, others = resolve_tuning(tuning), tuple(beside)
    key = (
        "plan",
        pattern,
        semantics,
        symmetry,
        counting,
        space,
        tail,
        parts,
        meetings,
        searchers,
        tables,
        tuple(switches.values()),
        others,
        deadline is not None and deadline - time.perf_counter() < _NO_HURRY,
    )

    def make() -> Plan:
        options = _Options(
            semantics,
            symmetry,
            counting,
            space,
            tail,
            parts,
            meetings,
            searchers,
            tables,
            threads,
            deadline,
            switches,
            others,
        )
        return _make_plan(graph, pattern, options)

    return graph.memo.get(key, make)


def check_symmetry(semantics: Semantics, symmetry: Symmetry, pattern: Pattern | None = None) -> None:
    """Refuse to fold what no automorphism tells apart.

    Raises
    ------
    ArgumentError
        Subgraphs where any query vertices may share a data vertex.
    """
    if symmetry is not Symmetry.SUBGRAPHS:
        return
    if semantics is Semantics.HOMOMORPHISM:
        raise ArgumentError("symmetry", "'embeddings' with semantics='homomorphism'", symmetry.value)
    if pattern is not None and pattern.may_coincide:
        raise ArgumentError(
            "symmetry", "'embeddings' for a pattern with vertices that may coincide", symmetry.value
        )


@dataclass(frozen=True)
class _Options:
    semantics: Semantics
    symmetry: Symmetry
    counting: bool
    space: bool
    tail: bool
    parts: bool
    meetings: bool
    searchers: int
    tables: Speeds | None
    threads: int
    deadline: float | None
    switches: Mapping[str, str]
    beside: tuple[Plan, ...]

    @property
    def of_order(self) -> tuple[Hashable, ...]:
        """What the order of a plan depends on, the pattern apart."""
        ways = self.counting, self.space, self.tail
        return self.semantics, self.symmetry, *ways, tuple(self.switches.values()), self.beside


def _make_plan(graph: Graph, pattern: Pattern, options: _Options) -> Plan:
    switches = options.switches
    bound = bind(pattern, graph)
    key = space = None
    if options.space:
        key = space_key(bound, options.semantics, switches)
        space = None if key is None else candidate_space(graph, key, options.threads, options.deadline)
    drafter = _Drafter(bound, options, key if space is not None else None, space)
    if space is not None:
        model = CostModel(bound, space.sizes, space.arcs)
    else:
        model = CostModel(bound, *frequencies(bound, graph))
    # Engines that count in other ways search in the same order: it is looked for once.
    plan, orders = graph.memo.get(
        ("ordered", pattern, space is not None, options.of_order),
        lambda: _ordered_plan(graph, pattern, drafter, model),
    )
    if drafter.impossible is None:
        plan = replace(plan, formula=_formula(graph, bound, plan, options))
        if drafter.parts and plan.formula is None:
            plan = drafter.widened(_in_parts(graph, pattern, plan, orders, drafter, model), model)
        plan = replace(plan, free=drafter.free(plan))
        if switches["room"] == "on":
            plan = replace(plan, room=room_needed(plan.shape, plan.args, drafter.classes(plan.order)))
    return replace(plan, asked=pattern)


def _ordered_plan(
    graph: Graph, pattern: Pattern, drafter: _Drafter, model: CostModel
) -> tuple[Plan, list[Order]]:
    """Return the plan that enumerates all levels but those of a flat tail, and other orders worth a try."""
    bound, options = drafter.bound, drafter.options
    if options.switches["order"] == "given":
        orders = [given_order(bound, model)]
    else:
        orders = promising_orders(bound, model, tails=drafter.tails)

    def draft(order: Order) -> Plan:
        group = automorphisms(pattern, directed=graph.directed, base=order.vertices)
        return drafter.plan(order, group)

    plan = draft(orders[0])
    if (
        options.switches["order"] in ("sampled", "adaptive")
        and drafter.cheap_to_sample
        and drafter.impossible is None
    ):
        estimate = sample(graph, plan, _MANY_MEMBERS, options.threads)
        if len(orders) > 1 and (options.beside or estimate.cost >= _NOT_WORTH_COMPARING):
            orders, cheap = _compared(graph, drafter, orders, options)
            plans = [plan if plan.order == order.vertices else draft(order) for order in orders[:cheap]]
            chosen = max(
                plans,
                key=lambda plan: max((shared_levels(plan, other) for other in options.beside), default=0),
            )
            if chosen is not plan:
                plan, estimate = chosen, sample(graph, chosen, _MANY_MEMBERS, options.threads)
        plan = replace(plan, estimates=estimate.sizes, scanned=estimate.read)
    return plan, orders


def _formula(graph: Graph, bound: BoundPattern, plan: Plan, options: _Options) -> Formula | None:
    """Return how to count from tables, where that is expected to take less time than the search."""
    speeds = options.tables
    if not options.counting or speeds is None or options.semantics is Semantics.INDUCED:
        return None
    switch = options.switches["tables"]
    threads = speeds.shared(options.threads)
    search = expected_seconds(plan, threads, None)
    if switch == "off" or (switch == "auto" and (search is None or search < _WORTH_A_FORMULA)):
        return None
    share = _LONGEST_LOOK
    if switch == "auto" and search is not None:
        share = max(_SHARE_OF_SEARCH * search, speeds.look)
    if options.deadline is not None:
        share = min(share, _SHARE_OF_TIMEOUT * (options.deadline - time.perf_counter()))
    seconds = min(share, _LONGEST_LOOK)
    formula = cheapest_formula(
        graph,
        bound,
        options.threads,
        options.semantics,
        seconds=seconds,
        speeds=speeds,
        tails=options.tail,
    )
    if formula is None or switch == "on":
        return formula
    if search is not None and formula.seconds < speeds.margin * speeds.of_search(search, threads):
        return formula
    return None


def _compared(
    graph: Graph, drafter: _Drafter, orders: list[Order], options: _Options
) -> tuple[list[Order], int]:
    """Return the orders by cost, and how many of them are as good as the first.

    Others than the first are as good only where plans of one call may share a pass.
    """
    sketches = [drafter.sketch(order) for order in orders]
    costs = [sample(graph, sketch, _FEW_MEMBERS, options.threads).cost for sketch in sketches]
    by_cost = sorted(range(len(orders)), key=costs.__getitem__)
    most = costs[by_cost[0]] * (_ABOUT_AS_CHEAP if options.beside and drafter.space is None else 1)
    return [orders[at] for at in by_cost], max(1, sum(cost < most for cost in costs))


def _in_parts(
    graph: Graph, pattern: Pattern, plan: Plan, orders: Sequence[Order], drafter: _Drafter, model: CostModel
) -> Plan:
    """Return a plan that counts the same in parts, if that is cheaper."""
    forced = drafter.options.switches["parts"] == "on"
    work = expected_work(plan)
    seconds = None if work is None else work.seconds()
    if not forced and (seconds is None or seconds < _WORTH_PARTS):
        return plan
    candidates: dict[tuple[tuple[int, ...], Tail | None], Plan] = {}
    options = drafter.options
    ways = (True, False) if options.switches["lists"] == "on" and options.meetings else (False,)
    bases = list(orders[:_PART_ORDERS])
    if (base := core_first(drafter.bound, orders)) is not None and base not in bases:
        bases.append(base)
    for order, lists in product(bases, ways):
        for vertices in drafter.part_orders(order.vertices, lists=lists):
            group = automorphisms(pattern, directed=graph.directed, base=vertices)
            found = drafter.nested(ordered(drafter.bound, model, vertices), group, lists=lists)
            if found is not None:
                candidates.setdefault((vertices, found.tail), found)
        if forced and candidates:
            first = next(iter(candidates.values()))
            return first if work is None else _estimated(graph, pattern, first, drafter, model)
    if seconds is None or not candidates:
        return plan
    plans = [plan, *candidates.values()]
    if plan.tail is not None:
        group = automorphisms(pattern, directed=graph.directed, base=plan.order)
        plain = drafter.without_tail(ordered(drafter.bound, model, plan.order), group)
        plans.append(replace(plain, estimates=plan.estimates, scanned=plan.scanned))
    most = min(seconds * _PROBE_SHARE / len(plans), _LONGEST_PROBE)
    deadline = drafter.options.deadline
    if deadline is not None:
        most = min(most, _SHARE_OF_TIMEOUT * (deadline - time.perf_counter()) / len(plans))
    probed = []
    for one in plans:
        if deadline is not None and time.perf_counter() + most > deadline:
            return plan
        probed.append(probe(graph, one, most, drafter.options.threads))
    chosen = _best(
        drafter.bound, [replace(one, probed=took) for one, took in zip(plans, probed, strict=True)]
    )
    return chosen if chosen.scanned else _estimated(graph, pattern, chosen, drafter, model)


def _best(bound: BoundPattern, plans: Sequence[Plan]) -> Plan:
    """Return the plan to take of those that were probed."""

    def seconds(plan: Plan) -> float:
        return inf if plan.probed is None else plan.probed

    best = min(plans, key=seconds)
    core = core_of(bound)
    remembering = [
        plan
        for plan in plans
        if plan.tail is not None
        and any(lists_of(plan.tail.components))
        and 0 < len(core) < bound.size
        and core.issuperset(plan.order[: len(core)])
    ]
    if seconds(best) < _PROBES_SAY_LITTLE or not remembering:
        return best
    other = min(remembering, key=seconds)
    return other if seconds(other) < _MAY_SEEM_SLOWER * seconds(best) else best


def _estimated(graph: Graph, pattern: Pattern, plan: Plan, drafter: _Drafter, model: CostModel) -> Plan:
    """Return `plan` with the sizes that its levels would have, were all enumerated."""
    group = automorphisms(pattern, directed=graph.directed, base=plan.order)
    flat = drafter.without_tail(ordered(drafter.bound, model, plan.order), group)
    estimate = sample(graph, flat, _MANY_MEMBERS, drafter.options.threads)
    return replace(plan, estimates=estimate.sizes, scanned=estimate.read)


class _Drafter:
    """Makes plans of one pattern that differ in their order."""

    def __init__(
        self, bound: BoundPattern, options: _Options, key: SpaceKey | None, space: CandidateSpace | None
    ) -> None:
        self.bound = bound
        self.options = options
        self._key = key
        self.space = space
        self.impossible = bound.missing or (NO_CANDIDATES if space is not None and space.empty else None)
        self._multiply = (
            options.counting
            and options.symmetry is Symmetry.EMBEDDINGS
            and options.semantics is not Semantics.HOMOMORPHISM
            and not bound.may_coincide
            and options.switches["multiply"] == "on"
        )

        self.parts = options.counting and options.parts and options.switches["parts"] != "off"
        self.tails = options.counting and options.tail and options.switches["tail"] == "on"

    @property
    def cheap_to_sample(self) -> bool:
        """Whether the rows to sample from are there already, or are narrowed by a label of edges alone.

        These the search narrows too, if only the way it walks them; an engine with rows of its own does not.
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

    def plan(self, order: Order, group: Automorphisms) -> Plan:
        """Return the plan in that order; the group's base is the order."""
        once_each = self.options.symmetry is Symmetry.SUBGRAPHS
        breaking = restrictions(group) if once_each or self._multiply else ()
        return self._draft(order, breaking, group.order)

    def sketch(self, order: Order) -> Plan:
        """Return a plan in that order that serves to sample it: without symmetry breaking.

        Nor does it bound degrees where the candidates of a space have them already: that takes time.
        """
        return self._draft(order, degrees=self.space is None)

    def without_tail(self, order: Order, group: Automorphisms) -> Plan:
        """Return the plan in that order that enumerates all levels but the last."""
        once_each = self.options.symmetry is Symmetry.SUBGRAPHS
        breaking = restrictions(group) if once_each or self._multiply else ()
        return self._draft(order, breaking, group.order, tail=False)

    def nested(self, order: Order, group: Automorphisms, *, lists: bool) -> Plan | None:
        """Return the plan in that order that counts in parts, or with lists; None if it allows none."""
        once_each = self.options.symmetry is Symmetry.SUBGRAPHS
        breaking = restrictions(group) if once_each or self._multiply else ()
        plan = self._draft(order, breaking, group.order, nested=True, lists=lists)
        return plan if plan.tail is not None else None

    def widened(self, plan: Plan, model: CostModel) -> Plan:
        """Return a plan in parts with as many levels enumerated as the engine needs."""
        if self.options.searchers <= 1 or plan.tail is None or not plan.tail.nested:
            return plan
        levels = range(FIRST_START, len(plan.order) - 1)
        wide = [level for level in levels if plan.estimates[level - 1] >= self.options.searchers]
        start = min(wide, default=levels[-1])
        if start <= plan.tail.start:
            return plan
        order = ordered(self.bound, model, plan.order)
        found = self._draft(order, plan.restrictions, plan.automorphisms, nested=True, start=start)
        return replace(plan, shape=found.shape, args=found.args, tail=found.tail)

    def part_orders(self, vertices: tuple[int, ...], *, lists: bool) -> list[tuple[int, ...]]:
        """Return orders near that of `vertices` in which there may be more parts."""
        order = Order(vertices, (0.0,) * len(vertices))
        shape, args, classes = self._steps(order, ())
        coinciding = self._coinciding_levels(order)
        found = [vertices]
        for largest_first in (False, True):
            levels = part_order(
                shape,
                args,
                coinciding,
                classes,
                largest_first=largest_first,
                lists=lists,
                weighted=self.options.meetings,
            )
            if levels is not None:
                found.append(tuple(vertices[level] for level in levels))
        return list(dict.fromkeys(reversed(found)))

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
        """Return a number for each vertex, equal where the candidates are the same; None without a space."""
        return None if self.space is None else tuple(self.space.classes[vertex] for vertex in vertices)

    def free(self, plan: Plan) -> FreeOrder | None:
        """Return how to match the levels of `plan` in another order, where the search may."""
        switch = self.options.switches["order"]
        some = not (self.options.counting and self.options.parts) and switch == "sampled"
        if (
            self.space is None
            or self.options.semantics is Semantics.INDUCED
            or not (some or switch == "adaptive")
        ):
            return None
        shape, args = plan.shape, plan.args
        told = sum(len(step.after) + len(step.before) for step in shape.steps)
        if (
            plan.tail is not None
            or told < len(plan.restrictions)
            or any(step.reuse is not None for step in shape.steps)
        ):
            shape, args, _ = self._steps(Order(plan.order, plan.estimates), plan.restrictions)
        return free_order(shape, args, always=switch == "adaptive")

    def _draft(
        self,
        order: Order,
        breaking: tuple[Restriction, ...] = (),
        automorphisms: int = 1,
        *,
        degrees: bool = True,
        tail: bool = True,
        nested: bool = False,
        lists: bool = False,
        start: int = FIRST_START,
    ) -> Plan:
        options = self.options
        shape, args, classes = self._steps(order, breaking, degrees=degrees)
        groups = find_groups(shape, args, classes)
        closed = None
        if nested:
            coinciding = self._coinciding_levels(order)
            weighted = options.meetings
            found = nest(shape, args, coinciding, classes, start=start, lists=lists, weighted=weighted)
            shape, closed = (shape, None) if found is None else found
        elif self.tails and tail:
            shape, closed = close_tail(shape, args, self._coinciding_levels(order), classes, first=1)
        if options.switches["reuse"] == "on":
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
            estimates=order.estimates,
            groups=groups,
            tail=closed,
            space=self._key,
            classes=classes or (),
            impossible=self.impossible,
        )

    def _coinciding_levels(self, order: Order) -> frozenset[tuple[int, int]]:
        level_of = {vertex: level for level, vertex in enumerate(order.vertices)}
        return frozenset((level_of[u], level_of[v]) for u, v in self.bound.may_coincide)
