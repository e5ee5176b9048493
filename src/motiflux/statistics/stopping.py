"""When to look at an estimate, and how sure to be at each look, so that stopping does no harm."""

from __future__ import annotations

_GROWTH = (2.0, 8.0)
_MARGIN = 1.1


class Looks:
    """Looks at samples that go on until an interval is narrow enough.

    Who stops as soon as an interval looks narrow stops too often when the spread happens to look small. So
    the chance of error is shared out: look k may be wrong with probability (1 - confidence) / (k (k + 1)),
    which adds up to 1 - confidence over any number of looks, and holds whatever makes one stop at a look: the
    width, the clock, an interrupt. Looks are few, since each needs at least twice the samples of the one
    before.

    Parameters
    ----------
    confidence
        Of the whole.
    first, most
        Groups at the first look, and at the last at most.
    """

    def __init__(self, confidence: float, first: int, most: int) -> None:
        self._error = 1 - confidence
        self._most = most
        self._number = 1
        self.groups = min(first, most)
        """Groups at the coming look."""

    @property
    def confidence(self) -> float:
        """How sure the interval of the coming look must be."""
        return 1 - self._error / (self._number * (self._number + 1))

    @property
    def exhausted(self) -> bool:
        """Whether there may be no more groups after the coming look."""
        return self.groups >= self._most

    def go_on(self, width: float, wanted: float) -> None:
        """Set the next look: where an interval of that relative `width` should have become as wanted.

        The width shrinks with the square root of the number of groups; the next look is to be surer.
        """
        self._number += 1
        times = width / wanted
        needed = self.groups * _MARGIN * (times * times)  # a power that no float holds would be an error
        least, most = (self.groups * factor for factor in _GROWTH)
        self.groups = min(self._most, int(max(least, min(most, needed))))
