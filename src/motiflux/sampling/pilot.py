"""The pilot: a few samples of each estimator, compared by variance times work."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from motiflux.cpu.sampling import ESTIMATORS
from motiflux.request.policy import SamplingPolicy
from motiflux.request.sampler import Sampler
from motiflux.result.sample_groups import Groups

_GROUPS = 64
_WITHOUT_TREE = "alley"
_SHARE = 0.25
_MASK = 2**64 - 1

_FEW = 8
"""Groups with an embedding, below which the variance of a pilot is unreliable."""
_IF_FEW_LIVE = "tree"
"""All its embeddings have the same weight, so it does not miss rare ones with large weights."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """The result of a pilot.

    Parameters
    ----------
    estimator
        The selected estimator.
    groups
        Its samples, which are in no estimate; None if the time was over, or without a pilot.
    """

    estimator: str | SamplingPolicy
    groups: Groups | None = None

    @property
    def finds_little(self) -> bool:
        """Whether so few samples are embeddings that an estimate is likely to miss many embeddings."""
        return self.groups is not None and int(np.count_nonzero(self.groups.weights)) < _FEW


@dataclass(frozen=True, slots=True)
class _Trial:
    name: str
    groups: Groups

    @property
    def living(self) -> int:
        """Number of groups with an embedding."""
        return int(np.count_nonzero(self.groups.weights))

    @property
    def mean(self) -> float:
        return float(self.groups.weights.mean())

    @property
    def unevenness(self) -> float:
        """Number of groups with an embedding per effective group; 1 for trees, whose weights are equal.

        The variance of uneven weights is underestimated until the pilot draws the largest.
        """
        if self.name == "tree":
            return 1.0
        weights = self.groups.weights / self.groups.weights.max()
        return self.living * float((weights * weights).sum()) / float(weights.sum()) ** 2

    def cost(self, mean: float) -> float:
        """Return the work per group times the mean squared relative distance from `mean`."""
        distances = self.groups.weights / mean - 1
        return float(self.groups.work.mean()) * float((distances * distances).mean())


def pilot_seed(seed: int) -> int:
    """Return the seed of a pilot, which shares no random number with the estimate."""
    return (seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) & _MASK


def trawl_seed(seed: int) -> int:
    """Return the seed of a trawl, which shares no random number with samples and pilot."""
    return pilot_seed(seed ^ _MASK)


def try_estimator(
    sampler: Sampler, estimator: str | SamplingPolicy, seed: int, timeout: float | None = None
) -> Pilot:
    """Return a pilot of one estimator; it takes a quarter of the remaining time at most."""
    left = None if timeout is None else _SHARE * timeout
    groups = sampler.draw(estimator, pilot_seed(seed), 0, _GROUPS, left)
    return Pilot(estimator, groups if len(groups.weights) == _GROUPS else None)


def choose_estimator(sampler: Sampler, seed: int, *, tree: bool, timeout: float | None = None) -> Pilot:
    """Return a pilot of the estimator with the narrowest expected interval for its work.

    The samples of the pilot are not used again: an estimate whose own samples select the estimator would be
    biased. Work is counted, not timed, so a seed makes the same choice on any machine.

    The variance of each estimator is taken around the mean of all, weighted by their groups with an
    embedding: an estimator that missed embeddings must not look precise.

    Parameters
    ----------
    tree
        Whether the tree estimator may be selected: it needs memory.
    timeout
        Remaining seconds; the pilot takes a quarter of them at most, or is given up.
    """
    deadline = None if timeout is None else time.perf_counter() + _SHARE * timeout
    unsure = _IF_FEW_LIVE if tree else _WITHOUT_TREE
    trials = []
    for name in ESTIMATORS:
        if name == "tree" and not tree:
            continue
        left = None if deadline is None else max(0.0, deadline - time.perf_counter())
        groups = sampler.draw(name, pilot_seed(seed), 0, _GROUPS, left)
        if len(groups.weights) < _GROUPS:
            return Pilot(unsure)
        trials.append(_Trial(name, groups))
    living = [trial.living for trial in trials]
    if min(living) < _FEW:
        return next(Pilot(trial.name, trial.groups) for trial in trials if trial.name == unsure)
    mean = float(np.average([trial.mean for trial in trials], weights=living))
    best = min(trials, key=lambda trial: trial.cost(mean) * trial.unevenness)
    return Pilot(best.name, best.groups)
