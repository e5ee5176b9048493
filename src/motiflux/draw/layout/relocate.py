"""Fewer crossings by moving one point after another to the best of many places, all judged at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.draw.layout.families import Points
from motiflux.draw.layout.untangle import CLOSE, NEAR, Judge, distance_to_lines, sides

_PLACES, _NEAR_BY = 56, 24
"""Places that are tried for a point: anywhere, and around the middle of its neighbours."""
_ROUNDS = 10


def relocate(judge: Judge, at: Points, seed: int = 2) -> Points:
    """Return a layout with fewer crossings, if moving points one by one leads to one."""
    random = np.random.default_rng(seed)
    at, still = at.copy(), 0
    for _ in range(_ROUNDS):
        moved = False
        usual = judge.usual(at)
        for point in random.permutation(len(at)).tolist():
            beside = judge.beside[point]
            if not len(beside):
                continue
            low, high = at.min(axis=0) - 0.4 * usual, at.max(axis=0) + 0.4 * usual
            anywhere = low + random.random((_PLACES, 2)) * (high - low)
            spread = usual * random.standard_normal((_NEAR_BY, 2))
            places = np.vstack([at[point], anywhere, at[beside].mean(axis=0) + spread])
            costs = np.round(_costs(judge, at, point, places, usual), 6)
            best = int(np.argmin(costs))
            if costs[best] < costs[0]:
                at[point], moved = places[best], True
        still = 0 if moved else still + 1
        if still > 1 or not judge.flaws(at).tangles:
            break
    return at


def _costs(judge: Judge, at: Points, point: int, places: Points, usual: float) -> NDArray[np.float64]:
    """Return how bad a layout would be with a point at each of the places, as far as that depends on it."""
    beside = judge.beside[point]
    apart = (judge.lines != point).all(axis=1)
    start, end = at[judge.lines[apart, 0]], at[judge.lines[apart, 1]]
    near = at[beside]
    # [places, neighbours, lines]: the new line to a neighbour against every line that stays.
    new = places[:, None, None], near[None, :, None]
    old = start[None, None], end[None, None]
    cross = (sides(*new, old[0]) != sides(*new, old[1])) & (sides(*old, new[0]) != sides(*old, new[1]))
    free = (judge.lines[apart][None] != beside[:, None, None]).all(axis=2)
    others = np.array([one for one in range(len(at)) if one != point])
    rest = others[None] != beside[:, None]
    over = distance_to_lines(at[others][None, None], places[:, None, None], near[None, :, None])
    under = distance_to_lines(places[:, None], start[None], end[None])
    lengths = np.linalg.norm(places[:, None] - at[others][None], axis=2)
    wanted = judge.apart[point, others]
    stress = ((lengths / usual / wanted - 1) ** 2).sum(axis=1) * 2 / (len(at) * (len(at) - 1))
    return np.asarray(
        2.0 * (cross & free).sum(axis=(1, 2))
        + 2.0 * ((over < NEAR * usual) & rest).sum(axis=(1, 2))
        + 2.0 * (under < NEAR * usual).sum(axis=1)
        + 1.0 * (lengths < CLOSE * usual).sum(axis=1)
        + 3.0 * stress
    )
