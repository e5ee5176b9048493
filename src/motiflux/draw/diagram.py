"""Nodes and links as a panel: boxes with their lines of text, bent lines, arrowheads and labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.draw.layout import place
from motiflux.draw.panel import Panel
from motiflux.draw.shape import TIP_LENGTH, Curve, Outline, meets, tip_of
from motiflux.draw.type import cut, width_of
from motiflux.draw.xml import number
from motiflux.errors import ArgumentError

MAX_NODES = 64
"""Most nodes of a diagram."""

NAME_SIZE, LINE_SIZE, LABEL_SIZE = 14.0, 11.5, 12.0
_MOST_NAME, _MOST_LINE, _MOST_LABEL = 130.0, 150.0, 150.0
_LEAST, _PAD, _LEADING = 36.0, 11.0, 1.3
_GAP, _APART, _SHORTEST = 2.0, 30.0, 46.0
_LONG_LANES = 2.2
"""How long lines side by side are at least, as a multiple of how far the outer ones are apart."""
_BENDS = (0.0, 30.0, -30.0, 55.0, -55.0, 85.0, -85.0)
_SPOTS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73)
_SHARES = np.linspace(0.0, 1.0, 33)


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Parameters
    ----------
    name
        Its first line; without one it is a dot.
    lines
        Smaller lines below.
    style
        ``open``, ``faint``, or a number of a colour from `slots_for`.
    title
        Text that a viewer shows under the pointer; default: all of its text.
    dashed
        Whether its rim is.
    """

    name: str = ""
    lines: tuple[str, ...] = ()
    style: str | int = "open"
    title: str = ""
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two nodes, given by position.

    Parameters
    ----------
    source, target
        Its ends.
    label
        Its text, in lines.
    arrow
        Whether it has a head at its target.
    style
        ``line``, ``faint`` or ``found``.
    title
        Text that a viewer shows under the pointer; default: its label.
    """

    source: int
    target: int
    label: tuple[str, ...] = ()
    arrow: bool = False
    style: str = "line"
    title: str = ""


def diagram(
    nodes: Sequence[Node],
    links: Sequence[Link],
    *,
    at: NDArray[np.float64] | None = None,
    scale: float = 1.0,
) -> Panel:
    """Return the panel of nodes and links.

    Parameters
    ----------
    at
        Relative positions of nodes, float64 [nodes, 2], y downwards; default: the result of `place`.
    scale
        Least length and distance of lines without labels, as a multiple of the default.

    Raises
    ------
    ArgumentError
        More nodes than `MAX_NODES`.

    Examples
    --------
    >>> panel = diagram([Node("a"), Node("b")], [Link(0, 1, ("wire",), arrow=True)])
    >>> panel.width > panel.height
    True
    """
    if len(nodes) > MAX_NODES:
        raise ArgumentError("nodes", f"at most {MAX_NODES} to draw", len(nodes))
    if at is None:
        pairs = [(link.source, link.target) for link in links]
        at = place(len(nodes), pairs, arcs=bool(links) and all(link.arrow for link in links))
    boxes = [_outline(node) for node in nodes]
    labels = [[cut(line, _MOST_LABEL, LABEL_SIZE) for line in link.label if line] for link in links]
    at = _sized(at, boxes, links, labels, scale)
    curves = _curves(at, boxes, links, labels, scale)
    panel = Panel()
    order = sorted(range(len(links)), key=lambda index: ("faint", "line", "found").index(links[index].style))
    for index in order:
        _draw_link(panel, links[index], curves[index])
    for position, (node, box) in enumerate(zip(nodes, boxes, strict=True)):
        _draw_node(panel, position, node, box, at[position])
    _draw_labels(panel, at, boxes, curves, labels)
    return panel


def _outline(node: Node) -> Outline:
    if not node.name and not node.lines:
        return Outline(12.0, 12.0, 6.0)
    name, lines = _texts(node)
    height = NAME_SIZE * _LEADING + LINE_SIZE * _LEADING * len(lines) + (14.0 if lines else 12.0)
    width = max([width_of(name, NAME_SIZE) * 1.06, *(width_of(line, LINE_SIZE) for line in lines)])
    if not lines:
        size = max(_LEAST, height)
        return Outline(max(size, width + 2 * _PAD), size, size / 2)
    return Outline(max(_LEAST + 12, width + 2 * _PAD), height, 12.0)


def _texts(node: Node) -> tuple[str, list[str]]:
    return cut(node.name, _MOST_NAME, NAME_SIZE), [cut(line, _MOST_LINE, LINE_SIZE) for line in node.lines]


def _label_size(lines: Sequence[str]) -> tuple[float, float]:
    """Return width and height of a label with the margin around it."""
    width = max((width_of(line, LABEL_SIZE) for line in lines), default=0.0)
    return width + 8, len(lines) * LABEL_SIZE * _LEADING + 3


def _together(links: Sequence[Link]) -> dict[tuple[int, int], list[int]]:
    """Return the links between each two nodes."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, link in enumerate(links):
        found[min(link.source, link.target), max(link.source, link.target)].append(index)
    return found


