"""A plan as text."""

from __future__ import annotations

from collections.abc import Iterable

from motiflux.graph import AdjacencyKey, Graph, LabelTable
from motiflux.pattern import Pattern
from motiflux.plan.ir import Plan

_MOST_LABELS = 4


def explain_text(plan: Plan, graph: Graph, pattern: Pattern, engine: str, reason: str) -> str:
    """Return the plan as text, one line per level."""
    names = [vertex.name for vertex in pattern.vertices]
    lines = [
        f"pattern   {pattern.name or 'unnamed'}: {pattern.num_vertices} vertices, {pattern.num_edges} edges",
        f"graph     {graph!r}",
        f"search    {plan.semantics.value}, {plan.symmetry.value}",
        f"engine    {engine}: {reason}",
        f"symmetry  {_symmetry(plan, names)}",
    ]
    if plan.impossible is not None:
        return "\n".join([*lines, f"result    none: {plan.impossible}"])
    rows = [("level", "vertex", "candidates", "conditions", "expected")]
    rows += [_row(plan, graph, pattern, level) for level in range(len(plan.order))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([*lines, "", *table])


def _symmetry(plan: Plan, names: list[str]) -> str:
    text = f"{plan.automorphisms:,} automorphism{'s' if plan.automorphisms != 1 else ''}"
    if plan.restrictions:
        text += "; one image of each embedding: " + ", ".join(
            f"{names[u]} < {names[v]}" for u, v in plan.restrictions
        )
    if plan.multiplier > 1:
        text += f"; the count is multiplied by {plan.multiplier:,}"
    return text


def _row(plan: Plan, graph: Graph, pattern: Pattern, level: int) -> tuple[str, str, str, str, str]:
    names = [pattern.vertices[vertex].name for vertex in plan.order]
    return (
        str(level),
        names[level],
        _candidates(plan, graph, names, level),
        _conditions(plan, names, level, directed=graph.directed),
        f"{plan.estimates[level]:.3g}",
    )


def _candidates(plan: Plan, graph: Graph, names: list[str], level: int) -> str:
    if level == 0:
        labels = plan.args.steps[1].adjacencies[0].source_labels
        return f"vertices{_labels(labels, graph.vertex_label_table)}"
    step = plan.shape.steps[level]
    parts = [] if step.reuse is None else [f"set of level {step.reuse}"]
    keys = plan.args.steps[level].adjacencies
    parts += [
        f"{_arcs(key, graph)}({names[source.level]})" for source, key in zip(step.sources, keys, strict=True)
    ]
    return " & ".join(parts) + _labels(_target_labels(plan, level), graph.vertex_label_table)


def _target_labels(plan: Plan, level: int) -> tuple[int, ...] | None:
    reused = plan.shape.steps[level].reuse
    while not plan.args.steps[level].adjacencies and reused is not None:
        level, reused = reused, plan.shape.steps[reused].reuse
    return plan.args.steps[level].adjacencies[0].target_labels


def _arcs(key: AdjacencyKey, graph: Graph) -> str:
    word = "neighbours" if not graph.directed else key.direction.value
    return word + ("" if key.edge_labels is None else f"[{_names(key.edge_labels, graph.edge_label_table)}]")


def _labels(codes: tuple[int, ...] | None, table: LabelTable) -> str:
    return "" if codes is None else f" labelled {_names(codes, table)}"


def _names(codes: tuple[int, ...], table: LabelTable) -> str:
    shown = "|".join(str(table.values[code]) for code in codes[:_MOST_LABELS])
    return shown + (f"|... ({len(codes)})" if len(codes) > _MOST_LABELS else "")


def _conditions(plan: Plan, names: list[str], level: int, *, directed: bool) -> str:
    step, bounds = plan.shape.steps[level], plan.args.steps[level]

    def listed(levels: Iterable[int], sign: str) -> list[str]:
        return [f"{sign} {names[other]}" for other in levels]

    conditions = [
        *listed(step.after, ">"),
        *listed(step.before, "<"),
        *listed(step.distinct, "!="),
        *listed(step.not_out, "no arc from"),
        *listed(step.not_in, "no arc to"),
    ]
    if step.bounds_out:
        conditions.append(f"{'out-degree' if directed else 'degree'} >= {bounds.min_out_degree}")
    if step.bounds_in:
        conditions.append(f"in-degree >= {bounds.min_in_degree}")
    return ", ".join(conditions)
