"""Matches written to standard output."""

from __future__ import annotations

import os
import select
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from motiflux.errors import MotifluxWarning
from motiflux.pattern import Pattern
from motiflux.stream.sinks.match_table import MatchTable
from motiflux.stream.sinks.sink import FoundMatches, LineFile, Sink
from motiflux.stream.sinks.text_rows import Text, text_of
from motiflux.units import quantity

OUTPUTS = {"-": ".csv", "-.jsonl": ".jsonl"}
"""The names of standard output, and the formats that they stand for."""

_MOST_BYTES = 64 << 20
"""Text of a batch that waits in memory; longer text waits on disk."""
_FILE_BYTES = 1 << 20
_PAUSE = 0.05
"""Seconds of waiting for a reader, after which interrupts are looked for."""
_PATIENCE = 1.0
"""Seconds that a reader has to take a batch after an interrupt."""


class StandardOutput(Sink):
    """Lines of text on standard output, printed batch by batch when the batch is applied.

    Nothing is printed of a batch that is taken back. If a reader does not take the lines of the last batch
    within a second after Ctrl-C, a warning tells how many bytes are lost.

    Parameters
    ----------
    suffix
        ``".csv"``, ``".tsv"`` or ``".jsonl"``.
    """

    prints = True

    def __init__(self, suffix: str = ".csv") -> None:
        self._suffix = suffix
        self.wants_changes = self.wants_edges = suffix == ".jsonl"
        self._patterns: tuple[Pattern, ...] = ()
        self._table: MatchTable | None = None
        self._text: Text | None = None
        self._waiting: Any = None
        self._is_begun = False

    @property
    def wants_empty_batches(self) -> bool:
        """False: nothing is printed for them."""
        return False

    def open(self, patterns: tuple[Pattern, ...]) -> None:
        """Store the patterns."""
        self._patterns = patterns

    def write(self, found: FoundMatches) -> None:
        """Take rows."""
        self._begin().put(found)
        assert self._text is not None
        self._text.append()

    def _begin(self) -> MatchTable:
        if self._table is None:
            self._waiting = tempfile.SpooledTemporaryFile(_MOST_BYTES)  # noqa: SIM115
            self._table = MatchTable(self._patterns, as_text=True)
            self._text = text_of(self._table, self._waiting, self._suffix, name="standard output")
        return self._table

    def acknowledged(self, interrupted: Callable[[], bool]) -> None:
        """Print the lines of the batch."""
        if self._waiting is not None and self._waiting.tell():
            self._print(interrupted)

    def line_file(self) -> LineFile | None:
        """Return it once a batch was printed, if it is a file, a pipe or a terminal."""
        if not self._is_begun or self._table is None:
            return None
        try:
            number = sys.stdout.buffer.fileno()
        except (OSError, AttributeError):
            return None
        sys.stdout.flush()
        return LineFile(number, False, self._suffix, self._table.width)

    def written_natively(self, rows: int, size: int, rest: bytes, interrupted: Callable[[], bool]) -> None:
        """Print the rest."""
        if rest:
            self._waiting.write(rest)
            self._print(interrupted)

    def _print(self, interrupted: Callable[[], bool]) -> None:
        size = self._waiting.tell()
        self._is_begun = True
        self._waiting.seek(0)
        sys.stdout.flush()
        printed = 0
        while data := self._waiting.read(_FILE_BYTES):
            printed += _print(data, interrupted)
            if printed < self._waiting.tell():
                lost = quantity(size - printed, "byte")
                text = f"standard output: its reader did not take the last {lost} of rows, which are lost"
                warnings.warn(text, MotifluxWarning, stacklevel=2)
                break
        self._waiting.seek(0)
        self._waiting.truncate()

    def close(self) -> None:
        """Print the line of names, if there was no other output; waiting rows are of an undone batch."""
        self.abandon()
        if not self._is_begun:
            self._begin()
            self._print(lambda: False)
            self.abandon()

    def abandon(self) -> None:
        """Forget the rows that wait: their batch failed."""
        if self._waiting is not None:
            self._waiting.close()
        self._waiting = self._table = self._text = None


def _print(data: bytes, interrupted: Callable[[], bool]) -> int:
    """Print; return how many bytes, which are all of them unless a reader stops reading and Ctrl-C comes."""
    stream = sys.stdout.buffer
    try:
        number = stream.fileno()
        # A pipe that is called ready takes this much without waiting: an interrupt would not end the wait.
        most = _FILE_BYTES if stat.S_ISREG(os.fstat(number).st_mode) else select.PIPE_BUF
    except OSError:
        stream.write(data)
        stream.flush()
        return len(data)
    done, patience = 0, _PATIENCE
    while done < len(data):
        if not select.select([], [number], [], _PAUSE)[1]:
            patience -= _PAUSE if interrupted() else 0.0
            if patience < 0:
                break
            continue
        with suppress(BlockingIOError):
            done += os.write(number, data[done : done + most])
    return done
