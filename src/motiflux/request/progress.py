"""Callbacks and displays for the progress of a search."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from motiflux.io.files.progress import is_shown, meter
from motiflux.plan import Plan
from motiflux.plan.estimate.predict import expected_count
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.units import rough

Progress = bool | Callable[[ProgressReport], None]
"""Type of the `progress` argument of public calls."""


NO_PROGRESS = contextlib.nullcontext[ProgressCallback | None](None)
"""The context of `progress_callback` without progress, which saves making a generator."""


@contextlib.contextmanager
def progress_callback(progress: Progress, what: str) -> Iterator[ProgressCallback | None]:
    """Yield the callback for the argument `progress`: none, a bar labelled `what`, or the caller's."""
    if callable(progress):
        yield progress
    elif progress and is_shown():
        with search_meter(what) as callback:
            yield callback
    else:
        yield None


class FoundSoFar:
    """Forwards reports of a search with the expected number, and stores the number found.

    That is a lower bound if the search is interrupted.

    Parameters
    ----------
    report
        The callback that receives the reports.
    """

    def __init__(self, report: ProgressCallback) -> None:
        self._report = report
        self.found = 0
        self.each: tuple[int, ...] = ()
        self.expected: float | None = None

    def __call__(self, report: ProgressReport) -> None:
        """Store and forward a report."""
        self.found = max(self.found, report.found)
        self.each = report.each or self.each
        self._report(report if self.expected is None else replace(report, expected=self.expected))


class Forward:
    """Forwards progress reports, except those behind an earlier one: for tries that each begin anew.

    Parameters
    ----------
    report
        The callback that receives the reports.
    """

    def __init__(self, report: ProgressCallback) -> None:
        self._report = report
        self._share = 0.0

    def __call__(self, report: ProgressReport) -> None:
        """Forward a report."""
        share = report.done / max(report.total, 1)
        if share >= self._share:
            self._share = share
            self._report(report)


def expect(report: ProgressCallback | None, plans: Iterable[Plan], limit: int | None) -> None:
    """Have a `FoundSoFar` tell the number that planning estimated, at most `limit` for each plan."""
    if isinstance(report, FoundSoFar):
        counts = [expected_count(plan, limit) for plan in plans]
        report.expected = None if None in counts else sum(count for count in counts if count is not None)


def found_so_far(report: ProgressCallback | None, limit: int | None) -> int:
    """Return the number found that a `FoundSoFar` stores, at most `limit`; 0 for another callback."""
    found = report.found if isinstance(report, FoundSoFar) else 0
    return found if limit is None else min(found, limit)


_UNITS = 1000
"""Units of progress of a search in several parts."""
_ROUNDED = 1e-6
"""Units that are missing at most where shares add up to 1, but not as numbers of 64 bits."""


def in_parts(report: ProgressCallback | None, shares: Sequence[float]) -> Iterator[ProgressCallback | None]:
    """Yield a callback for each part of a search; `report` receives the progress of the whole search.

    Parameters
    ----------
    shares
        Approximate share of each part in the work.
    """
    if report is None or len(shares) == 1:
        yield from [report] * len(shares)
        return
    begin, most = 0.0, 0
    for share in shares:

        def tell(part: ProgressReport, begin: float = begin, share: float = share) -> None:
            nonlocal most
            done = begin + share * min(1.0, part.done / max(1, part.total))
            most = max(most, int(_UNITS * done + _ROUNDED))
            report(replace(part, done=most, total=_UNITS))

        yield tell
        begin += share


def of_equal_parts(report: ProgressCallback | None, number: int) -> list[ProgressCallback | None]:
    """Return a callback for each of some parts of a call, which are taken to be equal."""
    return list(in_parts(report, [1 / max(1, number)] * number))


@contextlib.contextmanager
def search_meter(what: str, *, in_lines: bool = False) -> Iterator[ProgressCallback]:
    """Yield a callback that shows progress on stderr, terminal or not; `in_lines` as for `meter`.

    It shows the numbers found and expected. If none is expected, it shows the parts searched, but no share:
    parts of a search differ in cost by orders of magnitude, so that a search may be at 5 % of its parts
    nearly until its end.
    """
    with meter(what, in_lines=in_lines) as update:
        yield lambda report: update(0, 0, found_text(report))


def found_text(report: ProgressReport) -> str:
    """Return the numbers found and expected, or searched, in less than 50 columns.

    >>> found_text(ProgressReport(5, 84, 10_354_372, 1.0, expected=12_345_678.9))
    '10,354,372 of about 12 million found'
    >>> found_text(ProgressReport(5, 84, 0, 1.0, expected=12_345_678.9))
    'about 12 million expected, 5 of 84 parts'
    >>> found_text(ProgressReport(5, 84, 7, 1.0))
    '7 found, 5 of 84 parts'
    """
    found = f"{report.found:,}" if report.found < 10**15 else f"{report.found:.3e}"
    expected = report.expected or 0.0
    if report.found and expected >= report.found:
        return f"{found} of about {rough(expected)} found"
    # Counts from tables tell no number before the end.
    text = f"{found} found" if report.found or expected < 1 else f"about {rough(expected)} expected"
    return f"{text}, {report.done:,} of {report.total:,} parts" if report.total else text
