"""Which estimator to take: a few samples of each, compared by how sure they make per unit of work."""

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
"""Groups with a living sample, below which a pilot says little: least of all of weights that are uneven."""
_IF_FEW_LIVE = "tree"
"""All its samples weigh the same, so it misses nothing that is rare and heavy."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a pilot said.

    Parameters
    ----------
    estimator
        The one to take.
    groups
        Samples of it, which are in no estimate; None if time was up, or none were drawn.
    """

    estimator: str | SamplingPolicy
    groups: Groups | None = None

    @property
    def finds_little(self) -> bool:
        """Whether so few samples live that an estimate may well miss what there is."""
        return self.groups is not None and int(np.count_nonzero(self.groups.weights)) < _FEW


@dataclass(frozen=True, slots=True)
class _Trial:
    name: str
    groups: Groups

    @property
    def living(self) -> int:
        """Number of groups of which any sample is an embedding."""
        return int(np.count_nonzero(self.groups.weights))

    @property
    def mean(self) -> float:
        return float(self.groups.weights.mean())

    @property
    def unevenness(self) -> float:
        """How many groups live for each that counts; 1 of trees, which weigh the same.

        What a pilot says of uneven weights flatters them as long as it did not meet the heaviest.
        """
        if self.name == "tree":
            return 1.0
        weights = self.groups.weights / self.groups.weights.max()
        return self.living * float((weights * weights).sum()) / float(weights.sum()) ** 2

    def cost(self, mean: float) -> float:
        """Return work per group times the mean square distance from `mean`."""
        distances = self.groups.weights / mean - 1
        return float(self.groups.work.mean()) * float((distances * distances).mean())


def pilot_seed(seed: int) -> int:
    """Return the seed of a pilot: its samples share no random number with those of the estimate."""
    return (seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) & _MASK


def trawl_seed(seed: int) -> int:
    """Return the seed of a trawl: its samples share no random number with the others either."""
    return pilot_seed(seed ^ _MASK)


def try_estimator(
    sampler: Sampler, estimator: str | SamplingPolicy, seed: int, timeout: float | None = None
) -> Pilot:
    """Return a few samples of one estimator, in a quarter of the time at most."""
    left = None if timeout is None else _SHARE * timeout
    groups = sampler.draw(estimator, pilot_seed(seed), 0, _GROUPS, left)
    return Pilot(estimator, groups if len(groups.weights) == _GROUPS else None)


def choose_estimator(sampler: Sampler, seed: int, *, tree: bool, timeout: float | None = None) -> Pilot:
    """Return the estimator that promises the narrowest interval for its work.

    The samples of the pilot are not used again: an estimate whose own samples had a say in what is sampled
    would be biased. Work is counted, not timed, so that the same seed makes the same choice anywhere.

    Each estimator is judged by its distance from the mean of those that saw the most: one that missed what
    another found must not look sure of its small value.

    Parameters
    ----------
    tree
        Whether the tree estimator may be taken: it needs memory.
    timeout
        Seconds that are left; a pilot takes a quarter of them at most, or is given up.
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
