"""Assembles the fields of a graph from columns."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError
from motiflux.graph.attributes.table import AttributeTable, make_attributes
from motiflux.graph.csr import Csr
from motiflux.graph.labels import LabelTable, as_column, encode_labels
from motiflux.graph.numbering import number_vertices
from motiflux.interop import Coded, EndColumns, GraphColumns, RowError
from motiflux.types import IdArray, LabelArray
from motiflux.units import quantity_was

SelfLoops = Literal["warn", "drop", "error"]
"""Self-loops are left out with a warning that counts them, left out, or an error."""


class Parts(NamedTuple):
    """The fields of a graph."""

    directed: bool
    vertex_ids: IdArray
    forward: Csr
    reverse: Csr
    vertex_labels: LabelArray | None
    vertex_label_table: LabelTable
    edge_label_table: LabelTable
    self_loops_dropped: int
    duplicate_edges: int
    vertex_attributes: AttributeTable
    edge_attributes: AttributeTable
    end_columns: EndColumns | None


def assemble(columns: GraphColumns, self_loops: SelfLoops, threads: int) -> Parts:
    """Return the fields: number the vertices, encode the labels, build rows, order attributes.

    Raises
    ------
    GraphError
        The columns do not describe a graph.
    """
    directed, length = _direction(columns), len(columns.sources)
    check_self_loops(self_loops)
    edge_label_table, edge_codes = encode_labels(columns.edge_labels, length, "edge_labels", threads)
    edge_attributes = make_attributes("edge", columns.edge_attributes, length)
    vertex_attributes = make_attributes("vertex", columns.vertex_attributes)
    num_vertices, vertex_labels = columns.num_vertices, columns.vertex_labels
    if num_vertices is None and columns.vertex_ids is None:
        if vertex_labels is not None:
            if not isinstance(vertex_labels, Coded):
                vertex_labels = as_column(vertex_labels, "vertex_labels")
            num_vertices = len(vertex_labels)
        else:
            num_vertices = vertex_attributes.length
    ids, sources, targets = number_vertices(
        columns.sources,
        columns.targets,
        num_vertices,
        columns.vertex_ids,
        positions=columns.positions,
        threads=threads,
    )
    vertex_label_table, vertex_codes = encode_labels(vertex_labels, len(ids), "vertex_labels", threads)
    vertex_attributes.check_length(len(ids))

    loops = np.flatnonzero(sources == targets)
    if loops.size:
        if self_loops == "error":
            raise _self_loop(columns, ids, int(loops[0]))
        if edge_attributes:
            kept = sources != targets
            sources, targets = sources[kept], targets[kept]
            edge_codes = None if edge_codes is None else edge_codes[kept]
            edge_attributes = edge_attributes.take(kept)

    order, forward, reverse, duplicates = _native.build_rows(
        sources, targets, edge_codes, len(ids), directed, threads
    )
    if edge_attributes:
        rows = _native.sort_edges(sources, targets, edge_codes, order, directed, threads)
        edge_attributes = edge_attributes.take(rows)
    forward_rows = Csr(*forward)
    return Parts(
        directed=directed,
        vertex_ids=ids[order],
        forward=forward_rows,
        reverse=forward_rows if reverse is None else Csr(*reverse),
        vertex_labels=None if vertex_codes is None else vertex_codes[order],
        vertex_label_table=vertex_label_table,
        edge_label_table=edge_label_table,
        self_loops_dropped=int(loops.size),
        duplicate_edges=duplicates,
        vertex_attributes=vertex_attributes.take(order),
        edge_attributes=edge_attributes,
        end_columns=columns.end_columns,
    )


def check_self_loops(self_loops: str) -> None:
    """Refuse a value that is no choice for self-loops.

    Raises
    ------
    ArgumentError
        Lists the choices.
    """
    if self_loops not in get_args(SelfLoops):
        raise ArgumentError("self_loops", "one of " + ", ".join(map(repr, get_args(SelfLoops))), self_loops)


def told_of_self_loops(count: int) -> tuple[str, ...]:
    """Return the note on self-loops that were left out."""
    if not count:
        return ()
    return (f"{quantity_was(count, 'self-loop')} left out",)


def _direction(columns: GraphColumns) -> bool:
    if not isinstance(columns.directed, (bool, np.bool_)):
        raise ArgumentError("directed", "True or False", columns.directed)
    return bool(columns.directed)


def _self_loop(columns: GraphColumns, ids: NDArray[Any], row: int) -> RowError:
    vertex = columns.sources[row]
    found = (ids[vertex] if columns.positions else vertex).item()
    advice = "self_loops='drop' leaves self-loops out"
    return RowError("edges", row, f"expected two different vertices, found {found!r} twice; {advice}")
