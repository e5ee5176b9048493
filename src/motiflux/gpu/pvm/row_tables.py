"""Tables of rows that phases read, as arrays of the host (docs/design/gpu-pvm-tables.md).

A table that names one partition of the graph's arcs is that partition. Others are merged: the row of a vertex
has the neighbours that arcs of several partitions, or arcs with a condition, lead to, each once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from motiflux import _native
from motiflux.conditions import Condition
from motiflux.errors import InternalError
from motiflux.gpu.pcsr.formats import HashPartition, IntervalPartition
from motiflux.gpu.pcsr.partitions import MOST_ARCS, PartitionKey, Partitions, hashed
from motiflux.gpu.pvm.empty_rows import fill_gaps
from motiflux.gpu.pvm.row_ranges import RowRanges, WholeTable, split_rows
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.types import VertexArray

_PARTITIONS = "partitions of rows"
_KEPT_RATIO = 4
"""Merged tables of a graph that are kept: at most this many times the bytes that it keeps of other rows."""


class RowForm(StrEnum):
    """How a table finds the row of a vertex; the others are to compare with."""

    INTERVAL = "interval"
    """By intervals of new ids."""
    UNRENAMED = "unrenamed"
    """By intervals of the graph's own ids."""
    HASH = "hash"
    """By a hash table."""


@dataclass(frozen=True, slots=True)
class TableKey:
    """Names a table of rows.

    Parameters
    ----------
    direction
        How arcs are followed; in a directed graph ``EITHER`` means an arc in either direction.
    labels
        Codes of the edge labels, ascending; None: all. No codes: no rows.
    where
        A condition on edges that a copy satisfies.
    target
        Code of the label of the neighbours, in graphs whose arcs are divided by it (`RowTables.by_target`);
        None: neighbours of all labels.
    form
        How rows are found.
    """

    direction: Direction
    labels: tuple[int, ...] | None = None
    where: Condition | None = None
    target: int | None = None
    form: RowForm = RowForm.INTERVAL

    @property
    def renames(self) -> bool:
        """Whether rows are found by new ids."""
        return self.form is RowForm.INTERVAL


