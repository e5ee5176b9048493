"""The part of a sharded graph that a search from some root arcs needs, as a `Graph` of its own.

Its vertices are numbered anew in the order of their ids, so order restrictions mean what they mean in the
whole graph, and it is an ordinary graph for planners' output, rows and the native search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.reach import Lead, Reach
from motiflux.cluster.shards.rows import Piece, Rows
from motiflux.graph import Graph
from motiflux.graph.csr import Csr

_BYTES_OF_ENTRY = 20
"""Most bytes of an entry while a part is built: as it was kept, once more in one array, and in two rows."""
_BYTES_OF_LABELLED = 28
"""The same beside it, with kinds: these, labels, sides, and rows that are narrowed by labels."""
_BYTES_OF_VERTEX = 64
"""The same of a vertex of the part."""
_ARRAYS = 6
"""Arrays of masks of all vertices that there are at a time."""


class TooLargeError(Exception):
    """The part does not fit into its memory."""


@dataclass(frozen=True, slots=True)
class Roots:
    """Root arcs of a search.

    Parameters
    ----------
    first, last
        The roots ``first .. last - 1``.
    least, most
        Ids between which images of the second query vertex lie; other than all for one root only.
    """

    first: int
    last: int
    least: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a graph.

    Parameters
    ----------
    graph
        Its external ids are the ids in the whole graph.
    ids
        The same: the ids of its vertices, ascending.
    """

    graph: Graph
    ids: NDArray[np.uint32]


def least_memory(layout: Layout, reach: Reach) -> int:
    """Return the bytes that masks of all vertices take."""
    return _ARRAYS * reach.mask_type.itemsize * layout.num_vertices


@dataclass(slots=True)
class Kept:
    """Entries that a part needs."""

    rows: list[NDArray[np.uint32]] = field(default_factory=list)
    lengths: list[Ids] = field(default_factory=list)
    neighbors: list[NDArray[np.uint32]] = field(default_factory=list)
    kinds: list[NDArray[np.unsignedinteger]] = field(default_factory=list)
    labels: list[NDArray[np.uint32]] = field(default_factory=list)
    entries: int = 0


