"""Rows of matches as a Parquet file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from motiflux.atomic import refuse_irregular
from motiflux.io.files.growing_file import GrowingFile
from motiflux.io.files.sinks import CountingFile
from motiflux.io.tables.match_tables import group_rows
from motiflux.stream.sinks.match_table import MatchTable
from motiflux.stream.sinks.record_batches import RecordBatches
from motiflux.stream.sinks.row_files import PARTIAL, package, renamed


class ParquetRows:
    """A Parquet file: ``NAME.partial`` until it is finished, which it is after Ctrl-C and most errors too."""

    kept = None

    def __init__(self, table: MatchTable, path: Path) -> None:
        refuse_irregular(path)
        self._parquet = package("pyarrow.parquet", path)
        self._path = path
        self._partial = path.with_name(path.name + PARTIAL)
        self._table = table
        self._typed = RecordBatches(table, path)
        self._writer: Any = None
        self._file: GrowingFile | None = None
        self._is_dirty = False
        self._open(self._partial)

    def _open(self, path: Path) -> None:
        self._file = GrowingFile(path)
        sink = self._typed.pa.PythonFile(CountingFile(self._file), mode="w")
        self._writer = self._parquet.ParquetWriter(
            sink, self._typed.schema, compression="zstd", store_schema=True
        )

    def append(self) -> None:
        """Write the waiting rows, if they fill a row group."""
        if self._table.rows >= group_rows(self._table.fields):
            self._write()

    def _write(self) -> None:
        self._is_dirty = True
        if self._typed.must_widen():
            self._rewrite()
        for batch in self._typed.batches():
            self._writer.write_batch(batch, group_rows(self._table.fields))

    def _rewrite(self) -> None:
        self._finish_writing()
        other = self._partial.with_name(self._partial.name + ".wider")
        try:
            self._open(other)
            with self._parquet.ParquetFile(self._partial) as old:
                for batch in old.iter_batches():
                    self._writer.write_batch(self._typed.fitted(batch))
            renamed(other, self._partial)
        except BaseException:
            with suppress(OSError):
                other.unlink(missing_ok=True)
            raise

    def _finish_writing(self) -> None:
        assert self._file is not None
        self._writer.close()
        self._file.keep()
        self._file.sync()
        self._file.close()

    def hand_on(self) -> None:
        """Write the waiting rows, if they fill a row group."""
        self.append()

    def keep(self) -> None:
        """Let the rows stay, also those that wait."""
        self._table.settle()
        self._is_dirty = False

    def sync(self) -> None:
        """Do nothing: no later run continues such a file."""

    def close(self) -> None:
        """Write the waiting rows and the index; rename the file to its final name."""
        self._write()
        self._finish_writing()
        refuse_irregular(self._path)
        renamed(self._partial, self._path)

    def abandon(self) -> None:
        """Finish the file with the batches that are whole; if part of another is in it, there is none."""
        try:
            if not self._is_dirty:
                self.close()
        finally:
            with suppress(Exception):
                self._writer.close()
            if self._file is not None:
                self._file.close()
            with suppress(OSError):
                self._partial.unlink(missing_ok=True)
