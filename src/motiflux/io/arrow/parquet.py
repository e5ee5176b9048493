"""Parquet files (``.parquet``): tables of edges or of vertices, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiflux.interop.missing import Missing
from motiflux.interop.tables import Table
from motiflux.io.arrow.tables import read_edge_table, read_vertex_table
from motiflux.io.files.source import tell_read

if TYPE_CHECKING:
    from motiflux.interop import ColumnMapping, GraphColumns, VertexColumns, VertexMapping

_BATCH_ROWS = 1 << 18
_BUFFER_BYTES = 1 << 20


def read(
    path: Path, mapping: ColumnMapping, *, threads: int | None = None, missing: Missing = "error"
) -> GraphColumns:
    """Read the columns that are wanted of a table of edges.

    Raises
    ------
    FormatError
        The file is not a Parquet file, is damaged, or has no valid edges; names the row.
    ArgumentError
        It has no such columns.
    """
    return read_edge_table(path, open_file, mapping, threads, missing)


def read_vertices(path: Path, mapping: VertexMapping, *, missing: Missing = "error") -> VertexColumns:
    """Read a table of vertices; raises the same errors as `read`."""
    return read_vertex_table(path, open_file, mapping, missing)


def open_file(path: Path, pa: Any, threads: int | None) -> Table:
    """Open the table in a file."""
    file = import_module("pyarrow.parquet").ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    names = file.schema_arrow.names

    def batches(positions: list[int]) -> Iterator[list[Any]]:
        # pyarrow takes names; a file may have one more than once.
        wanted = [(names[position], names[:position].count(names[position])) for position in positions]
        chosen = list(dict.fromkeys(name for name, _ in wanted))
        with file:
            size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
            for batch in file.iter_batches(_BATCH_ROWS, columns=chosen, use_threads=threads != 1):
                places = batch.schema.get_all_field_indices
                yield [batch.column(places(name)[nth]) for name, nth in wanted]
                done += batch.num_rows
                tell_read(size * done // rows)
                del batch
        pa.default_memory_pool().release_unused()

    return Table(names, batches, file.metadata.num_rows)
