"""Layouts of graphs that have a shape of their own: paths, rings, stars, trees, complete and layered ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Pairs = Sequence[tuple[int, int]]

_LONGEST_ROW = 7
_SWEEPS = 8


def neighbors_of(count: int, pairs: Pairs) -> list[list[int]]:
    """Return the neighbours of each point, ascending."""
    found: list[set[int]] = [set() for _ in range(count)]
    for u, v in pairs:
        found[u].add(v)
        found[v].add(u)
    return [sorted(one) for one in found]


def circle(order: Sequence[int]) -> Points:
    """Return points around a circle, clockwise, sides of length 1; an even number has a flat top."""
    count = len(order)
    first = -90.0 - (180.0 / count if count % 2 == 0 else 0.0)
    angles = np.radians(first + 360.0 / count * np.arange(count))
    at = np.empty((count, 2))
    at[list(order)] = np.column_stack([np.cos(angles), np.sin(angles)]) / (2 * np.sin(np.pi / count))
    return at


def path(order: Sequence[int]) -> Points:
    """Return points in a row; a long one turns back and forth."""
    rows = -(-len(order) // _LONGEST_ROW)
    length = -(-len(order) // rows)
    at = np.empty((len(order), 2))
    for place, point in enumerate(order):
        row, column = divmod(place, length)
        at[point] = (column if row % 2 == 0 else length - 1 - column, row)
    return at


def star(hub: int, leaves: Sequence[int]) -> Points:
    """Return a hub with its leaves around it."""
    at = np.zeros((len(leaves) + 1, 2))
    ring = circle(range(len(leaves)))
    at[list(leaves)] = ring / np.linalg.norm(ring[0]) * max(1.0, len(leaves) / 8)
    at[hub] = 0.0
    return at


def walk(neighbors: Sequence[Sequence[int]], start: int) -> list[int]:
    """Return the points of a path or ring, in their order along it."""
    order, seen = [start], {start}
    while True:
        onward = [point for point in neighbors[order[-1]] if point not in seen]
        if not onward:
            return order
        order.append(onward[0])
        seen.add(onward[0])


def tree(neighbors: Sequence[Sequence[int]], root: int) -> Points:
    """Return a tree from the top down, every point above the middle of its children."""
    at = np.zeros((len(neighbors), 2))
    slots = 0

    def settle(point: int, above: int, depth: int) -> None:
        nonlocal slots
        below = [one for one in neighbors[point] if one != above]
        for one in below:
            settle(one, point, depth + 1)
        at[point] = (at[below, 0].mean() if below else slots, depth)
        slots += not below

    settle(root, -1, 0)
    return at


def center(neighbors: Sequence[Sequence[int]]) -> int:
    """Return the center of a tree: the points that remain when leaves are removed round by round."""
    degree = [len(one) for one in neighbors]
    left = set(range(len(neighbors)))
    while len(left) > 2:
        leaves = [point for point in left if degree[point] <= 1]
        left -= set(leaves)
        for leaf in leaves:
            for one in neighbors[leaf]:
                degree[one] -= 1
    return min(left, key=lambda point: (-len(neighbors[point]), point))


def layers_of(count: int, arcs: Pairs) -> list[int] | None:
    """Return the layer of each point so that every arc leads to a later one; None if arcs go in a ring."""
    waiting = np.bincount([v for _, v in arcs], minlength=count).tolist()
    layer, ready, done = [0] * count, [point for point in range(count) if not waiting[point]], 0
    while ready:
        point = ready.pop()
        done += 1
        for u, v in arcs:
            if u == point:
                layer[v] = max(layer[v], layer[u] + 1)
                waiting[v] -= 1
                if not waiting[v]:
                    ready.append(v)
    if done < count:
        return None
    for point in sorted(range(count), key=lambda point: -layer[point]):  # sources move up to their successors
        onward = [layer[v] for u, v in arcs if u == point]
        if onward:
            layer[point] = min(onward) - 1
    return layer


def layered(count: int, arcs: Pairs, layer: Sequence[int]) -> Points:
    """Return points from left to right by layer, ordered within each by where their neighbours are."""
    pairs = sorted(set(arcs))
    layer, chains = list(layer), []
    for u, v in pairs:  # an arc over several layers has a stop in each, which keeps others out of its way
        stops = list(range(len(layer), len(layer) + layer[v] - layer[u] - 1))
        layer += range(layer[u] + 1, layer[v])
        route = [u, *stops, v]
        chains += list(pairwise(route))
    columns = [[point for point, one in enumerate(layer) if one == step] for step in range(max(layer) + 1)]
    y = np.zeros(len(layer))
    for column in columns:
        y[column] = np.arange(len(column)) - (len(column) - 1) / 2
    both = neighbors_of(len(layer), chains)
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            wanted = {point: float(np.mean(y[both[point]])) if both[point] else 0.0 for point in column}
            _spread(sorted(column, key=lambda point: (wanted[point], y[point], point)), wanted, y)
    return np.column_stack([np.array(layer[:count], dtype=float) * 1.25, y[:count]])


def _spread(column: Sequence[int], wanted: dict[int, float], y: NDArray[np.float64]) -> None:
    """Put a column's points where they want to be, at least 1 apart, in this order."""
    at = np.array([wanted[point] for point in column])
    for place in range(1, len(at)):
        at[place] = max(at[place], at[place - 1] + 1)
    at += float(np.mean([wanted[point] for point in column])) - at.mean()
    y[list(column)] = at
