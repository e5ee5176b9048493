"""Layouts by stress: points are as far apart as paths between them are long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.draw.layout.families import Pairs, Points


def distances(count: int, pairs: Pairs) -> NDArray[np.float64]:
    """Return the lengths of shortest paths; points that no path joins are a bit farther than any others."""
    apart = np.full((count, count), np.inf)
    np.fill_diagonal(apart, 0)
    for u, v in pairs:
        apart[u, v] = apart[v, u] = 1
    for middle in range(count):
        np.minimum(apart, apart[:, [middle]] + apart[[middle]], out=apart)
    joined = np.isfinite(apart)
    return np.where(joined, apart, min(apart[joined].max() + 1, 1.2 * np.sqrt(count) + 1))


def stress_of(at: Points, apart: NDArray[np.float64]) -> float:
    """Return how far the layout is from its distances: 0 is perfect."""
    found = np.linalg.norm(at[:, None] - at[None], axis=2)
    weights = np.where(apart > 0, 1 / np.maximum(apart, 1e-9) ** 2, 0)
    return float((weights * (found - apart) ** 2).sum() / max(1, len(at) * (len(at) - 1)))


def relax(at: Points, apart: NDArray[np.float64], rounds: int = 150) -> Points:
    """Return a layout of less stress near `at`, by majorization (Gansner, Koren and North 2004)."""
    count = len(at)
    weights = np.where(apart > 0, 1 / np.maximum(apart, 1e-9) ** 2, 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    # One point is fixed; then there is one solution.
    inverse = np.linalg.inv(laplacian[1:, 1:])
    for _ in range(rounds):
        found = np.maximum(np.linalg.norm(at[:, None] - at[None], axis=2), 1e-6)
        pulled = -weights * apart / found
        np.fill_diagonal(pulled, 0)
        np.fill_diagonal(pulled, -pulled.sum(axis=1))
        moved = np.zeros((count, 2))
        moved[1:] = inverse @ (pulled @ at)[1:]
        if np.abs((moved - moved[0]) - (at - at[0])).max() < 1e-3:
            return moved
        at = moved
    return at


def scaled(apart: NDArray[np.float64]) -> Points:
    """Return the plane that keeps most of the distances (classical scaling)."""
    count = len(apart)
    middle = np.eye(count) - 1 / count
    # Of equal eigenvalues any vectors would do, and machines would differ in which they take.
    uneven = 1e-3 * np.random.default_rng(6).standard_normal((count, count))
    values, vectors = np.linalg.eigh(-0.5 * middle @ (apart**2 + uneven + uneven.T) @ middle)
    at = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0))
    at *= np.where(at[np.abs(at).argmax(axis=0), [0, 1]] < 0, -1, 1)  # eigenvectors have no sign of their own
    return np.asarray(at + 1e-3 * np.random.default_rng(5).standard_normal(at.shape))
