"""Two independent estimates of one number as one."""

from __future__ import annotations

from math import hypot, isinf

from motiflux.statistics.interval import Interval

_ENOUGH = 10.0
"""Effective samples that are believed."""


def share_by(sampled: tuple[float, float], trawled: tuple[float, float]) -> float:
    """Return what part of an estimate the second of two is to have: a half where both saw nothing.

    Each is told as its value and its effective number of samples. Both are never negative and miss what is
    rare, so that of two that differ the greater has seen more. What few effective samples say is luck, and
    the half of the estimate that it is said of may have seen the opposite: of less than ten only so much
    of the distance from a half is believed.
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

    Distances from an end to its value add up as standard errors do, each end for itself, so that intervals
    that are wider above stay so (the method of Zou and Donner, Statistics in Medicine 27, 2008).
    """
    blend = (1 - share) * value + share * other
    below = hypot((1 - share) * (value - interval.low), share * (other - other_interval.low))
    if isinf(interval.high) or isinf(other_interval.high):
        return Interval(max(0.0, blend - below), float("inf"))
    above = hypot((1 - share) * (interval.high - value), share * (other_interval.high - other))
    return Interval(max(0.0, blend - below), blend + above)
