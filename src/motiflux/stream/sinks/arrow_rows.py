"""Rows of matches as an Arrow stream."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from motiflux.errors import OutputError
from motiflux.io.files.growing_file import GrowingFile
from motiflux.io.files.sinks import CountingFile
from motiflux.stream.sinks.match_table import MatchTable
from motiflux.stream.sinks.record_batches import RecordBatches
from motiflux.stream.sinks.row_files import PARTIAL, package, renamed
from motiflux.units import quantity

_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


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
        self._ipc = package("pyarrow.ipc", path)
        self._path = path
        self._typed = RecordBatches(table, path)
        self._rows = self.kept = kept or 0
        if kept is None:
            self._file = GrowingFile(path)
            self._writer = self._opened(self._file)
        else:
            self._go_on(kept)

    def _opened(self, file: GrowingFile, *, silent: bool = False) -> Any:
        """Return a writer of batches; `silent`: the schema is in the file already."""
        pa, schema = self._typed.pa, self._typed.schema
        sink = _Gate(file, shut=silent)
        writer = self._ipc.new_stream(pa.PythonFile(sink, mode="w"), schema)
        # The schema is written with the first batch.
        writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))
        sink.shut = False
        return writer

    def _go_on(self, kept: int) -> None:
        place = place_after(self._path, self._typed, kept)
        self._file = GrowingFile(self._path, place)
        self._writer = self._opened(self._file, silent=True)

    def append(self) -> None:
        """Write the waiting rows."""
        if self._typed.must_widen():
            self._rewrite()
        for batch in self._typed.batches():
            self._writer.write_batch(batch)
            self._rows += batch.num_rows

    def _rewrite(self) -> None:
        """Write all kept rows again, with the current types of the columns."""
        pa = self._typed.pa
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
            renamed(other, self._path)
        except BaseException:
            file.close()
            with suppress(OSError):
                other.unlink(missing_ok=True)
            raise
        self._file.close()
        self._file, self._writer = file, writer

    def hand_on(self) -> None:
        """Write the waiting rows."""
        self.append()
        self._file.hand_on()

    def keep(self) -> None:
        """Let the written rows stay."""
        self._file.keep()
        self.kept = self._rows

    def sync(self) -> None:
        """Return when the kept data is on disk."""
        self._file.sync()

    def close(self) -> None:
        """Write the mark of the end."""
        self.hand_on()
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


def stored_kinds(path: Path) -> dict[str, Any]:
    """Return the types of the columns of an Arrow stream, for `MatchTable`.

    Raises
    ------
    OutputError
        It is not a file of matches.
    """
    pa, ipc = package("pyarrow", path), package("pyarrow.ipc", path)
    kinds = {"int64": "i", "double": "f", "timestamp[ns, tz=UTC]": "M"}
    try:
        with pa.OSFile(str(path), "rb") as file, ipc.open_stream(file) as reader:
            schema = reader.schema
        named = any("string" in str(field.type) for field in schema)
        return {"named": named, "time_kind": kinds[str(schema.field("time").type)]}
    except (OSError, KeyError, pa.ArrowInvalid) as error:
        raise OutputError(
            f"{path}: expected an Arrow stream of matches to append to, found another file"
        ) from error


def place_after(path: Path, typed: RecordBatches, kept: int) -> int:
    """Return the bytes of an Arrow stream up to the end of `kept` rows.

    Raises
    ------
    OutputError
        It has fewer rows, no batch that ends there, or other columns than `typed`.
    """
    pa, rows = typed.pa, 0
    try:
        with pa.OSFile(str(path), "rb") as file, package("pyarrow.ipc", path).open_stream(file) as reader:
            place: int = file.tell()
            while rows < kept:
                rows += reader.read_next_batch().num_rows
                place = file.tell()
            schema = reader.schema
    except (OSError, pa.ArrowInvalid, StopIteration) as error:
        raise OutputError(
            f"{path}: found {quantity(rows, 'row')}, expected at least the {kept:,} written before"
        ) from error
    if rows != kept:
        raise OutputError(f"{path}: expected a batch that ends with row {kept:,}, found none")
    if not schema.equals(typed.schema):
        raise OutputError(f"{path}: expected columns {_columns(typed.schema)}, found {_columns(schema)}")
    return place


def _columns(schema: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)
