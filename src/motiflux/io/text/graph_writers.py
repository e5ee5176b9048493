"""Graphs as text: edge lists (``.txt``), ``.graph`` and Matrix Market (``.mtx``) files; streamed.

Each may be compressed. Every copy of an edge is a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from motiflux.graph import Column, Graph, Kind
from motiflux.io.files.sinks import Sink, open_sink
from motiflux.io.tables.graph_losses import (
    check_integer_ids,
    check_integer_labels,
    check_numbered_ids,
    warn_of_losses,
)
from motiflux.io.tables.graph_tables import EdgeTable, VertexTable
from motiflux.io.text.csv_writer import TextTable
from motiflux.units import counted

WEIGHT = "weight"
"""The edge attribute that a matrix holds."""

_BATCH_ROWS = 1 << 15
_MOST_WEIGHT = 2**63 - 1
"""The greatest integer for readers of matrices."""


def write_edge_list(graph: Graph, path: Path) -> int:
    """Write ``source target`` or ``source target label`` lines.

    Raises
    ------
    OutputError
        Ids or labels are no integers of at least 0, or the file cannot be written.
    """
    check_integer_ids(path, graph, ".txt")
    check_integer_labels(path, graph, ".txt", vertices=False)
    warn_of_losses(path, graph, keeps=["edge labels"])
    kind = "directed" if graph.directed else "undirected"
    with open_sink(path) as file:
        start = f"# {kind} graph: {counted(graph.num_vertices, 'vertex')}, "
        start += f"{counted(graph.num_edge_copies, 'edge')}\n"
        file.write(start.encode())
        _write_lines(file, path, EdgeTable(graph, attributes=False).tables(_BATCH_ROWS))
    return path.stat().st_size


def write_graph_file(graph: Graph, path: Path) -> int:
    """Write ``t N M``, then ``v id label degree`` lines, then ``e source target label`` lines.

    Raises
    ------
    OutputError
        Ids or labels are no integers of at least 0, or the file cannot be written.
    """
    check_integer_ids(path, graph, ".graph")
    check_integer_labels(path, graph, ".graph", vertices=True)
    warn_of_losses(path, graph, keeps=["edge labels", "vertex labels", "vertices"])
    degrees = graph.forward.degrees()
    if graph.directed:
        degrees = degrees + graph.reverse.degrees()
    labels = np.array(graph.vertex_label_table.values, dtype=np.int64)
    codes = np.zeros(1, np.uint32) if graph.vertex_labels is None else graph.vertex_labels
    order = VertexTable(graph).order

    def vertices() -> Iterable[list[Column]]:
        for start in range(0, len(order), _BATCH_ROWS):
            part = order[start : start + _BATCH_ROWS]
            of_part = labels[np.broadcast_to(codes, graph.num_vertices)[part]]
            yield [Column(graph.vertex_ids[part]), Column(of_part), Column(degrees[part])]

    with open_sink(path) as file:
        file.write(f"t {graph.num_vertices} {graph.num_edge_copies}\n".encode())
        _write_lines(file, path, vertices(), prefix="v ")
        edges = EdgeTable(graph, attributes=False)
        _write_lines(file, path, edges.tables(_BATCH_ROWS), prefix="e ")
    return path.stat().st_size


def write_matrix(graph: Graph, path: Path) -> int:
    """Write a square matrix with an entry for each edge: its attribute ``weight`` if it is a number for all.

    That of an undirected graph is symmetric.

    Raises
    ------
    OutputError
        Ids are not ``1..n`` or ``0..n-1``, or the file cannot be written.
    """
    shift = check_numbered_ids(path, graph, ".mtx")
    weight = graph.edge_attributes.get(WEIGHT)
    numeric = (
        weight is not None
        and weight.kind in (Kind.INTEGER, Kind.FLOAT)
        and not weight.missing().any()
        and bool(np.isfinite(weight.data).all())
        and not (weight.data.dtype == np.uint64 and bool((weight.data > _MOST_WEIGHT).any()))
    )
    warn_of_losses(path, graph, keeps=["vertices"], edge_attributes=[WEIGHT] if numeric else [])
    field = "pattern"
    if numeric and weight is not None:
        field = "integer" if weight.kind is Kind.INTEGER else "real"
    symmetry = "general" if graph.directed else "symmetric"
    table = EdgeTable(graph, labels=False, attributes=numeric)
    place = [at for at, one in enumerate(table.fields) if at < 2 or one.name == WEIGHT]

    def entries() -> Iterable[list[Column]]:
        for columns in table.tables(_BATCH_ROWS):
            ends = np.stack([columns[0].data, columns[1].data]) + shift
            if not graph.directed:
                ends = np.sort(ends, axis=0)[::-1]  # entries below the diagonal stand for both
            yield [Column(ends[0]), Column(ends[1]), *(columns[at] for at in place[2:])]

    number = graph.num_vertices
    with open_sink(path) as file:
        file.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n".encode())
        file.write(f"{number} {number} {graph.num_edge_copies}\n".encode())
        _write_lines(file, path, entries())
    return path.stat().st_size


def _write_lines(file: Sink, path: Path, batches: Iterable[Sequence[Column]], prefix: str = "") -> None:
    table = TextTable(separator=" ", name=str(path), prefix=prefix)
    for columns in batches:
        if len(columns[0]):
            file.write(table.format(columns, slice(None)))