@dataclass(frozen=True, eq=False)
class HostTable:
    """A table of rows as arrays of the host.

    Parameters
    ----------
    key
        Its name, in normal form.
    rows
        The rows of vertices by their new ids, if the form has these; some may be empty. Neighbours are ids of
        the graph; they ascend, by label first if the tables are `RowTables.grouped`.
    """

    key: TableKey
    rows: IntervalPartition | HashPartition
    _tiles: dict[int, RowRanges] = field(default_factory=dict, init=False, repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.rows.nbytes

    def tiles(self, most_bytes: int) -> RowRanges | WholeTable:
        """Return the table in ranges of rows, which are kept with it.

        Each has at most `most_bytes`, unless it is a single row, and offsets that begin at 0. All neighbours
        of a vertex are in one range. A table of at most `most_bytes` is one range, and so is a hash table.
        """
        if isinstance(self.rows, HashPartition):
            return WholeTable(self.rows)
        found = self._tiles.get(most_bytes)
        if found is None:
            found = split_rows(self.rows, most_bytes)
            self._tiles.clear()  # of another size: other memory
            self._tiles[most_bytes] = found
        return found


class _Divided(NamedTuple):
    """The partitions of a graph by intervals, and the ids of vertices there."""

    parts: dict[PartitionKey, IntervalPartition | HashPartition]
    renamed: VertexArray


@dataclass(frozen=True, eq=False)
class RowTables:
    """The tables of one graph. They are made when they are first asked for, and kept with the graph.

    Parameters
    ----------
    graph
        The graph.
    threads
        Number of threads that make tables.
    """

    graph: Graph = field(repr=False)
    threads: int = 1

    @classmethod
    def of(cls, graph: Graph, threads: int = 1) -> RowTables:
        """Return the tables of a graph. Objects of one graph share them."""
        return cls(graph, threads)

    @property
    def by_target(self) -> bool:
        """Whether partitions are divided by the label of the target, since edges have one label."""
        return self.graph.forward.labels is None and self.graph.vertex_labels is not None

    @property
    def grouped(self) -> bool:
        """Whether neighbours are in the order of their labels, in which they ascend."""
        return self.graph.forward.labels is not None and self.graph.vertex_labels is not None

    @property
    def renamed(self) -> VertexArray:
        """New id of each vertex in all tables, uint32 [n]; vertices without arcs have the last ids."""
        return self._divided(RowForm.INTERVAL).renamed

    @property
    def are_divided(self) -> bool:
        """Whether partitions by intervals are made, which takes most of the time of the first table."""
        return self.graph.memo.keeps(_PARTITIONS)

    def normal(self, key: TableKey) -> TableKey:
        """Return the normal form of a key: keys of equal tables mostly have the same one.

        Raises
        ------
        InternalError
            The key has the label of targets, but arcs are not divided by it, or there is no such label.
        """
        targets = len(self.graph.vertex_label_table) if self.by_target else 0
        if key.target is not None and not 0 <= key.target < targets:
            raise InternalError(f"target: expected a code below {targets} or None, found {key.target}")
        labels, codes = key.labels, self._edge_codes
        if labels is not None:
            labels = tuple(sorted({label for label in labels if label < codes}))
            labels = None if len(labels) == codes else labels
        return replace(key, direction=self._direction(key.direction), labels=labels)

    def table(self, key: TableKey) -> HostTable:
        """Return a table.

        Takes time linear in the size of the graph when a table is made. All partitions are made together, and
        each merged table is made alone.

        Raises
        ------
        PatternError
            The condition is on an attribute that does not exist, or compares it with a value of another type.
        """
        key = self.normal(key)
        name = self._partition(key)
        if name is not None:
            return self.graph.memo.keep(
                ("partition", key), lambda: HostTable(key, self._divided(key.form).parts[name])
            )
        room = _KEPT_RATIO * self.graph.cache_bytes()
        return self.graph.memo.get_sized("row tables", key, lambda: HostTable(key, self._merged(key)), room)

    def tiles(self, key: TableKey, most_bytes: int) -> RowRanges | WholeTable:
        """Return a table in ranges of rows (`HostTable.tiles`), which later searches share."""
        return self.table(key).tiles(most_bytes)

    @property
    def _edge_codes(self) -> int:
        return 1 if self.graph.forward.labels is None else len(self.graph.edge_label_table)

    def _direction(self, direction: Direction) -> Direction:
        return direction if self.graph.directed else Direction.EITHER

    def _divided(self, form: RowForm) -> _Divided:
        name = _PARTITIONS if form is RowForm.INTERVAL else f"{_PARTITIONS}, {form}"
        return self.graph.memo.keep(name, lambda: self._divide(form))

    def _divide(self, form: RowForm) -> _Divided:
        partitions = Partitions.of(self.graph, self.threads)
        made = partitions.intervals(renames=form is RowForm.INTERVAL).partitions
        parts = dict(zip(partitions.keys, (self._in_form(one, form) for one in made), strict=True))
        return _Divided(parts, partitions.renamed if form is RowForm.INTERVAL else self._own_ids())

    def _in_form(self, rows: IntervalPartition, form: RowForm) -> IntervalPartition | HashPartition:
        """Return rows by intervals in a form; raises `GraphError` if they are too many for a hash table."""
        if form is RowForm.HASH:
            return hashed(rows, self.threads)
        return fill_gaps(rows) if form is RowForm.INTERVAL else rows

    def _own_ids(self) -> VertexArray:
        return np.arange(self.graph.num_vertices, dtype=np.uint32)

    def _partition(self, key: TableKey) -> PartitionKey | None:
        """Return the name of the only partition that a table has; None if it is merged."""
        if key.where is not None or (self.graph.directed and key.direction is Direction.EITHER):
            return None
        if self.graph.forward.labels is None:
            label = key.target if self.by_target else 0
            return None if label is None or key.labels is not None else PartitionKey(key.direction, label)
        if key.labels is None:
            return PartitionKey(key.direction, 0) if self._edge_codes == 1 else None
        return PartitionKey(key.direction, key.labels[0]) if len(key.labels) == 1 else None

    def _merged(self, key: TableKey) -> IntervalPartition | HashPartition:
        """Return the rows of the arcs that a key names, each neighbour once."""
        targets = None if key.target is None else (key.target,)
        arcs = AdjacencyKey(key.direction, key.labels, None, targets, key.where)
        offsets, neighbors = self.graph.adjacency(arcs, self.threads)
        groups = self.graph.vertex_labels if self.grouped else None
        arcs_of = _native.Partitions([(offsets, neighbors, None)], groups, 1, False, self.threads)
        ids = self.renamed if key.renames else self._own_ids()
        rows = arcs_of.interval_rows(ids, MOST_ARCS, self.threads)[3:]
        return self._in_form(IntervalPartition(*rows), key.form)
