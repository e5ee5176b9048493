"""Estimates of disconnected patterns, whose counts are sums of products of counts of connected ones.

If each of n counts is in its interval with a chance of 1 - d / n at least, all of them are with one of 1 - d,
however they depend on each other. Then products are between those of the ends, and sums between sums of ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from motiflux.api.queries.counts import Counted, Sum
from motiflux.api.queries.estimates import in_one
from motiflux.result.estimate import Estimate
from motiflux.sampling.stopping import Rules


def rules_of_each(rules: Rules, whole: Sum, patterns: int) -> Rules:
    """Return the rules of the estimate of each pattern.

    Half of the relative error is left to what is subtracted: it makes the value smaller, and adds its error.
    """
    most = max(len(product) for term in whole.terms for product, _ in term.products)
    rel_error = rules.rel_error
    if rel_error is not None:
        rel_error = ((1 + rel_error) ** (1 / most) - 1) / 2
    confidence = 1 - (1 - rules.confidence) / patterns
    groups = max(1, rules.groups // patterns)
    return replace(rules, rel_error=rel_error, confidence=confidence, groups=groups, strict=False)


def joined_estimate(
    whole: Sum,
    rules: Rules,
    estimates: Sequence[Estimate],
    estimate_of: Callable[[Counted], Estimate],
) -> Estimate:
    """Return the sum of products of estimates.

    Parameters
    ----------
    estimates
        Those of all patterns, each once.
    estimate_of
        Returns that of a pattern.
    """
    total, low, high = Fraction(), 0.0, 0.0
    for term in whole.terms:
        for product, factor in term.products:
            found = [estimate_of(Counted(one, term.symmetry, term.graph, term.semantics)) for one in product]
            ends = [_product([getattr(one, end) for one in found]) for end in ("low", "high")]
            share = Fraction(factor, term.divisor)
            total += share * math.prod(Fraction(one.value) for one in found)
            low += float(share) * ends[share < 0]
            high += float(share) * ends[share > 0]
    value = max(0.0, float(total))
    low, high = min(value, max(0.0, low)), max(value, high)
    exact = all(one.estimator == "exact" for one in estimates)
    made = in_one(estimates, value, (value, value) if exact else (low, high))
    made = replace(
        made,
        confidence=1.0 if exact else rules.confidence,
        reason=f"{made.reason}; a sum of products of {len(estimates)} estimates that hold at once",
    )
    wanted = rules.rel_error
    reached = wanted is None or not rules.strict or made.relative_error <= wanted
    return replace(made, complete=made.complete and reached)


def _product(numbers: Sequence[float]) -> float:
    """Return the product, 0 if a number is: another one may be infinite."""
    return 0.0 if 0.0 in numbers else math.prod(numbers)
