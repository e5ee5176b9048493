"""The estimate of samples and trawled slots so far: its value and its confidence interval."""

from __future__ import annotations

import math
from functools import cached_property

from motiflux.errors import CountOverflowError
from motiflux.plan import Plan
from motiflux.request.policy import SamplingPolicy
from motiflux.request.sampler import Sampler
from motiflux.result.estimate import Trawled
from motiflux.result.sample_groups import Groups
from motiflux.sampling.trawler import Trawler
from motiflux.statistics import (
    Interval,
    Tally,
    blended_interval,
    confidence_interval,
    share_by,
    share_upper_bound,
)
from motiflux.types import Symmetry

_NO_WEIGHT = -(1 << 20)
"""Exponents below this are those of 0."""


class CombinedEstimate:
    """Sums over samples, and with a trawler, the weighted mean of the two estimates.

    Each half of the batches has its own weight, derived from the other half: a weight that depends on the
    sums it is applied to would bias the estimate.

    Parameters
    ----------
    bounded
        Whether the number of trees is available as an upper bound of the count.

    Attributes
    ----------
    tally
        Sums over all samples.
    """

    def __init__(
        self,
        sampler: Sampler,
        plan: Plan,
        estimator: str | SamplingPolicy,
        trawler: Trawler | None,
        *,
        bounded: bool,
    ) -> None:
        self.tally = Tally()
        self._halves = (Tally(), Tally())
        self._trawler = trawler
        self._shares = (0.5, 0.5)
        self._sampler = sampler
        self._estimator = estimator
        self._images = plan.automorphisms if plan.symmetry is Symmetry.SUBGRAPHS else 1
        fraction, exponent = sampler.candidates.grow_tree() if bounded else (1.0, 2**20)
        self._trees = _scaled(fraction, exponent)
        self._every_tree_matches = estimator == "tree" and not any(
            len(step.sources) > 1 or step.distinct or step.not_out or step.not_in for step in plan.shape.steps
        )

    def add(self, groups: Groups, batch: int) -> None:
        """Add the next samples, which belong to one batch."""
        self.tally.add(*groups)
        if self._trawler is not None:
            self._halves[batch % 2].add(*groups)

    @property
    def max_embeddings(self) -> float:
        """Upper bound of the count, and of the weight of a sample; infinity if none is known."""
        return min(self._max_weight, self._trees)

    @property
    def valid(self) -> int:
        """Number of samples and slots with an embedding."""
        return self.tally.valid + (0 if self._trawler is None else self._trawler.tally.valid)

    @property
    def share(self) -> float:
        """Approximate weight of trawling in the estimate."""
        return sum(self._shares) / 2

    def sampled(self) -> float:
        """Return the estimate of the samples alone."""
        return self._value_of(self.tally)

    def value(self) -> float:
        """Return the estimate."""
        trawler = self._trawler
        if trawler is None or trawler.slots == 0:
            return self.sampled()
        value = groups = 0.0
        for share, sampled, trawled in zip(self._shares, self._halves, trawler.halves, strict=True):
            if sampled.groups == 0:
                continue
            if trawled.groups == 0:  # the time limit came first
                share = 0.0
            groups += sampled.groups
            value += sampled.groups * (
                (1 - share) * self._value_of(sampled) + share * self._value_of(trawled)
            )
        return value / groups if groups else self._value_of(trawler.tally)

    def update_shares(self) -> None:
        """Derive the weight of trawling in each half from the other half."""
        if self._trawler is None:
            return
        first, second = (
            share_by(
                (self._value_of(sampled), sampled.effective), (self._value_of(trawled), trawled.effective)
            )
            for sampled, trawled in zip(self._halves, self._trawler.halves, strict=True)
        )
        self._shares = second, first

    def interval(self, confidence: float) -> Interval:
        """Return the interval around the value.

        If either samples or slots found no embedding, it is the interval of the other: it knows more about
        rare embeddings.
        """
        trawler = self._trawler
        if trawler is None or trawler.tally.valid == 0:
            return self._interval_of(self.tally, confidence)
        if self.tally.valid == 0:
            return self._interval_of(trawler.tally, confidence)
        return blended_interval(
            self.sampled(),
            self._value_of(trawler.tally),
            self._interval_of(self.tally, confidence),
            self._interval_of(trawler.tally, confidence),
            self.share,
        )

    def relative_error(self, confidence: float) -> float:
        """Return the larger distance from the value to an end of the interval, over the value."""
        if self.is_zero(confidence):
            return 0.0
        interval, value = self.interval(confidence), self.value()
        if value <= 0:
            return 0.0 if interval.high <= 0 else math.inf
        return max(interval.high - value, value - interval.low) / value

    def is_zero(self, confidence: float) -> bool:
        """Return whether no embedding was found, and at this confidence there is none."""
        return self.valid == 0 and self.interval(confidence).high * self._images < 1

    def trawled(self, confidence: float) -> Trawled | None:
        """Return the estimate of trawling alone; None without slots."""
        trawler = self._trawler
        if trawler is None or trawler.slots == 0:
            return None
        value = self._value_of(trawler.tally)
        interval = Interval(0.0, self._trees / self._images)
        if trawler.tally.valid > 0:
            interval = self._interval_of(trawler.tally, confidence)
        low, high = min(interval.low, value), max(interval.high, value)
        return Trawled(value, low, high, trawler.slots, trawler.searched, self.share)

    def _value_of(self, tally: Tally) -> float:
        value = _scaled(*tally.mean())
        if math.isinf(value):
            raise CountOverflowError("the estimate exceeds 2^1024")
        return value / self._images

    def _interval_of(self, tally: Tally, confidence: float) -> Interval:
        """Return the interval of one tally, cut off at the number of trees."""
        if tally.valid == 0:
            high = self._max_weight * share_upper_bound(tally.samples, confidence)
            return Interval(0.0, min(high, self._trees) / self._images)
        if self._every_tree_matches:
            return Interval(self._trees / self._images, self._trees / self._images)
        found = confidence_interval(tally.moments(), confidence)
        high = max(min(found.high, self._trees), found.low)
        return Interval(found.low / self._images, high / self._images)

    @cached_property
    def _max_weight(self) -> float:
        """Upper bound of the weight of a sample; infinity for a policy of the user."""
        if self._estimator == "tree":
            return self._trees
        if isinstance(self._estimator, str):
            return _scaled(1.0, self._sampler.candidates.most_bits)
        return math.inf


def _scaled(fraction: float, exponent: float) -> float:
    """Return ``fraction * 2**exponent``; infinity if it exceeds a float."""
    whole = math.floor(exponent) if exponent > _NO_WEIGHT else _NO_WEIGHT
    try:
        # 2**1024 exceeds a float, but a fraction of it may not.
        return math.ldexp(fraction * 2.0 ** (exponent - whole), whole)
    except OverflowError:
        return math.inf
