"""Adjacency matrices where edges or a table of edges are expected."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.interop.mapping import ChosenColumns, How

ADVICE = "Graph.from_scipy(scipy.sparse.coo_array(matrix)) reads an adjacency matrix"
READ_AS_EDGES = f"2 x 2 zeros and ones were read as two edges, one a row; {ADVICE}"
"""The note on what may be a matrix and is read as edges."""


def is_square(array: NDArray[Any]) -> bool:
    """Tell whether an array has the shape and the type of an adjacency matrix of two vertices or more."""
    return array.ndim == 2 and array.shape[0] == array.shape[1] >= 2 and array.dtype.kind in "biuf"


def has_zeros_and_ones_only(array: NDArray[Any]) -> bool:
    """Tell whether all numbers or booleans of an array are zeros and ones."""
    return bool(((array == 0) | (array == 1)).all())


def may_be_either(array: NDArray[Any]) -> bool:
    """Tell whether a square array may hold two edges, or be the matrix of two vertices without self-loops."""
    return len(array) == 2 and has_zeros_and_ones_only(array) and not array.diagonal().any()


def check_frame(table: Any, chosen: ChosenColumns, what: str) -> tuple[str, ...]:
    """Refuse a data frame that is an adjacency matrix, if no column is known to hold ends of edges.

    Returns
    -------
    tuple
        The note on a frame of two rows and two columns, which may be either.

    Raises
    ------
    GraphError
        It is square and has zeros and ones only.
    """
    if chosen.how not in (How.ONLY, How.GUESSED) or not hasattr(type(table), "to_numpy"):
        return ()  # tables that are no frames may run a query to tell their shape
    shape = getattr(table, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[0] != shape[1]:
        return ()
    array = np.asarray(table.to_numpy())
    if not is_square(array) or not has_zeros_and_ones_only(array):
        return ()
    if len(array) == 2 and array.dtype.kind in "iu":
        return (READ_AS_EDGES,) if may_be_either(array) else ()
    size = f"{len(array)} x {len(array)}"
    advice = "Graph.from_scipy(scipy.sparse.coo_array(table.to_numpy())) reads an adjacency matrix"
    raise GraphError(f"{what}: expected a row for each edge, found {size} zeros and ones; {advice}")
