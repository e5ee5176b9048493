"""A picture taken apart: what is drawn, where, and whether all of it can be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from xml.etree import ElementTree as ET

from motiflux.draw.type import width_of

SVG = "{http://www.w3.org/2000/svg}"
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")
_MOVED = re.compile(r"translate\((\S+) (\S+)\)")
Box = tuple[float, float, float, float]


@dataclass
class Page:
    """What an SVG document holds, in the coordinates of its view box."""

    root: ET.Element
    nodes: list[Box] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)

    @property
    def view(self) -> Box:
        x, y, width, height = map(float, self.root.attrib["viewBox"].split())
        return x, y, x + width, y + height

    def named(self, node: int) -> str:
        """Return the first line of a node."""
        groups = [one for one in self.root.iter(f"{SVG}g") if one.get("data-node") == str(node)]
        return "".join(text.text or "" for text in groups[0].findall(f"{SVG}text")[:1])


def page_of(picture: str) -> Page:
    page = Page(ET.fromstring(picture))
    for element, across, down in _walk(page.root, 0.0, 0.0):
        kind = element.tag.removeprefix(SVG)
        if kind == "text":
            page.texts.append(element.text or "")
        if kind in ("rect", "path", "text"):
            left, top, right, bottom = _box(element, kind)
            page.boxes.append((left + across, top + down, right + across, bottom + down))
        if element.get("data-node") is not None:
            rect = element.find(f"{SVG}rect")
            assert rect is not None
            left, top, right, bottom = _box(rect, "rect")
            page.nodes.append((left + across, top + down, right + across, bottom + down))
        if element.get("data-link") is not None:
            page.links.append(element.attrib["data-link"])
        if element.get("data-label") is not None:
            page.labels.append(int(element.attrib["data-label"]))
    return page


def assert_all_in_view(page: Page) -> None:
    left, top, right, bottom = page.view
    slack = 0.2  # coordinates are rounded
    for box in page.boxes:
        assert box[0] >= left - slack, box
        assert box[1] >= top - slack, box
        assert box[2] <= right + slack, box
        assert box[3] <= bottom + slack, box


def overlaps(boxes: list[Box]) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, a in enumerate(boxes)
        for j, b in enumerate(boxes[:i])
        if min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])
    ]


def _walk(element: ET.Element, across: float, down: float) -> Iterator[tuple[ET.Element, float, float]]:
    moved = _MOVED.fullmatch(element.get("transform", ""))
    if moved is not None:
        across, down = across + float(moved[1]), down + float(moved[2])
    yield element, across, down
    for inner in element:
        yield from _walk(inner, across, down)


def _box(element: ET.Element, kind: str) -> Box:
    at = element.attrib
    if kind == "rect":
        x, y = float(at["x"]), float(at["y"])
        return x, y, x + float(at["width"]), y + float(at["height"])
    if kind == "text":
        size, x, y = float(at["font-size"]), float(at["x"]), float(at["y"])
        width = width_of(element.text or "", size)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[at.get("text-anchor", "start")]
        return left, y - 0.8 * size, left + width, y + 0.25 * size
    points = _sampled(at["d"])
    across, down = [x for x, _ in points], [y for _, y in points]
    return min(across), min(down), max(across), max(down)


def _sampled(steps: str) -> list[tuple[float, float]]:
    """Return points along a path of the commands that motiflux writes."""
    points: list[tuple[float, float]] = []
    for command, rest in re.findall(r"([MLQCHVz])([^MLQCHVz]*)", steps):
        numbers = list(map(float, _NUMBERS.findall(rest)))
        if command in "HV":
            x, y = points[-1]
            points.append((numbers[0], y) if command == "H" else (x, numbers[0]))
        else:
            ends = list(zip(numbers[::2], numbers[1::2], strict=True))
            points += ends if command in "MLz" else _bezier([points[-1], *ends])
    return points


def _bezier(control: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found = []
    for step in range(21):
        points = control
        while len(points) > 1:
            points = [
                tuple((1 - step / 20) * a + step / 20 * b for a, b in zip(first, second, strict=True))  # type: ignore[misc]
                for first, second in pairwise(points)
            ]
        found.append(points[0])
    return found
