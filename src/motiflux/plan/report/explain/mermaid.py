"""A report as a mermaid flowchart: a box per level, an arrow per source, and a frame around the tail.

A search in phases has a box per phase, in a row.

Names and labels may contain any character. So boxes are named by their level, and in quoted text, all
characters but letters, digits and a few safe ones are replaced by codes, which mermaid shows as the
characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from motiflux.plan.report.data import PhaseReport, PlanReport, StepReport
from motiflux.plan.report.explain import words
from motiflux.units import grouped

_UNSAFE = re.compile(r"[^\w .,:()+/=-]")
_BREAK = "<br/>"


def to_mermaid(report: PlanReport) -> str:
    """Return the report as a flowchart for mermaid (https://mermaid.js.org)."""
    lines = ["flowchart TD"]
    if report.impossible is not None:
        return "\n".join([*lines, f'  none["{_escaped(f"no match: {report.impossible}")}"]'])
    if report.phases:
        return "\n".join([*lines, *_phases(report.phases)])
    lines += [f"  {_box(step)}" for step in report.steps if not step.tail]
    if report.tail:
        lines.append('  subgraph tail["tail, counted in closed form"]')
        lines += [f"    {_box(step, _ways(report, step))}" for step in report.steps if step.tail]
        lines.append("  end")
    for step in report.steps:
        lines += [f"  {arrow}" for arrow in _arrows(step)]
    return "\n".join(lines)


def _phases(phases: Sequence[PhaseReport]) -> list[str]:
    """Return the boxes of phases, and an arrow from each to the next one."""
    boxes = []
    for phase in phases:
        lines = [f"{phase.number}: {phase.text}", f"estimated {words.size(phase.estimated)}"]
        if phase.actual is not None:
            lines.append(f"actual {grouped(phase.actual)}")
        boxes.append(f'  P{phase.number}["{_BREAK.join(map(_escaped, lines))}"]')
    return boxes + [f"  P{one.number} --> P{other.number}" for one, other in pairwise(phases)]


def _box(step: StepReport, ways: str = "") -> str:
    lines = [f"{step.level}: {step.vertex}"]
    if step.labels is not None:
        lines.append(f"labelled {words.label_names(step.labels)}")
    lines += step.conditions
    lines.append(f"estimated {words.size(step.estimated)}")
    if step.actual is not None:
        lines.append(f"actual {grouped(step.actual)}")
    if ways:
        lines.append(ways)
    return f'{_name(step.level)}["{_BREAK.join(map(_escaped, lines))}"]'


def _ways(report: PlanReport, step: StepReport) -> str:
    return next(words.tail_ways(one) for one in report.tail if step.level in one.levels)


def _arrows(step: StepReport) -> list[str]:
    here = _name(step.level)
    arrows = [] if step.reuse is None else [f'{_name(step.reuse)} -. "its set" .-> {here}']
    return arrows + [
        f'{_name(source.level)} -- "{_escaped(words.arcs(source))}" --> {here}' for source in step.sources
    ]


def _name(level: int) -> str:
    return f"L{level}"


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"#{ord(found[0])};", text)
