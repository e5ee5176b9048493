"""Numbers of edges, from numbers of the arcs that query edges follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Adjacency, Graph
from motiflux.graph.labels import mask
from motiflux.pattern import QueryEdge

Numbers: TypeAlias = NDArray[Any]
"""int64, or Python integers."""
_ROWS = 1 << 15


def edge_ends(graph: Graph) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the internal ids of the sources and targets of all edges, in the order of `Graph.to_edges`."""
    sources, targets = graph.forward.sources(), graph.forward.neighbors
    kept = slice(None) if graph.directed else sources < targets
    return sources[kept], targets[kept]


def edge_labels(graph: Graph) -> NDArray[np.uint32]:
    """Return the label code of each edge, in the order of `Graph.to_edges`."""
    arcs = graph.forward
    if arcs.labels is None:
        return np.zeros(graph.num_edges, np.uint32)
    return arcs.labels if graph.directed else arcs.labels[arcs.sources() < arcs.neighbors]


def accepted_edges(graph: Graph, edge: QueryEdge) -> NDArray[np.bool_]:
    """Return which edges satisfy the conditions of a query edge on edges: bool [edges]."""
    accepted = np.ones(graph.num_edges, np.bool_)
    if edge.labels is not None:
        codes = graph.edge_label_table.codes(edge.labels)
        table = mask(codes, len(graph.edge_label_table))
        assert table is not None
        accepted &= table[edge_labels(graph)].astype(np.bool_)
    if edge.where is not None:
        arcs = graph.forward
        kept: Any = slice(None) if graph.directed else arcs.sources() < arcs.neighbors
        accepted &= graph.arc_mask(edge.where, "out")[kept].astype(np.bool_)
    return accepted


def at_edges(graph: Graph, rows: Adjacency, numbers: Numbers, *, either: bool) -> Numbers:
    """Return the numbers at each edge, in the order of `Graph.to_edges`, from those at each arc of `rows`.

    Parameters
    ----------
    either
        Whether the number of an edge is the sum of both directions. Always so in an undirected graph.
    """
    key = id(rows[0]), id(rows[1]), either
    places = graph.memo.get_sized(
        "arcs of edges", key, lambda: _places(graph, rows, either=either), graph.cache_bytes()
    )
    found = _at(numbers, places.there, whole=places.whole)
    return found if places.back is None else sum_of(found, _at(numbers, places.back, whole=places.whole))


def at_pairs_of_edges(graph: Graph, rows: Adjacency, numbers: Numbers) -> Numbers:
    """Return the numbers of the ends of each edge, from those of adjacent pairs, each from its lesser vertex.

    Parameters
    ----------
    rows
        The rows of arcs in either direction.
    """
    offsets, neighbors = rows
    if neighbors is graph.forward.neighbors and not graph.directed:
        return numbers  # in the same order
    vertices = np.uint64(len(offsets) - 1)
    from_each = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint64), np.diff(offsets).astype(np.int64))
    pairs = (from_each * vertices + neighbors)[from_each < neighbors]
    sources, targets = edge_ends(graph)
    wanted = np.minimum(sources, targets).astype(np.uint64) * vertices + np.maximum(sources, targets)
    return _rows_at(numbers, np.searchsorted(pairs, wanted))


def _rows_at(numbers: Numbers, positions: NDArray[np.int64]) -> Numbers:
    """Return rows of a table, copied in parts: Ctrl-C waits for one of them only."""
    found = np.empty((len(positions), *numbers.shape[1:]), numbers.dtype)
    for first in range(0, len(positions), _ROWS):
        found[first : first + _ROWS] = numbers[positions[first : first + _ROWS]]
    return found


def sum_of(there: Numbers, back: Numbers) -> Numbers:
    """Return the sum, of Python integers if it may pass 2^63 - 1."""
    if there.dtype != object and int(there.max(initial=0)) + int(back.max(initial=0)) >= 2**63:
        there = there.astype(object)
    found: Numbers = there + back
    return found


@dataclass(frozen=True, eq=False, slots=True)
class _Places:
    """The positions of the arcs of each edge in rows; the number of arcs where there is none.

    Parameters
    ----------
    rows
        The rows, held so that no others get their ids.
    there, back
        Of the arc from source to target, and of the reverse arc, if that counts too.
    whole
        Whether all these arcs are there.
    """

    rows: Adjacency
    there: NDArray[np.int64]
    back: NDArray[np.int64] | None
    whole: bool

    @property
    def nbytes(self) -> int:
        """Bytes of the positions."""
        return self.there.nbytes + (0 if self.back is None else self.back.nbytes)


def _places(graph: Graph, rows: Adjacency, *, either: bool) -> _Places:
    sources, targets = edge_ends(graph)
    if rows[1] is graph.forward.neighbors and not graph.directed:
        ascending = graph.forward.sources() < rows[1]
        reverse = np.empty(len(targets), np.int64)
        reverse[np.argsort(targets, kind="stable")] = np.flatnonzero(~ascending)
        return _Places(rows, np.flatnonzero(ascending), reverse, whole=True)
    there = _positions(rows, sources, targets)
    back = _positions(rows, targets, sources) if either else None
    whole = all(not (places == len(rows[1])).any() for places in (there, back) if places is not None)
    return _Places(rows, there, back, whole)


def _positions(
    rows: Adjacency, sources: NDArray[np.uint32], targets: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """Return the position of the arc from each source to its target; the number of arcs if there is none."""
    offsets, neighbors = rows
    vertices = np.uint64(len(offsets) - 1)
    lengths = np.diff(offsets).astype(np.int64)
    keys = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths) * vertices + neighbors
    wanted = sources.astype(np.uint64) * vertices + targets
    at = np.searchsorted(keys, wanted)
    found = (
        np.zeros(len(wanted), np.bool_) if not len(keys) else keys[np.minimum(at, len(keys) - 1)] == wanted
    )
    return np.where(found, at, len(keys))


def _at(numbers: Numbers, places: NDArray[np.int64], *, whole: bool) -> Numbers:
    """Return the numbers at positions; 0 behind the last one."""
    found: Numbers = (numbers if whole else np.append(numbers, 0))[places]
    return found