class Gathering:
    """Gathers the part that a search from some root arcs needs, level by level.

    Parameters
    ----------
    memory
        Bytes of the part while it is built, and of the masks.
    """

    def __init__(self, rows: Rows, reach: Reach, memory: int) -> None:
        self._rows, self._layout, self._reach = rows, rows.layout, reach
        self._memory = memory - least_memory(self._layout, reach)
        self._each = _BYTES_OF_ENTRY + (_BYTES_OF_LABELLED if self._layout.kinds > 1 else 0)
        vertices = self._layout.num_vertices
        self._of = np.zeros(vertices, reach.mask_type)
        """For each vertex, a mask of the query vertices whose candidate it is."""
        self._reached = np.zeros(vertices, reach.mask_type)
        self.nbytes = 0
        """Bytes of the last part while it was built."""

    def part(self, roots: Roots) -> Part | None:
        """Return the part; None if there are no embeddings.

        Raises
        ------
        TooLargeError
            It does not fit into the memory.
        """
        self._of.fill(0)
        if not self._find_candidates(roots):
            return None
        ids = np.flatnonzero(self._of).astype(np.uint32)
        kept = self._keep(len(ids))
        return built(self._layout, ids, kept)

    def _bit(self, vertex: int) -> np.unsignedinteger:
        return self._reach.mask_type.type(1 << vertex)

    def _candidates(self, vertices: int) -> Ids:
        return np.flatnonzero(self._of & self._reach.mask_type.type(vertices))

    def _find_candidates(self, roots: Roots) -> bool:
        """Find a superset of the images of each query vertex; return False if one has none."""
        reach = self._reach
        bounds = [(0, self._layout.num_vertices)] * reach.size
        bounds[reach.second] = (roots.least, roots.most)
        bounds[reach.root] = (roots.first, roots.last)
        known: set[int] = set()
        for vertex, leads in zip(reach.cover, reach.leads, strict=True):
            if vertex == reach.root:
                ids = np.arange(roots.first, roots.last)
            else:
                ids = self._candidates(1 << vertex)
            if not len(ids):
                return False
            bounds[vertex] = int(ids[0]), int(ids[-1]) + 1
            self._lead(ids, vertex, leads, bounds)
            if vertex == reach.root and not len(self._candidates(1 << vertex)):
                return False
            for lead in leads:
                bit = self._bit(lead.target)
                if lead.target in known:
                    self._of &= self._reached | ~bit
                else:
                    self._of |= self._reached & bit
                known.add(lead.target)
        return int(np.bitwise_or.reduce(self._of)) == (1 << reach.size) - 1

    def _lead(self, ids: Ids, vertex: int, leads: tuple[Lead, ...], bounds: list[tuple[int, int]]) -> None:
        """Mark the neighbours to which edges lead from candidates of a query vertex."""
        reach, root = self._reach, self._reach.root
        self._reached.fill(0)
        within = [self._within(lead.target, bounds) for lead in leads]
        for piece in self._rows.pieces(ids):
            chosen = np.ones(len(piece.ids), np.bool_)
            if vertex == root:
                if reach.root_labels is not None:
                    chosen = np.isin(piece.labels, reach.root_labels)
                self._of[piece.ids[chosen]] |= self._bit(root)
            own = np.repeat(piece.ids, piece.lengths).astype(np.uint32)
            every = None if chosen.all() else np.repeat(chosen, piece.lengths)
            for lead, (least, most) in zip(leads, within, strict=True):
                mask = (piece.neighbors >= least) & (piece.neighbors < most)
                if every is not None:
                    mask &= every
                if piece.kinds is not None and not lead.kinds.all():
                    mask &= lead.kinds[piece.kinds]
                if (vertex, lead.target) in reach.less:
                    mask &= piece.neighbors > own
                elif (lead.target, vertex) in reach.less:
                    mask &= piece.neighbors < own
                self._reached[piece.neighbors[mask]] |= self._bit(lead.target)

    def _within(self, vertex: int, bounds: list[tuple[int, int]]) -> tuple[int, int]:
        """Return the bounds of the images of a query vertex, by those of others."""
        least, most = bounds[vertex]
        for less, greater in self._reach.less:
            if greater == vertex:
                least = max(least, bounds[less][0] + 1)
            if less == vertex:
                most = min(most, bounds[greater][1] - 1)
        return least, max(least, most)

    def _keep(self, vertices: int) -> Kept:
        """Return the entries between candidates of query vertices that are compared."""
        reach, kind = self._reach, self._reach.mask_type
        cover = sum(1 << vertex for vertex in reach.cover)
        kept = Kept()
        for piece in self._rows.pieces(self._candidates(cover)):
            of = self._of[piece.ids]
            above, below = np.zeros(len(of), kind), np.zeros(len(of), kind)
            for vertex in reach.cover:
                some = (of & self._bit(vertex)) != 0
                above[some] |= kind.type(reach.all_of[vertex] | reach.above[vertex])
                below[some] |= kind.type(reach.all_of[vertex] | reach.below[vertex])
            self._keep_some(piece, above, below, kept)
            self.nbytes = self._each * kept.entries + _BYTES_OF_VERTEX * vertices
            if self.nbytes > self._memory:
                raise TooLargeError
        return kept

    def _keep_some(
        self,
        piece: Piece,
        above: NDArray[np.unsignedinteger],
        below: NDArray[np.unsignedinteger],
        kept: Kept,
    ) -> None:
        own = np.repeat(piece.ids, piece.lengths).astype(np.uint32)
        wanted = np.repeat(above, piece.lengths)
        if (above != below).any():
            wanted = np.where(piece.neighbors > own, wanted, np.repeat(below, piece.lengths))
        mask = (self._of[piece.neighbors] & wanted) != 0
        ends = np.concatenate([[0], np.cumsum(piece.lengths)])
        through = np.concatenate([[0], np.cumsum(mask)])
        kept.rows.append(piece.ids.astype(np.uint32))
        kept.labels.append(piece.labels)
        kept.lengths.append(through[ends[1:]] - through[ends[:-1]])
        kept.neighbors.append(piece.neighbors[mask])
        if piece.kinds is not None:
            kept.kinds.append(piece.kinds[mask])
        kept.entries += len(kept.neighbors[-1])


def built(layout: Layout, ids: NDArray[np.uint32], kept: Kept) -> Part:
    """Return the part with the vertices `ids`, ascending, and the arcs of entries, which `kept` then lacks."""
    rows, neighbors = np.concatenate(kept.rows), np.concatenate(kept.neighbors)
    kinds = np.concatenate(kept.kinds) if kept.kinds else None
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(kept.lengths))]).astype(np.uint64)
    own_labels = np.concatenate(kept.labels)
    kept.neighbors.clear()
    kept.kinds.clear()
    _native.to_positions(ids, rows)
    _native.to_positions(ids, neighbors)
    labels = None
    if len(layout.vertex_label_table) > 1:
        assert kinds is not None
        labels = np.zeros(len(ids), np.uint32)
        labels[rows] = own_labels
        labels[neighbors] = layout.label_of_neighbor(kinds)
    of_edges = None
    if len(layout.edge_label_table) > 1:
        assert kinds is not None
        of_edges = layout.edge_label_of(kinds)
    csrs = []
    for sides in _sides(layout, kinds):
        made = _native.partial_rows(rows, offsets, neighbors, of_edges, sides, len(ids))
        csrs.append(Csr(*made, None))
    graph = Graph(
        layout.directed,
        ids.astype(np.int64),
        csrs[0],
        csrs[-1],
        labels,
        layout.vertex_label_table,
        layout.edge_label_table,
    )
    return Part(graph, ids)


def _sides(
    layout: Layout, kinds: NDArray[np.unsignedinteger] | None
) -> Iterator[NDArray[np.uint8] | None]:
    """Yield which ends of the entries the arcs of forward and of reverse rows leave."""
    if not layout.directed:
        yield None
        return
    assert kinds is not None
    into = layout.side_of(kinds)
    yield (1 + into).astype(np.uint8)
    yield (2 - into).astype(np.uint8)
