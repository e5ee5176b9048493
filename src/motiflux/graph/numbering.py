"""From the ids that a user writes to internal ones, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError, GraphError
from motiflux.graph.labels import as_column, as_names, is_plain
from motiflux.interop.arrays import as_host_array, is_array
from motiflux.interop.dense import dense_codes
from motiflux.interop.matrices import ADVICE, READ_AS_EDGES, is_square, may_be_either
from motiflux.notes import note
from motiflux.types import MAX_VERTICES, VERTEX_DTYPE, IdArray


def split_edges(edges: ArrayLike | tuple[ArrayLike, ArrayLike]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return sources and targets as arrays of equal length and kind."""
    if not isinstance(edges, np.ndarray) and is_array(edges):
        edges = as_host_array(edges, "edges")
    if isinstance(edges, tuple) and len(edges) == 2 and all(is_array(part) for part in edges):
        edges = as_host_array(edges[0], "sources"), as_host_array(edges[1], "targets")
        sources, targets = _ends(edges[0], "sources"), _ends(edges[1], "targets")
        _check_pairs(sources, targets)
        return sources, targets
    if isinstance(edges, np.ndarray) and is_square(edges) and edges.dtype.kind in "bf":
        expected = "an array of shape [m, 2] of integers or strings"
        raise GraphError(f"edges: expected {expected}, found {list(edges.shape)} of {edges.dtype}; {ADVICE}")
    array = np.asarray(edges) if is_plain(edges) else as_names(edges, "edges")  # type: ignore[arg-type]
    if array.size == 0 and array.ndim == 1:
        array = array.reshape(0, 2)
    if array.ndim == 2 and array.shape[0] == 2 and array.shape[1] != 2:
        array = array.T
    if array.ndim != 2 or array.shape[1] != 2:
        advice = f"; {ADVICE}" if is_square(array) else ""
        raise GraphError(f"edges: expected an array of shape [m, 2], found {list(array.shape)}{advice}")
    if isinstance(edges, np.ndarray) and is_square(array) and may_be_either(array):
        note(f"edges: {READ_AS_EDGES}")
    return array[:, 0], array[:, 1]


def _check_pairs(sources: NDArray[Any], targets: NDArray[Any]) -> None:
    if sources.shape != targets.shape:
        raise GraphError(
            f"edges: expected as many targets as sources, found {len(sources)} and {len(targets)}"
        )
    if (sources.dtype.kind == "U") != (targets.dtype.kind == "U"):
        raise GraphError("edges: expected ids of one kind, found integers and strings")


