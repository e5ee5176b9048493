"""Arrow IPC files (``.arrow``, ``.feather``): tables of edges or of vertices, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiflux.interop.missing import Missing
from motiflux.interop.tables import Table
from motiflux.io.arrow.tables import read_edge_table, read_vertex_table
from motiflux.io.files.source import tell_read

if TYPE_CHECKING:
    from motiflux.interop import ColumnMapping, GraphColumns, VertexColumns, VertexMapping

_FILE_MAGIC = b"ARROW1"


def read(
    path: Path, mapping: ColumnMapping, *, threads: int | None = None, missing: Missing = "error"
) -> GraphColumns:
    """Read the columns that are wanted of a table of edges, in the file or the stream format.

    Raises
    ------
    FormatError
        The file is not an Arrow file, is damaged, or has no valid edges; names the row.
    ArgumentError
        It has no such columns.
    """
    return read_edge_table(path, open_file, mapping, threads, missing)


def read_vertices(path: Path, mapping: VertexMapping, *, missing: Missing = "error") -> VertexColumns:
    """Read a table of vertices; raises the same errors as `read`."""
    return read_vertex_table(path, open_file, mapping, missing)


def open_file(path: Path, pa: Any, threads: int | None) -> Table:
    """Open the table in a file, which is in the file or the stream format."""
    with path.open("rb") as file:
        in_file_format = file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
    with _opened(path, pa, in_file_format, None, threads) as reader:
        names = reader.schema.names

    def batches(positions: list[int]) -> Iterator[list[Any]]:
        # Fields that are left out are not decompressed.
        with _opened(path, pa, in_file_format, positions, threads) as reader:
            place = {position: field for field, position in enumerate(sorted(positions))}
            stored = _telling(path, reader) if in_file_format else reader
            for batch in stored:
                batch.validate(full=True)  # offsets of a damaged file may lead anywhere
                yield [batch.column(place[position]) for position in positions]

    return Table(names, batches)


def _telling(path: Path, reader: Any) -> Iterator[Any]:
    """Yield the batches of a file, and report their number as progress."""
    size, count = path.stat().st_size, reader.num_record_batches
    for index in range(count):
        yield reader.get_batch(index)
        tell_read(size * (index + 1) // count)


def _opened(path: Path, pa: Any, in_file_format: bool, fields: list[int] | None, threads: int | None) -> Any:
    options = pa.ipc.IpcReadOptions(included_fields=fields or [], use_threads=threads != 1)
    source = pa.OSFile(str(path))
    make = pa.ipc.open_file if in_file_format else pa.ipc.open_stream
    return make(source, options=options)