def _lane(labels: Sequence[Sequence[str]], along: NDArray[np.float64], scale: float) -> float:
    """Return how far lines between two nodes are apart, so that their labels lie side by side."""
    across = np.maximum(np.abs(along[::-1]) / max(float(np.linalg.norm(along)), 1e-6), 1e-6)
    rooms = [
        float((np.array(_label_size(lines)) / across).min()) if lines else 12.0 * scale for lines in labels
    ]
    return 6.0 * scale + max(rooms)


def _sized(
    at: NDArray[np.float64],
    boxes: Sequence[Outline],
    links: Sequence[Link],
    labels: Sequence[Sequence[str]],
    scale: float,
) -> NDArray[np.float64]:
    """Return the points in pixels: boxes do not overlap, and every label fits on its line."""
    if len(at) < 2:
        return at * 0.0
    sizes = np.array([(box.width, box.height) for box in boxes])
    broad = float(np.clip(np.median(sizes[:, 0] / sizes[:, 1]) ** 0.5, 1.0, 1.5))
    stretched = at * ([broad, 1.0] if np.ptp(at[:, 1]) > 1e-6 else [1.0, 1.0])
    first, second = np.triu_indices(len(at), 1)
    offsets = np.abs(stretched[first] - stretched[second])
    wanted = (sizes[first] + sizes[second]) / 2 + _APART * min(1.0, scale)
    factor = float((wanted / np.maximum(offsets, 1e-6)).min(axis=1).max())
    for link, lines in zip(links, labels, strict=True):
        along = stretched[link.target] - stretched[link.source]
        length = max(float(np.linalg.norm(along)), 1e-6)
        along = np.maximum(np.abs(along) / length, 1e-6)
        needed = _SHORTEST * scale + (TIP_LENGTH if link.arrow else 0.0)
        if lines:
            needed = max(needed, float((np.array(_label_size(lines)) / along).min()) + 2 * TIP_LENGTH + 12)
        ends = sizes[[link.source, link.target]] / 2
        factor = max(factor, (needed + float((ends / along).min(axis=1).sum())) / length)
    for (low, high), group in _together(links).items():
        along = stretched[high] - stretched[low]
        needed = _LONG_LANES * (len(group) - 1) * _lane([labels[index] for index in group], along, scale)
        factor = max(factor, needed / max(float(np.linalg.norm(along)), 1e-6))
    return np.asarray(stretched * factor)


def _curves(
    at: NDArray[np.float64],
    boxes: Sequence[Outline],
    links: Sequence[Link],
    labels: Sequence[Sequence[str]],
    scale: float,
) -> list[Curve | None]:
    """Return the visible part of each line: parallel lines side by side, around other nodes if possible."""
    found: list[Curve | None] = [None] * len(links)
    sizes = np.array([(box.width, box.height) for box in boxes])
    room = 5 * scale
    around = np.hstack([at - sizes / 2 - room, at + sizes / 2 + room])
    for (low, high), group in _together(links).items():
        others = np.delete(around, [low, high], axis=0)
        step = _lane([labels[index] for index in group], at[high] - at[low], scale)
        lanes = (np.arange(len(group)) - (len(group) - 1) / 2) * step
        tried = [Curve.bent(at[low], at[high], scale * bend) for bend in _BENDS]
        hits = [meets(curve.at(_SHARES), others) for curve in tried]
        aside = scale * _BENDS[int(np.argmin(hits))]
        for lane, index in zip(lanes, group, strict=True):
            link = links[index]
            sign = 1 if link.source == low else -1  # lanes are counted from the lower number to the higher
            curve = Curve.bent(at[link.source], at[link.target], sign * (aside + float(lane)))
            found[index] = curve.between(boxes[link.source], boxes[link.target], _GAP)
    return found


