"""Where matches go that appear and vanish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.pattern import Pattern
from motiflux.stream.updates import Updates


@dataclass(frozen=True, slots=True)
class LineFile:
    """A place to which native code may write the lines of a sink.

    Parameters
    ----------
    descriptor
        The open file.
    grows
        Whether it is a regular file, written at its end before a batch is final; otherwise lines are printed
        once it is.
    suffix
        ``".csv"``, ``".tsv"`` or ``".jsonl"``.
    width
        Number of columns of vertices in a table.
    """

    descriptor: int
    grows: bool
    suffix: str
    width: int


@dataclass(frozen=True, eq=False, slots=True)
class FoundMatches:
    """Matches of one pattern that appeared or vanished with one batch of updates.

    Parameters
    ----------
    pattern
        The pattern.
    number
        Its position among the patterns of the run: the initial patterns, then the added patterns. It does not
        change when other patterns are dropped, and is the position in `Totals.patterns`.
    signs
        int8 [rows]: 1 if a match appeared, -1 if it vanished.
    updates
        int64 [rows]: the number of the update among all updates of the monitor, from 0; in batch mode, the
        number of the batch.
    times
        The time of this update [rows], in batch mode of the last update of the batch; None if updates have no
        times.
    vertices
        External ids [rows, k], columns in the pattern's vertex order.
    changes
        The update that caused each row [rows], without labels of vertices; None in batch mode, and for sinks
        that do not set `Sink.wants_changes`.
    attributes
        The values of columns of the stream that are no part of an update, by name, for the update that caused
        each row [rows]; None as for `changes`, and if the source has no such columns.
    edges
        The attributes of the edges of each match: by query edge (its name, or ``e0``, ``e1``, ...) and
        attribute, the values [rows], as `PatternDelta.edges` returns them. None of a monitor that keeps no
        attributes, and for sinks that do not set `Sink.wants_edges`.
    """

    pattern: Pattern
    number: int
    signs: NDArray[np.int8]
    updates: NDArray[np.int64]
    times: NDArray[Any] | None
    vertices: NDArray[Any]
    changes: Updates | None = None
    attributes: Mapping[str, Sequence[Any]] | None = None
    edges: Mapping[str, Mapping[str, Sequence[Any]]] | None = None

    def __len__(self) -> int:
        return len(self.signs)


class Sink:
    """Receives matches. A subclass overrides `write`, and other methods as needed.

    If `write` or `flush` raises an error, the batch is not acknowledged: graph and position are as before it,
    the error is raised again by `Monitor.run`, and the monitor may be used further.
    """

    wants_matches = True
    """Whether it reads matches; if not, only totals are computed."""
    wants_changes = False
    """Whether it reads `FoundMatches.changes` and `FoundMatches.attributes`."""
    wants_edges = False
    """Whether it reads `FoundMatches.edges`."""
    prints = False
    """Whether it prints on standard output, which may be the terminal that shows progress."""
    uninterrupted = False
    """Whether Ctrl-C waits while it writes."""

    @property
    def wants_empty_batches(self) -> bool:
        """Whether `flush` and `acknowledged` must be called for batches without matches too.

        Batches of text are applied faster where they need not be.
        """
        of_sink = type(self)
        return of_sink.flush is not Sink.flush or of_sink.acknowledged is not Sink.acknowledged

    def line_file(self) -> LineFile | None:
        """Return where lines may be written without `write`, from now until the next call; None: nowhere."""
        return None

    def written_natively(self, rows: int, size: int, rest: bytes, interrupted: Callable[[], bool]) -> None:
        """Take note of rows that were written to `line_file`, and write the rest of them.

        Ctrl-C waits until this returns, as for `acknowledged`.

        Parameters
        ----------
        rows, size
            Number of rows, and of the bytes written.
        rest
            Lines that could not be written without waiting.
        interrupted
            As for `acknowledged`.
        """

    def check(self, patterns: tuple[Pattern, ...]) -> None:
        """Raise an error if `open` would, and change nothing; of several sinks, all are asked first."""

    def open(self, patterns: tuple[Pattern, ...]) -> None:
        """Begin; called once, before anything is written."""

    def write(self, found: FoundMatches) -> None:
        """Take matches of a batch, in the order in which they were found; may be called more than once."""
        raise NotImplementedError

    def flush(self) -> None:
        """All of a batch was written."""

    def acknowledged(self, interrupted: Callable[[], bool]) -> None:
        """Take note that the batch is applied: it and its matches stay.

        Ctrl-C waits until this returns. An error in it ends the run and takes nothing back.

        Parameters
        ----------
        interrupted
            Returns whether Ctrl-C or SIGTERM is waiting.
        """

    def close(self) -> None:
        """All was written."""

    def abandon(self) -> None:
        """Something failed: `close` is not called."""


class Nowhere(Sink):
    """Ignores all matches: for totals only."""

    wants_matches = False


class CallableSink(Sink):
    """Hands matches to a function."""

    wants_edges = True

    def __init__(self, function: Callable[[FoundMatches], object]) -> None:
        self._function = function

    def write(self, found: FoundMatches) -> None:
        """Call the function."""
        self._function(found)


class QueueSink(Sink):
    """Puts matches into a queue, waiting while it is full; None is put at the end."""

    wants_edges = True

    def __init__(self, items: Any) -> None:
        self._queue = items

    def write(self, found: FoundMatches) -> None:
        """Put them."""
        self._queue.put(found)

    def close(self) -> None:
        """Put None."""
        self._queue.put(None)
