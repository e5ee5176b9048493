"""Tables as Parquet (``.parquet``) and Arrow IPC files (``.arrow``), streamed; both take pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from motiflux.atomic import AtomicFile
from motiflux.errors import MotifluxError, OutputError
from motiflux.io.arrow.batches import ArrowTables
from motiflux.io.files.sinks import CountingFile
from motiflux.io.tables.match_tables import MatchTables, group_rows
from motiflux.packages import require

_COMPRESSION = "zstd"

Append = Callable[[], int]
"""Writes the rows that a table holds, and returns their number."""


def write_parquet(matches: MatchTables, path: Path) -> int:
    """Write a Parquet file: row groups of some megabytes, one in memory at a time.

    Raises
    ------
    OutputError
        If the file cannot be written, pyarrow is not installed, or a string has no form in UTF-8.
    """
    with parquet_rows(matches, path, group_rows(matches.fields)) as append:
        return append()


def write_arrow(matches: MatchTables, path: Path) -> int:
    """Write an Arrow IPC file (Feather, version 2).

    Raises
    ------
    OutputError
        As for `write_parquet`.
    """
    with arrow_rows(matches, path) as append:
        return append()


@contextmanager
def parquet_rows(matches: MatchTables, path: Path, batch_rows: int | None = None) -> Iterator[Append]:
    """Open a Parquet file; yield a function that appends the rows of `matches` and returns their number.

    Raises
    ------
    OutputError
        As for `write_parquet`.
    """
    parquet = _package("pyarrow.parquet", path)
    with (
        _opened(matches, path) as (tables, sink),
        parquet.ParquetWriter(sink, tables.schema, compression=_COMPRESSION, store_schema=True) as writer,
    ):
        yield lambda: _append(tables, writer, batch_rows)


@contextmanager
def arrow_rows(matches: MatchTables, path: Path) -> Iterator[Append]:
    """Open an Arrow IPC file; see `parquet_rows`."""
    ipc = _package("pyarrow.ipc", path)
    with _opened(matches, path) as (tables, sink), ipc.new_file(sink, tables.schema) as writer:
        yield lambda: _append(tables, writer, None)


def _append(tables: ArrowTables, writer: Any, batch_rows: int | None) -> int:
    rows = 0
    for batch in tables.batches(batch_rows):
        writer.write_batch(batch)
        rows += batch.num_rows
    return rows


@contextmanager
def _opened(matches: MatchTables, path: Path) -> Iterator[tuple[ArrowTables, Any]]:
    """Open the file, which appears at the end; values that pyarrow cannot write are an `OutputError`."""
    pyarrow = _package("pyarrow", path)
    try:
        tables = ArrowTables(matches, str(path))
    except MotifluxError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error
    with AtomicFile(path) as file, pyarrow.PythonFile(CountingFile(file), mode="w") as sink:
        yield tables, sink


def _package(name: str, path: Path) -> Any:
    return require(name, lambda message: OutputError(f"{path}: {message}"))
