"""The part of a sharded graph that a search from some roots needs: the rows that a plan reads.

Its vertices are numbered anew in the order of their ids, so order restrictions mean what they mean in the
whole graph. A row has the arcs only that lead to images of later query vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np

from motiflux import _native
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.reach import Lead, Reach, RowsOfPlan
from motiflux.cluster.shards.rows import Cut, Piece, Rows
from motiflux.errors import InternalError
from motiflux.graph import Adjacency

_BYTES_OF_ENTRY = 4
_BYTES_OF_ROW = 8
_MOST_PIECES = 64
_SPARE = 1.1
"""What is divided has this times as many pieces as would fit exactly."""
_SHARE_OF_ROOTS = 0.5
"""The most of a part that rows of roots take, if others have to be divided."""

Span = tuple[int, int]


class TooLarge:
    """The part does not fit into its memory."""


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
    rows
        Of each key of the plan.
    first, last
        Its vertices that are roots: ``first .. last - 1``.
    vertices
        Their number.
    """

    rows: list[Adjacency]
    first: int
    last: int
    vertices: int


def least_memory(layout: Layout, reach: Reach) -> int:
    """Return the bytes that masks of all vertices take."""
    each = _native.Part(0, reach.size).bytes_of_64()
    return each * layout.num_vertices // 64 + each


