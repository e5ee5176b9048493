"""Confidence intervals for the mean of weights that are never negative, mostly zero, and skewed."""

from __future__ import annotations

from dataclasses import dataclass
from math import cbrt, exp, inf, ldexp, log, pi, sqrt, tan
from statistics import NormalDist

from motiflux.statistics.quantiles import at_least_once, gamma_quantile
from motiflux.statistics.tally import GROUP, UNIT_BITS, Moments

_EQUAL = 1 - 1e-12
"""Units that differ by less are equal but for rounding."""
_LEAST_SHAPE = 0.5
"""Least shape of a gamma variable that models a sum."""
_ALIKE = 0.4
"""The chance that as many draws of a group die as of another, and not none, is less."""


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

    The variance of few units is itself a guess: it is taken to be as much greater as Student's t is wider
    than the normal distribution. Of no positive weight, or of one unit, the interval is from 0 to infinity;
    the caller may know better.
    """
    if moments.total == 0 or moments.units == 1:
        return Interval(0.0, inf)
    tail = (1 - confidence) / 2
    variance = moments.units * moments.variance * variance_doubt(moments.units - 1, tail)
    low = _low(moments, variance, tail)
    more = moments.largest
    high = _quantile(moments.total + more, variance + more * more, 1 - tail)
    high = max(high, _hall_upper(moments, 1 - tail))
    samples = moments.units * moments.span * GROUP
    exponent = moments.exponent + UNIT_BITS
    return Interval(_scaled(low / samples, exponent), _scaled(high / samples, exponent))


def _low(moments: Moments, variance: float, tail: float) -> float:
    """Return the lower end for the sum.

    If nearly all samples have the same weight, the few samples with less weight, or none, decide: the
    interval is that of the sum of the differences of the units from the largest unit, which is skewed. If all
    units are equal, at most a small share of the draws may differ; or of the units, if there are so few that
    all may differ equally.
    """
    if moments.smallest >= moments.largest * _EQUAL:
        trials = moments.draws if _ALIKE**moments.units < tail else moments.units
        return moments.total * exp(log(tail) / trials)
    low = _quantile(moments.total, variance, tail)
    if moments.skewness < 0:
        most, more = moments.units * moments.largest, moments.largest - moments.smallest
        low = min(low, most - _quantile(most - moments.total + more, variance + more * more, 1 - tail))
    return max(0.0, low)


def variance_doubt(freedom: int, tail: float) -> float:
    """Return the factor for a variance estimated with `freedom` degrees of freedom.

    The square of Student's quantile over the normal one: exact for 1 and 2, else by Cornish and Fisher's
    expansion, off by less than a part in a hundred where it matters.
    """
    z = -NormalDist().inv_cdf(tail)
    if freedom == 1:
        t = 1 / tan(pi * tail)
    elif freedom == 2:
        t = (1 - 2 * tail) / sqrt(2 * tail * (1 - tail))
    else:
        y = z * z
        terms = (
            (y + 1) / 4,
            ((5 * y + 16) * y + 3) / 96,
            (((3 * y + 19) * y + 17) * y - 15) / 384,
            ((((79 * y + 776) * y + 1482) * y - 1920) * y - 945) / 92160,
        )
        t = z * (1 + sum(term / freedom**power for power, term in enumerate(terms, 1)))
    return (t / z) ** 2


def _quantile(mean: float, variance: float, probability: float) -> float:
    """Return the quantile of the gamma distribution with that mean and variance.

    If units are so few, or the confidence is so high, that the variance is hardly known, such a variable
    would be nearly always 0, and so would its upper quantiles. Then only the spread is known: the lower end
    is 0, and the upper end is that of the most skewed variable that is considered.
    """
    if variance <= 0:
        return mean
    scale = variance / mean
    if (shape := mean / scale) >= _LEAST_SHAPE:
        return scale * gamma_quantile(shape, probability)
    if probability < 0.5:
        return 0.0
    return sqrt(variance / _LEAST_SHAPE) * gamma_quantile(_LEAST_SHAPE, probability)


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
    """Return an upper bound, with `confidence`, on the share of samples that live if none of `samples` did.

    Each sample lives or dies independently of the others; samples that inherit are left out.
    """
    return 1.0 if samples == 0 else at_least_once(1 - confidence, samples)
