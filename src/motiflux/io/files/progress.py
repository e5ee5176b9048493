"""Progress on stderr: when it is shown, and how."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from motiflux.io.files.source import watched

Update = Callable[[int, int, str], None]
"""Called with the amount done, the total amount, and further text."""

SECONDS_BETWEEN_LINES = 5.0


def is_shown() -> bool:
    """Whether ``progress=True`` shows anything: only where stderr is a terminal."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


@contextmanager
def meter(what: str) -> Iterator[Update]:
    """Show progress: a bar that vanishes at the end on a terminal, elsewhere a line now and then."""
    with _bar(what) if is_shown() else _lines(what) as update:
        yield update


@contextmanager
def reading_meter(path: Path) -> Iterator[None]:
    """Show how much of a file has been read in the ``with`` block."""
    try:
        size = path.stat().st_size
    except (OSError, ValueError):
        size = 0  # reading will raise the error
    with meter(f"reading {path.name}") as update, watched(lambda done: update(min(done, size), size, "")):
        yield


@contextmanager
def _bar(what: str) -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1, note="")

        def update(done: int, total: int, note: str) -> None:
            bar.update(task, completed=done, total=max(total, 1), note=note)

        yield update


@contextmanager
def _lines(what: str) -> Iterator[Update]:
    """Print the first update, then one every few seconds, and the last one at the end."""
    start = time.monotonic()
    printed = -SECONDS_BETWEEN_LINES
    pending = what

    def show() -> None:
        nonlocal printed, pending
        printed = time.monotonic() - start
        print(f"{pending}, {printed:.0f} s", file=sys.stderr, flush=True)
        pending = ""

    def update(done: int, total: int, note: str) -> None:
        nonlocal pending
        share = f": {100 * done // total}%" if total else ""
        pending = ", ".join(filter(None, (f"{what}{share}", note)))
        if time.monotonic() - start - printed >= SECONDS_BETWEEN_LINES:
            show()

    try:
        yield update
    finally:
        if pending:
            show()
