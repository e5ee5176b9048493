"""Copies of edges by pairs of vertices, with the values of the attributes that comparisons need.

Values have 64 bits: integers, nanoseconds, ranks of strings or ids, or the bits of a double. The layout is
that of ``csrc/copies/index.hpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.graph.adjacency import Direction, VertexFilter
from motiflux.graph.attributes.columns import Column, Kind
from motiflux.graph.edge_rows import edges_of_arcs, row_starts
from motiflux.graph.labels import mask

if TYPE_CHECKING:
    from motiflux.graph.graph import Graph

Values = tuple[NDArray[np.int64], NDArray[np.bool_] | None]
"""int64 [n], and where a value is missing; None for nowhere."""


_SAMPLED = 32
"""Copies for each sample of main values."""


class Form(StrEnum):
    """What the 64 bits of a value are."""

    INTEGER = "integer"
    FLOAT = "float"
    RANK = "rank"
    """The rank of a string among those of several columns."""


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """Names the values of one attribute.

    Parameters
    ----------
    attribute
        Its name; None: the ids of vertices.
    form
        The form of the values.
    among
        For ranks: the columns of strings that are compared with each other, as pairs of ``"vertex"`` or
        ``"edge"`` and a name (None: the ids).
    """

    attribute: str | None
    form: Form
    among: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CopyKey:
    """Names the copies that a query edge may fall on, as rows of the vertices that it is followed from.

    Parameters
    ----------
    direction
        Rows of sources (``OUT``), of targets (``IN``), or of both.
    edge_labels
        Codes, ascending; None: all labels.
    where
        A condition that each copy satisfies.
    columns
        The compared attributes, all of which a copy has; the first is the main one.
    by_value
        Whether there are rows by main value too.
    ends
        The codes of labels and the filter of the vertices that copies lead to; None: any vertex.
    """

    direction: Direction
    edge_labels: tuple[int, ...] | None
    where: Condition | None
    columns: tuple[ColumnKey, ...]
    by_value: bool = False
    ends: tuple[tuple[int, ...] | None, VertexFilter | None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RowsByValue:
    """The copies of each vertex, ascending by main value.

    Parameters
    ----------
    columns
        Values of each attribute: int64 [copies].
    arrays
        The other vertex of each copy, and its place among the neighbours: uint32 [copies]; the first copy of
        each vertex, uint64 [n + 1]; every 32nd main value, int64.
    """

    columns: tuple[NDArray[np.int64], ...]
    arrays: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class CopyIndex:
    """Copies of edges by pairs of vertices.

    Parameters
    ----------
    offsets, neighbors
        The pairs of each vertex: uint64 [n + 1], uint32 [pairs].
    starts
        The first copy of each pair: uint64 [pairs + 1].
    lasts
        The greatest main value of each pair: int64 [pairs]; None without attributes.
    rows
        The row of `Graph.edge_attributes` of each copy: int64 [copies]. The copies of a pair ascend by the
        main value.
    columns
        Values of each attribute: int64 [copies].
    by_value
        The copies of each vertex by main value; None without attributes.
    """

    offsets: NDArray[np.uint64]
    neighbors: NDArray[np.uint32]
    starts: NDArray[np.uint64]
    lasts: NDArray[np.int64] | None
    rows: NDArray[np.int64]
    columns: tuple[NDArray[np.int64], ...]
    by_value: RowsByValue | None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays: list[NDArray[Any]] = [self.offsets, self.neighbors, self.starts, self.rows, *self.columns]
        if self.lasts is not None:
            arrays.append(self.lasts)
        if self.by_value is not None:
            arrays += [*self.by_value.columns, *self.by_value.arrays]
        return sum(array.nbytes for array in arrays)


def copy_index(graph: Graph, key: CopyKey) -> CopyIndex:
    """Return the copies that `key` names, kept with the graph within a bound on memory."""
    if not key.by_value:  # an index that has more serves too
        found: CopyIndex | None = graph.memo.recent("copies", replace(key, by_value=True))
        if found is not None:
            return found
    return graph.memo.get_sized("copies", key, lambda: _build(graph, key), graph.cache_bytes())


def vertex_values(graph: Any, key: ColumnKey) -> Values:
    """Return a value for each vertex.

    Parameters
    ----------
    graph
        A `Graph`; for values other than ranks, anything with ``vertex_ids`` and ``vertex_attributes``.
    """
    if key.attribute is not None:
        return _values(graph, graph.vertex_attributes[key.attribute], key)
    ids = graph.vertex_ids
    if key.form is Form.INTEGER:
        return ids.astype(np.int64, copy=False), None
    if key.form is Form.FLOAT:
        return ids.astype(np.float64).view(np.int64), None
    return np.searchsorted(_strings_among(graph, key), ids).astype(np.int64), None


def copies_of_arcs(
    offsets: NDArray[np.uint64],
    neighbors: NDArray[np.uint32],
    starts: NDArray[np.int64],
    columns: Sequence[NDArray[np.int64]],
    copies: int,
    key: CopyKey,
) -> CopyIndex:
    """Return copies by rows of arcs.

    Parameters
    ----------
    offsets, neighbors
        The rows; each neighbour is once in a row.
    starts
        The first copy of each arc: int64 [arcs].
    columns
        The values of the attributes of `key`, which `copies` copies have.
    """
    offsets, neighbors, firsts, rows, values, by_value, others = _native.build_copies(
        offsets=offsets,
        neighbors=neighbors,
        edges=None,
        starts=starts,
        copies=copies,
        arc_mask=None,
        row_mask=None,
        columns=columns,
        floats=_of_floats(key),
        by_value=key.by_value,
    )
    sorted_rows = None
    if others is not None:
        sorted_rows = _rows_by_value(offsets, firsts, by_value, others)
    return CopyIndex(offsets, neighbors, firsts, _lasts(firsts, values), rows, tuple(values), sorted_rows)


def _build(graph: Graph, key: CopyKey) -> CopyIndex:
    by_pairs = replace(key, by_value=False)
    pairs: CopyIndex | None = graph.memo.recent("copies", by_pairs) if key.by_value else None
    if pairs is None and key.direction is Direction.IN and graph.directed and key.ends is None:
        pairs = _turned(copy_index(graph, replace(by_pairs, direction=Direction.OUT)))
    if pairs is None:
        return _built(graph, key)
    return _with_rows_by_value(pairs, key) if key.by_value and key.columns else pairs


def _turned(index: CopyIndex) -> CopyIndex:
    """Return the same copies as rows of targets; attributes by target are far from each other in memory."""
    offsets, neighbors, starts, rows, columns = _native.turn_copies(
        offsets=index.offsets,
        neighbors=index.neighbors,
        starts=index.starts,
        rows=index.rows,
        columns=index.columns,
    )
    return CopyIndex(offsets, neighbors, starts, _lasts(starts, columns), rows, tuple(columns), None)


def _with_rows_by_value(index: CopyIndex, key: CopyKey) -> CopyIndex:
    columns, others = _native.sort_copies(
        offsets=index.offsets,
        neighbors=index.neighbors,
        starts=index.starts,
        columns=index.columns,
        floats=_of_floats(key),
    )
    return replace(index, by_value=_rows_by_value(index.offsets, index.starts, columns, others))


def _of_floats(key: CopyKey) -> bool:
    """Return whether main values are floats."""
    return bool(key.columns) and key.columns[0].form is Form.FLOAT


def _built(graph: Graph, key: CopyKey) -> CopyIndex:
    arcs = _arcs(graph, key.direction)
    allowed = None if key.edge_labels is None else mask(key.edge_labels, len(graph.edge_label_table))
    arc_mask = None if allowed is None or arcs.labels is None else allowed[arcs.labels]
    if key.ends is not None and (ends := graph.allowed_vertices(*key.ends)) is not None:
        led = ends[arcs.neighbors]
        arc_mask = led if arc_mask is None else arc_mask & led
    columns = [_values(graph, graph.edge_attributes[str(one.attribute)], one) for one in key.columns]
    fitting = None if key.where is None else graph.edge_attributes.holds(key.where, graph.num_edge_copies)
    for _, absent in columns:
        if absent is not None:
            fitting = ~absent if fitting is None else fitting & ~absent
    offsets, neighbors, starts, rows, values, by_value, others = _native.build_copies(
        offsets=arcs.offsets,
        neighbors=arcs.neighbors,
        edges=arcs.edges,
        starts=graph.memo.keep("row starts", lambda: row_starts(graph.forward, directed=graph.directed)),
        copies=graph.num_edge_copies,
        arc_mask=arc_mask,
        row_mask=None if fitting is None else fitting.view(np.uint8),
        columns=[np.ascontiguousarray(column) for column, _ in columns],
        floats=_of_floats(key),
        by_value=key.by_value,
    )
    sorted_rows = None
    if others is not None:
        sorted_rows = _rows_by_value(offsets, starts, by_value, others)
    return CopyIndex(offsets, neighbors, starts, _lasts(starts, values), rows, tuple(values), sorted_rows)


def _lasts(starts: NDArray[np.uint64], columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64] | None:
    return columns[0][starts[1:].astype(np.int64) - 1] if columns else None


def _rows_by_value(
    offsets: NDArray[np.uint64],
    starts: NDArray[np.uint64],
    columns: Sequence[NDArray[np.int64]],
    others: tuple[NDArray[np.uint32], NDArray[np.uint32]],
) -> RowsByValue:
    firsts = starts[offsets.astype(np.int64)]
    return RowsByValue(tuple(columns), (*others, firsts, columns[0][::_SAMPLED].copy()))


@dataclass(frozen=True, slots=True)
class _Arcs:
    """Rows of arcs, with the edge (None: its own number) and the label (None: there is one) of each arc."""

    offsets: NDArray[np.uint64]
    neighbors: NDArray[np.uint32]
    edges: NDArray[np.uint32] | None
    labels: NDArray[np.uint32] | None


def _arcs(graph: Graph, direction: Direction) -> _Arcs:
    forward = graph.forward
    if not graph.directed:
        edges = graph.memo.keep("edges of arcs", lambda: edges_of_arcs(forward))
        return _Arcs(forward.offsets, forward.neighbors, edges, forward.labels)
    if direction is Direction.OUT:
        return _Arcs(forward.offsets, forward.neighbors, None, forward.labels)
    reverse = graph.reverse
    into = graph.memo.keep(
        "edges by target", lambda: _native.arcs_by_target(reverse.offsets, forward.neighbors)
    )
    if direction is Direction.IN:
        return _Arcs(reverse.offsets, reverse.neighbors, into, reverse.labels)
    first = np.concatenate([forward.sources(), reverse.sources()])
    second = np.concatenate([forward.neighbors, reverse.neighbors])
    order = np.lexsort((second, first))
    edges = np.concatenate([np.arange(forward.num_arcs, dtype=np.uint32), into])[order]
    labels = None if forward.labels is None else forward.labels[edges]
    return _Arcs(forward.offsets + reverse.offsets, second[order], edges, labels)


def _values(graph: Graph, column: Column, key: ColumnKey) -> Values:
    absent = column.missing()
    missing = absent if absent.any() else None
    if column.kind is Kind.NOTHING:
        return np.zeros(len(absent), dtype=np.int64), missing
    if column.strings is not None and key.form is Form.RANK:
        ranks = np.searchsorted(_strings_among(graph, key), np.array(list(column.strings), dtype=object))
        return np.append(ranks, 0)[column.data].astype(np.int64), missing
    if key.form is Form.FLOAT:
        return column.data.astype(np.float64).view(np.int64), missing
    return column.data.astype(np.int64, copy=False), missing


def _strings_among(graph: Graph, key: ColumnKey) -> NDArray[np.object_]:
    """Return the different strings of the columns that are compared with each other, ascending."""

    def make() -> NDArray[np.object_]:
        strings: set[str] = set()
        for of, attribute in key.among:
            if attribute is None:
                strings.update(graph.vertex_ids.tolist())
                continue
            table = (graph.edge_attributes if of == "edge" else graph.vertex_attributes)[attribute].strings
            strings.update(() if table is None else table)
        found = np.empty(len(strings), dtype=object)
        found[:] = sorted(strings)
        return found

    return graph.memo.get(("strings among", key.among), make)
