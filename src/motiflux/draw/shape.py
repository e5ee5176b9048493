"""Nodes and the lines between them as geometry: outlines, bent lines, and where one ends at the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Point = NDArray[np.float64]
_STEPS = np.linspace(0.0, 1.0, 65)
_TIP_LENGTH, _TIP_HALF = 10.0, 4.2


@dataclass(frozen=True, slots=True)
class Outline:
    """A rectangle with round corners, its middle at (0, 0); a circle, if they are round enough."""

    width: float
    height: float
    radius: float

    def outside(self, points: Point) -> NDArray[np.float64]:
        """Return how far points [n, 2] are from the outline, less than 0 within it."""
        corner = np.abs(points) - [self.width / 2 - self.radius, self.height / 2 - self.radius]
        rounded = np.linalg.norm(np.maximum(corner, 0), axis=-1)
        return np.asarray(rounded + np.minimum(corner.max(axis=-1), 0) - self.radius)


@dataclass(frozen=True, slots=True)
class Curve:
    """A quadratic curve; a straight line, if its middle is on it."""

    start: Point
    middle: Point
    end: Point

    @classmethod
    def bent(cls, start: Point, end: Point, bend: float) -> Curve:
        """Return the curve that passes `bend` to the left of the middle between its ends (y downwards)."""
        along = end - start
        across = np.array([along[1], -along[0]]) / max(float(np.linalg.norm(along)), 1e-9)
        return cls(start, (start + end) / 2 + 2 * bend * across, end)

    def at(self, share: float | NDArray[np.float64]) -> Point:
        """Return the points at shares of the way."""
        t = np.asarray(share)[..., None]
        return np.asarray((1 - t) ** 2 * self.start + 2 * t * (1 - t) * self.middle + t**2 * self.end)

    def part(self, first: float, last: float) -> Curve:
        """Return the part between two shares of the way."""
        middle = (
            (1 - first) * (1 - last) * self.start
            + (first * (1 - last) + last * (1 - first)) * self.middle
            + first * last * self.end
        )
        return Curve(self.at(first), np.asarray(middle), self.at(last))

    def between(self, start: Outline, end: Outline, gap: float) -> Curve | None:
        """Return the part outside both outlines around its ends; None if nothing is left."""
        points = self.at(_STEPS)
        begins = np.flatnonzero(start.outside(points - self.start) <= gap)
        ends = np.flatnonzero(end.outside(points - self.end) <= gap)
        if not len(begins) or not len(ends) or begins[-1] + 1 >= ends[0]:
            return None
        first = self._rim(start, self.start, gap, _STEPS[begins[-1]], _STEPS[begins[-1] + 1])
        last = self._rim(end, self.end, gap, _STEPS[ends[0]], _STEPS[ends[0] - 1])
        return self.part(first, last)

    def _rim(self, outline: Outline, middle: Point, gap: float, inner: float, outer: float) -> float:
        """Return the share of the way at which the curve is `gap` off an outline, by bisection."""
        for _ in range(14):
            half = (inner + outer) / 2
            if float(outline.outside(self.at(half) - middle)) <= gap:
                inner = half
            else:
                outer = half
        return outer

    def shortened(self, length: float) -> Curve:
        """Return the curve without the last `length` of it."""
        points = self.at(_STEPS)
        left = np.linalg.norm(points - self.end, axis=1) >= length
        last = int(np.flatnonzero(left)[-1]) if left.any() else 0
        return self.part(0.0, float(_STEPS[max(last, 1)]))


def tip_of(curve: Curve) -> NDArray[np.float64]:
    """Return the three corners of the arrowhead at the end of a curve."""
    along = curve.end - curve.at(0.9)
    along = along / max(float(np.linalg.norm(along)), 1e-9)
    across = np.array([-along[1], along[0]])
    back = curve.end - _TIP_LENGTH * along
    return np.array([curve.end, back + _TIP_HALF * across, back - _TIP_HALF * across])


def meets(points: Point, boxes: Point) -> int:
    """Return how many of points [n, 2] lie in any of boxes [k, 4] (left, top, right, bottom)."""
    if not len(boxes) or not len(points):
        return 0
    x, y = points[:, None, 0], points[:, None, 1]
    inside = (x > boxes[:, 0]) & (x < boxes[:, 2]) & (y > boxes[:, 1]) & (y < boxes[:, 3])
    return int(inside.any(axis=1).sum())


TIP_LENGTH = _TIP_LENGTH
