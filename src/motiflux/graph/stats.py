"""Sizes of a graph for people, and label frequencies for the planner."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph.arrays import GraphArrays
from motiflux.graph.csr import Csr
from motiflux.types import LabelArray

_PIECE = 1 << 20
"""Arcs that are counted between checks of the deadline: 2 ms, and 10 ms if they are sorted."""
# Count label triples in a table of at most this many cells; beyond it by sorting.
_LARGEST_TABLE = 1 << 22

_MOST_SUMS = 4096

Triples: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

# Label triples looked up one by one; NumPy, which takes 25 us, sums larger numbers of them.
_MOST_LOOKUPS = 64
_MOST_TABLED = 1 << 16


@dataclass(frozen=True, slots=True)
class GraphStats:
    """Sizes of a graph. Degrees count edges at a vertex: in a directed graph, both directions."""

    vertices: int
    edges: int
    edge_copies: int
    directed: bool
    vertex_labels: int
    edge_labels: int
    self_loops_dropped: int
    duplicate_edges: int
    isolated_vertices: int
    min_degree: int
    mean_degree: float
    max_degree: int


def summarize(graph: GraphArrays) -> GraphStats:
    """Return the sizes of `graph`; linear in its vertices."""
    degrees = graph.forward.degrees()
    if graph.directed:
        degrees = degrees + graph.reverse.degrees()
    some = degrees.size > 0
    return GraphStats(
        vertices=graph.num_vertices,
        edges=graph.num_edges,
        edge_copies=graph.num_edge_copies,
        directed=graph.directed,
        vertex_labels=len(graph.vertex_label_table),
        edge_labels=len(graph.edge_label_table),
        self_loops_dropped=graph.self_loops_dropped,
        duplicate_edges=graph.duplicate_edges,
        isolated_vertices=int(np.count_nonzero(degrees == 0)),
        min_degree=int(degrees.min()) if some else 0,
        mean_degree=float(degrees.mean()) if some else 0.0,
        max_degree=int(degrees.max()) if some else 0,
    )


class LabelFrequencies:
    """How many vertices have a label, and how many arcs a (label, edge label, label) triple.

    Labels are codes. An undirected edge counts as two arcs.

    Parameters
    ----------
    of_vertices
        int64 [vertex labels], vertices of each label.
    triples
        Three columns int64 [t]: the triples that occur.
    arcs
        int64 [t], arcs of each triple.
    num_edge_labels
        Number of distinct edge labels.
    """

    def __init__(
        self, of_vertices: NDArray[np.int64], triples: Triples, arcs: NDArray[np.int64], num_edge_labels: int
    ) -> None:
        self.num_vertices = int(of_vertices.sum())
        self.of_vertices = of_vertices
        self.triples = triples
        self.of_triples = arcs
        one_label = len(of_vertices) == 1
        self._only = (one_label, num_edge_labels == 1, one_label)
        self._table: dict[tuple[int, ...], int] | None = None
        self._sums: dict[tuple[tuple[int, ...] | None, ...], int] = {}

    @classmethod
    def count(
        cls,
        forward: Csr,
        vertex_labels: LabelArray | None,
        num_vertex_labels: int,
        num_edge_labels: int,
        deadline: float | None = None,
    ) -> LabelFrequencies:
        """Return the frequencies of a graph; linear in its arcs. `TimeoutError` if `deadline` passes."""
        if vertex_labels is None:
            of_vertices = np.array([forward.num_vertices])
        else:
            of_vertices = np.bincount(vertex_labels, minlength=num_vertex_labels)
        triples, arcs = _count_triples(forward, vertex_labels, num_vertex_labels, num_edge_labels, deadline)
        return cls(of_vertices, triples, arcs, num_edge_labels)

    def vertices(self, labels: Iterable[int] | None) -> int:
        """Return the number of vertices with one of `labels`; None: all labels."""
        return (
            self.num_vertices
            if labels is None
            else int(self.of_vertices[np.fromiter(labels, dtype=np.int64)].sum())
        )

    def arcs(
        self,
        source_labels: tuple[int, ...] | None,
        edge_labels: tuple[int, ...] | None,
        target_labels: tuple[int, ...] | None,
    ) -> int:
        """Return the number of arcs between vertices of such labels; None: all labels."""
        labels = (source_labels, edge_labels, target_labels)
        known = self._sums.get(labels)
        if known is None:
            if len(self._sums) >= _MOST_SUMS:
                self._sums.clear()
            known = self._sums[labels] = self._sum_arcs(labels)
        return known

    def _sum_arcs(self, labels: tuple[tuple[int, ...] | None, ...]) -> int:
        # Where there is one label, "all labels" is that one.
        named = [
            (0,) if only and codes is None else codes for only, codes in zip(self._only, labels, strict=True)
        ]
        choices = [codes for codes in named if codes is not None]
        few = len(choices) == len(named) and prod(map(len, choices)) <= _MOST_LOOKUPS
        if few and len(self.of_triples) <= _MOST_TABLED:
            table = self._tabled()
            return sum(table.get(triple, 0) for triple in product(*choices))
        chosen = np.ones(len(self.of_triples), dtype=bool)
        for column, allowed in zip(self.triples, labels, strict=True):
            if allowed is not None:
                chosen &= np.isin(column, allowed)
        return int(self.of_triples[chosen].sum())

    def _tabled(self) -> dict[tuple[int, ...], int]:
        if self._table is None:
            columns = (column.tolist() for column in self.triples)
            self._table = dict(zip(zip(*columns, strict=True), self.of_triples.tolist(), strict=True))
        return self._table


def _count_triples(
    forward: Csr,
    vertex_labels: LabelArray | None,
    num_vertex_labels: int,
    num_edge_labels: int,
    deadline: float | None,
) -> tuple[Triples, NDArray[np.int64]]:
    """Return the triples that occur, as three columns, and the arcs of each."""
    if vertex_labels is None and forward.labels is None:  # all arcs have the triple of codes 0
        some = min(1, forward.num_arcs)
        zeros = np.zeros(some, dtype=np.int64)
        return (zeros, zeros, zeros), np.full(some, forward.num_arcs, dtype=np.int64)
    cells = num_vertex_labels * num_edge_labels * num_vertex_labels
    table = np.zeros(cells, dtype=np.int64) if cells <= _LARGEST_TABLE else None
    nothing = np.empty(0, dtype=np.int64)
    parts = [(nothing, nothing)]
    for first in range(0, len(forward.neighbors), _PIECE):
        if first > 0 and deadline is not None and time.perf_counter() >= deadline:
            raise TimeoutError("time was up while labels were counted")
        last = min(first + _PIECE, len(forward.neighbors))
        if table is None:
            codes = _codes(forward, vertex_labels, num_vertex_labels, num_edge_labels, first, last)
            parts.append(np.unique(codes, return_counts=True))
        else:
            table += _native.count_label_triples(
                forward.offsets,
                forward.neighbors,
                forward.labels,
                vertex_labels,
                first,
                last,
                num_edge_labels,
                num_vertex_labels,
            )
    if table is not None:
        triples = np.flatnonzero(table)
        arcs = table[triples]
    else:
        triples, of_part = np.unique(np.concatenate([codes for codes, _ in parts]), return_inverse=True)
        arcs = np.zeros(len(triples), dtype=np.int64)
        np.add.at(arcs, of_part, np.concatenate([counts for _, counts in parts]))
    source, rest = np.divmod(triples, num_edge_labels * num_vertex_labels)
    edge, target = np.divmod(rest, num_vertex_labels)
    return (source, edge, target), arcs


def _codes(
    forward: Csr,
    vertex_labels: LabelArray | None,
    num_vertex_labels: int,
    num_edge_labels: int,
    first: int,
    last: int,
) -> NDArray[np.int64]:
    """Return the triples of the arcs from `first` to before `last` as numbers."""
    neighbors = forward.neighbors[first:last]
    codes = np.zeros(len(neighbors), dtype=np.int64)
    if vertex_labels is not None:
        last = first + len(neighbors)
        ends = np.array([first, last], dtype=forward.offsets.dtype)
        row = int(np.searchsorted(forward.offsets, ends[0], side="right")) - 1
        after = int(np.searchsorted(forward.offsets, ends[1], side="left"))
        lengths = np.diff(np.clip(forward.offsets[row : after + 1], ends[0], ends[1])).astype(np.int64)
        sources = np.repeat(vertex_labels[row:after], lengths)
        codes += sources.astype(np.int64) * (num_edge_labels * num_vertex_labels)
        codes += vertex_labels[neighbors]
    if forward.labels is not None:
        codes += forward.labels[first:last].astype(np.int64) * num_vertex_labels
    return codes
