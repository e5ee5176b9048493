"""How long rows may be chosen and copied for a run whose search is expected to take some time."""

from __future__ import annotations

OF_SEARCH_CHOOSING, OF_SEARCH_COPYING = 0.09, 0.045
"""Shares of the time of searches that choosing and copying rows take, in the mean."""
OF_FIRST_SEARCH = 1.0
"""Share of the time of the first search that is spent on each besides, as copies stay."""
OF_RUN_CHOOSING, OF_RUN_COPYING = 0.1, 0.05
"""Most of what is saved that may be spent on each, of the time that searches are expected to take since the
last time that it was done."""
FIRST_CHOOSING = 0.01
"""Seconds for choosing before a search was timed."""
LEAST_SEARCH = 2e-3
"""Seconds of a search for which copies are of use: without any, a run need not look after them."""
_MOST_GAIN = 3
"""Times as fast as without copies that searches were with them, at most: else these would come and go."""
LEAST_CHOOSING, _MOST_CHOOSING = 3e-4, 0.05
"""Seconds: with less, too few walks are made to be worth the calls."""
LEAST_ROWS = 16
"""Rows: for fewer copies none are chosen."""
_MOST_SAVED = 16
"""Runs whose shares may be saved up."""
_DEARER = 1.1
"""Times what a row took before that one may be taken to take. Few rows take as long as many, so it is what
one of many took: else few would be copied, as few were copied before, and each seemed dear."""
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
    least
        Seconds for choosing with which it is worth the calls.
    """

    def __init__(self) -> None:
        self.least = LEAST_CHOOSING
        self._last: tuple[float, int] | None = None  # the last search: seconds, roots
        self._of_row: float | None = None
        self._choosing = self._copying = 0.0
        self._may_choose = self._may_copy = 0.0  # what is saved or not
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
        self._choosing = _saved(self._choosing, OF_SEARCH_CHOOSING * search, self.least)
        self._copying = _saved(self._copying, OF_SEARCH_COPYING * search)
        self._may_choose += OF_RUN_CHOOSING * search
        self._may_copy += OF_RUN_COPYING * search

    def choosing(self) -> float:
        """Return seconds for choosing rows; 0 if it has to wait for more, or copying has."""
        if self._last is None:
            return FIRST_CHOOSING
        most = self.most_rows()
        seconds = min(self._choosing, self._may_choose, _MOST_CHOOSING)
        waits = seconds < self.least or (most is not None and most < LEAST_ROWS)
        return 0.0 if waits else seconds

    def most_rows(self) -> int | None:
        """Return the number of rows that may be copied; None: any."""
        if not self.copied_before or self._of_row is None:
            return None
        return max(0, int(min(self._copying, self._may_copy) / self._of_row))

    def chose(self, seconds: float) -> None:
        """Take note that choosing took so long."""
        if self._last is not None:
            self._choosing -= seconds
            self._may_choose = 0.0

    def copied(self, seconds: float, rows: int) -> None:
        """Take note that copying some rows took so long."""
        if rows:
            each = seconds / rows
            self._of_row = each if self._of_row is None else min(each, _DEARER * self._of_row)
        if self.copied_before:
            self._copying -= seconds
            self._may_copy = 0.0
        self.copied_before = self.copied_before or rows > 0

    def searched(self, seconds: float, roots: int) -> None:
        """Take note that a search took so long."""
        if not roots:
            return
        if self._last is None:
            self._choosing = self._copying = OF_FIRST_SEARCH * seconds
        self._last = seconds, roots


def _saved(before: float, more: float, least: float = 0.0) -> float:
    """Return what is saved with the share of one more run; more than the most stays as it is."""
    return max(before, min(before + more, max(_MOST_SAVED * more, least)))
