"""How long rows may be chosen and copied for a run whose search is expected to take some time."""

from __future__ import annotations

OF_SEARCH_CHOOSING, OF_SEARCH_COPYING = 0.06, 0.04
"""Shares of the time of searches that choosing and copying rows take, in the mean."""
OF_FIRST_SEARCH = 1.0
"""Share of the time of the first search that is spent on each besides, as copies stay."""
FIRST_CHOOSING = 0.01
"""Seconds for choosing before a search was timed."""
LEAST_SEARCH = 2e-3
"""Seconds of a search for which copies are of use: without any, a run need not look after them."""
_MOST_GAIN = 3
"""Times as fast as without copies that searches were with them, at most: else these would come and go."""
LEAST_CHOOSING, _MOST_CHOOSING = 3e-4, 0.05
"""Seconds: with less, too few walks are made to be worth the calls."""
_LEAST_ROWS = 16
"""Rows: for fewer copies none are chosen."""
_MOST_SAVED = 16
"""Runs whose shares may be saved up."""
_WEIGHT = 0.5
"""Of the newest copies, in the mean over the last ones."""
_MOST_GROWTH = 2
"""Times the last search that one from more roots is expected to take at most: a search from one root takes as
long as one from hundreds."""


class Spending:
    """Saves up shares of the time of searches, run by run.

    So that what takes half a millisecond is done now and then where searches take little longer than that, as
    for small batches, and before each run where they take seconds.

    Attributes
    ----------
    copied_before
        Whether the first copies were made, which may take any time.
    """

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None  # the last search: seconds, roots
        self._of_row: float | None = None
        self._choosing = self._copying = 0.0
        self.copied_before = False

    def is_of_use(self, roots: int, *, held: bool = False) -> bool:
        """Return whether a search from so many roots is expected to be long enough for copies.

        `held`: there are some, without which it would take longer.
        """
        least = LEAST_SEARCH / _MOST_GAIN if held else LEAST_SEARCH
        return self._last is None or self._expected(roots) >= least

    def _expected(self, roots: int) -> float:
        assert self._last is not None, "a search was timed"
        seconds, before = self._last
        return seconds * min(_MOST_GROWTH, roots / before)

    def expect(self, roots: int) -> None:
        """Take the shares of a search from so many roots."""
        if self._last is None:
            return
        search = self._expected(roots)
        self._choosing = _saved(self._choosing, OF_SEARCH_CHOOSING * search)
        self._copying = _saved(self._copying, OF_SEARCH_COPYING * search)

    def choosing(self) -> float:
        """Return seconds for choosing rows; 0 if it has to wait for more, or copying has."""
        if self._last is None:
            return FIRST_CHOOSING
        most = self.most_rows()
        waits = self._choosing < LEAST_CHOOSING or (most is not None and most < _LEAST_ROWS)
        return 0.0 if waits else min(self._choosing, _MOST_CHOOSING)

    def most_rows(self) -> int | None:
        """Return the number of rows that may be copied; None: any."""
        if not self.copied_before or self._of_row is None:
            return None
        return max(0, int(self._copying / self._of_row))

    def chose(self, seconds: float) -> None:
        """Take note that choosing took so long."""
        if self._last is not None:
            self._choosing -= seconds

    def copied(self, seconds: float, rows: int) -> None:
        """Take note that copying some rows took so long."""
        if rows:
            self._of_row = _mean(self._of_row, seconds / rows)
        if self.copied_before:
            self._copying -= seconds
        self.copied_before = self.copied_before or rows > 0

    def searched(self, seconds: float, roots: int) -> None:
        """Take note that a search took so long."""
        if not roots:
            return
        if self._last is None:
            self._choosing = self._copying = OF_FIRST_SEARCH * seconds
        self._last = seconds, roots


def _saved(before: float, more: float) -> float:
    """Return what is saved with the share of one more run; more than the most stays as it is."""
    return max(before, min(before + more, _MOST_SAVED * more))


def _mean(before: float | None, now: float) -> float:
    return now if before is None else (1 - _WEIGHT) * before + _WEIGHT * now
