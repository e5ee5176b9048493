"""The last step of every reader: from columns to a `Graph`, with errors that name the file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from motiflux.errors import FormatError, GraphError, MotifluxWarning
from motiflux.graph import Graph
from motiflux.interop import GraphColumns, RowError, VertexColumns


def build_graph(path: Path, columns: GraphColumns, *, threads: int | None = None) -> Graph:
    """Build the graph a file describes; self-loops are left out, with a warning that counts them.

    Raises
    ------
    FormatError
        If the columns do not describe a graph.
    """
    with said_of(path, columns):
        graph = Graph.from_columns(columns, self_loops="drop", threads=threads)
    if graph.self_loops_dropped:
        count = graph.self_loops_dropped
        what = "self-loop was" if count == 1 else "self-loops were"
        warnings.warn(
            f"{path}: {count} {what} left out", MotifluxWarning, stacklevel=4
        )  # where read_graph was called
    return graph


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
