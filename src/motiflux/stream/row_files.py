"""Files that rows of matches are appended to, batch by batch.

Text and Arrow streams are read while they grow; a batch is written whole before any of it counts. Parquet
has an index at its end, and is written under another name until then.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from motiflux.errors import MotifluxError, OutputError
from motiflux.io import csv_writer
from motiflux.io.arrow_batches import ArrowTables
from motiflux.io.atomic import output_error, refuse_irregular
from motiflux.io.growing_file import GrowingFile
from motiflux.io.sinks import CountingFile
from motiflux.io.tables import group_rows
from motiflux.packages import require
from motiflux.stream.match_table import TIME, MatchTable

PARTIAL = ".partial"
"""The suffix of a file that cannot be read before it is finished."""

_TEXT_ROWS = 1 << 14
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_LEVEL = 3
_PACKED_BYTES = 1 << 20
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


class RowFile(Protocol):
    """Takes the rows that wait in a table."""

    @property
    def kept(self) -> int | None:
        """The size of the kept data, for a later run that continues; None if none can."""

    def append(self) -> None:
        """Write the waiting rows, or buffer them; readers need not see them yet."""

    def keep(self) -> None:
        """All of a batch was appended: it stays."""

    def sync(self) -> None:
        """Return when the kept data is on disk."""

    def close(self) -> None:
        """Finish the file: all that is kept can be read."""

    def abandon(self) -> None:
        """Finish the file after an error, without data that is not kept."""


class TextRows:
    """Lines of delimited text, compressed or not.

    Compressed, each batch is a member (a frame) of its own, so that the data written can be read at any time.

    Parameters
    ----------
    table
        Whose rows are written.
    path, compression
        ``""``, ``".gz"`` or ``".zst"``.
    separator
        Between cells.
    kept
        Bytes of the existing file that stay; None: start a new file.
    """

    def __init__(
        self, table: MatchTable, path: Path, compression: str, separator: str, kept: int | None
    ) -> None:
        pack = _packer(path, compression)
        self._table = table
        self._file = GrowingFile(path, kept)
        self._packing = None if pack is None else _Packing(self._file, pack)
        self._text = csv_writer.Appending(
            self._file if self._packing is None else self._packing,
            table,
            name=str(path),
            separator=separator,
            with_header=kept is None,
        )

    @property
    def kept(self) -> int:
        """Bytes."""
        return self._file.kept

    def append(self) -> None:
        """Write the waiting rows, if there are many."""
        if self._table.rows >= _TEXT_ROWS:
            self._text.append()

    def keep(self) -> None:
        """Write the waiting rows."""
        self._text.append()
        if self._packing is not None:
            self._packing.finish()
        self._file.keep()

    def sync(self) -> None:
        """Return when the kept data is on disk."""
        self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self.keep()
        self._file.sync()
        self._file.close()

    def abandon(self) -> None:
        """Cut the file after the last batch that is whole."""
        try:
            self._file.cut()
            self._file.sync()
        finally:
            self._file.close()


class _Packing:
    """Compresses data in pieces that can be read independently."""

    def __init__(self, file: GrowingFile, pack: Callable[[bytes], bytes]) -> None:
        self._file = file
        self._pack = pack
        self._waiting = bytearray()

    def write(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= _PACKED_BYTES:
            self.finish()

    def finish(self) -> None:
        if self._waiting:
            self._file.write(self._pack(bytes(self._waiting)))
            self._waiting.clear()


def _packer(path: Path, compression: str) -> Callable[[bytes], bytes] | None:
    """Return a function that compresses a piece.

    Raises
    ------
    OutputError
        The package that it takes is not installed.
    """
    if not compression:
        return None
    if compression == ".gz":
        return _gzipped
    if sys.version_info >= (3, 14):
        compress: Callable[[bytes], bytes] = import_module("compression.zstd").compress
        return compress
    pa = _package("pyarrow", path)
    return lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True))


def _gzipped(data: bytes) -> bytes:
    # No time of writing in it: the same bytes for the same text.
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return compressor.compress(data) + compressor.flush()


class _Typed:
    """Record batches of pyarrow, from the waiting rows of a table."""

    def __init__(self, table: MatchTable, path: Path) -> None:
        self._pa = _package("pyarrow", path)
        self._path = path
        self._table = table
        self._make()

    def _make(self) -> None:
        try:
            self._tables = ArrowTables(self._table, str(self._path))
        except MotifluxError as error:
            raise OutputError(f"{self._path}: cannot be written: {error}") from error
        schema = self._tables.schema
        if self._table.time_kind == "M":
            schema = schema.set(TIME, self._pa.field("time", self._pa.timestamp("ns")))
        self.schema = schema

    def must_widen(self) -> bool:
        """Whether waiting moments do not fit the type of their column, which is changed then."""
        if not self._table.needs_fractions():
            return False
        self._table.time_kind = "f"
        self._make()
        return True

    def batches(self) -> Iterator[Any]:
        for batch in self._tables.batches():
            yield self.fitted(batch)

    def fitted(self, batch: Any) -> Any:
        """Return a batch with the types of the columns now."""
        if batch.schema.equals(self.schema):
            return batch
        try:
            columns = [
                column.cast(field.type) for column, field in zip(batch.columns, self.schema, strict=True)
            ]
        except self._pa.ArrowInvalid as error:
            raise OutputError(
                f"{self._path}: time: expected at most 2**53 beside fractions in one column, found more"
            ) from error
        return self._pa.RecordBatch.from_arrays(columns, schema=self.schema)


class ArrowRows:
    """An Arrow stream: readers see each batch when it is whole.

    Parameters
    ----------
    table, path
        As for `TextRows`.
    kept
        Rows of the existing file that stay; None: start a new file.
    """

    def __init__(self, table: MatchTable, path: Path, kept: int | None) -> None:
        self._ipc = _package("pyarrow.ipc", path)
        self._path = path
        self._typed = _Typed(table, path)
        self._rows = self.kept = kept or 0
        if kept is None:
            self._file = GrowingFile(path)
            self._writer = self._opened(self._file)
        else:
            self._go_on(kept)

    def _opened(self, file: GrowingFile, *, silent: bool = False) -> Any:
        """Return a writer of batches; `silent`: the schema is in the file already."""
        pa, schema = self._typed._pa, self._typed.schema
        sink = _Gate(file, shut=silent)
        writer = self._ipc.new_stream(pa.PythonFile(sink, mode="w"), schema)
        # With the first batch comes the schema.
        writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))
        sink.shut = False
        return writer

    def _go_on(self, kept: int) -> None:
        schema, place = self._place_after(kept)
        if not schema.equals(self._typed.schema):
            raise OutputError(
                f"{self._path}: expected columns {_columns(self._typed.schema)}, found {_columns(schema)}"
            )
        self._file = GrowingFile(self._path, place)
        self._writer = self._opened(self._file, silent=True)

    def _place_after(self, kept: int) -> tuple[Any, int]:
        """Return the schema of the existing file, and the bytes up to the end of `kept` rows."""
        pa, rows = self._typed._pa, 0
        try:
            with pa.OSFile(str(self._path), "rb") as file, self._ipc.open_stream(file) as reader:
                place = file.tell()
                while rows < kept:
                    rows += reader.read_next_batch().num_rows
                    place = file.tell()
                schema = reader.schema
        except (OSError, pa.ArrowInvalid, StopIteration) as error:
            raise OutputError(
                f"{self._path}: found {rows:,} rows, expected at least the {kept:,} written before"
            ) from error
        if rows != kept:
            raise OutputError(f"{self._path}: expected a batch that ends with row {kept:,}, found none")
        return schema, place

    def append(self) -> None:
        """Write the waiting rows."""
        if self._typed.must_widen():
            self._rewrite()
        for batch in self._typed.batches():
            self._writer.write_batch(batch)
            self._rows += batch.num_rows

    def _rewrite(self) -> None:
        """Write all kept rows again, with the current types of the columns."""
        pa = self._typed._pa
        other = self._path.with_name(self._path.name + PARTIAL)
        file = GrowingFile(other)
        try:
            writer = self._opened(file)
            with pa.OSFile(str(self._path), "rb") as old, self._ipc.open_stream(old) as reader:
                rows = 0
                while rows < self.kept:
                    batch = reader.read_next_batch()
                    writer.write_batch(self._typed.fitted(batch))
                    rows += batch.num_rows
            file.keep()
            file.sync()
            _renamed(other, self._path)
        except BaseException:
            file.close()
            with suppress(OSError):
                other.unlink(missing_ok=True)
            raise
        self._file.close()
        self._file, self._writer = file, writer

    def keep(self) -> None:
        """Write the waiting rows."""
        self.append()
        self._file.keep()
        self.kept = self._rows

    def sync(self) -> None:
        """Return when the kept data is on disk."""
        self._file.sync()

    def close(self) -> None:
        """Write the mark of the end."""
        self.keep()
        self._end()

    def _end(self) -> None:
        try:
            self._file.write(_END_OF_STREAM)
            self._file.keep()
            self._file.sync()
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Cut the file after the last batch that is whole."""
        try:
            self._file.cut()
        except BaseException:
            self._file.close()
            raise
        with suppress(OutputError):  # a reader does without the mark of the end
            self._end()


