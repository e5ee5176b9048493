"""The partitions of a graph's arcs, and new ids under which their vertices form few intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from motiflux import _native
from motiflux.errors import GraphError
from motiflux.gpu.pcsr.formats import HashFormat, HashPartition, IntervalFormat, IntervalPartition
from motiflux.graph import Direction, Graph
from motiflux.types import VertexArray

MOST_ARCS = 2**32 - 1
"""Most arcs of a partition whose offsets have 32 bits."""


class PartitionKey(NamedTuple):
    """Names a partition: a direction, and the code of a label of edges or of targets."""

    direction: Direction
    label: int


@dataclass(frozen=True, eq=False)
class Partitions:
    """Arcs of a graph in partitions.

    They are divided by the label of the edge; if all edges have one label, by the label of the target. Arcs
    in both directions of a directed graph are in different partitions.

    Parameters
    ----------
    keys
        Names of all partitions, also of empty ones.
    num_vertices
        Number of vertices of the graph.
    by_target
        Whether arcs are divided by the label of their target.
    grouped
        Whether the neighbours in a row are in the order of their labels, since they may have several.
    """

    keys: Sequence[PartitionKey]
    num_vertices: int
    by_target: bool
    grouped: bool
    _arcs: _native.Partitions = field(repr=False)
    _threads: int = field(repr=False)

    @classmethod
    def of(cls, graph: Graph, threads: int = 1) -> Partitions:
        """Return the partitions of a graph, in time linear in its size."""
        sides = {Direction.EITHER: graph.forward}
        if graph.directed:
            sides = {Direction.OUT: graph.forward, Direction.IN: graph.reverse}
        by_target = graph.forward.labels is None
        table = graph.vertex_label_table if by_target else graph.edge_label_table
        codes = 1 if by_target and graph.vertex_labels is None else len(table)
        arcs = _native.Partitions(
            [(rows.offsets, rows.neighbors, rows.labels) for rows in sides.values()],
            graph.vertex_labels,
            codes,
            by_target,
            threads,
        )
        keys = [PartitionKey(direction, label) for direction in sides for label in range(codes)]
        grouped = not by_target and graph.vertex_labels is not None
        return cls(keys, graph.num_vertices, by_target, grouped, arcs, threads)

    @cached_property
    def renamed(self) -> VertexArray:
        """New id of each vertex by Algorithm 2, uint32 [n]; vertices without arcs have the last ids."""
        return self._arcs.rename(_native.COMPARED_STEPS, self._threads)

    def intervals(self, *, renames: bool = True, most_arcs: int = MOST_ARCS) -> IntervalFormat:
        """Return all rows by intervals of ids.

        Parameters
        ----------
        renames
            Whether ids are those of `renamed`; if not, those of the graph (the
            unoptimised form, an ablation).
        most_arcs
            Most arcs of a partition for which 32 bits are used.
        """
        ids = self.renamed if renames else np.arange(self.num_vertices, dtype=np.uint32)
        made = self._arcs.interval_rows(ids, most_arcs, self._threads)
        rows, arcs, intervals = ([int(one) for one in ends] for ends in made[:3])
        firsts, rows_before, offsets, neighbors = made[3:]
        parts = []
        for number in range(len(self.keys)):
            behind = number + 1
            parts.append(
                IntervalPartition(
                    firsts[intervals[number] : intervals[behind]],
                    rows_before[intervals[number] + number : intervals[behind] + behind],
                    offsets[rows[number] + number : rows[behind] + behind],
                    neighbors[arcs[number] : arcs[behind]],
                )
            )
        return IntervalFormat(parts, ids if renames else None)

    def hashes(self) -> HashFormat:
        """Return all rows by a hash table for each partition (hash-PCSR, an ablation).

        Raises
        ------
        GraphError
            A partition has 2^32 arcs or more.
        """
        return HashFormat([hashed(part, self._threads) for part in self.intervals(renames=False).partitions])


def hashed(part: IntervalPartition, threads: int = 1) -> HashPartition:
    """Return the rows of a partition by intervals of the graph's ids by a hash table.

    Raises
    ------
    GraphError
        The partition has 2^32 arcs or more.
    """
    if len(part.neighbors) > MOST_ARCS:
        raise GraphError(f"a partition of {len(part.neighbors)} arcs; hash tables hold at most {MOST_ARCS}")
    offsets = part.offsets.astype(np.uint32, copy=False)
    return HashPartition(*_native.hash_rows(part.ids(), offsets, part.neighbors, threads))
