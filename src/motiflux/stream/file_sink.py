"""Matches written as a table: columns ``sign, update, time, pattern, v0..``."""

from __future__ import annotations

import json
import os
import queue
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError, OutputError
from motiflux.graph import Column
from motiflux.interop.strings import StringTable
from motiflux.io import arrow_writers, csv_writer
from motiflux.io.atomic import check_place
from motiflux.io.sinks import open_sink, split_suffix
from motiflux.io.tables import Field, group_rows
from motiflux.pattern import Pattern
from motiflux.stream.sink import CallableSink, FoundMatches, QueueSink, Sink

STDOUT = "-"
"""The name that stands for standard output."""

_TEXT = (".csv", ".tsv")
SINK_FORMATS = (*_TEXT, ".parquet", ".arrow")
"""Suffixes of files of matches; text may have ``.gz`` or ``.zst`` after it."""

_FIXED = ("sign", "update", "time", "pattern")
_TEXT_ROWS = 1 << 14


class _MatchRows:
    """Found matches as a table, which grows at its end; see `motiflux.io.tables.MatchTables`.

    What is taken out is gone.
    """

    def __init__(self, patterns: Sequence[Pattern], first: FoundMatches | None) -> None:
        self._width = max((pattern.num_vertices for pattern in patterns), default=0)
        self._text = first is not None and first.vertices.dtype.kind == "U"
        fraction = first is not None and first.times is not None and first.times.dtype.kind == "f"
        time = np.dtype(np.float64 if fraction else np.int64)
        types: list[np.dtype[Any]] = [np.dtype(np.int8), np.dtype(np.int64), time, np.dtype(np.int32)]
        ids = np.dtype(np.uint32 if self._text else np.int64)
        table = StringTable.of([]) if self._text else None
        self.fields = [Field(name, dtype) for name, dtype in zip(_FIXED, types, strict=True)]
        self.fields += [Field(f"v{at}", ids, table) for at in range(self._width)]
        self.metadata: Mapping[str, str] = {
            "motiflux.patterns": json.dumps([str(pattern) for pattern in patterns])
        }
        self._pending: list[FoundMatches] = []
        self.rows = 0

    def put(self, found: FoundMatches) -> None:
        """Add rows; refuse those of a pattern that was not there when the columns were made and has more."""
        if found.vertices.shape[1] > self._width:
            raise OutputError(
                f"pattern {found.number}: expected at most {self._width} vertices, as patterns had when the "
                f"first matches were written, found {found.vertices.shape[1]}"
            )
        self._pending.append(found)
        self.rows += len(found)

    def tables(self, batch_rows: int | None = None) -> Iterator[list[Column]]:
        """Take out all rows, as one table."""
        pending, self._pending, self.rows = self._pending, [], 0
        if pending:
            yield self._columns(pending)

    def _columns(self, pending: list[FoundMatches]) -> list[Column]:
        numbers = [np.full(len(found), found.number, dtype=np.int32) for found in pending]
        return [
            Column(np.concatenate([found.signs for found in pending])),
            Column(np.concatenate([found.updates for found in pending])),
            self._times(pending),
            Column(np.concatenate(numbers)),
            *self._vertices(pending),
        ]

    def _times(self, pending: list[FoundMatches]) -> Column:
        dtype = self.fields[2].dtype
        parts = [np.zeros(len(f), dtype=dtype) if f.times is None else _numbers(f.times) for f in pending]
        values = np.concatenate(parts)
        if dtype.kind == "i" and values.dtype.kind == "f" and not (values == np.floor(values)).all():
            raise OutputError("time: expected integers as in the rows before, found fractions")
        absent = [np.full(len(found), found.times is None) for found in pending]
        missing = np.concatenate(absent)
        return Column(values.astype(dtype), missing if missing.any() else None)

    def _vertices(self, pending: list[FoundMatches]) -> Iterator[Column]:
        codes, strings = self._coded(pending)
        for at in range(self._width):
            parts = [
                block[:, at] if at < block.shape[1] else np.zeros(len(block), block.dtype) for block in codes
            ]
            missing = np.repeat([at >= block.shape[1] for block in codes], [len(block) for block in codes])
            yield Column(np.concatenate(parts), missing if missing.any() else None, strings)

    def _coded(self, pending: list[FoundMatches]) -> tuple[list[NDArray[Any]], StringTable | None]:
        if not self._text:
            return [found.vertices.astype(np.int64) for found in pending], None
        flat = np.concatenate([found.vertices.reshape(-1) for found in pending])
        distinct, codes = np.unique(flat, return_inverse=True)
        ends = np.cumsum([found.vertices.size for found in pending])[:-1]
        pieces = np.split(codes.reshape(-1).astype(np.uint32), ends)
        blocks = [piece.reshape(found.vertices.shape) for piece, found in zip(pieces, pending, strict=True)]
        return blocks, StringTable.of(distinct.tolist())