class _Gate(CountingFile):
    """A file for pyarrow, which takes nothing while it is shut."""

    def __init__(self, file: GrowingFile, *, shut: bool) -> None:
        super().__init__(file)
        self.shut = shut

    def write(self, data: Any) -> int:
        return memoryview(data).nbytes if self.shut else super().write(data)


class ParquetRows:
    """A Parquet file: ``NAME.partial`` until it is finished, which it is after Ctrl-C and most errors too."""

    kept = None

    def __init__(self, table: MatchTable, path: Path) -> None:
        refuse_irregular(path)
        self._parquet = _package("pyarrow.parquet", path)
        self._path = path
        self._partial = path.with_name(path.name + PARTIAL)
        self._table = table
        self._typed = _Typed(table, path)
        self._writer: Any = None
        self._file: GrowingFile | None = None
        self._is_dirty = False
        self._open(self._partial)

    def _open(self, path: Path) -> None:
        self._file = GrowingFile(path)
        sink = self._typed._pa.PythonFile(CountingFile(self._file), mode="w")
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
            _renamed(other, self._partial)
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

    def keep(self) -> None:
        """Write the waiting rows, if they fill a row group."""
        self.append()
        self._table.settle()
        self._is_dirty = False

    def sync(self) -> None:
        """Do nothing: no later run continues such a file."""

    def close(self) -> None:
        """Write the waiting rows and the index; rename the file to its final name."""
        self._write()
        self._finish_writing()
        refuse_irregular(self._path)
        _renamed(self._partial, self._path)

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


def stored_kinds(path: Path) -> dict[str, Any]:
    """Return the types of the columns of an Arrow stream, for `MatchTable`.

    Raises
    ------
    OutputError
        It is none of found matches.
    """
    pa, ipc = _package("pyarrow", path), _package("pyarrow.ipc", path)
    kinds = {"int64": "i", "double": "f", "timestamp[ns]": "M"}
    try:
        with pa.OSFile(str(path), "rb") as file, ipc.open_stream(file) as reader:
            schema = reader.schema
        named = any("string" in str(field.type) for field in schema)
        return {"named": named, "time_kind": kinds[str(schema.field("time").type)]}
    except (OSError, KeyError, pa.ArrowInvalid) as error:
        raise OutputError(
            f"{path}: expected an Arrow stream of matches to append to, found another file"
        ) from error


def _renamed(old: Path, new: Path) -> None:
    try:
        old.replace(Path(os.path.realpath(new)))
    except OSError as error:
        raise output_error(new, error) from error


def _columns(schema: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def _package(name: str, path: Path) -> Any:
    return require(name, lambda message: OutputError(f"{path}: {message}"))
