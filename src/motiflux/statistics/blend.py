"""Two independent estimates of one number as one."""

from __future__ import annotations

from math import hypot, isinf

from motiflux.statistics.interval import Interval

_ENOUGH = 10.0
"""Effective samples from which on the result is not reduced."""


def share_by(sampled: tuple[float, float], trawled: tuple[float, float]) -> float:
    """Return the share of an estimate that the second of two methods has: a half if both found nothing.

    Each argument is an estimate and its effective number of samples. Estimates are never negative and may
    miss rare matches, so the greater of two has likely seen more of them. The result is not reliable with few
    effective samples: below ten, its distance from a half is reduced in proportion.
    """
    first, second = (value * effective for value, effective in (sampled, trawled))
    if isinf(first) or isinf(second) or first + second == 0:
        return 0.5
    trust = min(1.0, max(sampled[1], trawled[1]) / _ENOUGH)
    return 0.5 + trust * (second / (first + second) - 0.5)


def blended_interval(
    value: float, other: float, interval: Interval, other_interval: Interval, share: float
) -> Interval:
    """Return an interval around ``(1 - share) * value + share * other``, two independent estimates.

    Distances from the lower ends to the values are added like standard errors, and so are those from the
    upper ends, so that intervals that are wider above stay so (the method of Zou and Donner, Statistics in
    Medicine 27, 2008).
    """
    blend = (1 - share) * value + share * other
    below = hypot((1 - share) * (value - interval.low), share * (other - other_interval.low))
    if isinf(interval.high) or isinf(other_interval.high):
        return Interval(max(0.0, blend - below), float("inf"))
    above = hypot((1 - share) * (interval.high - value), share * (other_interval.high - other))
    return Interval(max(0.0, blend - below), blend + above)