def _numbers(times: NDArray[Any]) -> NDArray[Any]:
    """Return moments as numbers: datetimes as nanoseconds."""
    return times.astype("datetime64[ns]").astype(np.int64) if times.dtype.kind == "M" else times


class FileSink(Sink):
    """A file, which appears when all was written; if something fails before, none does.

    Parameters
    ----------
    path
        ``.csv`` or ``.tsv`` (also ``.gz``, ``.zst``), ``.parquet``, ``.arrow``.

    Raises
    ------
    OutputError
        The suffix is unknown, or no file can be written there.
    """

    uninterrupted = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        suffix, compression = split_suffix(self.path)
        if suffix not in SINK_FORMATS or (compression and suffix not in _TEXT):
            found = f"suffix {self.path.suffix!r}" if self.path.suffix else "no suffix"
            raise OutputError(f"{self.path}: found {found}, expected {', '.join(SINK_FORMATS)}")
        check_place(self.path)
        self._suffix = suffix
        self._patterns: tuple[Pattern, ...] = ()
        self._rows: _MatchRows | None = None
        self._stack = ExitStack()
        self._writer: Callable[[], object] | None = None
        self.written = 0
        """Rows so far."""

    def open(self, patterns: tuple[Pattern, ...]) -> None:
        """Remember what is watched: the columns show in the first rows."""
        self._patterns = patterns

    def write(self, found: FoundMatches) -> None:
        """Take rows, which are written some megabytes at a time."""
        rows = self._begin(found)
        rows.put(found)
        self.written += len(found)
        if rows.rows >= (_TEXT_ROWS if self._suffix in _TEXT else group_rows(rows.fields)):
            self._write()

    def _begin(self, first: FoundMatches | None) -> _MatchRows:
        if self._rows is None:
            self._rows = _MatchRows(self._patterns, first)
            self._writer = self._stack.enter_context(_opened(self._rows, self.path, self._suffix))
        return self._rows

    def _write(self) -> None:
        assert self._writer is not None
        self._writer()

    def close(self) -> None:
        """Write what is left; the file appears."""
        try:
            self._begin(None)
            self._write()
        except BaseException:
            self.abandon()
            raise
        self._stack.close()

    def abandon(self) -> None:
        """Leave no file."""
        with suppress(_Abandoned):
            self._stack.__exit__(_Abandoned, _Abandoned(), None)


class _Abandoned(Exception):  # noqa: N818
    """Tells what is open that it is not finished."""


@contextmanager
def _opened(rows: _MatchRows, path: Path, suffix: str) -> Iterator[Callable[[], object]]:
    """Open a file, and give what writes the rows that are pending."""
    if suffix in _TEXT:
        with open_sink(path) as file:
            text = csv_writer.Appending(
                file, rows, name=str(path), separator="\t" if suffix == ".tsv" else ","
            )
            yield text.append
        return
    opener = arrow_writers.parquet_rows if suffix == ".parquet" else arrow_writers.arrow_rows
    with opener(rows, path) as append:
        yield append


class StandardOutput(Sink):
    """Lines of comma-separated text on standard output, those of a batch as soon as it is done."""

    def __init__(self) -> None:
        self._patterns: tuple[Pattern, ...] = ()
        self._rows: _MatchRows | None = None
        self._text: csv_writer.Appending | None = None

    def open(self, patterns: tuple[Pattern, ...]) -> None:
        """Remember what is watched."""
        self._patterns = patterns

    def write(self, found: FoundMatches) -> None:
        """Take rows."""
        self._begin(found).put(found)

    def _begin(self, first: FoundMatches | None) -> _MatchRows:
        if self._rows is None:
            self._rows = _MatchRows(self._patterns, first)
            self._text = csv_writer.Appending(sys.stdout.buffer, self._rows, name="standard output")
        return self._rows

    def flush(self) -> None:
        """Write the lines."""
        if self._text is not None:
            self._text.append()
            sys.stdout.buffer.flush()

    def close(self) -> None:
        """Write the line of names, if nothing else was."""
        self._begin(None)
        self.flush()


def as_sink(sink: object) -> Sink:
    """Return what takes matches as a `Sink`: itself, a file, a queue, or a function.

    Raises
    ------
    ArgumentError
        It is none of these.
    OutputError
        No such file can be written.
    """
    if isinstance(sink, Sink):
        return sink
    if isinstance(sink, (str, os.PathLike)):
        return StandardOutput() if str(sink) == STDOUT else FileSink(sink)
    if isinstance(sink, queue.Queue) or (hasattr(sink, "put") and hasattr(sink, "get")):
        return QueueSink(sink)
    if callable(sink):
        return CallableSink(sink)
    raise ArgumentError("sink", "a file, a queue, a function or a Sink", sink)
