"""Sums over groups of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.statistics.central_moments import CentralMoments
from motiflux.statistics.exact_sum import ExactSum

GROUP = 32
"""Samples of a group (``include/motiflux/sample/inherit.hpp``)."""
UNIT_BITS = 200
"""Weights are divided by two to this power (``include/motiflux/sample/graph.hpp``)."""

_MOST_UNITS = 1 << 20
"""An even number."""
_BLOCK = 1 << 13
"""Units measured at once: they fit into a core's cache. Each report measures the last block again."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of independent units, relative to their scale.

    Parameters
    ----------
    units
        Number of units.
    span
        Groups that make a unit.
    draws
        Independent draws that make them all.
    total, variance, smallest, largest
        Sum, sample variance, least and greatest of the units, all times two to the power -`exponent`
        (the variance to twice that).
    skewness
        Third central moment over the variance to the power 3/2.
    effective
        Number of groups of equal size with as uneven a sum: (sum of x)^2 / (sum of x^2). For units of several
        groups, it follows from their variance: a rare match is in one group of a unit, not in all.
    """

    units: int
    span: int
    draws: int
    total: float
    variance: float
    smallest: float
    largest: float
    skewness: float
    effective: float
    exponent: int


class Tally:
    """Sums of weights of groups, in order; groups are independent, samples of one group are not.

    Memory is bounded: beyond a million units, pairs of neighbours are added to units of twice the size.
    Moments are computed by blocks of units and merged in their order: each unit is measured once, and
    splitting groups into pieces makes no difference, not even by rounding.

    Parameters
    ----------
    draws
        Independent draws of a group.
    """

    def __init__(self, draws: int = GROUP) -> None:
        self._draws = draws
        self._units = np.empty(0)
        """The first `_number` entries are units; the others are unused."""
        self._number = 0
        self._rest = np.empty(0)
        """Groups that make no unit yet."""
        self._sum = ExactSum()
        self._blocks = CentralMoments()
        """Of the blocks of units that were measured."""
        self._moments: Moments | None = None
        """The moments of the units added so far, if they were computed."""
        self.span = 1
        self.groups = 0
        self.valid = 0
        self.work = 0

    @property
    def samples(self) -> int:
        """Number of samples started, with those that died."""
        return self.groups * GROUP

    def add(self, weights: NDArray[np.float64], valid: NDArray[np.uint32], work: NDArray[np.uint32]) -> None:
        """Add groups that follow the groups added before."""
        self.groups += len(weights)
        self.valid += int(valid.sum(dtype=np.uint64))
        self.work += int(work.sum(dtype=np.uint64))
        self._sum.add(weights)
        self._moments = None
        groups = np.concatenate([self._rest, weights]) if len(self._rest) else weights
        while len(groups) >= self.span:
            if self._number == _MOST_UNITS:
                self._fold()
                continue
            count = min(len(groups) // self.span, _MOST_UNITS - self._number)
            self._append(_added_up(groups[: count * self.span], self.span))
            groups = groups[count * self.span :]
        self._rest = groups.copy()

    def _append(self, units: NDArray[np.float64]) -> None:
        end = self._number + len(units)
        if end > len(self._units):
            room = np.empty(min(max(end, 2 * len(self._units)), _MOST_UNITS))
            room[: self._number] = self._units[: self._number]
            self._units = room
        self._units[self._number : end] = units
        self._number = end

    def _fold(self) -> None:
        self._number //= 2
        self._units[: self._number] = _added_up(self._units, 2)
        self.span *= 2
        self._blocks = CentralMoments()

    def mean(self) -> tuple[float, int]:
        """Return the mean weight of a sample as a fraction and an exponent of two; (0.0, 0) of none."""
        fraction, exponent = self._sum.over(max(1, self.samples))
        return (fraction, exponent + UNIT_BITS) if fraction else (0.0, 0)

    def moments(self) -> Moments:
        """Return the moments of the units; the moments of a single unit have no variance."""
        if self._moments is None:
            self._moments = self._measure()
        return self._moments

    def _measure(self) -> Moments:
        while (end := self._blocks.size + _BLOCK) <= self._number:
            self._blocks = self._blocks.merged(CentralMoments.of(self._units[end - _BLOCK : end]))
        found = self._blocks.merged(CentralMoments.of(self._units[self._blocks.size : self._number]))
        units, total = found.size, found.mean * found.size
        squares = found.second + (total * total / (units * self.span) if units else 0.0)
        variance = found.second / max(1, units)
        return Moments(
            units,
            self.span,
            units * self.span * self._draws,
            total,
            found.second / max(1, units - 1),
            found.smallest,
            found.largest,
            found.third / units / variance**1.5 if variance > 0 else 0.0,
            total * total / squares if squares > 0 else 0.0,
            found.exponent,
        )

    @property
    def effective(self) -> float:
        """Number of groups of equal weight that would be as uneven."""
        return self.moments().effective


def _added_up(numbers: NDArray[np.float64], span: int) -> NDArray[np.float64]:
    """Return sums of `span` neighbours, a power of two: pair by pair, so that rounding is always the same."""
    while span > 1:
        numbers = numbers[::2] + numbers[1::2]
        span //= 2
    return numbers
