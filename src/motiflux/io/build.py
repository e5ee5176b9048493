"""The last step of every reader: from columns to a `Graph`, with errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from motiflux.errors import FormatError, GraphError
from motiflux.graph import Graph
from motiflux.graph.assemble import SelfLoops
from motiflux.interop import GraphColumns, RowError, VertexColumns


def build_graph(
    path: Path, columns: GraphColumns, *, self_loops: SelfLoops = "warn", threads: int | None = None
) -> Graph:
    """Build the graph a file describes; warnings name the file.

    Raises
    ------
    FormatError
        If the columns do not describe a graph.
    """
    with said_of(path, columns):
        return Graph.from_columns(replace(columns, name=str(path)), self_loops=self_loops, threads=threads)


@contextmanager
def said_of(path: Path, columns: GraphColumns | VertexColumns) -> Iterator[None]:
    """Name the file in errors about its columns, with the line if it is known, else the row."""
    try:
        yield
    except RowError as error:
        if columns.first_line is None:
            raise FormatError(path, f"row {error.row}: {error.message}") from error
        raise FormatError(path, error.message, columns.first_line + error.row) from error
    except GraphError as error:
        raise FormatError(path, str(error)) from error
