"""Quantiles of the gamma distribution."""

from __future__ import annotations

from math import exp, expm1, fabs, inf, lgamma, log
from statistics import NormalDist

_LARGE_SHAPE = 5000.0
"""From here on the approximation is off by less than one part in 10^5."""
_TINY = 1e-300
_STEPS = 200
_ENOUGH = 1e-12


def gamma_quantile(shape: float, probability: float) -> float:
    """Return where a gamma distribution of scale 1 and a `shape` of at least 1/2 reaches `probability`.

    Wilson and Hilferty's approximation, and for all but large shapes, bisection and Newton's method from
    there.
    """
    guess = _wilson_hilferty(shape, probability)
    if shape >= _LARGE_SHAPE:
        return guess
    low, high = 0.0, inf
    x = guess if guess > _TINY else _small(shape, probability)
    for _ in range(_STEPS):
        reached = gamma_share(shape, x)
        if reached < probability:
            low = x
        else:
            high = x
        density = exp((shape - 1) * log(x) - x - lgamma(shape)) if x > 0 else 0.0
        step = (reached - probability) / density if density > 0 else inf
        following = x - step
        if not low < following < high:
            following = 2 * x if high == inf else (low + high) / 2
        if fabs(following - x) <= _ENOUGH * x:
            return following
        x = following
    return x


def gamma_share(shape: float, x: float) -> float:
    """Return the share of a gamma distribution of scale 1 below `x`: the regularized incomplete gamma."""
    if x <= 0:
        return 0.0
    front = exp(shape * log(x) - x - lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        at = shape
        while fabs(term) > fabs(total) * 1e-16:
            at += 1
            term *= x / at
            total += term
        return total * front
    # The continued fraction of the rest, by Lentz's method.
    b = x + 1 - shape
    c = 1 / _TINY
    d = 1 / b
    fraction = d
    for i in range(1, 100_000):
        a = -i * (i - shape)
        b += 2
        d = 1 / (a * d + b or _TINY)
        c = b + a / c or _TINY
        change = c * d
        fraction *= change
        if fabs(change - 1) < 1e-16:
            break
    return 1 - front * fraction


def _wilson_hilferty(shape: float, probability: float) -> float:
    z = NormalDist().inv_cdf(probability)
    ninth = 1 / (9 * shape)
    third: float = max(0.0, 1 - ninth + z * ninth**0.5)
    return shape * third * third * third


def _small(shape: float, probability: float) -> float:
    """Return the quantile where it is close to 0: there the share is x^shape / (shape gamma(shape))."""
    logarithm = (log(probability) + lgamma(shape + 1)) / shape
    return max(exp(max(logarithm, -690.0)), _TINY)


def at_least_once(probability: float, trials: int) -> float:
    """Return the chance of one trial at which `trials` all fail with `probability`."""
    return -expm1(log(probability) / trials)
