"""Confidence intervals for the mean of weights that are never negative, mostly zero, and skewed."""

from __future__ import annotations

from dataclasses import dataclass
from math import cbrt, inf, ldexp, sqrt
from statistics import NormalDist

from motiflux.statistics.quantiles import at_least_once, gamma_quantile
from motiflux.statistics.tally import GROUP, UNIT_BITS, Moments


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


def confidence_interval(moments: Moments, confidence: float) -> Interval:
    """Return an interval that holds the mean weight of a sample with probability `confidence`, about.

    The gamma interval of Fay and Feuer (Statistics in Medicine 16, 1997). A sum of weights is the value of a
    compound Poisson variable when few samples live, and close to a normal one when many do; a gamma variable
    of the same mean and variance is close to both, and is never negative. At the upper end one more unit as
    large as the largest seen is added: the larger weights are, the fewer are seen, and a sum that missed
    them looks small and certain at once. Where the weights seen are so skewed that Hall's transformation of
    the t statistic (Annals of Statistics 20, 1992) reaches further up, its end is taken.

    Of no positive weight the interval is from 0 to infinity; the caller may know better.
    """
    if moments.total == 0:
        return Interval(0.0, inf)
    tail = (1 - confidence) / 2
    variance = moments.units * moments.variance
    low = _quantile(moments.total, variance, tail)
    more = moments.largest
    high = _quantile(moments.total + more, variance + more * more, 1 - tail)
    high = max(high, _hall_upper(moments, 1 - tail))
    samples = moments.units * moments.span * GROUP
    exponent = moments.exponent + UNIT_BITS
    return Interval(_scaled(low / samples, exponent), _scaled(high / samples, exponent))


def _quantile(mean: float, variance: float, probability: float) -> float:
    """Return the quantile of the gamma distribution with that mean and variance."""
    if variance <= 0:
        return mean
    scale = variance / mean
    return scale * gamma_quantile(mean / scale, probability)


def _hall_upper(moments: Moments, probability: float) -> float:
    """Return the upper end for the sum by Hall's transformation, which undoes skewness and its bias."""
    skewness, units = moments.skewness, moments.units
    if skewness <= 0:
        return 0.0
    z = -NormalDist().inv_cdf(probability) / sqrt(units) - skewness / (6 * units)
    statistic = 3 / skewness * (cbrt(1 + skewness * z) - 1)
    return moments.total - units * sqrt(moments.variance) * statistic


def _scaled(value: float, exponent: int) -> float:
    try:
        return ldexp(value, exponent)
    except OverflowError:
        return inf


def share_upper_bound(samples: int, confidence: float) -> float:
    """Return what the share of samples that live is below, with `confidence`, if of `samples` none did.

    Each lives or dies independently of the others; those that inherit are left out, and could only help.
    """
    return 1.0 if samples == 0 else at_least_once(1 - confidence, samples)
