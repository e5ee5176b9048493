"""The part of a sharded graph that a search from some root arcs needs, as a `Graph` of its own.

Its vertices are numbered anew in the order of their ids, so order restrictions mean what they mean in the
whole graph, and it is an ordinary graph for planners' output, rows and the native search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.reach import Lead, Reach
from motiflux.cluster.shards.rows import Cut, Piece, Rows
from motiflux.errors import InternalError
from motiflux.graph import Graph, LabelTable
from motiflux.graph.csr import Csr

_BYTES_OF_ENTRY = 14
"""Most bytes of an entry while a part is built: as it was kept, and in the rows of both ends."""
_BYTES_OF_SIDES = 12
"""The same beside it, with directions: kinds, sides, and reverse rows."""
_BYTES_OF_EDGE_LABEL = 12
"""The same beside it, with labels of edges: as they are kept, and in the rows of both ends."""
_BYTES_OF_NARROWED = 8
"""The same beside it, if rows are narrowed."""
_BYTES_OF_VERTEX = 40
"""The same of a vertex of the part."""
_MOST_PIECES = 64
_SPARE = 1.2
"""One query vertex gets this times the square root of the number of parts as blocks, others the rest."""
_ARRAYS = 6
"""Arrays of masks of all vertices that there are at a time."""


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The part does not fit into its memory.

    Parameters
    ----------
    parts
        About the number of parts that fit.
    """

    parts: float


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Roots:
    """Roots of a search: the vertices ``first .. last - 1``.

    Parameters
    ----------
    spans
        Query vertices whose images lie between two ids, the second of them not included.
    """

    first: int
    last: int
    spans: Mapping[int, Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a graph.

    Parameters
    ----------
    graph
        Its external ids are the ids in the whole graph.
    ids
        The same: the ids of its vertices, ascending or descending.
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

    def forget_entries(self) -> None:
        """Keep the numbers of entries only."""
        for column in (self.neighbors, self.kinds, self.labels):
            column.clear()


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
        self._each = _BYTES_OF_ENTRY
        self._each += _BYTES_OF_NARROWED if self._layout.directed else 0
        self._each += _BYTES_OF_SIDES if self._layout.directed else 0
        self._each += _BYTES_OF_EDGE_LABEL if len(self._layout.edge_label_table) > 1 else 0
        vertices = self._layout.num_vertices
        self._of = np.zeros(vertices, reach.mask_type)
        """For each vertex, a mask of the query vertices whose candidate it is."""
        self._reached = np.zeros(vertices, reach.mask_type)
        self.nbytes = 0
        """Bytes of the last part while it was built."""
        self._sizes: tuple[Ids, Ids] = np.empty(0, np.int64), np.empty(0, np.int64)
        """Of a part that was too large: the vertices whose rows it has, and the entries of each."""

    @property
    def most_roots(self) -> int:
        """The number of roots whose ids take half of the memory: a part of more is not begun."""
        return max(1, self._memory // (2 * _BYTES_OF_VERTEX))

    def part(self, roots: Roots) -> Part | TooLarge | None:
        """Return the part; None if there are no embeddings.

        With spans, the label of a vertex in it is the mask of the query vertices whose candidate it is.
        """
        self._of.fill(0)
        self.nbytes = 0
        if not self._find_candidates(roots):
            return None
        ids = np.flatnonzero(self._of).astype(np.uint32)
        kept = self._keep(ids, masked=bool(roots.spans))
        if self.nbytes > self._memory:
            self._note_sizes(kept)
            return TooLarge(self.nbytes / self._memory)
        part = built(self._layout, ids, kept, downward=self._reach.downward)
        return self._masked(part) if roots.spans else part

    def divided(self, roots: Roots, parts: float) -> list[Roots]:
        """Return the roots of a part that was too large, in parts.

        The candidates of one query vertex are divided: of that one whose candidates' rows had the most
        entries in the part. So candidates of all query vertices become blocks, of which each part joins some.
        """
        of, own = self._of[self._sizes[0]], self._sizes
        best, most = -1, -1
        for vertex in range(self._reach.size):
            has = (of & self._bit(vertex)) != 0
            number = (
                int(np.count_nonzero(self._of & self._bit(vertex))) if vertex not in self._reach.cover else 0
            )
            size = int(own[1][has].sum()) if vertex in self._reach.cover else 0
            if max(number, int(np.count_nonzero(has))) > 1 and size > most:
                best, most = vertex, size
        if best < 0:
            raise InternalError("expected a part of one candidate each to fit into its memory")
        if best in self._reach.cover:
            has = (of & self._bit(best)) != 0
            order = np.argsort(own[0][has])
            ids, sizes = own[0][has][order], own[1][has][order]
        else:
            ids = self._candidates(1 << best)
            sizes = np.ones(len(ids), np.int64)
        pieces = int(max(2, min(_MOST_PIECES, np.ceil(_SPARE * parts**0.5), len(ids))))
        ends = np.cumsum(sizes + 1)
        cuts = np.unique(np.searchsorted(ends, ends[-1] * np.arange(1, pieces) // pieces))
        cuts = cuts[(cuts > 0) & (cuts < len(ids))]
        if not len(cuts):
            cuts = np.array([len(ids) // 2])
        bounds = [int(ids[0]), *(int(one) for one in ids[cuts]), int(ids[-1]) + 1]
        spans = list(pairwise(bounds))
        if best == self._reach.root:
            return [Roots(first, last, roots.spans) for first, last in spans]
        return [Roots(roots.first, roots.last, {**roots.spans, best: span}) for span in spans]

    def _masked(self, part: Part) -> Part:
        masks = self._of[part.ids].astype(np.uint32)
        table = LabelTable(tuple(range(1 << self._reach.size)))
        return replace(part, graph=replace(part.graph, vertex_labels=masks, vertex_label_table=table))

    def _bit(self, vertex: int) -> np.unsignedinteger:
        return self._reach.mask_type.type(1 << vertex)

    def _candidates(self, vertices: int) -> Ids:
        return np.flatnonzero(self._of & self._reach.mask_type.type(vertices))

    def _find_candidates(self, roots: Roots) -> bool:
        """Find a superset of the images of each query vertex; return False if one has none."""
        reach = self._reach
        bounds = [roots.spans.get(vertex, (0, self._layout.num_vertices)) for vertex in range(reach.size)]
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
            if leads:
                self._lead(ids, vertex, leads, bounds)
            for lead in leads:
                bit = self._bit(lead.target)
                if lead.target in known:
                    self._of &= self._reached | ~bit
                else:
                    self._of |= self._reached & bit
                known.add(lead.target)
        return int(np.bitwise_or.reduce(self._of)) == (1 << reach.size) - 1

    def _lead(self, ids: Ids, vertex: int, leads: tuple[Lead, ...], bounds: list[Span]) -> None:
        """Mark the neighbours to which edges lead from candidates of a query vertex."""
        reach = self._reach
        self._reached.fill(0)
        within = [self._within(lead.target, bounds) for lead in leads]
        sides = [reach.side(vertex, lead.target) for lead in leads]
        side = sides[0] if len(set(sides)) == 1 else 0
        cut = Cut(min(least for least, _ in within), max(most for _, most in within), side)
        for piece in self._rows.pieces(ids, cut):
            every = self._chosen_roots(piece) if vertex == reach.root else None
            own = None if side or not any(sides) else np.repeat(piece.ids, piece.lengths)
            for lead, (least, most), way in zip(leads, within, sides, strict=True):
                mask = np.ones(len(piece.neighbors), np.bool_) if every is None else every.copy()
                if least > cut.least:
                    mask &= piece.neighbors >= least
                if most < cut.most:
                    mask &= piece.neighbors < most
                if piece.kinds is not None and not lead.kinds.all():
                    mask &= lead.kinds[piece.kinds]
                if own is not None and way:
                    mask &= piece.neighbors > own if way > 0 else piece.neighbors < own
                self._reached[piece.neighbors if mask.all() else piece.neighbors[mask]] |= self._bit(
                    lead.target
                )

    def _chosen_roots(self, piece: Piece) -> NDArray[np.bool_] | None:
        """Mark the roots of a piece; return which entries are theirs, None if all are."""
        labels = self._reach.root_labels
        if labels is None:
            self._of[piece.ids] |= self._bit(self._reach.root)
            return None
        chosen = np.isin(piece.labels, labels)
        self._of[piece.ids[chosen]] |= self._bit(self._reach.root)
        return None if chosen.all() else np.repeat(chosen, piece.lengths)

    def _within(self, vertex: int, bounds: list[Span]) -> Span:
        """Return the bounds of the images of a query vertex, by those of others."""
        least, most = bounds[vertex]
        for less, greater in self._reach.less:
            if greater == vertex:
                least = max(least, bounds[less][0] + 1)
            if less == vertex:
                most = min(most, bounds[greater][1] - 1)
        return least, max(least, most)

    def _keep(self, ids: NDArray[np.uint32], *, masked: bool) -> Kept:
        """Return the entries between candidates of query vertices that are compared.

        If they do not fit into the memory, only the number of each row's entries is kept.
        """
        reach, kind = self._reach, self._reach.mask_type
        own = self._candidates(sum(1 << vertex for vertex in reach.cover))
        of = self._of[own]
        above, below = np.zeros(len(own), kind), np.zeros(len(own), kind)
        for vertex in reach.cover:
            some = (of & self._bit(vertex)) != 0
            above[some] |= kind.type(reach.all_of[vertex] | reach.above[vertex])
            below[some] |= kind.type(reach.all_of[vertex] | reach.below[vertex])
        kept = Kept()
        each = self._each + (_BYTES_OF_NARROWED if masked else 0)
        least, most = int(ids[0]), int(ids[-1]) + 1
        for side, some in ((1, below == 0), (-1, above == 0), (0, (above != 0) & (below != 0))):
            rows, wanted, other = own[some], (below if side < 0 else above)[some], below[some]
            for piece in self._rows.pieces(rows, Cut(least, most, side)):
                self._keep_some(piece, rows, wanted, None if side else other, kept)
                self.nbytes = each * kept.entries + _BYTES_OF_VERTEX * len(ids)
                if self.nbytes > self._memory:
                    kept.forget_entries()
        return kept

    def _note_sizes(self, kept: Kept) -> None:
        """Take note of the number of entries of each row."""
        own, sizes = np.concatenate(kept.rows), np.concatenate(kept.lengths)
        kept.rows.clear()
        kept.lengths.clear()
        order = np.argsort(own, kind="stable")
        own, sizes = own[order], sizes[order]
        begins = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))  # long rows come in pieces
        self._sizes = own[begins].astype(np.int64), np.add.reduceat(sizes, begins)

    def _keep_some(
        self,
        piece: Piece,
        rows: Ids,
        above: NDArray[np.unsignedinteger],
        below: NDArray[np.unsignedinteger] | None,
        kept: Kept,
    ) -> None:
        """Keep the entries of a piece to candidates that are wanted of greater and of lesser neighbours."""
        at = np.searchsorted(rows, piece.ids)
        wanted = np.repeat(above[at], piece.lengths)
        if below is not None and (above[at] != below[at]).any():
            greater = piece.neighbors > np.repeat(piece.ids, piece.lengths)
            wanted = np.where(greater, wanted, np.repeat(below[at], piece.lengths))
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


def built(layout: Layout, ids: NDArray[np.uint32], kept: Kept, *, downward: bool = False) -> Part:
    """Return the part with the vertices `ids`, ascending, and the arcs of entries, which `kept` then lacks.

    Parameters
    ----------
    downward
        Whether vertices are numbered from the greatest id to the least.
    """
    rows, neighbors = np.concatenate(kept.rows), np.concatenate(kept.neighbors)
    kinds = np.concatenate(kept.kinds) if kept.kinds else None
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(kept.lengths))]).astype(np.uint64)
    own_labels = np.concatenate(kept.labels)
    kept.neighbors.clear()
    kept.kinds.clear()
    _native.to_positions(ids, rows)
    _native.to_positions(ids, neighbors)
    if downward:
        ids = ids[::-1].copy()
        for positions in (rows, neighbors):
            np.subtract(len(ids) - 1, positions, out=positions)
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
    external: Any = ids  # only counted: no row shows them
    graph = Graph(
        layout.directed,
        external,
        csrs[0],
        csrs[-1],
        labels,
        layout.vertex_label_table,
        layout.edge_label_table,
    )
    return Part(graph, ids)


def _sides(layout: Layout, kinds: NDArray[np.unsignedinteger] | None) -> Iterator[NDArray[np.uint8] | None]:
    """Yield which ends of the entries the arcs of forward and of reverse rows leave."""
    if not layout.directed:
        yield None
        return
    assert kinds is not None
    into = layout.side_of(kinds)
    yield (1 + into).astype(np.uint8)
    yield (2 - into).astype(np.uint8)
