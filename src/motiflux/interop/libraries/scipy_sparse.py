"""Sparse matrices and arrays of scipy."""

from __future__ import annotations

from typing import Any

from motiflux.errors import GraphError
from motiflux.interop.columns import GraphColumns
from motiflux.interop.libraries.mirrors import one_way

WEIGHT = "weight"
"""The edge attribute that holds the values of a matrix."""


def is_sparse(matrix: object) -> bool:
    """Tell whether an object is a sparse matrix or array of scipy."""
    return type(matrix).__module__.startswith("scipy.sparse") and hasattr(matrix, "tocoo")


def from_scipy(matrix: Any, *, directed: bool) -> GraphColumns:
    """Return a square sparse matrix as columns: entries are edges, from row to column.

    Undirected, an entry and its mirror image are one edge if the whole matrix is symmetric.

    Raises
    ------
    GraphError
        It is none, or not square.
    """
    if not is_sparse(matrix):
        raise GraphError(f"matrix: expected a sparse matrix of scipy, found {type(matrix).__name__}")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"matrix: expected a square one, found shape {list(matrix.shape)}")
    entries = matrix.tocoo()
    rows, columns, values = entries.row, entries.col, entries.data
    if not directed:
        half = one_way(rows, columns, [values])
        if half is not None:
            rows, columns, values = rows[half], columns[half], values[half]
    ones = bool((values == 1).all())
    return GraphColumns(
        rows,
        columns,
        num_vertices=int(matrix.shape[0]),
        edge_attributes={} if ones else {WEIGHT: values},
        directed=directed,
    )
