"""Draw docs/images/ring.svg: a pattern, and where motiflux finds it in a small network of transfers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from patterns import ring_pattern
from transfers import generate

import motiflux as mf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Point = NDArray[np.float64]

DEFAULT_PATH = Path(__file__).resolve().parents[1] / "docs" / "images" / "ring.svg"
WIDTH, HEIGHT = 900, 400
PANEL = 250
BACKGROUND, FRAME, TEXT = "#ffffff", "#d8dee6", "#334155"
OTHER, WIRE, FOUND = "#d5dbe3", "#7b8ba1", "#e4572e"
VERTEX = "#a9b6c6"

STYLE = f"""
  text {{ font: 15px system-ui, sans-serif; fill: {TEXT}; }}
  .small {{ font-size: 13px; }}
  .other {{ stroke: {OTHER}; stroke-width: 1.2; marker-end: url(#tip-other); }}
  .wire {{ stroke: {WIRE}; stroke-width: 1.4; marker-end: url(#tip-wire); }}
  .found {{ stroke: {FOUND}; stroke-width: 3; marker-end: url(#tip-found); }}
"""


def place(
    count: int, arcs: Iterable[tuple[int, int]], rounds: int = 300, seed: int = 3
) -> NDArray[np.float64]:
    """Spread vertices over the unit square: all push each other off, arcs and the middle pull."""
    rng = np.random.default_rng(seed)
    at = rng.random((count, 2))
    pulled = np.array(sorted(arcs))
    ideal = 0.9 / np.sqrt(count)
    for step in range(rounds):
        apart = at[:, None] - at[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 0.01)
        force = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1) - 0.35 * (at - 0.5)
        along = at[pulled[:, 1]] - at[pulled[:, 0]]
        pull = along * (np.linalg.norm(along, axis=1) / ideal * 0.25)[:, None]
        np.add.at(force, pulled[:, 0], pull)
        np.subtract.at(force, pulled[:, 1], pull)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        at += force / length * np.minimum(length, 0.1 * (1 - step / rounds))
    low, high = at.min(axis=0), at.max(axis=0)
    return np.asarray((at - low) / (high - low))


def arc(start: Point, end: Point, kind: str, radius: float) -> str:
    """Return an arrow between two circles, from rim to rim."""
    along = (end - start) / np.linalg.norm(end - start)
    (x1, y1), (x2, y2) = start + along * radius, end - along * (radius + 3)
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def circle(at: Point, radius: float, fill: str) -> str:
    """Return a disc."""
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{fill}"/>'


def text(x: float, y: float, words: str, size: str = "") -> str:
    """Return a centred line of text."""
    return f'<text class="{size}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{words}</text>'


def draw_pattern() -> list[str]:
    """Return the left panel: the ring of four wires."""
    middle, reach = np.array([PANEL / 2, 195.0]), 62.0
    corners = middle + reach * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
    outward = np.array([[0.0, -14], [17, 4], [0, 23], [-17, 4]])
    parts = [text(PANEL / 2, 40, "the pattern")]
    for position, name in enumerate("abcd"):
        start, end = corners[position], corners[(position + 1) % 4]
        parts.append(arc(start, end, "found", 17))
        label = (start + end) / 2 + outward[position]
        turned = f' transform="rotate(90 {label[0]:.0f} {label[1] - 4:.0f})"' if position % 2 else ""
        parts.append(text(label[0], label[1], "wire", "small").replace("<text", f"<text{turned}"))
        parts.append(circle(start, 17, FOUND))
        parts.append(text(start[0], start[1] + 5, name).replace("<text", '<text style="fill: #ffffff"'))
    return parts


def draw_network(seed: int = 14) -> list[str]:
    """Return the right panel: a small network with the matches in colour."""
    network = generate(84, accounts=50, rings=1, seed=seed)
    graph = mf.Graph.from_edges((network.payer, network.payee), directed=True, edge_labels=network.kind)
    matches = mf.match(graph, ring_pattern(), symmetry="subgraphs").to_numpy()
    names = sorted({*network.payer.tolist(), *network.payee.tolist()})
    number = {name: index for index, name in enumerate(names)}
    transfers = [
        (number[payer], number[payee], kind)
        for payer, payee, kind in zip(
            network.payer.tolist(), network.payee.tolist(), network.kind.tolist(), strict=True
        )
    ]
    found = {step for row in matches.tolist() for step in steps([number[name] for name in row])}

    unit = place(len(names), {(payer, payee) for payer, payee, _ in transfers})
    at = unit * [WIDTH - PANEL - 90, HEIGHT - 110] + [PANEL + 45, 70]
    parts = [text((PANEL + WIDTH) / 2, 40, "where it occurs among transfers by card, cash and wire")]
    for wanted in ("other", "wire", "found"):
        for payer, payee, kind in transfers:
            style = "found" if kind == "wire" and (payer, payee) in found else kind
            if style == wanted or (wanted == "other" and style in ("card", "cash")):
                parts.append(arc(at[payer], at[payee], wanted, 8 if style == "found" else 5))
    members = {vertex for step in found for vertex in step}
    parts += [
        circle(at[vertex], 8 if vertex in members else 5, FOUND if vertex in members else VERTEX)
        for vertex in range(len(names))
    ]
    return parts


def steps(ring: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ring's arcs."""
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


def picture() -> str:
    """Return the whole picture as SVG."""
    tips = "".join(
        f'<marker id="tip-{name}" viewBox="0 0 10 10" refX="7" refY="5" markerUnits="userSpaceOnUse" '
        f'markerWidth="{size}" markerHeight="{size}" orient="auto">'
        f'<path d="M0 1 L9 5 L0 9 z" fill="{color}"/></marker>'
        for name, size, color in (("other", 8, OTHER), ("wire", 9, WIRE), ("found", 13, FOUND))
    )
    body = "\n".join([*draw_pattern(), *draw_network()])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="A ring of four wire transfers, and where it occurs in a network">\n'
        f"<style>{STYLE}</style>\n<defs>{tips}</defs>\n"
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10" '
        f'fill="{BACKGROUND}" stroke="{FRAME}"/>\n'
        f'<line x1="{PANEL}" y1="20" x2="{PANEL}" y2="{HEIGHT - 20}" stroke="{FRAME}"/>\n'
        f"{body}\n</svg>\n"
    )


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_PATH
    path.write_text(picture(), encoding="utf-8")
    print(path)
