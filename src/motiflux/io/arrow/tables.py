"""Shared parts of the readers of Parquet and Arrow files: pyarrow, progress, and errors with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from motiflux.arguments import resolve_threads
from motiflux.errors import ArgumentError, FormatError, GraphError
from motiflux.interop.missing import Missing
from motiflux.interop.tables import Table, read_edges, read_vertices
from motiflux.io.files.source import format_suffix, open_source
from motiflux.packages import require

if TYPE_CHECKING:
    from motiflux.interop import ColumnMapping, GraphColumns, VertexColumns, VertexMapping

Open: TypeAlias = Callable[[Path, Any, int | None], Table]
"""Opens a file with the package pyarrow, on some threads (None: as many as there are)."""


def read_edge_table(
    path: Path, opened: Open, mapping: ColumnMapping, threads: int | None, missing: Missing
) -> GraphColumns:
    """Read the columns that are wanted of a table of edges.

    Raises
    ------
    FormatError
        The file is damaged, of another format, or has no valid edges; names the row.
    ArgumentError
        It has no such columns.
    """
    with naming(path, given=bool(mapping.given())) as pa:
        return read_edges(opened(path, pa, threads), mapping, str(path), resolve_threads(threads), missing)


def read_vertex_table(path: Path, opened: Open, mapping: VertexMapping, missing: Missing) -> VertexColumns:
    """Read a table of vertices; raises the same errors as `read_edge_table`."""
    with naming(path, given=bool(mapping.given())) as pa:
        return read_vertices(opened(path, pa, None), mapping, str(path), missing=missing)


@contextmanager
def naming(path: Path, *, given: bool) -> Iterator[Any]:
    """Yield the package pyarrow; errors in the ``with`` block are raised again with the name of the file.

    A column that is not there is the caller's fault where one was `given`, else the file's.
    """
    if format_suffix(path) != path.suffix.lower():
        raise FormatError(path, "found a compressed file, expected one as it is: its columns are compressed")
    open_source(path).close()  # says why it cannot be opened as for other formats
    pa = require("pyarrow", lambda message: FormatError(path, message))
    try:
        yield pa
    except ArgumentError as error:
        if given:
            raise
        raise FormatError(path, str(error)) from error
    except GraphError as error:
        raise FormatError(path, str(error)) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormatError(path, f"the file is damaged, or of another format: {error}") from error
