"""Where to put the points of a small graph, the same way every time.

Paths, rings, stars, trees and complete graphs have their usual shapes; arcs outside of rings lead from
left to right. For other graphs, several layouts are made, and the one with the fewest crossings is taken.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from motiflux.draw.layout import families
from motiflux.draw.layout.families import Pairs, Points, neighbors_of
from motiflux.draw.layout.relocate import relocate
from motiflux.draw.layout.stress import distances, relax, scaled
from motiflux.draw.layout.untangle import Flaws, Judge, barycentric

_TANGLED = 24
"""Up to this number of points, crossings are found one by one."""
_TRIES = 250
_KEPT = 64
_STARTS, _SMALL = 3, 10
_RESTARTS = 4
_HIGH = 0.15
"""How much a layout as high as it is broad counts beside slant lines."""


def place(count: int, pairs: Pairs, *, arcs: bool = False) -> Points:
    """Return a point of the plane for each of a graph's, lines about 1 long; y grows downwards.

    Parameters
    ----------
    count
        Number of points.
    pairs
        The lines, as pairs of numbers below `count`.
    arcs
        Whether every line has a direction, which a layout may show.

    Returns
    -------
    NDArray
        float64 [count, 2], read-only. No two points coincide.

    Examples
    --------
    >>> place(4, [(0, 1), (1, 2), (2, 3), (3, 0)]).round(1).tolist()
    [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]
    """
    return _place(count, tuple((int(u), int(v)) for u, v in pairs if u != v), arcs)


@lru_cache(maxsize=_KEPT)  # notebooks ask for the same picture in several forms
def _place(count: int, pairs: tuple[tuple[int, int], ...], arcs: bool) -> Points:
    if count < 2 or not pairs:
        usual: Points | None = families.path(range(count)) if count else np.zeros((0, 2))
    else:
        neighbors = neighbors_of(count, pairs)
        usual = _as_everyone_does(count, neighbors, arcs=arcs)
    at = _least_flawed(count, pairs, neighbors, arcs=arcs) if usual is None else usual
    if count:
        at = np.asarray(at - (at.min(axis=0) + at.max(axis=0)) / 2)
    at.flags.writeable = False
    return at


def _as_everyone_does(count: int, neighbors: list[list[int]], *, arcs: bool) -> Points | None:
    """Return the layout of a graph that has a usual one."""
    degrees = [len(one) for one in neighbors]
    lines = sum(degrees) // 2
    start = min(range(count), key=lambda point: (degrees[point], point))
    order = families.walk(neighbors, start)
    if max(degrees) <= 2 and len(order) == count:
        return families.path(order) if lines == count - 1 else families.circle(order)
    if lines == count * (count - 1) // 2 and count > 4:
        return families.circle(range(count))
    if lines == count - 1 and not arcs and _reached(neighbors) == count:
        hub = max(range(count), key=lambda point: degrees[point])
        if degrees[hub] == count - 1:
            return families.star(hub, [point for point in range(count) if point != hub])
        return families.tree(neighbors, families.center(neighbors))
    return None


def _reached(neighbors: list[list[int]]) -> int:
    seen, waiting = {0}, [0]
    while waiting:
        fresh = [point for point in neighbors[waiting.pop()] if point not in seen]
        seen.update(fresh)
        waiting += fresh
    return len(seen)


def _least_flawed(count: int, pairs: Pairs, neighbors: list[list[int]], *, arcs: bool) -> Points:
    """Return the best of several layouts."""
    apart = distances(count, pairs)
    judge = Judge(count, pairs, apart)
    layer = families.layers_of(count, pairs) if arcs else None
    if layer is not None:
        at = families.layered(count, pairs, layer)
        if _clean(judge.flaws(at)):
            return at
    small = count <= _TANGLED
    made = [relax(scaled(apart), apart)]
    if small:
        random = np.random.default_rng(count)
        made += [relax(random.standard_normal((count, 2)), apart) for _ in range(_RESTARTS)]
        made += barycentric(count, neighbors)
    made = [np.round(at, 6) for at in made]  # so that the result does not depend on rounding of the machine
    ranked = sorted(made, key=lambda at: round(judge.flaws(at).cost, 6))
    if small and not _clean(judge.flaws(ranked[0])):
        kept = _untangled(judge, ranked)
    else:
        kept = ranked[0]
    if layer is not None and judge.flaws(at).crossings <= judge.flaws(kept).crossings:
        return at
    return _turned(kept, pairs)


def _untangled(judge: Judge, ranked: list[Points]) -> Points:
    """Return the best layout that moving points of the better ones leads to."""
    plain = min(ranked, key=lambda at: judge.flaws(at).crossings)
    tried = [judge.improve(plain, _TRIES)]
    if not judge.flaws(tried[0]).tangles:
        return tried[0]
    for at in {id(at): at for at in (plain, *ranked[: _STARTS if len(plain) <= _SMALL else 1])}.values():
        tried.append(judge.improve(relocate(judge, at), _TRIES))
        if not judge.flaws(tried[-1]).tangles:
            break
    return min(tried, key=lambda at: _rank(judge.flaws(at)))


def _rank(flaws: Flaws) -> tuple[int, float]:
    """Return the key by which layouts are compared: first whether each line can be followed."""
    return flaws.tangles, round(flaws.cost, 6)


def _clean(flaws: Flaws) -> bool:
    return not (flaws.crossings or flaws.covered or flaws.close)


def _turned(at: Points, pairs: Pairs) -> Points:
    """Return the layout turned so that lines are level or upright, and it is broad rather than high."""
    ends = np.array(sorted({(min(pair), max(pair)) for pair in pairs}))
    along = at[ends[:, 1]] - at[ends[:, 0]]
    angles = np.arctan2(along[:, 1], along[:, 0])
    high = _HIGH if len(at) <= _TANGLED else 1.0
    best, chosen = np.inf, at
    for angle in np.unique(np.round(angles % (np.pi / 2), 6)):
        for turn in (angle, angle + np.pi / 2):
            turned = at @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            width, height = np.ptp(turned, axis=0)
            slant = float(np.abs(np.sin(2 * (angles - turn))).mean())
            cost = round(slant + high * float(height / max(width, 1e-6)), 6)
            if cost < best:
                best, chosen = cost, turned
    return np.asarray(chosen)
