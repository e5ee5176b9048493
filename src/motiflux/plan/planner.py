"""Makes plans: calls the passes and comparisons in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from motiflux.arguments import check_word
from motiflux.config import resolve_tuning
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.bind import bind
from motiflux.plan.builder import PlanBuilder
from motiflux.plan.candidates.space import candidate_space, space_key
from motiflux.plan.choose_tables import cheaper_formula
from motiflux.plan.compare_orders import ordered_plan
from motiflux.plan.empty_plan import empty_plan, why_empty
from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.plan.options import PlanOptions
from motiflux.plan.passes.all_different import all_different_bounds
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.probe_parts import cheaper_in_parts
from motiflux.types import Semantics, Symmetry


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
        Partial embeddings that the engine needs to be busy: parts begin at a level with as many.
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
    semantics = check_word("semantics", semantics, Semantics)
    symmetry = check_word("symmetry", symmetry, Symmetry)
    check_symmetry(semantics, symmetry, pattern)
    options = PlanOptions(
        semantics=semantics,
        symmetry=symmetry,
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
    )
    key = ("plan", pattern, options)

    def make() -> tuple[int, Plan]:
        return options.haste, _make_plan(graph, pattern, options)

    haste, plan = graph.memo.get(key, make)
    if haste > options.haste:
        graph.memo.drop(key)
        _, plan = graph.memo.get(key, make)
    return plan


def _make_plan(graph: Graph, pattern: Pattern, options: PlanOptions) -> Plan:
    bound = bind(pattern, graph)
    key = space = None
    if options.space:
        key = space_key(bound, options.semantics, options.switches)
        space = None if key is None else candidate_space(graph, key, options.threads, options.deadline)
    if (why := why_empty(bound, space)) is not None:
        kept = None if space is None else key
        return replace(empty_plan(bound, options.semantics, options.symmetry, kept, why), asked=pattern)
    builder = PlanBuilder(graph, pattern, options, bound, key, space)
    # The order does not depend on how the engine counts, so it is found once for all engines.
    plan, orders = graph.memo.get(
        ("ordered", pattern, space is not None, options.of_order()), lambda: ordered_plan(builder)
    )
    plan = replace(plan, formula=cheaper_formula(graph, bound, plan, options))
    if builder.parts and plan.formula is None:
        plan = builder.widened(cheaper_in_parts(builder, plan, orders))
    plan = replace(plan, adaptive_order=builder.adaptive_order(plan), images=builder.images, asked=pattern)
    if options.switches["room"] == "on":
        plan = replace(plan, all_different=all_different_bounds(plan.shape, plan.args, plan.classes or None))
    return plan
