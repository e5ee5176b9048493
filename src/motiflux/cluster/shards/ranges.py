"""Ranges of entries that an estimate draws: equal ones of each of 32 strata, which are counted exactly.

Entries lie in the order of degrees, so the ranges of a stratum have roots of about equal degrees. A group of
samples is one range of each stratum; its sum, with each range for all those of its stratum, has the count of
the graph as its mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.statistics import GROUP, UNIT_BITS

LEAST_ENTRIES = 1 << 12
"""Entries of a range: a smaller one has its rows read for few roots."""
MOST_RANGES = 1 << 10
"""The most ranges of a stratum."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of a number of entries; each has a number.

    Parameters
    ----------
    each
        Ranges of a stratum.
    """

    entries: int
    each: int

    @classmethod
    def of(cls, entries: int) -> Ranges:
        """Return ranges of entries."""
        return cls(entries, max(1, min(MOST_RANGES, entries // (GROUP * LEAST_ENTRIES))))

    @property
    def number(self) -> int:
        """The number of ranges."""
        return GROUP * self.each

    def most_groups(self, parts: float) -> int:
        """Return the number of groups that take about as long as a whole count of so many parts.

        The rows around the roots are read for each range, as they are for each part of a whole count.
        """
        return int(min(self.each, parts / GROUP))

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first entry of a range, and the one behind its last."""
        every = GROUP * self.each
        return self.entries * number // every, self.entries * (number + 1) // every

    def number_of(self, entry: int) -> int:
        """Return the range of an entry."""
        return ((entry + 1) * GROUP * self.each - 1) // self.entries

    def draw(self, seed: int, group: int) -> NDArray[np.int64]:
        """Return the ranges of a group, one of each stratum."""
        words = np.random.Philox(key=seed, counter=[0, 0, 0, group]).random_raw(GROUP)
        at = (words % np.uint64(self.each)).astype(np.int64)
        return np.arange(GROUP) * self.each + at

    def weight(self, numbers: NDArray[np.int64], counts: Mapping[int, int]) -> float:
        """Return the weight of a group, as `motiflux.statistics.Tally` takes it."""
        total = GROUP * self.each * sum(counts[number] for number in numbers.tolist())
        return float(np.ldexp(float(total), -UNIT_BITS))
