"""Progress of a search, as callers ask for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from motiflux.engine.base import ProgressCallback
from motiflux.engine.results import ProgressReport
from motiflux.io.progress import is_shown, meter

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


@contextlib.contextmanager
def search_meter(what: str) -> Iterator[ProgressCallback]:
    """Yield a callback that shows progress on stderr, be that a terminal or not."""
    with meter(what) as update:
        yield lambda report: update(report.done, report.total, f"{report.found:,} found")
