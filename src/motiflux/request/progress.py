"""Callbacks and displays for the progress of a search."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from motiflux.io.files.progress import is_shown, meter
from motiflux.request.reports import ProgressCallback, ProgressReport

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
    """Forwards reports of a search and stores the number found: a lower bound if the search is interrupted.

    Parameters
    ----------
    report
        The callback that receives the reports.
    """

    def __init__(self, report: ProgressCallback) -> None:
        self._report = report
        self.found = 0
        self.each: tuple[int, ...] = ()

    def __call__(self, report: ProgressReport) -> None:
        """Store and forward a report."""
        self.found = max(self.found, report.found)
        self.each = report.each or self.each
        self._report(report)


def found_so_far(report: ProgressCallback | None, limit: int | None) -> int:
    """Return the number found that a `FoundSoFar` stores, at most `limit`; 0 for another callback."""
    found = report.found if isinstance(report, FoundSoFar) else 0
    return found if limit is None else min(found, limit)


_UNITS = 1000
"""Units of progress of a search in several parts."""


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
            most = max(most, int(_UNITS * (begin + share * min(1.0, part.done / max(1, part.total)))))
            report(replace(part, done=most, total=_UNITS))

        yield tell
        begin += share


@contextlib.contextmanager
def search_meter(what: str, *, in_lines: bool = False) -> Iterator[ProgressCallback]:
    """Yield a callback that shows progress on stderr, terminal or not; `in_lines` as for `meter`.

    It shows the numbers found and searched, but no percentage: the parts of a search differ in cost by orders
    of magnitude, so that a search may be at 5 % of its parts nearly until its end.
    """
    with meter(what, in_lines=in_lines) as update:

        def show(report: ProgressReport) -> None:
            searched = f", searched {report.done:,} of {report.total:,} parts of different cost"
            update(0, 0, f"{report.found:,} found{searched if report.total else ''}")

        yield show
