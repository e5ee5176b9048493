"""Confidence intervals of many shares, from the number of hits of each among independent samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.statistics.quantiles import gamma_quantile

Floats = NDArray[np.float64]


def share_intervals(hits: NDArray[np.int64], samples: int, error: float) -> tuple[Floats, Floats]:
    """Return intervals that each hold a share with probability of at least ``1 - error``.

    These are Garwood's intervals of a Poisson mean (Biometrika 28, 1936). A binomial number of hits of the
    same mean is less likely to be far from it (Anderson and Samuels, Berkeley Symposium, 1967), so they are
    a little too wide: a share of s makes them wider by about the root of 1 / (1 - s).

    Parameters
    ----------
    hits
        The number of hits of each share.
    samples
        The number of samples, above 0.

    Examples
    --------
    >>> low, high = share_intervals(np.array([0, 10]), 1000, 0.05)
    >>> [(round(1000 * float(a), 2), round(1000 * float(b), 2)) for a, b in zip(low, high)]
    [(0.0, 3.69), (4.8, 18.39)]
    """
    values, places = np.unique(hits, return_inverse=True)
    ends = [_interval(int(value), error) for value in values]
    low, high = (np.array([end[side] for end in ends], np.float64) / samples for side in (0, 1))
    return low[places], np.minimum(high, 1.0)[places]


def _interval(hits: int, error: float) -> tuple[float, float]:
    low = gamma_quantile(float(hits), error / 2) if hits else 0.0
    return low, gamma_quantile(hits + 1.0, 1 - error / 2)


def certainly_among(low: Floats, high: Floats, most: int) -> NDArray[np.bool_]:
    """Return which values are among the `most` greatest, wherever all values lie in their intervals.

    A value is if fewer than `most` others can be greater.

    Examples
    --------
    >>> certainly_among(np.array([5.0, 3.0, 0.0]), np.array([6.0, 5.5, 2.0]), 2).tolist()
    [True, True, False]
    """
    ascending = np.sort(high)
    above = len(high) - np.searchsorted(ascending, low, side="right") - (high > low)
    return np.asarray(above < most)
