"""A report as a picture: levels or phases from the top down, lines from sources to levels, bars of sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from motiflux.draw import Panel, Picture
from motiflux.draw.type import cut
from motiflux.draw.xml import number
from motiflux.plan.report.data import PhaseReport, PlanReport, StepReport
from motiflux.plan.report.explain import words
from motiflux.units import grouped

_WIDTH, _ROW, _SPINE = 860.0, 58.0, 120.0
_TEXT_LEFT, _BARS_LEFT, _BARS = 214.0, 560.0, 210.0
_NAME, _MOST_BEND, _BEND = 72.0, 96.0, 22.0
_FACTS = ("graph", "engine", "symmetry", "predicted", "actual")
_SMALL, _FONT, _LARGE = 11.5, 13.0, 16.0
_LEAST_BAR = 3.0
_PHASE_LEFT = 60.0
_PHASE_TEXT = _BARS_LEFT - _PHASE_LEFT - 18


def to_picture(report: PlanReport) -> Picture:
    """Return the report as a picture; the length of a bar is the logarithm of the size plus 1."""
    named = f"Plan of {report.pattern.name or 'a pattern'}"
    panel = Panel()
    down = _head(panel, report, named)
    if report.impossible is not None:
        panel.text(
            0, down + 16, cut(f"no match: {report.impossible}", _WIDTH, _FONT), anchor="start", size=_FONT
        )
        panel.reach(_WIDTH, down + 24)
        return Picture(panel, named, f"no match: {report.impossible}")
    _columns(panel, down, report)
    down += 22
    if report.phases:
        return _phases(panel, report, named, down)
    _lines(panel, report.steps, down)
    most = _most(report.steps)
    for step in report.steps:
        _row(panel, step, down + _ROW * step.level, most)
    down += _ROW * len(report.steps)
    _tail(panel, report, down)
    order = ", ".join(step.vertex for step in report.steps)
    return Picture(panel, named, f"matching order {order}; {report.pattern.text}")


def _phases(panel: Panel, report: PlanReport, named: str, down: float) -> Picture:
    """Draw a row for each phase, and return the picture."""
    most = _most(report.phases)
    for phase in report.phases:
        row, top = Panel(), down + _ROW * (phase.number - 1)
        middle = top + _ROW / 2
        row.text(0, middle + 5, str(phase.number), anchor="start", role="dim", size=_FONT)
        matched = ", ".join(phase.vertices) or "removes embeddings"
        row.text(_PHASE_LEFT, middle - 4, cut(matched, _PHASE_TEXT, _FONT), anchor="start", size=_FONT)
        row.text(
            _PHASE_LEFT,
            middle + 14,
            cut(phase.text, _PHASE_TEXT, _SMALL),
            anchor="start",
            role="dim",
            size=_SMALL,
        )
        _bars(row, phase, middle, most)
        panel.group(row, {"data-phase": phase.number}, f"phase {phase.number}: {phase.text}")
    panel.reach(_WIDTH, down + _ROW * len(report.phases))
    order = ", ".join(vertex for phase in report.phases for vertex in phase.vertices)
    return Picture(panel, named, f"phases in the matching order {order}; {report.pattern.text}")


def _head(panel: Panel, report: PlanReport, named: str) -> float:
    """Draw the facts about the whole search; return the position below them."""
    panel.text(0, _LARGE, cut(named, _WIDTH, _LARGE), anchor="start", size=_LARGE, bold=True)
    panel.reach(_WIDTH, _LARGE)
    panel.text(0, 37, cut(report.pattern.text, _WIDTH, _FONT), anchor="start", role="dim", size=_FONT)
    down = 62.0
    for heading, text in words.facts(report):
        if heading in _FACTS:
            panel.text(0, down, heading, anchor="start", role="dim", size=_FONT)
            panel.text(78, down, cut(text, _WIDTH - 78, _FONT), anchor="start", size=_FONT)
            down += 19
    return down + 12


def _columns(panel: Panel, down: float, report: PlanReport) -> None:
    headings = ((0.0, "level"), (_TEXT_LEFT, "candidates and conditions"))
    if report.phases:
        headings = ((0.0, "phase"), (_PHASE_LEFT, "query vertices and partitions"))
    for x, heading in headings:
        panel.text(x, down, heading, anchor="start", role="dim", size=_SMALL)
    panel.box(_BARS_LEFT, down - 8, 10, 8, "estimated", radius=2)
    panel.text(_BARS_LEFT + 15, down, "estimated", anchor="start", role="dim", size=_SMALL)
    if report.actual is not None:
        panel.box(_BARS_LEFT + 90, down - 8, 10, 8, "actual", radius=2)
        panel.text(
            _BARS_LEFT + 105, down, "actual partial embeddings", anchor="start", role="dim", size=_SMALL
        )
    panel.path(f"M0 {number(down + 8)}H{number(_WIDTH)}", [(0, down + 8), (_WIDTH, down + 8)], "rule")


def _lines(panel: Panel, steps: Sequence[StepReport], down: float) -> None:
    """Draw a line from each level to the levels that read its neighbours or reuse its set."""
    for step in steps:
        for source in step.sources:
            _arc(panel, source.level, step.level, down, "line")
        if step.reuse is not None:
            _arc(panel, step.reuse, step.level, down, "frame")


def _arc(panel: Panel, first: int, last: int, down: float, role: str) -> None:
    start, end = down + _ROW * (first + 0.5), down + _ROW * (last + 0.5)
    if last == first + 1:
        steps = f"M{number(_SPINE)} {number(start)}V{number(end)}"
        panel.path(steps, [(_SPINE, start), (_SPINE, end)], role)
        return
    left = _SPINE - _NAME / 2 - min(_MOST_BEND, _BEND * (last - first))
    edge = _SPINE - _NAME / 2 + 4
    bent = f"M{number(edge)} {number(start + 6)}C{number(left)} {number(start + 20)}"
    bent += f" {number(left)} {number(end - 20)} {number(edge)} {number(end - 6)}"
    panel.path(bent, [(edge, start), (left + (edge - left) / 4, start), (edge, end)], role)


def _row(panel: Panel, step: StepReport, top: float, most: float) -> None:
    row, middle = Panel(), top + _ROW / 2
    row.text(0, middle + 5, str(step.level), anchor="start", role="dim", size=_FONT)
    shown = cut(step.vertex, _NAME - 18, _FONT)
    style = "node-open" if step.labels is None else "node-0"
    row.box(_SPINE - _NAME / 2, middle - 15, _NAME, 30, style, radius=15)
    row.text(
        _SPINE, middle + 4.5, shown, role="ink" if step.labels is None else "white", size=_FONT, bold=True
    )
    most_text = _BARS_LEFT - _TEXT_LEFT - 18
    conditions = ", ".join(step.conditions)
    up = 4.0 if conditions else -4.5
    row.text(
        _TEXT_LEFT, middle - up, cut(words.candidates(step), most_text, _FONT), anchor="start", size=_FONT
    )
    row.text(
        _TEXT_LEFT, middle + 14, cut(conditions, most_text, _SMALL), anchor="start", role="dim", size=_SMALL
    )
    _bars(row, step, middle, most)
    where = f"level {step.level}: {step.vertex}, {words.candidates(step)}"
    panel.group(row, {"data-level": step.level}, f"{where}; {conditions}" if conditions else where)


def _bars(row: Panel, sized: StepReport | PhaseReport, middle: float, most: float) -> None:
    """Draw the bars of the sizes of a level or phase."""
    bars = [("estimated", sized.estimated, words.size(sized.estimated))]
    if sized.actual is not None:
        bars.append(("actual", float(sized.actual), grouped(sized.actual)))
    height = 13.0
    down = middle - height * len(bars) / 2
    for role, size, text in bars:
        if size is not None:
            length = max(_LEAST_BAR, _BARS * _logarithm(size) / max(_logarithm(most), 1e-9))
            row.box(_BARS_LEFT, down + 1, length, height - 3, role, radius=2)
            row.text(_BARS_LEFT + length + 7, down + 10, text, anchor="start", size=_SMALL)
        down += height


def _tail(panel: Panel, report: PlanReport, down: float) -> None:
    """Draw a frame around the levels of the tail, and write how they are counted."""
    if not report.tail:
        return
    levels = [step.level for step in report.steps if step.tail]
    top = down - _ROW * (len(report.steps) - min(levels)) + 4
    panel.box(_TEXT_LEFT - 148, top, _WIDTH - _TEXT_LEFT + 148, down - top - 4, "frame", radius=8)
    panel.text(
        0, down + 16, "The tail is counted in closed form, as the product of", anchor="start", size=_FONT
    )
    for row, component in enumerate(report.tail):
        line = cut(words.tail(component), _WIDTH - 16, _FONT)
        panel.text(16, down + 35 + 18 * row, line, anchor="start", role="dim", size=_FONT)


def _most(sized: Sequence[StepReport] | Sequence[PhaseReport]) -> float:
    """Return the largest size of all levels or phases, at least 1."""
    sizes = [size for one in sized for size in (one.estimated, one.actual) if size is not None]
    return max([1.0, *map(float, sizes)])


def _logarithm(size: float) -> float:
    return math.log10(1 + max(0.0, size))
