"""What groups of samples add up to."""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, ldexp

import numpy as np
from numpy.typing import NDArray

from motiflux.statistics.exact_sum import ExactSum

GROUP = 32
"""Samples of a group (``include/motiflux/sample/inherit.hpp``)."""
UNIT_BITS = 200
"""Weights come divided by two to this power (``include/motiflux/sample/graph.hpp``)."""

_MOST_UNITS = 1 << 20


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
        Number of groups of equal size with as uneven a sum: (sum of x)^2 / (sum of x^2). Of units of several
        groups, as their variance says: what is rare fills one group of a unit, not all.
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

    Memory is bounded: beyond a million units, neighbours are added up to units twice as large.

    Parameters
    ----------
    draws
        Independent draws of a group.
    """

    def __init__(self, draws: int = GROUP) -> None:
        self._draws = draws
        self._parts: list[NDArray[np.float64]] = []
        """Units, joined when they are looked at: each time would take 20 ms of 16 million samples."""
        self._number = 0
        self._rest = np.empty(0)
        self._sum = ExactSum()
        self._moments: Moments | None = None
        """Of what was added so far, once they were asked for."""
        self.span = 1
        self.groups = 0
        self.valid = 0
        self.work = 0

    @property
    def samples(self) -> int:
        """Number of samples that were begun, those that died included."""
        return self.groups * GROUP

    def add(self, weights: NDArray[np.float64], valid: NDArray[np.uint32], work: NDArray[np.uint32]) -> None:
        """Add groups that follow those added before."""
        self.groups += len(weights)
        self.valid += int(valid.sum(dtype=np.uint64))
        self.work += int(work.sum(dtype=np.uint64))
        self._sum.add(weights)
        self._moments = None
        self._append(np.concatenate([self._rest, weights]))
        while self._number > _MOST_UNITS:
            self._fold()

    @property
    def _units(self) -> NDArray[np.float64]:
        """All whole units."""
        if len(self._parts) != 1:
            self._parts = [np.concatenate(self._parts)] if self._parts else [np.empty(0)]
        return self._parts[0]

    def _append(self, groups: NDArray[np.float64]) -> None:
        """Append whole units; the groups that make none yet wait."""
        whole = len(groups) // self.span * self.span
        units = groups[:whole]
        self._parts.append(units if self.span == 1 else units.reshape(-1, self.span).sum(axis=1))
        self._number += whole // self.span
        self._rest = groups[whole:]

    def _fold(self) -> None:
        units = self._units
        even = len(units) // 2 * 2
        if even < len(units):  # what is left of the last unit waits too, as one number
            self._rest = np.concatenate([units[even:], np.zeros(self.span - 1), self._rest])
        self._parts = [units[:even].reshape(-1, 2).sum(axis=1)]
        self._number = even // 2
        self.span *= 2

    def mean(self) -> tuple[float, int]:
        """Return the mean weight of a sample as a fraction and an exponent of two; (0.0, 0) of none."""
        fraction, exponent = self._sum.over(max(1, self.samples))
        return (fraction, exponent + UNIT_BITS) if fraction else (0.0, 0)

    def moments(self) -> Moments:
        """Return the moments of the units; those of a single unit have no variance."""
        if self._moments is None:
            self._moments = self._measure()
        return self._moments

    def _measure(self) -> Moments:
        units = self._units
        draws = len(units) * self.span * self._draws
        largest = float(units.max(initial=0.0))
        if largest == 0:
            return Moments(len(units), self.span, draws, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
        exponent = frexp(largest)[1]
        scaled = np.ldexp(units, -exponent)
        total = float(scaled.sum())
        deviations = scaled - total / len(units)
        squares = deviations * deviations
        second = float(squares.mean())
        third = float((squares * deviations).mean())  # a power would take ten times as long
        return Moments(
            len(units),
            self.span,
            draws,
            total,
            second * len(units) / max(1, len(units) - 1),
            float(scaled.min()),
            ldexp(largest, -exponent),
            third / second**1.5 if second > 0 else 0.0,
            total * total / (second * len(units) + total * total / (len(units) * self.span)),
            exponent,
        )

    @property
    def effective(self) -> float:
        """Number of groups of equal weight that would be as uneven."""
        return self.moments().effective
