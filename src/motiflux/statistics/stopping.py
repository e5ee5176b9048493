"""Points at which an estimate may stop, and the confidence needed at each, so that stopping adds no bias."""

from __future__ import annotations

_GROWTH = (2.0, 8.0)
_MARGIN = 1.1


class StoppingChecks:
    """Checks of an estimate whose samples continue until an interval is narrow enough.

    A rule that stops as soon as an interval is narrow stops too often when the spread happens to be small. So
    the chance of error is divided: check k may be wrong with probability (1 - confidence) / (k (k + 1)),
    which adds up to 1 - confidence over any number of checks, and holds for any reason to stop at a check:
    the width, the clock, an interrupt. There are few checks, since each needs at least twice the samples of
    the one before.

    Parameters
    ----------
    confidence
        Confidence of the whole procedure.
    first, most
        Groups at the first check, and most groups at the last.
    """

    def __init__(self, confidence: float, first: int, most: int) -> None:
        self._error = 1 - confidence
        self._most = most
        self._number = 1
        self.groups = min(first, most)
        """Groups at the next check."""

    @property
    def confidence(self) -> float:
        """Confidence of the interval at the next check."""
        return 1 - self._error / (self._number * (self._number + 1))

    @property
    def exhausted(self) -> bool:
        """Whether there may be no more groups after the next check."""
        return self.groups >= self._most

    def go_on(self, width: float, wanted: float) -> None:
        """Set the next check: when an interval of relative `width` should be as narrow as wanted.

        The width shrinks with the square root of the number of groups; a margin allows for the higher
        confidence.
        """
        self._number += 1
        times = width / wanted
        needed = self.groups * _MARGIN * (times * times)  # a power that no float holds would be an error
        least, most = (self.groups * factor for factor in _GROWTH)
        self.groups = min(self._most, int(max(least, min(most, needed))))
