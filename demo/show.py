"""How the parts of the demo print."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text


def say(console: Console, words: str) -> None:
    """Print words as they are: no markup in them, no line broken."""
    console.print(words, markup=False, highlight=False, soft_wrap=True)


def heading(console: Console, words: str) -> None:
    """Print what comes next."""
    console.print(Text(f"\n{words}", style="bold"))


@contextmanager
def timed(console: Console, what: str) -> Iterator[None]:
    """Print how long the block took; on a terminal, say what goes on meanwhile."""
    start = time.perf_counter()
    with console.status(f"{what} ..."):
        yield
    console.print(f"{what}  [dim]{time.perf_counter() - start:.2f} s[/]")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> Table:
    """Return a table; columns named in `right` are aligned there."""
    made = Table()
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))  # text: what is in brackets is no markup
    return made
