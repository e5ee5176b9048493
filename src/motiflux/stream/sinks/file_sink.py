"""Matches written to files and standard output."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable
from pathlib import Path

from motiflux.atomic import check_place
from motiflux.errors import ArgumentError, OutputError
from motiflux.io.files.growing_file import check_growing
from motiflux.io.files.sinks import split_suffix
from motiflux.pattern import Pattern
from motiflux.stream.sinks.arrow_rows import ArrowRows, place_after, stored_kinds
from motiflux.stream.sinks.match_table import MatchTable, kinds_of
from motiflux.stream.sinks.parquet_rows import ParquetRows
from motiflux.stream.sinks.record_batches import RecordBatches
from motiflux.stream.sinks.row_files import RowFile
from motiflux.stream.sinks.several import SeveralSinks
from motiflux.stream.sinks.sink import CallableSink, FoundMatches, LineFile, QueueSink, Sink
from motiflux.stream.sinks.standard_output import OUTPUTS, StandardOutput
from motiflux.stream.sinks.text_rows import TextRows

_TEXT = (".csv", ".tsv", ".jsonl")
SINK_FORMATS = (*_TEXT, ".parquet", ".arrow")
"""Suffixes of files of matches; text may have ``.gz`` or ``.zst`` after it."""


class FileSink(Sink):
    """A file to which rows are appended, batch by batch.

    Text and ``.arrow`` (the stream format) can be read during the run, and after an error or Ctrl-C
    hold the batches that were acknowledged, whole. ``.parquet`` is named ``.parquet.partial`` until the run
    ends. An existing file is replaced when the first batch is done.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.jsonl`` (also ``.gz``, ``.zst``), ``.parquet``, ``.arrow``.
    kept
        Continue after this result of `mark`; data after it is cut off.

    Raises
    ------
    OutputError
        The suffix is unknown, or no file can be written there.
    """

    uninterrupted = True

    def __init__(self, path: str | os.PathLike[str], *, kept: int | None = None) -> None:
        self.path = Path(path)
        suffix, compression = split_suffix(self.path)
        if suffix not in SINK_FORMATS or (compression and suffix not in _TEXT):
            found = f"suffix {self.path.suffix!r}" if self.path.suffix else "no suffix"
            raise OutputError(f"{self.path}: found {found}, expected {', '.join(SINK_FORMATS)}")
        check_place(self.path)
        self._suffix, self._compression = suffix, compression
        self.wants_changes = self.wants_edges = suffix == ".jsonl"
        self._kept = kept
        self._patterns: tuple[Pattern, ...] = ()
        self._table: MatchTable | None = None
        self._file: RowFile | None = None
        self.written = 0
        """Rows so far."""

    @property
    def wants_empty_batches(self) -> bool:
        """Whether the first batch has not made the file yet."""
        return self._file is None and self._suffix in _TEXT

    def check(self, patterns: tuple[Pattern, ...]) -> None:
        """Refuse a file that is shorter than the data that stays, or has other columns."""
        if self._kept is None:
            return
        if self._suffix == ".arrow":
            table = MatchTable(patterns, as_text=False, **stored_kinds(self.path))
            place_after(self.path, RecordBatches(table, self.path), self._kept)
        check_growing(self.path, self._kept if self._suffix in _TEXT else 0)

    def open(self, patterns: tuple[Pattern, ...]) -> None:
        """Store the patterns; cut off data after the position at which a later run continues."""
        self._patterns = patterns
        if self._kept is not None:
            self._begin(None)

    def write(self, found: FoundMatches) -> None:
        """Take rows, which are written some megabytes at a time."""
        if self._file is None:
            self._begin(found)
        assert self._table is not None
        assert self._file is not None
        self._table.put(found)
        self.written += len(found)
        self._file.append()

    def flush(self) -> None:
        """Write the remaining rows of a batch."""
        if self._file is None and self._suffix in _TEXT:
            self._begin(None)
        if self._file is not None:
            self._file.hand_on()

    def acknowledged(self, interrupted: Callable[[], bool]) -> None:
        """Let the rows of the batch stay."""
        if self._file is not None:
            self._file.keep()

    def _begin(self, first: FoundMatches | None) -> None:
        kinds = {} if first is None else kinds_of(first)
        if self._suffix == ".arrow" and self._kept is not None:
            kinds = stored_kinds(self.path)
        self._table = table = MatchTable(self._patterns, as_text=self._suffix in _TEXT, **kinds)
        if self._suffix in _TEXT:
            self._file = TextRows(table, self.path, self._compression, self._suffix, self._kept)
        elif self._suffix == ".arrow":
            self._file = ArrowRows(table, self.path, self._kept)
        else:
            self._file = ParquetRows(table, self.path)

    def line_file(self) -> LineFile | None:
        """Return the file of text once it is begun, unless it is compressed."""
        if not isinstance(self._file, TextRows) or self._compression or self._table is None:
            return None
        return LineFile(self._file.descriptor, True, self._suffix, self._table.width)

    def written_natively(self, rows: int, size: int, rest: bytes, interrupted: Callable[[], bool]) -> None:
        """Let these rows stay."""
        assert isinstance(self._file, TextRows)
        self.written += rows
        self._file.skip(size)

    def mark(self) -> int | None:
        """Return the position at which a later run continues, once it is on disk; None without output."""
        if self._file is not None:
            self._file.sync()
            self._kept = self._file.kept
        return self._kept

    def close(self) -> None:
        """Write the remaining rows, and the end of the file."""
        try:
            if self._file is None:
                self._begin(None)
            assert self._file is not None
            self._file.close()
        except BaseException:
            self.abandon()
            raise
        self._kept, self._file = self._file.kept, None

    def abandon(self) -> None:
        """Leave the batches that are whole."""
        file, self._file = self._file, None
        if file is not None:
            assert self._table is not None
            self._table.drop_unsettled()
            file.abandon()
            self._kept = file.kept


def as_sink(sink: object) -> Sink:
    """Return an object that receives matches as a `Sink`: itself, a file, a queue, a function, or several.

    Raises
    ------
    ArgumentError
        It has another type.
    OutputError
        No such file can be written.
    """
    if isinstance(sink, Sink):
        return sink
    if isinstance(sink, (list, tuple)):
        return SeveralSinks([as_sink(one) for one in sink])
    if isinstance(sink, (str, os.PathLike)):
        return StandardOutput(OUTPUTS[str(sink)]) if str(sink) in OUTPUTS else FileSink(sink)
    if isinstance(sink, queue.Queue) or (hasattr(sink, "put") and hasattr(sink, "get")):
        return QueueSink(sink)
    if callable(sink):
        return CallableSink(sink)
    raise ArgumentError("sink", "a file, a queue, a function, a Sink, or a list of these", sink)
