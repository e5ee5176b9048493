"""Central moments of numbers that are added in pieces."""

from __future__ import annotations

from math import frexp, ldexp
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_LEAST_EXPONENT = -1000
"""Of a power of two that divides any double: the cube of the least one is a double still."""


class CentralMoments(NamedTuple):
    """The count, mean and central moments of non-negative numbers, which can be merged with others.

    All but `size` are relative to a scale, so that no power of any double is beyond the doubles.

    Parameters
    ----------
    size
        How many numbers.
    mean, smallest, largest
        Of the numbers, times two to the power -`exponent`.
    second, third
        Sums of the second and third powers of distances from the mean, times two to the power -`exponent`
        twice and three times.
    """

    size: int = 0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0
    smallest: float = 0.0
    largest: float = 0.0
    exponent: int = _LEAST_EXPONENT

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> Self:
        """Measure some numbers."""
        size = len(numbers)
        if size == 0:
            return cls()
        smallest, largest = float(numbers.min()), float(numbers.max())
        exponent = max(frexp(largest)[1], _LEAST_EXPONENT) if largest > 0 else _LEAST_EXPONENT
        factor = ldexp(1.0, -exponent)
        least, most = smallest * factor, largest * factor
        if smallest == largest:
            return cls(size, most, 0.0, 0.0, least, most, exponent)
        distances = numbers * factor
        mean = float(distances.sum()) / size
        distances -= mean
        powers = distances * distances
        second = float(powers.sum())
        powers *= distances  # a power would take ten times as long
        return cls(size, mean, second, float(powers.sum()), least, most, exponent)

    def merged(self, other: Self) -> Self:
        """Return the moments of the numbers of both.

        The formulas of Chan, Golub and LeVeque (The American Statistician 37, 1983), and for the third power
        of Pébay (SAND2008-6212). Of equal numbers the second and the third are 0 exactly.
        """
        if self.size == 0 or other.size == 0:
            return self if other.size == 0 else other
        exponent = max(self.exponent, other.exponent)
        one, two = self._relative_to(exponent), other._relative_to(exponent)
        size = one.size + two.size
        apart = two.mean - one.mean
        step = apart * two.size / size
        between = apart * step * one.size
        crossed = 3 * apart * (one.size * two.second - two.size * one.second) / size
        return self._replace(
            size=size,
            mean=one.mean + step,
            second=one.second + two.second + between,
            third=one.third + two.third + between * apart * (one.size - two.size) / size + crossed,
            smallest=min(one.smallest, two.smallest),
            largest=max(one.largest, two.largest),
            exponent=exponent,
        )

    def _relative_to(self, exponent: int) -> Self:
        """Return the same relative to a scale at least as large."""
        if (shift := self.exponent - exponent) == 0:
            return self
        return self._replace(
            mean=ldexp(self.mean, shift),
            second=ldexp(self.second, 2 * shift),
            third=ldexp(self.third, 3 * shift),
            smallest=ldexp(self.smallest, shift),
            largest=ldexp(self.largest, shift),
            exponent=exponent,
        )