def number_vertices(
    sources: NDArray[Any],
    targets: NDArray[Any],
    num_vertices: int | None,
    vertex_ids: ArrayLike | None,
    *,
    positions: bool = False,
    threads: int = 1,
) -> tuple[IdArray, NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the external ids and, for each edge, the positions of its ends among them.

    With `positions` the ends are positions in `vertex_ids` already.
    """
    if num_vertices is not None and vertex_ids is not None:
        raise GraphError("num_vertices and vertex_ids: expected one of them, found both")
    sources, targets = _ends(sources, "sources"), _ends(targets, "targets")
    _check_pairs(sources, targets)
    if num_vertices is not None:
        return _numbers(sources, targets, num_vertices)
    if positions:
        return _numbered(sources, targets, as_column([] if vertex_ids is None else vertex_ids, "vertex_ids"))
    if vertex_ids is not None:
        return _listed(sources, targets, as_column(vertex_ids, "vertex_ids"))
    ids, (source_codes, target_codes) = dense_codes([sources, targets], threads)
    _check_vertices(len(ids))
    return ids, source_codes, target_codes


def _ends(ends: NDArray[Any], what: str) -> NDArray[Any]:
    """Return ids as integers of any width or as strings."""
    if is_plain(ends) and ends.ndim == 1:
        return ends
    return as_column(ends, what)


def _numbers(
    sources: NDArray[Any], targets: NDArray[Any], num_vertices: int
) -> tuple[IdArray, NDArray[np.uint32], NDArray[np.uint32]]:
    _check_vertices(check_integer("num_vertices", num_vertices, 0))
    for column in (sources, targets):
        if not column.size:
            continue
        if column.dtype.kind not in "iu":
            raise GraphError(f"edges: expected integer ids with num_vertices, found {column[0].item()!r}")
        outside = np.flatnonzero((column < 0) | (column >= num_vertices))
        if outside.size:
            row = int(outside[0])
            raise GraphError(
                f"edges, row {row}: expected ids from 0 to {num_vertices - 1}, found {column[row]}"
            )
    ids = np.arange(num_vertices, dtype=np.int64)
    return ids, sources.astype(VERTEX_DTYPE, copy=False), targets.astype(VERTEX_DTYPE, copy=False)


def _numbered(
    sources: NDArray[Any], targets: NDArray[Any], ids: NDArray[Any]
) -> tuple[IdArray, NDArray[np.uint32], NDArray[np.uint32]]:
    _, sources, targets = _numbers(sources, targets, len(ids))
    if not (ids[1:] > ids[:-1]).all():
        _check_distinct(np.sort(ids))
    return ids, sources, targets


def _listed(
    sources: NDArray[Any], targets: NDArray[Any], ids: NDArray[Any]
) -> tuple[IdArray, NDArray[np.uint32], NDArray[np.uint32]]:
    _check_vertices(len(ids))
    if sources.size and (sources.dtype.kind == "U") != (ids.dtype.kind == "U"):
        raise GraphError("vertex_ids and edges: expected ids of one kind, found integers and strings")
    order = np.argsort(ids, kind="stable")
    ascending = ids[order]
    _check_distinct(ascending)

    def positions(column: NDArray[Any]) -> NDArray[np.uint32]:
        place = np.searchsorted(ascending, column)
        known = place < len(ascending)
        known[known] = ascending[place[known]] == column[known]
        if not known.all():
            row = int(np.flatnonzero(~known)[0])
            raise GraphError(
                f"edges, row {row}: expected an id listed in vertex_ids, found {column[row].item()!r}"
            )
        return order[place].astype(VERTEX_DTYPE)

    return ids, positions(sources), positions(targets)


def _check_distinct(ascending: NDArray[Any]) -> None:
    repeated = np.flatnonzero(ascending[1:] == ascending[:-1])
    if repeated.size:
        raise GraphError(f"vertex_ids: expected each id once, found {ascending[repeated[0]].item()!r} twice")


def _check_vertices(count: int) -> None:
    if count > MAX_VERTICES:
        raise GraphError(f"expected at most {MAX_VERTICES:,} vertices, found {count:,}")


def find_ids(wanted: ArrayLike, vertex_ids: IdArray, ascending: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the positions of ids among `vertex_ids`; -1 if an id is not among them.

    Parameters
    ----------
    wanted
        Ids [k].
    vertex_ids
        External ids [n], each once.
    ascending
        The positions that sort them.
    """
    column = as_column(wanted, "ids")
    if not (column.size and vertex_ids.size):
        return np.full(len(column), -1, dtype=np.int64)
    if column.dtype.kind != vertex_ids.dtype.kind:
        kind = "integers" if vertex_ids.dtype.kind == "i" else "strings"
        raise ArgumentError("ids", f"{kind}, as the graph's ids are", column[0].item())
    # In the type of the ids: a copy of them could be as wide as the longest string in `wanted`.
    narrowed = column.astype(vertex_ids.dtype)
    place = np.searchsorted(vertex_ids, narrowed, sorter=ascending)
    positions = ascending[np.minimum(place, len(ascending) - 1)].astype(np.int64)
    return np.where((vertex_ids[positions] == narrowed) & (narrowed == column), positions, -1)