class Gathering:
    """Gathers the part that a search from some roots needs, level by level.

    Parameters
    ----------
    memory
        Bytes of the part, and of the masks.
    beside
        Bytes for each vertex of a part, beside its rows, that a search takes.

    Attributes
    ----------
    memory
        Bytes of the part.
    read, read_for_part
        Entries read so far, and for the last part.
    """

    def __init__(self, rows: Rows, reach: Reach, memory: int, beside: int = 0) -> None:
        self._rows, self._layout, self._reach = rows, rows.layout, reach
        self.memory = memory - least_memory(self._layout, reach)
        self._beside = beside
        self.read = self.read_for_part = 0
        self._part = _native.Part(self._layout.num_vertices, reach.size)
        self.nbytes = 0
        """Bytes of the last part."""
        self._keys = 0

    def part(self, roots: Roots, rows: RowsOfPlan) -> Part | TooLarge | None:
        """Return the part; None if there are no embeddings."""
        self._part.clear()
        self.read_for_part = 0
        self._keys = len(rows.keys)
        self.nbytes = 0
        if not self._find_candidates(roots):
            return None
        vertices = self._part.number()
        self.nbytes = self._bytes_of_vertex * (vertices + 1)
        if self.nbytes > self.memory:
            return TooLarge()
        self._part.begin_rows(rows.keys)
        least, most = self._span_of_all()
        entries = 0
        for piece in self._pieces_of_rows(least, most):
            entries = self._part.count(piece.native)
        self.nbytes += _BYTES_OF_ENTRY * entries
        if self.nbytes > self.memory:
            return TooLarge()
        self._part.end_count()
        for piece in self._pieces_of_rows(least, most):
            self._part.fill(piece.native)
        first, last = self._part.position(roots.first), self._part.position(roots.last)
        return Part(self._part.take_rows(), first, last, vertices)

    def vertices(self) -> Ids:
        """Return the vertices of the last part, by their numbers in it."""
        return self._part.candidates((1 << self._reach.size) - 1, 0, self._layout.num_vertices)

    def divided(self, roots: Roots) -> list[Roots]:
        """Return the roots of a part that was too large, in parts.

        The candidates of one query vertex are divided into blocks, of which each part joins some: those of
        the root until their rows take at most half of the memory, then those whose rows take the most.
        """
        sizes = [self._size(vertex) for vertex in range(self._reach.size)]
        root = self._reach.root
        fixed, best = _SHARE_OF_ROOTS, root
        if sizes[root] <= fixed:
            best = int(np.argmax(sizes))
            fixed = min(max(self.nbytes / self.memory - sizes[best], 0), 1 - _SHARE_OF_ROOTS)
        if sizes[best] < 0:
            raise InternalError("expected a part of one candidate each to fit into its memory")
        pieces = int(min(_MOST_PIECES, max(2, np.ceil(_SPARE * sizes[best] / (1 - fixed)))))
        each = self._bytes_of_vertex / _BYTES_OF_ENTRY
        spans = list(pairwise(self._part.cuts(best, pieces, each)))
        if best == root:
            return [Roots(first, last, roots.spans) for first, last in spans]
        return [Roots(roots.first, roots.last, {**roots.spans, best: span}) for span in spans]

    @property
    def _bytes_of_vertex(self) -> int:
        return _BYTES_OF_ROW * self._keys + self._beside

    def _size(self, vertex: int) -> float:
        """Return the share of the memory that candidates take; -1 for those that cannot be divided."""
        number, entries = self._part.weight(vertex)
        if number < 2:
            return -1.0
        size = self._bytes_of_vertex * number
        if vertex in self._reach.cover:
            size += _BYTES_OF_ENTRY * entries
        return size / self.memory

    def _find_candidates(self, roots: Roots) -> bool:
        """Find a superset of the images of each query vertex; return False if one has none."""
        reach, vertices = self._reach, self._layout.num_vertices
        bounds = [roots.spans.get(vertex, (0, vertices)) for vertex in range(reach.size)]
        bounds[reach.root] = (roots.first, roots.last)
        bounds = [(max(first, reach.least_ids[at]), last) for at, (first, last) in enumerate(bounds)]
        first, last = bounds[reach.root]
        if first >= last:
            return False
        if reach.root_labels is None:
            self._part.add_range(reach.root, first, last)
        known = 1 << reach.root
        for vertex, leads in zip(reach.cover, reach.leads, strict=True):
            if vertex != reach.root:
                bounds[vertex] = self._part.span(vertex)
            if not leads:
                continue
            self._lead(vertex, leads, bounds)
            targets = 0
            for lead in leads:
                targets |= 1 << lead.target
            if (known | targets) & ~self._part.take_marked(targets & ~known, targets & known):
                return False
            known |= targets
        return known == (1 << reach.size) - 1

    def _lead(self, vertex: int, leads: tuple[Lead, ...], bounds: Sequence[Span]) -> None:
        """Mark the neighbours to which edges lead from candidates of a query vertex."""
        reach = self._reach
        given = []
        for lead in leads:
            least, most = self._within(lead.target, bounds)
            given.append((lead.target, least, most, reach.side(vertex, lead.target), lead.kinds))
        sides = {side for _, _, _, side, _ in given}
        cut = Cut(
            min(one[1] for one in given), max(one[2] for one in given), sides.pop() if len(sides) == 1 else 0
        )
        labels = reach.root_labels if vertex == reach.root else None
        first, last = bounds[vertex]
        for ids in self._windows(lambda at, most: self._candidates(vertex, at, last, most), first):
            for piece in self._pieces(ids, cut):
                if labels is not None:
                    self._part.add(vertex, piece.ids[np.isin(piece.labels, labels)])
                self._part.lead(vertex, piece.native, given)

    def _candidates(self, vertex: int, first: int, last: int, most: int) -> Ids:
        """Return candidates of a query vertex; of the root all vertices, as labels come with their rows."""
        if vertex == self._reach.root:
            return np.arange(first, min(last, first + most))
        return self._part.candidates(1 << vertex, first, most)

    def _windows(self, take: Callable[[int, int], Ids], first: int) -> Iterator[Ids]:
        """Iterate over ascending ids by calls that return at most some number of them from an id on."""
        while len(ids := take(first, self._rows.window)):
            yield ids
            first = int(ids[-1]) + 1

    def _within(self, vertex: int, bounds: Sequence[Span]) -> Span:
        """Return the bounds of the images of a query vertex, by those of others."""
        least, most = bounds[vertex]
        for less, greater in self._reach.less:
            if greater == vertex:
                least = max(least, bounds[less][0] + 1)
            if less == vertex:
                most = min(most, bounds[greater][1] - 1)
        return least, max(least, most)

    def _span_of_all(self) -> Span:
        """Return the bounds of the candidates of all query vertices but the root."""
        spans = [self._part.span(vertex) for vertex in range(self._reach.size) if vertex != self._reach.root]
        return min(first for first, _ in spans), max(last for _, last in spans)

    def _pieces_of_rows(self, least: int, most: int) -> Iterator[Piece]:
        """Iterate over the entries that the rows of the part are made of, and others."""
        for side in (1, -1, 0):
            for ids in self._windows(partial(self._part.rows_to_read, side), 0):
                yield from self._pieces(ids, Cut(least, most, side))

    def _pieces(self, ids: Ids, cut: Cut) -> Iterator[Piece]:
        for piece in self._rows.pieces(ids, cut):
            self.read += piece.entries
            self.read_for_part += piece.entries
            yield piece
