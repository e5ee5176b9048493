"""Makes plans: chooses the order that is cheapest by sampling, and between search, tables and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from motiflux.arguments import check_word
from motiflux.config import resolve_tuning
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.bind import BoundPattern, bind
from motiflux.plan.builder import PlanBuilder, PlanOptions
from motiflux.plan.candidates.space import CandidateSpace, candidate_space, space_key
from motiflux.plan.comparisons.order import compared_plan
from motiflux.plan.estimate.predict import expected_seconds
from motiflux.plan.estimate.sampled import MANY_MEMBERS, sample
from motiflux.plan.ir import Formula, Plan
from motiflux.plan.local_counts.choose import cheapest_formula, has_formulas
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.plan.passes.order import Order, given_order, promising_orders
from motiflux.plan.passes.reuse import all_different_bounds
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.probe_parts import cheaper_in_parts
from motiflux.plan.shape import PlanArgs, PlanShape, SpaceKey
from motiflux.plan.shared_prefix import shared_levels
from motiflux.types import Semantics, Symmetry

_FEW_MEMBERS = 64
"""Random partial embeddings that compare orders; the chosen plan has `MANY_MEMBERS`."""
_ABOUT_AS_CHEAP = 1.5
"""An order whose cost is below this multiple of the least cost may be taken because it shares levels."""
_NOT_WORTH_COMPARING = 2000
"""A search of this cost takes at most 54 us, less time than comparing two orders."""
WORTH_A_FORMULA = 0.01
"""Least expected seconds of a search for which a formula is considered; finding one takes milliseconds."""
_SHARE_OF_SEARCH, _LONGEST_PLANNING = 0.25, 2.0
"""Limits of the time to find a formula: a share of the search's expected time, and seconds."""
NO_CANDIDATES = "some query vertex has no candidate"
"""The reason for an empty plan if a candidate set is empty."""


def make_plan(
    graph: Graph,
    pattern: Pattern,
    *,
    semantics: str = Semantics.ISOMORPHISM,
    symmetry: str = Symmetry.EMBEDDINGS,
    counting: bool = True,
    images: bool = False,
    space: bool = False,
    tail: bool = False,
    parts: bool = False,
    parts_cost: float = 1.0,
    searchers: int = 1,
    tables: Speeds | None = None,
    threads: int = 1,
    deadline: float | None = None,
    tuning: Mapping[str, str] | None = None,
    beside: Sequence[Plan] = (),
    count_choices: bool = False,
    copy_walks: bool = True,
) -> Plan:
    """Return the plan that finds `pattern` in `graph`, kept with the graph.

    Parameters
    ----------
    semantics, symmetry
        A member of `motiflux.types.Semantics` and of `Symmetry`, or its value.
    counting
        Whether only the number is needed: embeddings may then be counted as subgraphs times the order of the
        automorphism group. This does not hold if query vertices may share a data vertex (under homomorphism,
        or if the pattern allows it), as an automorphism may then map an embedding to itself.
    images
        Whether the engine lists the images of each embedding found under the automorphisms, so that the
        search finds only one of them. Has no effect for large groups.
    space
        Whether the engine can search a candidate space.
    tail
        Whether the engine can count a tail in closed form.
    parts
        Whether the engine can count a tail that is a tree of parts, and the count has no limit.
    parts_cost
        Ratio of the time of parts on the engine to the time by probes on the CPU, relative to other plans.
    searchers
        Number of partial embeddings that keep the engine busy: parts begin at a level with as many.
    tables
        Times of tables of local counts on the engine; None if it cannot count from tables.
    threads
        Threads that filter candidates.
    deadline
        Time limit, a value of `time.perf_counter`; None: no limit.
    tuning
        Switches of `motiflux.config.TUNING`.
    beside
        Other plans of the call: among orders of similar cost, the order that shares the most levels with one
        of these plans is taken.
    count_choices
        Whether choices of copies are counted, not embeddings.
    copy_walks
        Whether the engine searches patterns with comparisons from copy to copy too, not only level by level.

    Raises
    ------
    ArgumentError
        Symmetry is ``subgraphs`` and query vertices may share a data vertex, or a switch or value is unknown.
    TimeoutError
        The deadline passed while candidates were filtered.
    PatternError
        The pattern has a directed edge and the graph is undirected.
    """
    # A string equals its enum member, but is another object, and the code below compares by `is`.
    options = PlanOptions(
        semantics=check_word("semantics", semantics, Semantics),
        symmetry=check_word("symmetry", symmetry, Symmetry),
        counting=counting,
        images=images,
        space=space,
        tail=tail,
        parts=parts,
        parts_cost=parts_cost,
        searchers=searchers,
        tables=tables,
        threads=threads,
        deadline=deadline,
        switches=resolve_tuning(tuning),
        beside=tuple(beside),
        count_choices=count_choices,
        copy_walks=copy_walks,
    )
    return plan_with(graph, pattern, options)


def plan_with(graph: Graph, pattern: Pattern, options: PlanOptions) -> Plan:
    """Return the plan that `make_plan` returns for these options; raises the same errors."""
    check_symmetry(options.semantics, options.symmetry, pattern)
    key = ("plan", pattern, options)

    def make() -> tuple[int, Plan]:
        return options.haste, _make_plan(graph, pattern, options)

    haste, plan = graph.memo.get(key, make)
    if haste > options.haste:
        graph.memo.drop(key)
        _, plan = graph.memo.get(key, make)
    return plan


