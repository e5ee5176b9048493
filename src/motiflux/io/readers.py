"""The readers of each format, by suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from motiflux.graph.assemble import SelfLoops
from motiflux.interop import ColumnMapping, GraphColumns, VertexColumns, VertexMapping
from motiflux.interop.missing import Missing
from motiflux.io.arrow import ipc, parquet
from motiflux.io.binary import mfg, npz
from motiflux.io.text import delimited, edge_list, graph_file, matrix_market, pattern_file
from motiflux.io.text.table import TextOptions

if TYPE_CHECKING:
    from motiflux.graph import Graph
    from motiflux.pattern import Pattern, Query


class GraphReader(Protocol):
    """The signature of ``read`` in a reader module."""

    def __call__(
        self,
        path: Path,
        *,
        directed: bool | None = None,
        self_loops: SelfLoops = "warn",
        threads: int | None = None,
    ) -> Graph:
        """Read one file."""


class TableReader(Protocol):
    """The signature of ``read`` in a module that reads tables of edges."""

    def __call__(
        self, path: Path, mapping: ColumnMapping, *, threads: int | None = None, missing: Missing = "error"
    ) -> GraphColumns:
        """Read the columns that are wanted from one file."""


class VertexTableReader(Protocol):
    """The signature of ``read_vertices`` in a module that reads tables."""

    def __call__(self, path: Path, mapping: VertexMapping, *, missing: Missing = "error") -> VertexColumns:
        """Read one table of vertices."""


class TextReader(Protocol):
    """The signature of ``read`` in a module that reads tables of edges as text."""

    def __call__(
        self, path: Path, mapping: ColumnMapping, options: TextOptions, *, threads: int | None = None
    ) -> GraphColumns:
        """Read the columns that are wanted from one file."""


class TextVertexReader(Protocol):
    """The signature of ``read_vertices`` in a module that reads tables as text."""

    def __call__(self, path: Path, mapping: VertexMapping, options: TextOptions) -> VertexColumns:
        """Read one table of vertices."""


GRAPH_READERS: dict[str, GraphReader] = {
    mfg.SUFFIX: mfg.read,
    ".npz": npz.read,
    ".graph": graph_file.read,
    ".mtx": matrix_market.read,
}
"""Readers of data graphs; each suffix but ``.mfg`` may be followed by ``.gz`` or ``.zst``, here and below."""

TEXT_READERS: dict[str, TextReader] = {
    **dict.fromkeys((".txt", ".edges", ".el"), edge_list.read),
    **dict.fromkeys(delimited.SEPARATORS, delimited.read),
}
"""Readers of tables of edges as text."""

TEXT_VERTEX_READERS: dict[str, TextVertexReader] = dict.fromkeys(
    delimited.SEPARATORS, delimited.read_vertices
)
"""Readers of tables of vertices as text."""

TABLE_READERS: dict[str, TableReader] = {
    ".parquet": parquet.read,
    ".arrow": ipc.read,
    ".feather": ipc.read,
}
"""Readers of tables of edges, whose columns may be chosen."""

VERTEX_TABLE_READERS: dict[str, VertexTableReader] = {
    ".parquet": parquet.read_vertices,
    ".arrow": ipc.read_vertices,
    ".feather": ipc.read_vertices,
}
"""Readers of tables of vertices, which may stand beside a table of edges."""

PATTERN_READERS: dict[str, Callable[[Path], Pattern | Query]] = {
    ".graph": graph_file.read_query,
    ".pattern": pattern_file.read_query,
    ".cypher": pattern_file.read_query,
}
"""Readers of patterns."""
