"""Sequences the passes; decides nothing itself."""

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
from motiflux.plan.choose_tables import WORTH_A_FORMULA, formula_for
from motiflux.plan.compare_orders import ordered_plan
from motiflux.plan.empty_plan import plan_of_nothing, why_nothing
from motiflux.plan.estimate.predict import expected_seconds
from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.plan.options import PlanOptions
from motiflux.plan.passes.all_different import room_needed
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.probe_parts import WORTH_PARTS, in_parts
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
    """Return the plan that finds `pattern` in `graph`, remembered with the graph.

    Parameters
    ----------
    semantics, symmetry
        A word of `motiflux.types.Semantics` and of `Symmetry`, or its text.
    counting
        Only the number is wanted: embeddings may then be counted as subgraphs times the order of the
        automorphism group (not where query vertices may share a data vertex: under homomorphism, or if the
        pattern says so; there an automorphism may leave a map as it is).
    images
        Whether the images of an embedding that is enumerated are handed out: one of them is then to be found,
        where there are not too many.
    space
        Whether the engine can search a candidate space.
    tail
        Whether the engine can count a tail in closed form.
    parts
        Whether the engine can count a tail that is a tree of parts, and is to count all of them.
    parts_cost
        How many times as much as probes on the CPU say parts take on the engine, beside other ways to count.
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
        Subgraphs where query vertices may share a data vertex, or an unknown switch or word.
    TimeoutError
        The deadline passed while candidates were filtered.
    PatternError
        The pattern asks for directions in an undirected graph.
    """
    # Texts are equal to the words, also as keys, but not the same objects, which is what is asked below.
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


def is_search_enough(plan: Plan, switches: Mapping[str, str]) -> bool:
    """Return whether a search is expected to take so little that neither parts nor tables are looked for."""
    if "on" in (switches["tables"], switches["parts"]):
        return False
    seconds = expected_seconds(plan, 1, None)
    return seconds is not None and seconds < min(WORTH_A_FORMULA, WORTH_PARTS)


def _make_plan(graph: Graph, pattern: Pattern, options: PlanOptions) -> Plan:
    bound = bind(pattern, graph)
    key = space = None
    if options.space:
        key = space_key(bound, options.semantics, options.switches)
        space = None if key is None else candidate_space(graph, key, options.threads, options.deadline)
    if (why := why_nothing(bound, space)) is not None:
        kept = None if space is None else key
        return replace(plan_of_nothing(bound, options.semantics, options.symmetry, kept, why), asked=pattern)
    drafter = PlanBuilder(graph, pattern, options, bound, key, space)
    # Engines that count in other ways search in the same order: it is looked for once.
    plan, orders = graph.memo.get(
        ("ordered", pattern, space is not None, options.of_order()), lambda: ordered_plan(drafter)
    )
    plan = replace(plan, formula=formula_for(graph, bound, plan, options))
    if drafter.parts and plan.formula is None:
        plan = drafter.widened(in_parts(drafter, plan, orders))
    plan = replace(plan, free=drafter.free(plan), images=drafter.images, asked=pattern)
    if options.switches["room"] == "on":
        plan = replace(plan, room=room_needed(plan.shape, plan.args, plan.classes or None))
    return plan
