"""Sources of updates: batches, each with the position up to which the source was read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import FormatError, StreamError
from motiflux.stream.sources.attributes import Attributes
from motiflux.stream.updates import Updates

ON_ERROR = ("stop", "skip")
"""The treatments of a line that is malformed or refused."""

_SHOWN = 100
"""Bytes of a line that messages show."""


class Position(NamedTuple):
    """How far a source was read: enough to go on from there.

    Parameters
    ----------
    line
        Lines of text before it, or rows of a table, or updates.
    offset
        Bytes of decompressed text before it; 0 if the source is not text.
    """

    line: int = 0
    offset: int = 0


BEGIN = Position()
"""Where a source begins."""


@dataclass(frozen=True, slots=True)
class Feeding:
    """Text that is being parsed.

    Parameters
    ----------
    parsing
        The parser.
    origin
        The name of the source in errors.
    words
        Names that stand for a missing id.
    descriptor
        Of what the text is read from, if it can be read on from there; else -1.
    partial
        Whether batches need not be full.
    attributes
        Whether batches have `Batch.attributes`.
    """

    parsing: Any
    origin: str
    words: Sequence[str]
    descriptor: int
    partial: bool
    attributes: bool


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a source.

    Parameters
    ----------
    size
        Most updates in a batch; None: columns are returned as they are.
    exact
        Whether all batches but the last must have this size; otherwise available updates need not wait.
    ids, edge_labels, vertex_labels
        ``"i"`` for integers, ``"U"`` for strings, None where nothing is known yet: text could be either.
    deadline
        The moment (`time.perf_counter`) until which waiting is allowed.
    idle
        Called repeatedly while no update arrives.
    attributes
        Whether batches should have `Batch.attributes`.
    edge_attributes
        Returns whether an attribute of edges is kept, by its name: updates should have such columns. None: no
        attributes are kept.
    attribute_kinds
        The kinds of the attributes that are known, in words.
    times
        Whether updates need times, because of a window.
    quiet
        Applies batches of text; returns whether the run goes on. None: every batch is yielded.
    is_over
        Returns whether no batch is wanted any more; sources that `can_repeat` ask between two pieces of their
        input. None: that is not known.
    """

    size: int | None
    exact: bool = False
    ids: str | None = None
    edge_labels: str | None = None
    vertex_labels: str | None = None
    deadline: float | None = None
    idle: Callable[[], None] | None = None
    attributes: bool = False
    edge_attributes: Callable[[str], bool] | None = None
    attribute_kinds: Mapping[str, str] = field(default_factory=dict)
    times: bool = False
    quiet: Callable[[Feeding], bool] | None = None
    is_over: Callable[[], bool] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether no batch is wanted any more."""
        return self.is_over is not None and self.is_over()

    @property
    def rows(self) -> int:
        """Most updates in a batch that is collected update by update."""
        return DEFAULT_SIZE if self.size is None else self.size


DEFAULT_SIZE = 1024
"""Default number of updates in a batch that is collected update by update."""


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Updates, and where they are from.

    Parameters
    ----------
    updates
        The updates, in order.
    origin
        The name of the source in errors.
    position
        The position of the source after the updates.
    arrived
        When they were had (`time.perf_counter`).
    lines
        The line or row of each, counted from 1; None where they have none.
    label_lines
        The line of each label of a vertex, where it is not that of an update.
    unit
        The unit of the counts: ``"line"`` or ``"row"``.
    skips, skipped
        The number of lines left out, and the first few with their errors.
    raw, before
        The text of the batch where lines are left out, and the lines before it.
    attributes
        Returns, for some of `lines`, the values of each column that is no part of an update, by name; None is
        a missing value. None where there are no such columns, or they were not requested.
    """

    updates: Updates
    origin: str
    position: Position
    arrived: float
    lines: NDArray[np.int64] | None = None
    label_lines: NDArray[np.int64] | None = None
    unit: str = "line"
    skips: int = 0
    skipped: tuple[tuple[int, str], ...] = ()
    raw: bytes = b""
    before: int = 0
    attributes: Attributes | None = None

    def text_of(self, line: int) -> str | None:
        """Return a line as it was read, for messages; None where there is no text."""
        texts = self.raw.split(b"\n")
        at = line - self.before - 1
        if not self.raw or not 0 <= at < len(texts):
            return None
        text = texts[at].rstrip(b"\r")
        shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in text[:_SHOWN])
        return f"'{shown}{'...' if len(text) > _SHOWN else ''}'"

    def located(self, error: StreamError) -> StreamError:
        """Return an error about one of the updates, or of the labels of vertices, as one about its line."""
        at, lines = error.row, self.lines
        if error.label is not None and self.label_lines is not None:
            at, lines = error.label, self.label_lines
        if at is None or lines is None or not 0 <= at < len(lines):
            return error
        message = re.sub(rf"^updates, (times, )?row {at}: ", "", error.message)
        return StreamError(f"{self.place(int(lines[at]))}: {message}", error.row, error.label)

    def whole(self) -> str:
        """Return the first and the last of `lines`, as errors name them."""
        if self.lines is None or not len(self.lines):
            end = self.position.line
            return f"{self.origin}, updates {end - len(self.updates)} to {end - 1}"
        return f"{self.place(int(self.lines[0]))} to {self.place(int(self.lines[-1])).split()[-1]}"

    def place(self, line: int) -> str:
        """Return one of `lines` as errors name it: rows of tables are counted from 0 there."""
        return f"{self.origin}, {self.unit} {line - 1 if self.unit == 'row' else line}"


@runtime_checkable
class Source(Protocol):
    """Gives updates batch by batch.

    `Monitor.run` converts its argument to one of these; a class of your own needs only this method.
    """

    def batches(self, request: Request) -> Iterator[Batch]:
        """Yield batches; waits if more may arrive.

        Raises
        ------
        FormatError, StreamError
            The input is malformed; all updates before it were returned.
        """


def can_repeat(source: Source) -> bool:
    """Return whether a source is one of motiflux that can give its updates to a later run, too.

    What a run has read of it and not applied is not lost, and it may be read by another thread.
    """
    return getattr(source, "can_repeat", False) is True


def malformed(origin: str, line: int, message: str) -> FormatError:
    """Return the error of a line."""
    return FormatError(origin, message, line)
