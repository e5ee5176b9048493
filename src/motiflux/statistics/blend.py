"""Two independent estimates of one number as one."""

from __future__ import annotations

from math import hypot, isinf

import numpy as np
from numpy.typing import NDArray

from motiflux.statistics.interval import Interval


def effective_number(weights: NDArray[np.float64]) -> float:
    """Return as many equal weights as would be as uneven: (sum of w)^2 / (sum of w^2); 0 of none above 0."""
    most = float(weights.max(initial=0.0))
    if most == 0:
        return 0.0
    scaled = weights / most
    return float(scaled.sum()) ** 2 / float((scaled * scaled).sum())


def blended_interval(
    value: float, other: float, interval: Interval, other_interval: Interval, share: float
) -> Interval:
    """Return an interval around ``(1 - share) * value + share * other``, two independent estimates.

    Distances from an end to its value add up as standard errors do, each end for itself, so that intervals
    that are wider above stay so (the method of Zou and Donner, Statistics in Medicine 27, 2008).
    """
    blend = (1 - share) * value + share * other
    below = hypot((1 - share) * (value - interval.low), share * (other - other_interval.low))
    if isinf(interval.high) or isinf(other_interval.high):
        return Interval(max(0.0, blend - below), float("inf"))
    above = hypot((1 - share) * (interval.high - value), share * (other_interval.high - other))
    return Interval(max(0.0, blend - below), blend + above)