def _draw_link(panel: Panel, link: Link, curve: Curve | None) -> None:
    inner = Panel()
    if curve is not None:
        shaft = curve.shortened(TIP_LENGTH - 1) if link.arrow else curve
        points = [tuple(map(float, point)) for point in (shaft.start, shaft.middle, shaft.end)]
        start, middle, end = (f"{number(x)} {number(y)}" for x, y in points)
        inner.path(f"M{start}Q{middle} {end}", [(x, y) for x, y in points], link.style)
        if link.arrow:
            corners = [(float(x), float(y)) for x, y in tip_of(curve)]
            steps = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + "z"
            inner.path(steps, corners, f"{link.style}-tip")
    attributes = {"data-link": f"{link.source} {link.target}"}
    panel.group(inner, attributes, link.title or ", ".join(link.label))


def _draw_node(panel: Panel, position: int, node: Node, box: Outline, at: NDArray[np.float64]) -> None:
    inner, (x, y) = Panel(), map(float, at)
    role = f"node-{node.style}"
    inner.box(
        x - box.width / 2,
        y - box.height / 2,
        box.width,
        box.height,
        role,
        radius=box.radius,
        dashed=node.dashed,
    )
    ink = {"open": "ink", "faint": "dim"}.get(str(node.style), "white")
    name, lines = _texts(node)
    heights = [NAME_SIZE * _LEADING, *[LINE_SIZE * _LEADING] * len(lines)]
    down = y - sum(heights) / 2
    for row, (line, height) in enumerate(zip([name, *lines], heights, strict=True)):
        size = LINE_SIZE if row else NAME_SIZE
        inner.text(x, down + height / 2 + 0.35 * size, line, role=ink, size=size, bold=not row)
        down += height
    panel.group(inner, {"data-node": position}, node.title or ", ".join([node.name, *node.lines]))


def _draw_labels(
    panel: Panel,
    at: NDArray[np.float64],
    boxes: Sequence[Outline],
    curves: Sequence[Curve | None],
    labels: Sequence[Sequence[str]],
) -> None:
    """Put each label where on its line it hides least."""
    sizes = np.array([(box.width, box.height) for box in boxes])
    taken = np.hstack([at - sizes / 2, at + sizes / 2])
    ways = [None if curve is None else curve.at(_SHARES) for curve in curves]
    for index, (curve, lines) in enumerate(zip(curves, labels, strict=True)):
        if curve is None or not lines:
            continue
        half = np.array(_label_size(lines)) / 2
        others = [way for place, way in enumerate(ways) if place != index and way is not None]
        spots = [curve.at(share) for share in _SPOTS]
        spot = min(spots, key=lambda spot: _hidden(spot, half, taken, others))
        taken = np.vstack([taken, [*(spot - half), *(spot + half)]])
        (x, y), (width, height) = map(float, spot), map(float, 2 * half)
        inner = Panel()
        inner.box(x - width / 2, y - height / 2, width, height, "plate", radius=5)
        for row, line in enumerate(lines):
            middle = y - height / 2 + 1.5 + (row + 0.5) * LABEL_SIZE * _LEADING
            inner.text(x, middle + 0.35 * LABEL_SIZE, line, role="dim" if row else "ink", size=LABEL_SIZE)
        panel.group(inner, {"data-label": index})


def _hidden(
    spot: NDArray[np.float64],
    half: NDArray[np.float64],
    taken: NDArray[np.float64],
    others: Sequence[NDArray[np.float64]],
) -> float:
    """Return how much a label would hide: boxes by their area, lines by their points."""
    low = np.maximum(spot - half, taken[:, :2])
    high = np.minimum(spot + half, taken[:, 2:])
    area = float(np.maximum(high - low, 0).prod(axis=1).sum())
    box = np.array([[*(spot - half), *(spot + half)]])
    return area + 15.0 * sum(meets(way, box) for way in others)
