"""The smallest cycle of a pattern, with which the core begins (GENEVA, algorithm 8, line 3)."""

from __future__ import annotations

from collections.abc import Mapping

from motiflux.plan.bind import BoundPattern

Weights = Mapping[tuple[int, int], float]
"""A weight for each pair of joined query vertices, in both orders."""


def smallest_cycle(pattern: BoundPattern, core: frozenset[int], weights: Weights) -> frozenset[int]:
    """Return the vertices of a shortest cycle of the core; of the shortest, one of least total weight.

    Parameters
    ----------
    core
        The 2-core of the pattern; not empty.
    """
    edges = [(u, v) for u in sorted(core) for v in sorted(pattern.neighbors[u] & core) if u < v]
    distances = {edge: _distance(pattern, core, edge) for edge in edges}
    least = min(distance for distance in distances.values() if distance is not None)
    found = [
        _lightest_path(pattern, core, edge, least, weights) for edge in edges if distances[edge] == least
    ]
    return frozenset(min(found)[1])


def _distance(pattern: BoundPattern, core: frozenset[int], edge: tuple[int, int]) -> int | None:
    """Return the length of a shortest path between the ends of an edge that avoids it; None if none."""
    start, end = edge
    reached = {start}
    frontier = reached
    length = 0
    while frontier:
        length += 1
        fresh: set[int] = set()
        for vertex in frontier:
            fresh |= pattern.neighbors[vertex] & core
        if length == 1:
            fresh.discard(end)
        if end in fresh:
            return length
        frontier = fresh - reached
        reached |= frontier
    return None


def _lightest_path(
    pattern: BoundPattern, core: frozenset[int], edge: tuple[int, int], length: int, weights: Weights
) -> tuple[float, tuple[int, ...]]:
    """Return the weight of the cycle through an edge and a path of `length` edges, and its vertices, sorted.

    As no shorter path avoids the edge, each walk of that length that avoids it is a path.
    """
    start, end = edge
    lightest: dict[int, tuple[float, tuple[int, ...]]] = {start: (weights[edge], (start,))}
    for step in range(length):
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        for vertex, (weight, path) in lightest.items():
            near = pattern.neighbors[vertex] & core
            for other in sorted(near & {end} if step == length - 1 else near - {start, end}):
                way = weight + weights[vertex, other], (*path, other)
                following[other] = min(way, following.get(other, way))
        lightest = following
    weight, path = lightest[end]
    return weight, tuple(sorted(path))
