"""Draws the results of ``motiflux bench streaming``: waits by the rate of updates, a line for each way.

``python benchmarks/suite/streaming_parts/chart.py RESULTS.json [-o CHART.svg] [--figure answer_p99_us]
[--way "ring" ...]``
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

WIDTH, HEIGHT, MARGIN, LEGEND = 460, 320, 60, 190
COLOURS = (
    "#1b6ca8", "#d1495b", "#2e933c", "#8e44ad", "#e08e0b", "#16a3a3", "#555555",
    "#b56576", "#7f9c3b", "#3d5a80", "#c77dff", "#9c6644", "#118ab2",
)  # fmt: skip
Points = list[tuple[float, float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw a file of results."""
    parser = argparse.ArgumentParser(description="Draw waits by the rate of updates.")
    parser.add_argument("results", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=None)
    parser.add_argument("--figure", default="answer_p99_us")
    parser.add_argument("--way", action="append", help="one of the ways that are drawn; default: all")
    given = parser.parse_args(arguments)
    curves = curves_of(json.loads(given.results.read_text())["cases"], given.figure, given.way)
    output = given.output or given.results.with_suffix(".svg")
    output.write_text(drawn(curves, given.figure), encoding="utf-8")
    print(output)
    return 0


def curves_of(
    cases: Sequence[Mapping[str, object]], figure: str, ways: Sequence[str] | None = None
) -> dict[str, dict[str, Points]]:
    """Return points (rate, figure) by load and way, of some ways or all."""
    found: dict[str, dict[str, Points]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        load, _, rest = str(case["case"]).partition(", rate ")
        rate, _, way = rest.partition(", ")
        figures = case.get("figures")
        if ways and way not in ways:
            continue
        if rest and isinstance(figures, dict) and figures.get(figure):
            found[load][way].append((float(rate), float(figures[figure])))
    return found


def drawn(curves: Mapping[str, Mapping[str, Points]], figure: str) -> str:
    """Return a picture with a chart for each load, both axes logarithmic."""
    ways = list(dict.fromkeys(way for lines in curves.values() for way in lines))
    colour_of = {way: COLOURS[number % len(COLOURS)] for number, way in enumerate(ways)}
    height = len(curves) * (HEIGHT + 20)
    named = f'role="img" aria-label="{figure} by the rate of updates: {", ".join(curves)}"'
    size = f'width="{WIDTH + LEGEND}" height="{height}" {named}'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, (load, lines) in enumerate(curves.items()):
        parts += [f'<g transform="translate(0,{number * (HEIGHT + 20)})">']
        parts += [*_chart(load, lines, figure, colour_of), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _short(number: float) -> str:
    """Return a number in thousands or millions."""
    if number >= 1e6:
        return f"{number / 1e6:g}M"
    return f"{number / 1e3:g}k" if number >= 1e3 else f"{number:g}"


def _chart(load: str, lines: Mapping[str, Points], figure: str, colour_of: Mapping[str, str]) -> list[str]:
    points = [point for line in lines.values() for point in line]
    first, last = (bound(math.log10(x) for x, _ in points) for bound in (min, max))
    low = math.floor(min(math.log10(y) for _, y in points))
    high = max(low + 1, math.ceil(max(math.log10(y) for _, y in points)))

    def at_x(value: float) -> float:
        return MARGIN + (math.log10(value) - first) / max(last - first, 1e-9) * (WIDTH - 2 * MARGIN)

    def at_y(value: float) -> float:
        return HEIGHT - 40 - (math.log10(value) - low) / (high - low) * (HEIGHT - 70)

    parts = [f'<text x="{MARGIN}" y="18" font-weight="bold">{load}: {figure} by updates a second</text>']
    for exponent in range(low, high + 1):
        y = at_y(10.0**exponent)
        parts.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'
        )
        parts.append(
            f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(10.0**exponent)}</text>'
        )
    for rate in sorted({x for x, _ in points}):
        parts.append(
            f'<text x="{at_x(rate):.1f}" y="{HEIGHT - 22}" text-anchor="middle">{_short(rate)}</text>'
        )
    for number, (way, line) in enumerate(lines.items()):
        colour, y = colour_of[way], 30 + 16 * number
        path = " ".join(f"{at_x(x):.1f},{at_y(value):.1f}" for x, value in sorted(line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(f'<line x1="{WIDTH - 40}" x2="{WIDTH - 20}" y1="{y}" y2="{y}" stroke="{colour}"/>')
        parts.append(f'<text x="{WIDTH - 14}" y="{y + 4}">{way}</text>')
    return parts


if __name__ == "__main__":
    raise SystemExit(main())
