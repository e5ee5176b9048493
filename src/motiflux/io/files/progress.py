"""Progress on stderr and in notebooks: when it is shown, and how."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from motiflux.io.files.source import watched

Update = Callable[[int, int, str], None]
"""Called with the amount done, the total amount (0: not known, no share is shown), and further text."""

SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_TEXTS = 0.1
_BAR_WIDTH = 12
"""So that a line with its text and the clock has less than 80 columns."""


def is_shown() -> bool:
    """Whether ``progress=True`` shows anything: where stderr is a terminal, and in notebooks."""
    return _is_terminal(sys.stderr) or in_notebook()


def shares_terminal() -> bool:
    """Whether standard output and stderr are terminals: lines on both are mixed."""
    return _is_terminal(sys.stderr) and _is_terminal(sys.stdout)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    shell = type(sys.modules["IPython"].get_ipython())
    return shell.__name__ == "ZMQInteractiveShell" or "google.colab" in shell.__module__


@contextmanager
def meter(what: str, *, in_lines: bool = False) -> Iterator[Update]:
    """Show progress: a bar that vanishes at the end on a terminal and in notebooks, elsewhere lines.

    Parameters
    ----------
    in_lines
        Whether to print lines on a terminal too.
    """
    if in_lines or not is_shown():
        shown = _lines(what)
    elif in_notebook() and importlib.util.find_spec("ipywidgets") is None:
        shown = _notebook_text(what)
    else:
        shown = _bar(what)
    with shown as update:
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


def _share(done: int, total: int) -> str:
    return f"{100 * done // total}%" if total else ""


@contextmanager
def _bar(what: str) -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_BAR_WIDTH),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, note="")

        def update(done: int, total: int, note: str) -> None:
            text = " ".join(filter(None, (_share(done, total), note)))
            bar.update(task, completed=done, total=total or None, note=text)

        yield update


@contextmanager
def _notebook_text(what: str) -> Iterator[Update]:
    """Show a line below the cell, which is replaced by each update and vanishes at the end."""
    display = importlib.import_module("IPython.display").display
    start = shown = time.monotonic()
    line = display({"text/plain": what}, raw=True, display_id=True)

    def update(done: int, total: int, note: str) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= _SECONDS_BETWEEN_TEXTS:
            shown = now
            text = ", ".join(filter(None, (what, _share(done, total), note, f"{now - start:.0f} s")))
            line.update({"text/plain": text}, raw=True)

    try:
        yield update
    finally:
        line.update({"text/plain": ""}, raw=True)


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
        share = _share(done, total)
        pending = ", ".join(filter(None, (f"{what}: {share}" if share else what, note)))
        if time.monotonic() - start - printed >= SECONDS_BETWEEN_LINES:
            show()

    try:
        yield update
    finally:
        if pending:
            show()
