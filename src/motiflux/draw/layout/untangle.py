"""The flaws of a layout: crossings, lines over points, points too close; and how to reduce them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.draw.layout.families import Pairs, Points, circle
from motiflux.draw.layout.stress import stress_of

NEAR, CLOSE = 0.17, 0.33
"""A line is over a point, and two points are too close, below these shares of the usual length of a line."""
_MOST_CYCLES = 12


class Flaws(NamedTuple):
    """How often lines cross, lines run over points, and points lie too close; then the stress."""

    crossings: int
    covered: int
    close: int
    stress: float

    @property
    def tangles(self) -> int:
        """How many places there are where a line cannot be followed."""
        return self.crossings + self.covered

    @property
    def cost(self) -> float:
        """One number that measures the flaws."""
        return 2.0 * self.crossings + 2.0 * self.covered + 1.0 * self.close + 3.0 * self.stress


class Judge:
    """Judges layouts of one graph."""

    def __init__(self, count: int, pairs: Pairs, apart: NDArray[np.float64]) -> None:
        self.lines = np.array(sorted({(min(pair), max(pair)) for pair in pairs}), dtype=np.int64).reshape(
            -1, 2
        )
        self.apart = apart
        first, second = np.triu_indices(len(self.lines), 1)
        ends = self.lines[first][:, :, None] == self.lines[second][:, None, :]
        free = ~ends.any(axis=(1, 2))
        self._first, self._second = first[free], second[free]
        points, lines = np.meshgrid(np.arange(count), np.arange(len(self.lines)), indexing="ij")
        other = (self.lines[lines] != points[..., None]).all(axis=2)
        self._points, self._over = points[other], lines[other]
        self._pairs = np.triu_indices(count, 1)
        both = np.vstack([self.lines, self.lines[:, ::-1]])
        self.beside = [np.sort(both[both[:, 0] == point, 1]) for point in range(count)]

    def usual(self, at: Points) -> float:
        """Return the usual length of a line."""
        lengths = np.linalg.norm(at[self.lines[:, 0]] - at[self.lines[:, 1]], axis=1)
        return max(float(np.median(lengths)) if len(lengths) else 1.0, 1e-6)

    def flaws(self, at: Points) -> Flaws:
        """Return the flaws of a layout."""
        start, end = at[self.lines[:, 0]], at[self.lines[:, 1]]
        usual = self.usual(at)
        apart = np.linalg.norm(at[self._pairs[0]] - at[self._pairs[1]], axis=1)
        return Flaws(
            int(_cross(start, end, self._first, self._second)),
            int(
                (distance_to_lines(at[self._points], start[self._over], end[self._over]) < NEAR * usual).sum()
            ),
            int((apart < CLOSE * usual).sum()),
            stress_of(at / usual, self.apart),
        )

    def improve(self, at: Points, tries: int, seed: int = 1) -> Points:
        """Return a layout that is no worse: points are moved one by one, and stay where it is better."""
        random = np.random.default_rng(seed)
        at, best = at.copy(), self.flaws(at).cost
        usual = self.usual(at)
        for step in range(tries):
            moved = at.copy()
            reach = usual * (1.2 * (1 - step / tries) + 0.05)
            moved[random.integers(len(at))] += random.standard_normal(2) * reach
            cost = self.flaws(moved).cost
            if cost < best:
                at, best = moved, cost
        return at


def barycentric(count: int, neighbors: list[list[int]]) -> list[Points]:
    """Return layouts with a cycle outside and all others in the middle of their neighbours (Tutte 1963)."""
    found = []
    for cycle in _cycles(neighbors):
        outside = set(cycle)
        inside = [point for point in range(count) if point not in outside]
        at = np.zeros((count, 2))
        at[cycle] = circle(range(len(cycle))) * (1 + len(inside) / 4)
        if inside:
            place = {point: row for row, point in enumerate(inside)}
            matrix, right = np.zeros((len(inside), len(inside))), np.zeros((len(inside), 2))
            for point, row in place.items():
                matrix[row, row] = len(neighbors[point])
                for one in neighbors[point]:
                    if one in place:
                        matrix[row, place[one]] -= 1
                    else:
                        right[row] += at[one]
            at[inside] = np.linalg.lstsq(matrix, right, rcond=None)[0]
        found.append(at)
    return found


def _cycles(neighbors: list[list[int]]) -> list[list[int]]:
    """Return a shortest cycle through each line, each once, long ones first."""
    found: dict[frozenset[int], list[int]] = {}
    for u, beside in enumerate(neighbors):
        for v in beside:
            cycle = _way(neighbors, u, v) if u < v else None
            if cycle is not None:
                found.setdefault(frozenset(cycle), cycle)
    return sorted(found.values(), key=lambda cycle: (-len(cycle), cycle))[:_MOST_CYCLES]


def _way(neighbors: list[list[int]], start: int, end: int) -> list[int] | None:
    """Return a shortest way between the ends of a line that does not take it."""
    before, waiting = {start: start}, deque([start])
    while waiting:
        point = waiting.popleft()
        for one in neighbors[point]:
            if one not in before and (point, one) != (start, end):
                before[one] = point
                waiting.append(one)
    if end not in before:
        return None
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way


def _cross(start: Points, end: Points, first: NDArray[np.int64], second: NDArray[np.int64]) -> np.int64 | int:
    """Return how many of the pairs of lines cross."""
    if not len(first):
        return 0
    a, b, c, d = start[first], end[first], start[second], end[second]
    apart = (sides(a, b, c) != sides(a, b, d)) & (sides(c, d, a) != sides(c, d, b))
    return np.count_nonzero(apart)


def sides(start: Points, end: Points, points: Points) -> NDArray[np.bool_]:
    """Return on which side of lines points lie, for arrays [..., 2] of them."""
    along, to = end - start, points - start
    return np.asarray(along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0] > 0)


def distance_to_lines(points: Points, start: Points, end: Points) -> NDArray[np.float64]:
    """Return how far points are from lines, for arrays [..., 2] of them."""
    along = end - start
    share = ((points - start) * along).sum(axis=-1) / np.maximum((along**2).sum(axis=-1), 1e-12)
    nearest = start + np.clip(share, 0, 1)[..., None] * along
    return np.asarray(np.linalg.norm(points - nearest, axis=-1))
