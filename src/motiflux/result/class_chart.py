"""Charts of numbers of small graphs: each graph as a diagram, its name, a bar and a number."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin

from motiflux.draw import Panel
from motiflux.plan.census import CensusClass

_ROW, _DRAWN = 46.0, 17.0
_NAME, _BARS, _WIDTH = 46.0, 190.0, 240.0
_DOT = 3.6


def class_chart(
    classes: Sequence[CensusClass],
    values: Sequence[float],
    texts: Sequence[str],
    *,
    directed: bool,
    title: str,
) -> Panel:
    """Return a panel with a row for each class.

    Parameters
    ----------
    values
        The lengths of the bars; negative ones go to the left of the axis, in another colour.
    texts
        What is written behind the bars.
    """
    panel = Panel()
    panel.text(0, 0, title, anchor="start", size=14, bold=True)
    least, most = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    scale = _WIDTH / max(most - least, 1e-12)
    axis = _BARS - least * scale
    for at, (one, value, text) in enumerate(zip(classes, values, texts, strict=True)):
        middle = 18.0 + _ROW * (at + 0.5)
        _draw(panel, one, _DRAWN + 2, middle, directed=directed)
        panel.text(_NAME, middle + 5, one.name, anchor="start", size=13)
        left, width = axis + min(value, 0.0) * scale, max(abs(value) * scale, 1.0)
        panel.box(left, middle - 9, width, 18, "actual" if value >= 0 else "node-0", radius=2)
        panel.text(_BARS + _WIDTH + 10, middle + 5, text, anchor="start", size=13)
    bottom = 18.0 + _ROW * len(classes)
    panel.path(f"M{axis:.1f} 18V{bottom:.1f}", [(axis, 18.0), (axis, bottom)], "line")
    return panel


def _draw(panel: Panel, one: CensusClass, x: float, y: float, *, directed: bool) -> None:
    size = 1 + max((max(arc) for arc in one.arcs), default=2)
    start = -pi / 2 if size == 3 else -pi / 4
    turns = [start + 2 * pi * at / size for at in range(size)]
    places = [(x + 0.85 * _DRAWN * cos(turn), y + 0.85 * _DRAWN * sin(turn)) for turn in turns]
    for u, v in one.arcs:
        if u > v and (v, u) in one.arcs:
            continue
        (a, b), (c, d) = places[u], places[v]
        panel.path(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}", [places[u], places[v]], "line")
        if directed:
            _tip(panel, places[u], places[v])
            if (v, u) in one.arcs:
                _tip(panel, places[v], places[u])
    for a, b in places:
        panel.box(a - _DOT, b - _DOT, 2 * _DOT, 2 * _DOT, "node-0", radius=_DOT)


def _tip(panel: Panel, start: tuple[float, float], end: tuple[float, float]) -> None:
    across, down = end[0] - start[0], end[1] - start[1]
    length = (across**2 + down**2) ** 0.5
    across, down = across / length, down / length
    x, y = end[0] - across * _DOT, end[1] - down * _DOT
    corners = [
        (x, y),
        (x - 7 * across + 3 * down, y - 7 * down - 3 * across),
        (x - 7 * across - 3 * down, y - 7 * down + 3 * across),
    ]
    steps = "L".join(f"{a:.1f} {b:.1f}" for a, b in corners)
    panel.path(f"M{steps}Z", corners, "line-tip")
