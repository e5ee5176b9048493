"""Graphs as tables (``.csv``, ``.tsv``, ``.parquet``, ``.arrow``): one of edges, one of vertices.

Edges have columns ``src``, ``dst``, ``label`` if they have labels, and one for each attribute; vertices have
``id``, ``label`` and attributes.
"""

from __future__ import annotations

from pathlib import Path

from motiflux.graph import Graph
from motiflux.io.arrow import table_writers
from motiflux.io.files.sinks import split_suffix
from motiflux.io.tables.graph_losses import check_column_names, check_names, warn_of_losses
from motiflux.io.tables.graph_tables import EdgeTable, VertexTable
from motiflux.io.text import csv_writer

WRITERS = {
    ".csv": csv_writer.write,
    ".tsv": csv_writer.write,
    ".parquet": table_writers.write_parquet,
    ".arrow": table_writers.write_arrow,
}
"""Writers of tables."""

_TEXT = (".csv", ".tsv")
_OF_VERTICES = ("vertex labels", "vertex attributes", "vertices")


def write(graph: Graph, path: Path, vertices: Path | None = None) -> int:
    """Write a table of edges, and after one of vertices if that is named; return the bytes of both.

    The vertices are written first: once the table of edges exists, both files are complete.

    Raises
    ------
    OutputError
        A column would be read as something else, or a file cannot be written.
    """
    edges, of_vertices = EdgeTable(graph), VertexTable(graph)
    check_column_names(path, graph.edge_attributes, [field.name for field in edges.fields[: edges.fixed]])
    for file, labels in ((path, graph.edge_label_table), (vertices, graph.vertex_label_table)):
        if file is not None and split_suffix(file)[0] in _TEXT:
            check_names(file, graph, labels)
    keeps = ["edge labels", "edge attributes", *(_OF_VERTICES if vertices else ())]
    size = 0
    if vertices is not None:
        taken = [field.name for field in of_vertices.fields[: of_vertices.fixed]]
        check_column_names(vertices, graph.vertex_attributes, taken)
        WRITERS[split_suffix(vertices)[0]](of_vertices, vertices)
        size += vertices.stat().st_size
    advice = "" if vertices else "; a table of vertices (vertices=) holds them"
    warn_of_losses(path, graph, keeps=keeps, advice=advice)
    WRITERS[split_suffix(path)[0]](edges, path)
    return size + path.stat().st_size
