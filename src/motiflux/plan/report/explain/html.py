"""A report as HTML: a picture and two tables, without scripts, with all names escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from motiflux.draw.page import LEFT, RIGHT, facts_table
from motiflux.plan.report.data import PlanReport, StepReport
from motiflux.plan.report.explain import words
from motiflux.plan.report.explain.svg import to_picture
from motiflux.units import grouped


def to_html(report: PlanReport) -> str:
    """Return the report as part of a page, for notebooks: the picture, and tables that can be opened."""
    return (
        f'<div class="motiflux-plan">\n{to_picture(report)}\n'
        f"<details><summary>as tables</summary>\n{_tables(report)}\n</details>\n</div>"
    )


def _tables(report: PlanReport) -> str:
    facts = [("text", report.pattern.text), *words.facts(report)]
    if report.impossible is not None:
        facts.append(("result", f"none: {report.impossible}"))
    parts = [facts_table(facts)]
    if report.steps:
        parts.append(_steps(report))
    if report.phases:
        parts.append(_phases(report))
    if report.tail:
        items = "".join(f"<li>{escape(words.tail(component))}</li>" for component in report.tail)
        parts.append(f"<p>The tail is counted in closed form, as the product of</p><ul>{items}</ul>")
    if report.terms:
        items = "".join(f"<li>{escape(words.term(one))}</li>" for one in report.terms)
        parts.append(f"<p>{words.TERMS}</p><ul>{items}</ul>")
    if report.tables:
        items = "".join(f"<li>{escape(line)}</li>" for line in report.tables)
        parts.append(f"<p>{words.TABLES}</p><ul>{items}</ul>")
    return "\n".join(parts)


def to_document(report: PlanReport) -> str:
    """Return the report as a complete page."""
    title = escape(f"Plan of {report.pattern.name or 'a pattern'}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n{to_html(report)}\n</body>\n</html>\n"
    )


def _steps(report: PlanReport) -> str:
    columns = ["level", "vertex", "candidates", "conditions", "estimated", "scanned"]
    ran = report.actual is not None
    columns += ["actual"] if ran else []
    return _table(columns, [_row(step, ran=ran) for step in report.steps])


def _phases(report: PlanReport) -> str:
    ran = report.actual is not None
    rows = []
    for phase in report.phases:
        numbers = [words.size(phase.estimated)]
        if ran:
            numbers.append("-" if phase.actual is None else grouped(phase.actual))
        texts = [str(phase.number), phase.text]
        rows.append(f"<tr>{_cells(texts, LEFT)}{_cells(numbers, RIGHT)}</tr>")
    return _table(["phase", "what it does", "estimated", *(["actual"] if ran else [])], rows)


def _table(columns: Sequence[str], rows: Sequence[str]) -> str:
    head, body = "".join(f"<th>{column}</th>" for column in columns), "\n".join(rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _row(step: StepReport, *, ran: bool) -> str:
    level = f"{step.level} tail" if step.tail else str(step.level)
    texts = [level, step.vertex, words.candidates(step), ", ".join(step.conditions)]
    numbers = [words.size(step.estimated), words.size(step.scanned)]
    if ran:
        numbers.append("-" if step.actual is None else grouped(step.actual))
    return f"<tr>{_cells(texts, LEFT)}{_cells(numbers, RIGHT)}</tr>"


def _cells(texts: Sequence[str], style: str) -> str:
    return "".join(f"<td{style}>{escape(text)}</td>" for text in texts)