def _make_plan(graph: Graph, pattern: Pattern, options: PlanOptions) -> Plan:
    bound = bind(pattern, graph, count_choices=options.count_choices)
    key = space = None
    if options.space and bound.comparisons is None:  # copies are found by vertices, not by positions
        key = space_key(bound, options.semantics, options.switches)
        space = None if key is None else candidate_space(graph, key, options.threads, options.deadline)
    if (why := why_empty(bound, space)) is not None:
        kept = None if space is None else key
        return replace(empty_plan(bound, options.semantics, options.symmetry, kept, why), asked=pattern)
    builder = PlanBuilder(graph, pattern, options, bound, key, space)
    if bound.comparisons is not None:
        plan = compared_plan(builder, bound.comparisons)
        return replace(plan, images=builder.images, asked=pattern)
    # The order does not depend on how the engine counts, so it is found once for all engines.
    plan, orders = graph.memo.get(
        ("ordered", pattern, space is not None, options.of_order()), lambda: _ordered_plan(builder)
    )
    plan = replace(plan, formula=_cheaper_formula(graph, bound, plan, options))
    if builder.parts and plan.formula is None:
        plan = builder.widened(cheaper_in_parts(builder, plan, orders))
    plan = replace(plan, adaptive_order=builder.adaptive_order(plan), images=builder.images, asked=pattern)
    if options.switches["room"] == "on":
        plan = replace(plan, all_different=all_different_bounds(plan.shape, plan.args, plan.classes or None))
    return plan


def _ordered_plan(builder: PlanBuilder) -> tuple[Plan, list[Order]]:
    """Return the plan that enumerates all levels but those of a flat tail, and other orders to try."""
    options, switch = builder.options, builder.options.switches["order"]
    if switch == "given":
        orders = [given_order(builder.bound, builder.model)]
    else:
        orders = promising_orders(builder.bound, builder.model, tails=builder.tails)
    plan = builder.plan(orders[0])
    if switch not in ("sampled", "adaptive") or not builder.cheap_to_sample:
        return plan, orders
    estimate = sample(builder.graph, plan, MANY_MEMBERS, options.threads)
    cost = estimate.in_whole(builder.graph.sketched, plan.order, builder.bound).cost
    if len(orders) > 1 and (options.beside or cost >= _NOT_WORTH_COMPARING):
        orders, cheap = _compared(builder, orders)
        plans = [plan if plan.order == order.vertices else builder.plan(order) for order in orders[:cheap]]
        chosen = max(
            plans, key=lambda plan: max((shared_levels(plan, other) for other in options.beside), default=0)
        )
        if chosen is not plan:
            plan, estimate = chosen, sample(builder.graph, chosen, MANY_MEMBERS, options.threads)
    return replace(plan, estimates=estimate.sizes, scanned=estimate.read), orders


def _compared(builder: PlanBuilder, orders: list[Order]) -> tuple[list[Order], int]:
    """Return the orders by cost, and the number of orders at the start that may be chosen.

    More than one may be chosen only if plans of one call may share a search.
    """
    options = builder.options
    sketches = [builder.sketch(order) for order in orders]
    costs = [builder.sampled(sketch, _FEW_MEMBERS).cost for sketch in sketches]
    by_cost = sorted(range(len(orders)), key=costs.__getitem__)
    most = costs[by_cost[0]] * (_ABOUT_AS_CHEAP if options.beside and builder.space is None else 1)
    return [orders[at] for at in by_cost], max(1, sum(cost < most for cost in costs))


def _cheaper_formula(graph: Graph, bound: BoundPattern, plan: Plan, options: PlanOptions) -> Formula | None:
    """Return a formula that is expected to take less time than the search; None if none is found."""
    speeds = options.tables
    if not options.counting or speeds is None or not has_formulas(bound, options.semantics):
        return None
    switch = options.switches["tables"]
    threads = speeds.shared(options.threads)
    search = expected_seconds(plan, threads, None)
    if switch == "off" or (switch == "auto" and (search is None or search < WORTH_A_FORMULA)):
        return None
    if (
        switch == "auto"
        and not bound.directed
        and all(len(near) == bound.size - 1 for near in bound.neighbors)
    ):
        return None  # a clique has no parts, so tables have the sets that the search makes, and wedges beside
    share, most = _LONGEST_PLANNING, inf
    if switch == "auto" and search is not None:
        share = max(_SHARE_OF_SEARCH * search, speeds.planning)
        most = speeds.margin * speeds.of_search(search, threads)
    formula = cheapest_formula(
        graph,
        bound,
        options.threads,
        options.semantics,
        seconds=min(
            share,
            options.planning_seconds(None if search is None else speeds.of_search(search, threads)),
            _LONGEST_PLANNING,
        ),
        most=most,
        speeds=speeds,
        tails=options.tail,
    )
    return formula if formula is not None and formula.seconds < most else None


def why_empty(pattern: BoundPattern, space: CandidateSpace | None) -> str | None:
    """Return the reason if there can be no embedding, else None."""
    return pattern.missing or (NO_CANDIDATES if space is not None and space.empty else None)


def empty_plan(
    pattern: BoundPattern, semantics: Semantics, symmetry: Symmetry, space: SpaceKey | None, why: str
) -> Plan:
    """Return a plan without steps, which is not searched.

    Making the steps would take most of the time of such a call.
    """
    return Plan(
        order=tuple(range(pattern.size)),
        shape=PlanShape(()),
        args=PlanArgs(()),
        semantics=semantics,
        symmetry=symmetry,
        multiplier=1,
        automorphisms=1,
        restrictions=(),
        estimates=(0.0,) * pattern.size,
        space=space,
        classes=() if space is None else tuple(range(pattern.size)),
        impossible=why,
    )
