"""A panel: shapes in a plane of their own, with their bounding box."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from motiflux.draw.style import paint
from motiflux.draw.type import width_of
from motiflux.draw.xml import element, number, words

_ASCENT, _DESCENT = 0.95, 0.3
"""How far a line of text reaches above and below its base line, in sizes of the font."""


@dataclass
class Panel:
    """Shapes, and the box around them.

    Examples
    --------
    >>> panel = Panel()
    >>> panel.box(0, 0, 40, 20, "node-0", radius=10)
    >>> panel.text(20, 14, "a", role="white")
    >>> panel.width, panel.height
    (40.0, 20.0)
    """

    shapes: list[str] = field(default_factory=list)
    roles: set[str] = field(default_factory=set)
    left: float = math.inf
    top: float = math.inf
    right: float = -math.inf
    bottom: float = -math.inf

    @property
    def width(self) -> float:
        """How wide it is."""
        return float(max(0.0, self.right - self.left))

    @property
    def height(self) -> float:
        """How high it is."""
        return float(max(0.0, self.bottom - self.top))

    def reach(self, x: float, y: float, around: float = 0.0) -> None:
        """Extend the panel to a point, with a margin `around` it."""
        self.left, self.right = min(self.left, x - around), max(self.right, x + around)
        self.top, self.bottom = min(self.top, y - around), max(self.bottom, y + around)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        role: str,
        *,
        radius: float = 0.0,
        dashed: bool = False,
    ) -> None:
        """Add a rectangle, its corner at (x, y)."""
        self.reach(x, y)
        self.reach(x + width, y + height)
        where = {"x": float(x), "y": float(y), "width": float(width), "height": float(height)}
        rounded = {"rx": float(radius)} if radius else {}
        dashes = {"stroke-dasharray": "4 3"} if dashed else {}
        self._add(element("rect", where | rounded | self._paint(role) | dashes))

    def text(
        self,
        x: float,
        y: float,
        line: str,
        *,
        role: str = "ink",
        size: float = 14.0,
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """Add a line of text whose base line is at `y`."""
        if not line:
            return
        width = width_of(line, size)
        start = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        self.reach(start, y - _ASCENT * size)
        self.reach(start + width, y + _DESCENT * size)
        how: dict[str, object] = {"x": float(x), "y": float(y), "font-size": float(size)}
        how |= {} if anchor == "start" else {"text-anchor": anchor}
        how |= {"font-weight": "600"} if bold else {}
        self._add(element("text", how | self._paint(role), words(line)))

    def path(self, steps: str, points: Sequence[tuple[float, float]], role: str) -> None:
        """Add a path; the bounding box of `points` contains all of it."""
        for x, y in points:
            self.reach(x, y, 1.0)
        self._add(element("path", {"d": steps} | self._paint(role)))

    def group(self, inside: Panel, attributes: Mapping[str, object], title: str = "") -> None:
        """Add another panel's shapes in place, as one group that viewers call `title`."""
        told = [element("title", {}, words(title))] if title else []
        self._add(element("g", attributes, *told, *inside.shapes))
        self._take(inside, 0.0, 0.0)

    def put(self, other: Panel, x: float, y: float) -> None:
        """Add another panel, its upper left corner at (x, y)."""
        if not other.shapes:
            return
        across, down = x - other.left, y - other.top
        moved = {"transform": f"translate({number(across)} {number(down)})"}
        self._add(element("g", moved, "\n", *(f"{shape}\n" for shape in other.shapes)))
        self._take(other, across, down)

    def _take(self, other: Panel, across: float, down: float) -> None:
        self.roles |= other.roles
        if other.shapes:
            self.reach(other.left + across, other.top + down)
            self.reach(other.right + across, other.bottom + down)

    def _paint(self, role: str) -> dict[str, object]:
        self.roles.add(role)
        return paint(role)

    def _add(self, shape: str) -> None:
        self.shapes.append(shape)


def grid(panels: Sequence[Panel], *, columns: int | None = None, gap: float = 36.0) -> Panel:
    """Return panels side by side, in rows of at most `columns`, each in the middle of its cell."""
    columns = columns or max(1, math.ceil(math.sqrt(len(panels))))
    whole, down = Panel(), 0.0
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    widths = [max(row[column].width for row in rows if column < len(row)) for column in range(len(rows[0]))]
    for row in rows:
        height, across = max(panel.height for panel in row), 0.0
        for panel, width in zip(row, widths, strict=False):
            whole.put(panel, across + (width - panel.width) / 2, down + (height - panel.height) / 2)
            across += width + gap
        down += height + gap
    return whole


def titled(panel: Panel, title: str, *, size: float = 15.0) -> Panel:
    """Return the panel below a line that names it."""
    if not title:
        return panel
    whole = Panel()
    width = max(panel.width, width_of(title, size))
    whole.text(width / 2, size, title, size=size, bold=True)
    whole.put(panel, (width - panel.width) / 2, size * 2.0)
    return whole
