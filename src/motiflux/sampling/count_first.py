"""The exact count before sampling, if no estimator is named.

    brief count | pilot | longer count | samples          the first count that finishes is the result

The longer count runs only if sampling is expected to take long. Budgets are search nodes, so a seed gives the
same result on any machine, device and number of threads, except under a time limit.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from motiflux.cpu.trawling import Trawl, searches_of
from motiflux.plan import Plan
from motiflux.request.sampler import Sampler
from motiflux.sampling.call import EstimateCall
from motiflux.sampling.pilot import Pilot
from motiflux.sampling.stopping import Rules
from motiflux.statistics import GROUP

_BRIEF_NODES = 1 << 19
_BRIEF_NODES_PER_SAMPLE = 8
"""At most 2 to 5 ms; less for few samples."""
_LEAST_WORK = 1 << 21
"""Expected work of sampling from which the longer count is tried: 0.01 to 0.05 s of samples."""
_MOST_NODES = 1 << 27
"""Maximum of the longer count: 0.5 to 1.1 s on one thread."""
_TIME_SHARE = 0.25
"""Maximum share of the remaining time for the longer count."""


class CountFirst:
    """An exact count with limited work, in two steps. Finished parts of the first step are kept."""

    def __init__(self, call: EstimateCall, plan: Plan, sampler: Sampler) -> None:
        self._call = call
        searches = searches_of(call.graph, plan, call.request.threads, call.request.tuning)
        self._trawl = Trawl(sampler.candidates, searches)

    def count_briefly(self) -> int | None:
        """Return the number of embeddings, or None if a few milliseconds do not suffice."""
        nodes = min(_BRIEF_NODES, _BRIEF_NODES_PER_SAMPLE * GROUP * self._call.rules.groups)
        return self._trawl.count_all(nodes, self._call.seconds_left())

    def count_longer(self, pilot: Pilot) -> int | None:
        """Return the number of embeddings, or None if it takes more nodes than sampling takes work.

        It is tried for a relative error, or if few samples of the pilot are embeddings.
        """
        rules = self._call.rules
        if rules.rel_error is None and not pilot.finds_little:
            return None
        work = expected_work(rules, pilot)
        if work < _LEAST_WORK:
            return None
        left = self._call.seconds_left()
        timeout = None if left is None else _TIME_SHARE * left
        return self._trawl.count_all(int(min(_MOST_NODES, work)), timeout, self._call.request.threads)


def expected_work(rules: Rules, pilot: Pilot) -> float:
    """Return the work of the samples that meet the rules, extrapolated from a pilot; 0 without a pilot.

    The number of groups for a relative error is that of a normal distribution with the pilot's variance. If
    no sample of the pilot is an embedding, the variance is taken as if one group had one.
    """
    if pilot.groups is None:
        return 0.0
    weights = pilot.groups.weights
    groups = float(rules.groups)
    if rules.rel_error is not None:
        relative = weights / weights.mean() - 1 if weights.any() else None
        variance = float(len(weights)) if relative is None else float(np.mean(relative**2))
        quantile = NormalDist().inv_cdf((1 + rules.confidence) / 2)
        groups = min(groups, max(float(rules.first_look), variance * (quantile / rules.rel_error) ** 2))
    return groups * float(pilot.groups.work.mean())
