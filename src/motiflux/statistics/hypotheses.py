"""Tests of observed counts against a sample: z-scores, empirical p-values, many tests at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import NDArray

ALTERNATIVES = ("two-sided", "more", "less")
CORRECTIONS = ("benjamini-hochberg", "holm", "bonferroni", "none")

Floats = NDArray[np.float64]


def mean_and_deviation(numbers: Sequence[int]) -> tuple[float, float]:
    """Return the mean and the standard deviation of a sample (over n - 1), from exact sums.

    Examples
    --------
    >>> mean_and_deviation([10**30, 10**30 + 2])
    (1e+30, 1.4142135623730951)
    """
    count, total = len(numbers), sum(numbers)
    if count == 0:
        return nan, nan
    mean = Fraction(total, count)
    if count == 1:
        return float(mean), nan
    squares = Fraction(
        count * sum(number * number for number in numbers) - total * total, count * (count - 1)
    )
    return float(mean), sqrt(squares)


def z_score(observed: int, mean: float, deviation: float) -> float:
    """Return how many standard deviations an observed number is above the mean.

    Without any deviation: 0 if it is the mean, else an infinity of the sign of the difference.
    """
    if deviation != 0:
        return (observed - mean) / deviation
    return 0.0 if observed == mean else inf if observed > mean else -inf


def p_value(observed: int, sample: Sequence[int], alternative: str) -> float:
    """Return the empirical p-value of an observed number: (1 + as extreme ones) / (1 + all).

    The observed graph counts as one of the sample: the p-value is never 0, and valid for any number of random
    graphs (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 4.2). Two-sided: twice
    the smaller one, at most 1.

    Examples
    --------
    >>> p_value(5, [1, 2, 3, 5], "more"), p_value(5, [1, 2, 3, 5], "two-sided")
    (0.4, 0.8)
    """
    more = (1 + sum(number >= observed for number in sample)) / (1 + len(sample))
    less = (1 + sum(number <= observed for number in sample)) / (1 + len(sample))
    if alternative == "two-sided":
        return min(1.0, 2 * min(more, less))
    return more if alternative == "more" else less


def adjusted(p_values: Sequence[float], correction: str) -> Floats:
    """Return p-values that hold for all tests together.

    ``"bonferroni"`` and ``"holm"`` bound the chance of any false discovery, ``"benjamini-hochberg"`` the
    expected share of false ones among the discoveries.

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03], "bonferroni").round(2).tolist()
    [0.03, 0.12, 0.09]
    >>> adjusted([0.01, 0.04, 0.03], "holm").round(2).tolist()
    [0.03, 0.06, 0.06]
    >>> adjusted([0.01, 0.04, 0.03], "benjamini-hochberg").round(2).tolist()
    [0.03, 0.04, 0.04]
    """
    given = np.array(p_values, np.float64)
    tests = len(given)
    if correction == "none" or tests == 0:
        return given
    if correction == "bonferroni":
        return np.minimum(1.0, tests * given)
    order = np.argsort(given, kind="stable")
    result = np.empty(tests)
    if correction == "holm":
        result[order] = np.minimum(1.0, np.maximum.accumulate((tests - np.arange(tests)) * given[order]))
    else:
        scaled = (given[order] * tests / np.arange(1, tests + 1))[::-1]
        result[order] = np.minimum(1.0, np.minimum.accumulate(scaled)[::-1])
    return result
