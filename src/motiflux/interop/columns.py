"""Graphs as plain columns: the result of every reader and importer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.errors import GraphError
from motiflux.interop.mapping import EndColumns
from motiflux.interop.strings import StringTable


class RowError(GraphError):
    """An error in a row of a table.

    Parameters
    ----------
    table
        The name of the table.
    row
        Counted from 0.
    message
        The value found and the value expected.
    """

    def __init__(self, table: str, row: int, message: str) -> None:
        self.row = row
        self.message = message
        super().__init__(f"{table}, row {row}: {message}")


@dataclass(frozen=True, eq=False)
class Coded:
    """Values of which many are equal: each distinct one once, and for every entry which one it is.

    Parameters
    ----------
    codes
        uint32 [n], positions in `values`; anything below the number of values where one is missing.
    values
        Distinct integers or strings [k], in any order; or a `StringTable`, where they are no labels.
    missing
        bool [n], True where an entry has no value; None where all have one.
    """

    codes: NDArray[np.uint32]
    values: NDArray[Any] | StringTable
    missing: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class GraphColumns:
    """A graph as columns; `motiflux.Graph.from_columns` checks them and makes a graph of them.

    Parameters
    ----------
    sources, targets
        The ends of each edge, [m]: ids, integers or strings; or positions in `vertex_ids`, see `positions`.
    vertex_ids
        The ids of all vertices, [n], each once.
    num_vertices
        n; the ids are ``0..n-1``. Without this and `vertex_ids`, the vertices are the ends of edges
        (or ``0..k-1`` for k vertex labels or values of a vertex attribute).
    vertex_labels, edge_labels
        Integers or strings, [n] in the order of the ids, and [m]; or `Coded`.
    vertex_attributes, edge_attributes
        Columns by name, of all types that `motiflux.Graph.from_edges` takes, and `Coded`.
    directed
        Whether an edge leads from its source to its target only.
    positions
        `sources` and `targets` are not ids but positions in `vertex_ids`, for ids that are numbered
        already.
    first_line
        The line of a file that the first edge is on, where every line after it is one edge.
    end_columns
        The columns of a table from which the ends were taken.
    notes
        Sentences for the caller, shown as warnings when the graph is built.
    name
        The name of the graph in warnings: the file, or ``"graph"``.
    """

    sources: NDArray[Any]
    targets: NDArray[Any]
    vertex_ids: ArrayLike | None = None
    num_vertices: int | None = None
    vertex_labels: ArrayLike | Coded | None = None
    edge_labels: ArrayLike | Coded | None = None
    vertex_attributes: Mapping[str, object] = field(default_factory=dict)
    edge_attributes: Mapping[str, object] = field(default_factory=dict)
    directed: bool = False
    positions: bool = False
    first_line: int | None = None
    end_columns: EndColumns | None = None
    notes: tuple[str, ...] = ()
    name: str = "graph"
