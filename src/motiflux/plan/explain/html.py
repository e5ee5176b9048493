"""A plan as HTML: two tables, no scripts, everything that users named escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from motiflux.plan.explain import words
from motiflux.plan.report import PlanReport, StepReport
from motiflux.units import grouped

_LEFT = ' style="text-align: left"'
_RIGHT = ' style="text-align: right"'


def to_html(report: PlanReport) -> str:
    """Return the report as a piece of a page, as notebooks show it."""
    facts = [("text", report.pattern.text), *words.facts(report)]
    if report.impossible is not None:
        facts.append(("result", f"none: {report.impossible}"))
    parts = [_facts(facts)]
    if report.steps:
        parts.append(_steps(report))
    if report.tail:
        items = "".join(f"<li>{escape(words.tail(component))}</li>" for component in report.tail)
        parts.append(f"<p>The tail is counted in closed form, as the product of</p><ul>{items}</ul>")
    return '<div class="motiflux-plan">\n' + "\n".join(parts) + "\n</div>"


def to_document(report: PlanReport) -> str:
    """Return the report as a page of its own."""
    title = escape(f"Plan of {report.pattern.name or 'a pattern'}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n{to_html(report)}\n</body>\n</html>\n"
    )


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = (
        f"<tr><th{_LEFT}>{escape(heading)}</th><td{_LEFT}>{escape(text)}</td></tr>" for heading, text in facts
    )
    return "<table>\n" + "\n".join(rows) + "\n</table>"


def _steps(report: PlanReport) -> str:
    columns = ["level", "vertex", "candidates", "conditions", "estimated", "scanned"]
    ran = report.actual is not None
    columns += ["actual"] if ran else []
    head = "".join(f"<th>{column}</th>" for column in columns)
    rows = "\n".join(_row(step, ran=ran) for step in report.steps)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _row(step: StepReport, *, ran: bool) -> str:
    level = f"{step.level} tail" if step.tail else str(step.level)
    texts = [level, step.vertex, words.candidates(step), ", ".join(step.conditions)]
    numbers = [words.size(step.estimated), words.size(step.scanned)]
    if ran:
        numbers.append("-" if step.actual is None else grouped(step.actual))
    return f"<tr>{_cells(texts, _LEFT)}{_cells(numbers, _RIGHT)}</tr>"


def _cells(texts: Sequence[str], style: str) -> str:
    return "".join(f"<td{style}>{escape(text)}</td>" for text in texts)
