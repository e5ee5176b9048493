"""Progress of a search, as callers ask for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from motiflux.io.files.progress import is_shown, meter
from motiflux.request.reports import ProgressCallback, ProgressReport

Progress = bool | Callable[[ProgressReport], None]
"""What the `progress` argument of public calls takes."""


NO_PROGRESS = contextlib.nullcontext[ProgressCallback | None](None)
"""What `progress_callback` yields where nothing is asked for, without the making of a generator."""


@contextlib.contextmanager
def progress_callback(progress: Progress, what: str) -> Iterator[ProgressCallback | None]:
    """Yield the callback that `progress` asks for: none, a bar labelled `what`, or the caller's own."""
    if callable(progress):
        yield progress
    elif progress and is_shown():
        with search_meter(what) as callback:
            yield callback
    else:
        yield None


class FoundSoFar:
    """Forwards reports of a search and remembers the number found: a lower bound if it is interrupted.

    Parameters
    ----------
    report
        Receives the reports.
    """

    def __init__(self, report: ProgressCallback) -> None:
        self._report = report
        self.found = 0
        self.each: tuple[int, ...] = ()

    def __call__(self, report: ProgressReport) -> None:
        """Remember and forward a report."""
        self.found = max(self.found, report.found)
        self.each = report.each or self.each
        self._report(report)


def found_so_far(report: ProgressCallback | None, limit: int | None) -> int:
    """Return the number that a `FoundSoFar` remembers, at most `limit`; 0 for another callback."""
    found = report.found if isinstance(report, FoundSoFar) else 0
    return found if limit is None else min(found, limit)


_UNITS = 1000
"""Units of progress that a search of several parts has."""


def in_parts(report: ProgressCallback | None, shares: Sequence[float]) -> Iterator[ProgressCallback | None]:
    """Yield what each part of a search is to report to, so that all of them are one way from 0 to the end.

    Parameters
    ----------
    shares
        About which share of the work each part is.
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
    """Yield a callback that shows progress on stderr, be that a terminal or not; `in_lines` as for `meter`.

    It shows what was found and searched, and no share: parts of a search differ in cost by orders of
    magnitude, so that a search may be at 5 % of its parts nearly until its end.
    """
    with meter(what, in_lines=in_lines) as update:

        def show(report: ProgressReport) -> None:
            searched = f", searched {report.done:,} of {report.total:,} parts of different cost"
            update(0, 0, f"{report.found:,} found{searched if report.total else ''}")

        yield show
