"""A report as text: a line per fact, then a table with a line per level or phase."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.plan.report.data import PlanReport, StepReport
from motiflux.plan.report.explain import words
from motiflux.units import grouped

_HEADING = 10
_BREAKS = str.maketrans({"\n": r"\n", "\r": r"\r", "\t": r"\t"})
"""Characters of names that would break lines and columns."""


def to_text(report: PlanReport) -> str:
    """Return the report as text.

    The columns ``estimated`` and, after a run, ``actual`` are numbers of partial embeddings up to each level,
    or after each phase.
    """
    lines = [(heading.ljust(_HEADING) + text).translate(_BREAKS) for heading, text in words.facts(report)]
    if report.impossible is not None:
        return "\n".join([*lines, f"{'result'.ljust(_HEADING)}none: {report.impossible}"])
    lines += ["", *(_phases(report) if report.phases else _table(report))]
    if report.tail:
        lines += ["", "The tail is counted in closed form, as the product of"]
        lines += [f"  {words.tail(component)}".translate(_BREAKS) for component in report.tail]
    if report.terms:
        lines += ["", words.TERMS]
        lines += [f"  {words.term(one)}".translate(_BREAKS) for one in report.terms]
    if report.tables:
        lines += ["", words.TABLES]
        lines += [f"  {line}" for line in report.tables]
    return "\n".join(lines)


def _table(report: PlanReport) -> list[str]:
    columns = ["level", "vertex", "candidates", "conditions", "estimated"]
    ran = report.actual is not None
    rows = [columns + (["actual"] if ran else [])]
    rows += [_row(step, ran=ran) for step in report.steps]
    return _aligned(rows)


def _phases(report: PlanReport) -> list[str]:
    """Return a line for each phase; its text is last, as it is long."""
    ran = report.actual is not None
    rows = [["phase", "estimated", *(["actual"] if ran else []), "what it does"]]
    for phase in report.phases:
        sizes = [words.size(phase.estimated)]
        if ran:
            sizes.append("-" if phase.actual is None else grouped(phase.actual))
        rows.append([str(phase.number), *sizes, phase.text.translate(_BREAKS)])
    return _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _row(step: StepReport, *, ran: bool) -> list[str]:
    row = [
        f"{step.level} tail" if step.tail else str(step.level),
        step.vertex,
        words.candidates(step),
        ", ".join(step.conditions),
        words.size(step.estimated),
    ]
    if ran:
        row.append("-" if step.actual is None else grouped(step.actual))
    return [cell.translate(_BREAKS) for cell in row]
