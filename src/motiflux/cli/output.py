"""Output of commands: JSON for programs, text and tables for users, rows for pipes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from motiflux.units import seconds_text

JSON_SCHEMA = 1
"""Version of every JSON object that the command line prints."""


class Outcome(Protocol):
    """The common properties of `motiflux.Count` and `motiflux.Matches`."""

    @property
    def complete(self) -> bool | None:
        """Whether the result is complete; None during the search."""

    @property
    def seconds(self) -> float:
        """Wall clock time of the search, without planning."""

    @property
    def plan_seconds(self) -> float:
        """Wall clock time of planning."""

    @property
    def engine(self) -> str:
        """Engine of the search."""

    @property
    def device(self) -> str:
        """Device of the search."""

    @property
    def reason(self) -> str:
        """Reason for the choice of engine and device."""


def outcome_fields(outcome: Outcome, load_seconds: float) -> dict[str, Any]:
    """Give the JSON fields that count and match share."""
    return {
        "complete": bool(outcome.complete),
        "seconds": outcome.seconds,
        "load_seconds": load_seconds,
        "plan_seconds": outcome.plan_seconds,
        "engine": outcome.engine,
        "device": outcome.device,
        "reason": outcome.reason,
    }


def timing_text(outcome: Outcome, load_seconds: float) -> str:
    """Give times, engine and device as one line."""
    return (
        f"search {seconds_text(outcome.seconds)}, planning {seconds_text(outcome.plan_seconds)}, "
        f"reading {seconds_text(load_seconds)}, engine {outcome.engine}, device {outcome.device}"
    )


_printed: ContextVar[bool] = ContextVar("printed", default=False)


def start() -> None:
    """Note that a command starts, which has printed nothing."""
    _printed.set(False)


def printed() -> bool:
    """Return whether the command has printed its JSON object."""
    return _printed.get()


def print_json(fields: Mapping[str, Any]) -> None:
    """Print one object, its schema first, on stdout."""
    _printed.set(True)
    print(json.dumps({"schema": JSON_SCHEMA, **fields}))


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """Print a table on stdout; columns named in `right` are aligned there."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    # In a pipe there is no screen to fit: lines are as long as they need to be.
    Console(highlight=False, width=None if sys.stdout.isatty() else 1000).print(table)
