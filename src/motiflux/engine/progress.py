"""A progress bar on stderr, where stderr is a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from motiflux.engine.base import ProgressCallback
from motiflux.engine.results import ProgressReport

Progress = bool | Callable[[ProgressReport], None]
"""What the `progress` argument of public calls takes."""


@contextlib.contextmanager
def progress_callback(progress: Progress, what: str) -> Iterator[ProgressCallback | None]:
    """Yield the callback that `progress` asks for: none, a bar labelled `what`, or the caller's own."""
    if callable(progress):
        yield progress
    elif not progress or not sys.stderr.isatty():
        yield None
    else:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[found]:,} found"),
            TimeElapsedColumn(),
        )
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=1, found=0)

            def update(report: ProgressReport) -> None:
                bar.update(task, completed=report.done, total=max(report.total, 1), found=report.found)

            yield update
