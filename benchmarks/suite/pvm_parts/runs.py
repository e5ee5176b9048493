"""Repeated runs: as many as the paper makes (section 7.2), and no more than there is time for.

Sides that are compared take turns, so that what disturbs the machine disturbs all of them, and each is the
first as often as others: a call that follows something else takes up to a fifth longer than one after a call.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from motiflux.bench.measure import Timing, wall_clock

LEAST = 5
"""Runs, if there is time."""
LEAST_LONG = 2
"""Runs, if there is none."""
MOST = 200
WITHIN = 0.02
"""The interval around the mean, as a share of it, that ends the runs."""
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Quantiles of Student's distribution for intervals of 95 %, by degrees of freedom from 1."""
_NORMAL = 1.96
_BETWEEN = 8
"""The interval is computed after each eighth more runs."""


def interval(seconds: Sequence[float]) -> float:
    """Return half the 95 % confidence interval of the mean, as a share of the mean; infinite for one run."""
    freedom = len(seconds) - 1
    if freedom < 1:
        return math.inf
    quantile = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL
    error = statistics.stdev(seconds) / math.sqrt(len(seconds))
    return quantile * error / statistics.fmean(seconds)


@dataclass(frozen=True)
class Times:
    """Seconds of the runs of one side."""

    seconds: Sequence[float]

    @property
    def timing(self) -> Timing:
        """Median, least and number."""
        return Timing.of(self.seconds)

    @property
    def median(self) -> float:
        """The figure that ratios compare."""
        return statistics.median(self.seconds)

    @property
    def figures(self) -> dict[str, float]:
        """The interval, and the mean that the paper reports."""
        spread = {"interval": interval(self.seconds)} if len(self.seconds) > 1 else {}
        return {**spread, "geometric_mean_seconds": statistics.geometric_mean(self.seconds)}


def in_turns(
    sides: Mapping[str, Callable[[], object]],
    seconds: float,
    before: Callable[[], object] = lambda: None,
) -> dict[str, Times]:
    """Run all sides in turns until the interval of each is small, or the time is over.

    Parameters
    ----------
    before
        Called before each run, untimed.
    """
    taken: dict[str, list[float]] = {name: [] for name in sides}
    end = wall_clock() + seconds
    order = list(sides.items())
    check = LEAST
    for run in range(1, MOST + 1):
        for name, call in order:
            before()
            begun = wall_clock()
            call()
            taken[name].append(wall_clock() - begun)
        order.reverse()
        if run >= LEAST_LONG and wall_clock() >= end:
            break
        if run == check:
            if all(interval(one) <= WITHIN for one in taken.values()):
                break
            check += max(1, check // _BETWEEN)
    return {name: Times(one) for name, one in taken.items()}


class Clock:
    """The time of a case, which its queries share. What `outside` measures is not counted.

    Parameters
    ----------
    seconds
        Of the case.
    parts
        Number of queries.
    """

    def __init__(self, seconds: float, parts: int) -> None:
        self._end = time.perf_counter() + seconds
        self._parts = parts

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.perf_counter() >= self._end

    def share(self) -> float:
        """Return the seconds of the next query; 0 if the time is over."""
        left = max(0.0, self._end - time.perf_counter())
        parts, self._parts = self._parts, self._parts - 1
        return left / max(1, parts)

    def outside(self, seconds: float) -> None:
        """Add seconds that are not to be counted."""
        self._end += seconds
