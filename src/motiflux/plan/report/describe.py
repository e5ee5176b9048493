"""Describes a plan: makes its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Literal

from motiflux.comparisons import Operand, Relation, Within
from motiflux.graph import AdjacencyKey, Direction, Graph, LabelTable
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.pattern.text import comparison_texts, condition_text, negated_edge_text, span_text
from motiflux.plan.bind import bind, bind_negated
from motiflux.plan.candidates.space import candidate_space, space_key
from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.describe import lines_of
from motiflux.plan.passes.symmetry import MOST_IMAGES, has_images
from motiflux.plan.phases.data import PhasePlan
from motiflux.plan.report.data import (
    EngineReport,
    GraphReport,
    GroupReport,
    PatternReport,
    PlanReport,
    SourceReport,
    SpaceReport,
    StepReport,
    TailReport,
    Ways,
)
from motiflux.plan.report.groups import find_groups
from motiflux.plan.report.phases import report_phases
from motiflux.plan.shape import TailComponent
from motiflux.types import Label

_NO_SPACE_ENGINE = "the engine searches rows of the graph"
_NO_SPACE_OFF = "switched off by candidates=off"
_NO_SPACE_MISSING = "the plan has no search"
_NO_SPACE_UNLABELLED = "the pattern has no labels or conditions that could filter candidates"
_NO_SPACE_COMPARED = "copies of edges are compared, which are found by vertices"
_NO_SPACE_ROOM = "it would take too much memory"


def describe(
    plan: Plan,
    graph: Graph,
    pattern: Pattern,
    engine: EngineReport,
    *,
    searches_space: bool,
    tuning: Mapping[str, str],
    threads: int,
    phases: PhasePlan | None = None,
) -> PlanReport:
    """Return the report on `plan` before a run, without predictions.

    Parameters
    ----------
    searches_space
        Whether the engine searches candidate spaces.
    tuning
        All switches of `motiflux.config`.
    threads
        Threads that filter candidates if the candidate space is no longer kept.
    phases
        The phases that search instead of the levels of the plan.
    """
    names = [vertex.name for vertex in pattern.vertices]
    space = _space(plan, graph, names, threads)
    return PlanReport(
        pattern=PatternReport(pattern.name, str(pattern), pattern.num_vertices, pattern.num_edges),
        graph=GraphReport(graph.num_vertices, graph.num_edges, graph.directed),
        semantics=plan.semantics.value,
        symmetry=plan.symmetry.value,
        engine=engine,
        automorphisms=_automorphisms(plan, graph, pattern),
        restrictions=tuple(
            (names[u], names[v]) for u, v in (plan if phases is None else phases).restrictions
        ),
        multiplier=plan.multiplier,
        images=_images(plan, graph, pattern, tuning),
        space=space,
        no_space=None if space else _why_no_space(plan, graph, pattern, tuning, searches_space),
        basis=None if plan.impossible else "samples" if plan.scanned else "frequencies",
        steps=() if plan.impossible or phases else tuple(_steps(plan, graph, pattern)),
        phases=() if phases is None else report_phases(phases, graph, pattern),
        groups=()
        if phases
        else tuple(
            GroupReport(tuple(names[plan.order[level]] for level in group.levels), group.one_set)
            for group in find_groups(plan)
        ),
        tail=()
        if plan.impossible or plan.tail is None
        else tuple(_tail(plan, plan.tail.components, names, remembered=plan.tail.kept)),
        impossible=plan.impossible,
        free_order=_free_order(plan, tuning),
        tables=() if plan.formula is None else lines_of(plan.formula),
        idle=bind_negated(pattern, graph).idle if pattern.negated else (),
        copies=plan.comparisons is not None and plan.comparisons.count_choices,
    )


def _automorphisms(plan: Plan, graph: Graph, pattern: Pattern) -> int:
    """Return the number of automorphisms; an empty plan does not contain it."""
    if plan.impossible is None:
        return plan.automorphisms
    return automorphisms(pattern, directed=graph.directed).order


def _images(plan: Plan, graph: Graph, pattern: Pattern, tuning: Mapping[str, str]) -> int:
    """Return the number of rows that each embedding found yields when embeddings are listed."""
    has_rows = (
        plan.impossible is None
        and tuning["images"] == "on"
        and has_images(plan.semantics, plan.symmetry, bind(pattern, graph).may_coincide)
    )
    return plan.automorphisms if has_rows and plan.automorphisms <= MOST_IMAGES else 1


def _free_order(
    plan: Plan, tuning: Mapping[str, str]
) -> Literal["always", "later", "copies", "pairs", "wedges"] | None:
    if plan.copy_walk is not None:
        if plan.copy_walk.wedges:
            return "wedges"
        return "pairs" if plan.copy_walk.order else "copies"
    if plan.adaptive_order is None:
        return None
    if plan.adaptive_order.always:
        return "always"
    return "later" if tuning["backjump"] == "auto" else None


def _space(plan: Plan, graph: Graph, names: list[str], threads: int) -> SpaceReport | None:
    space = None if plan.space is None else candidate_space(graph, plan.space, threads)
    if space is None:
        return None
    return SpaceReport(tuple(zip(names, space.sizes, strict=True)), space.nbytes, space.native.rounds)


def _why_no_space(
    plan: Plan, graph: Graph, pattern: Pattern, tuning: Mapping[str, str], searches_space: bool
) -> str:
    if not searches_space:
        return _NO_SPACE_ENGINE
    if pattern.comparisons:
        return _NO_SPACE_COMPARED
    if tuning["candidates"] == "off":
        return _NO_SPACE_OFF
    if plan.impossible is not None:
        return _NO_SPACE_MISSING
    if space_key(bind(pattern, graph), plan.semantics, tuning) is None:
        return _NO_SPACE_UNLABELLED
    return _NO_SPACE_ROOM


def _steps(plan: Plan, graph: Graph, pattern: Pattern) -> Iterable[StepReport]:
    names = [pattern.vertices[vertex].name for vertex in plan.order]
    tail = len(plan.order) if plan.tail is None else plan.tail.start
    for level, step in enumerate(plan.shape.steps):
        keys = plan.args.steps[level].adjacencies
        yield StepReport(
            level=level,
            vertex=names[level],
            sources=tuple(
                _source(key, source.level, names, graph)
                for source, key in zip(step.sources, keys, strict=True)
            ),
            reuse=step.reuse,
            labels=_labels(_codes(plan, level), graph.vertex_label_table),
            conditions=tuple(_conditions(plan, names, level, graph))
            + tuple(_vertex_conditions(plan, pattern, level))
            + tuple(_comparisons(plan, pattern, level)),
            tail=level >= tail,
            estimated=_finite(plan.estimates[level]),
            scanned=_finite(plan.scanned[level]) if plan.scanned else None,
        )


def _source(key: AdjacencyKey, level: int, names: list[str], graph: Graph) -> SourceReport:
    return SourceReport(
        level,
        names[level],
        key.direction.value if graph.directed else "neighbours",
        _labels(key.edge_labels, graph.edge_label_table),
        None if key.edge_where is None else condition_text(key.edge_where),
    )


def _codes(plan: Plan, level: int) -> tuple[int, ...] | None:
    """Return the label codes of the candidates of a level, from its step or a step that it reuses."""
    if level == 0:
        return plan.args.steps[1].adjacencies[0].source_labels
    reused = plan.shape.steps[level].reuse
    while not plan.args.steps[level].adjacencies and reused is not None:
        level, reused = reused, plan.shape.steps[reused].reuse
    return plan.args.steps[level].adjacencies[0].target_labels


def _labels(codes: tuple[int, ...] | None, table: LabelTable) -> tuple[Label, ...] | None:
    return None if codes is None else tuple(table.values[code] for code in codes)


def _conditions(plan: Plan, names: list[str], level: int, graph: Graph) -> Iterable[str]:
    step, bounds = plan.shape.steps[level], plan.args.steps[level]
    compared = [(step.after, ">"), (step.before, "<"), (step.distinct, "!=")]
    if not bounds.apart:
        compared += [
            (step.not_out, "no arc from" if graph.directed else "no edge to"),
            (step.not_in, "no arc to"),
        ]
    for levels, sign in compared:
        yield from (f"{sign} {names[other]}" for other in levels)
    for other, key in bounds.apart:
        yield f"{_no_arc(key, graph)} {names[other]}"
    if step.bounds_out:
        yield f"{'out-degree' if graph.directed else 'degree'} >= {bounds.min_out_degree}"
    if step.bounds_in:
        yield f"in-degree >= {bounds.min_in_degree}"


def _no_arc(key: AdjacencyKey, graph: Graph) -> str:
    """Return the arcs that must not be there, up to the name of the vertex that they come from."""
    source = _source(key, 0, [""], graph)
    inside = [] if source.edge_labels is None else ["|".join(map(str, source.edge_labels))]
    inside += [] if source.where is None else [f"where {source.where}"]
    listed = f"[{' '.join(inside)}]" if inside else ""
    if key.direction is Direction.EITHER:
        return f"no edge{listed} to"
    return f"no arc{listed} {'from' if key.direction is Direction.OUT else 'to'}"


def _vertex_conditions(plan: Plan, pattern: Pattern, level: int) -> Iterable[str]:
    """Yield the ids and the condition of the query vertex at a level."""
    vertex = pattern.vertices[plan.order[level]]
    if vertex.ids is not None:
        yield f"one of {len(vertex.ids):,} ids" if len(vertex.ids) > 1 else f"id {next(iter(vertex.ids))!r}"
    if vertex.where is not None:
        yield condition_text(vertex.where)
    for one in pattern.negated:
        if not one.is_pair and one.ends == (plan.order[level],):
            yield f"no {negated_edge_text(one, pattern)}"


def _comparisons(plan: Plan, pattern: Pattern, level: int) -> Iterable[str]:
    """Yield the comparisons that are judged first at a level, and the span over the edges matched so far."""
    level_of = {vertex: at for at, vertex in enumerate(plan.order)}

    def matched_at(operand: Operand) -> int:
        if not operand.is_edge:
            return level_of[operand.position]
        edge = pattern.edges[operand.position]
        return max(level_of[edge.source], level_of[edge.target])

    relations = [one for one in pattern.comparisons if isinstance(one, Relation)]
    for one, text in zip(relations, comparison_texts(pattern), strict=True):
        if max(matched_at(one.left), matched_at(one.right)) == level:
            yield text
    if level > 0:
        yield from (span_text(one) for one in pattern.comparisons if isinstance(one, Within))


def _tail(
    plan: Plan,
    components: tuple[TailComponent, ...],
    names: list[str],
    under: tuple[str, ...] = (),
    *,
    remembered: bool = False,
) -> Iterable[TailReport]:
    """Yield each component, followed by the components under it."""
    for component in components:
        levels = (*component.levels, *(level for one in component.lists for level in one.levels))
        vertices = tuple(names[plan.order[level]] for level in levels)
        yield TailReport(
            levels=levels,
            vertices=vertices,
            ways=_ways(component),
            sets=component.sets,
            divisor=component.divisor,
            under=under,
            remembered=remembered,
            lists=tuple(
                tuple(names[plan.order[level]] for level in one.listed[: one.separators])
                for one in component.lists
            ),
        )
        for one in component.lists:
            if one.child_block is not None:
                below = names[plan.order[one.levels[-1]]]
                yield from _tail(
                    plan, one.child_block.components, names, (*under, below), remembered=one.child_block.kept
                )
        for vertex, block in zip(vertices, component.child_blocks, strict=False):
            if block is not None:
                yield from _tail(plan, block.components, names, (*under, vertex), remembered=block.kept)


def _ways(component: TailComponent) -> Ways:
    if component.lists:
        return "lists"
    if len(component.levels) == 1:
        return "sum" if component.child_blocks else "product"
    if component.child_blocks:
        return "inclusion-exclusion"
    return "falling factorial" if len(set(component.sets)) == 1 else "inclusion-exclusion"


def _finite(number: float) -> float | None:
    """Return the number; None for infinity, which JSON cannot represent."""
    return number if isfinite(number) else None
