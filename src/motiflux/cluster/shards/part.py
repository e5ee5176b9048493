"""The part of a sharded graph that a search from some roots needs: the rows that a plan reads.

Its vertices are numbered anew in the order of their ids, so order restrictions mean what they mean in the
whole graph. A row has the arcs only that lead to images of later query vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.reach import Lead, Pair, Reach, RowsOfPlan
from motiflux.cluster.shards.rows import Cut, Piece, Rows, Slices
from motiflux.graph import Adjacency

_BYTES_OF_CELL = 12
"""Bytes of a weight, with sums of weights."""
_SHARE_OF_WEIGHTS = 4 / 3
"""Weights take one part of so many of the memory, while there are no rows."""
_MOST_BUCKETS = 250
"""At most 255, as a box has buckets as bytes."""

Span = tuple[int, int]
Spans = Mapping[int, Span]
"""Query vertices whose images lie between two ids, the second of them not included."""


Arc = tuple[tuple[Pair, ...], tuple[int, ...]]
"""What the rows of one query vertex have for a key: pairs of it, and kinds of entries."""


class TooLarge:
    """The part does not fit into its memory."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The entries of a part that is too large, by buckets of candidates.

    Parameters
    ----------
    arcs
        Their positions.
    bounds
        For each query vertex the ids between its buckets.
    """

    native: _native.PartWeights
    arcs: Mapping[Arc, int]
    bounds: Sequence[Ids]


def least_memory(layout: Layout, reach: Reach) -> int:
    """Return the bytes that masks of all vertices take."""
    each = _native.Part(0, reach.size).bytes_of_64()
    return each * layout.num_vertices // 64 + each


class Gathering:
    """Gathers parts of the rows that a search from some roots needs.

    Parameters
    ----------
    memory
        Bytes of the part, and of the masks.
    beside
        Bytes for each vertex of a part, beside its rows, that a search takes.
    allowed
        See `motiflux.cluster.shards.search.Ranged`.

    Attributes
    ----------
    memory
        Bytes of the part.
    read, read_for_part
        Entries read so far, and for the last part alone: the latter depend on nothing but the part.
    """

    def __init__(
        self,
        rows: Rows,
        reach: Reach,
        memory: int,
        beside: int = 0,
        allowed: Sequence[NDArray[np.uint8] | None] = (),
    ) -> None:
        self._rows, self._layout, self._reach = rows, rows.layout, reach
        self.memory = memory - least_memory(self._layout, reach)
        self.beside = beside
        self._allowed = tuple(allowed) or (None,) * reach.size
        self.read = self.read_for_part = 0
        self._part = _native.Part(self._layout.num_vertices, reach.size)

    def find(self, spans: Spans) -> bool:
        """Find candidates: a superset of the images of each query vertex; return False if one has none."""
        reach, vertices = self._reach, self._layout.num_vertices
        bounds = [spans.get(vertex, (0, vertices)) for vertex in range(reach.size)]
        bounds = [(max(first, reach.least_ids[at]), last) for at, (first, last) in enumerate(bounds)]
        first, last = bounds[reach.root]
        if first >= last or not self._has_roots(first, last):
            return False
        self._part.clear()
        allowed = self._allowed[reach.root]
        if reach.root_labels is None or allowed is not None:
            self._part.add_range(reach.root, first, last)
        if allowed is not None:
            if not self._part.keep_only(reach.root, allowed):
                return False
            bounds[reach.root] = self._part.span(reach.root)
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
            for target in range(reach.size):
                bits = self._allowed[target]
                if bits is None or not (targets & ~known) >> target & 1:
                    continue
                if not self._part.keep_only(target, bits):
                    return False
            known |= targets
        return known == (1 << reach.size) - 1

    def _has_roots(self, first: int, last: int) -> bool:
        """Whether some of the vertices, or of those in the same bytes of the bits, may be roots."""
        bits = self._allowed[self._reach.root]
        return bits is None or bool(bits[first // 8 : -(-last // 8)].any())

    def part(self, rows: RowsOfPlan, spans: Spans | None = None) -> Part | TooLarge | None:
        """Return the part of candidates within spans, if any; None if there are no embeddings."""
        within = self._within_all(spans or {})
        if any(first >= last for first, last in within):
            return None
        self._part.begin_rows(rows.keys, within, self.memory, self._layout.entries)
        before = self.read
        for piece in self._pieces_of_rows():
            if not self._part.append(piece.native):
                return TooLarge()
        self.read_for_part = self.read - before
        made = self._part.take_rows(self.beside)
        if made is None:
            return TooLarge()
        first, last = (self._part.position(id_) for id_ in within[self._reach.root])
        return Part(made, first, last, self._part.size())

    def weights(self, rows: Sequence[RowsOfPlan]) -> Weights:
        """Return the weights of all candidates, for plans with these rows."""
        keys = list(dict.fromkeys(arc for one in rows for arc in arcs_of(one)))
        within = self._within_all({})
        arcs = [(list(pairs), list(kinds)) for pairs, kinds in keys]
        self._part.begin_rows(arcs, within, 0, 0)
        buckets = int((self.memory / (_SHARE_OF_WEIGHTS * _BYTES_OF_CELL * len(keys))) ** 0.5)
        bounds = [self._buckets(span, min(max(buckets, 2), _MOST_BUCKETS)) for span in within]
        self._part.begin_weights(arcs, [one.tolist() for one in bounds])
        for piece in self._pieces_of_rows():
            self._part.weigh(piece.native)
        return Weights(self._part.take_weights(), {arc: at for at, arc in enumerate(keys)}, bounds)

    def vertices(self) -> Ids:
        """Return the vertices of the last part, by their numbers in it."""
        return self._part.vertices()

    def _within_all(self, spans: Spans) -> list[Span]:
        """Return bounds of the candidates of all query vertices within spans."""
        within = []
        for vertex in range(self._reach.size):
            first, last = self._part.span(vertex)
            least, most = spans.get(vertex, (first, last))
            within.append((max(first, least), min(last, most)))
        for less, greater in self._reach.less:
            within[greater] = max(within[greater][0], within[less][0] + 1), within[greater][1]
            within[less] = within[less][0], min(within[less][1], within[greater][1] - 1)
        return within

    def _buckets(self, span: Span, number: int) -> Ids:
        """Return ids that divide a span into at most some number of buckets with about as many entries."""
        layout, (first, last) = self._layout, span
        begin = int(layout.first_entries_of(np.array([first]))[0])
        end = layout.entries
        if last < layout.num_vertices:
            end = int(layout.first_entries_of(np.array([last]))[0])
        entries = np.linspace(begin, end, number + 1)[1:-1].astype(np.int64)
        inner = layout.vertices_of_entries(entries[entries < layout.entries])
        inner = inner[(first < inner) & (inner < last)]
        if not len(inner):
            inner = np.array([(first + last) // 2])
        return np.unique(np.concatenate([[first], inner, [last]])).astype(np.int64)

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
        is_root = vertex == reach.root and self._allowed[vertex] is None
        labels = reach.root_labels if is_root else None
        first, last = bounds[vertex]
        for ids in self._windows(lambda at, most: self._candidates(vertex, at, last, most), first):
            for piece in self._counted(self._rows.pieces(ids, cut)):
                if labels is not None:
                    self._part.add(vertex, piece.ids[np.isin(piece.labels, labels)])
                self._part.lead(vertex, piece.native, given)

    def _candidates(self, vertex: int, first: int, last: int, most: int) -> Ids:
        """Return candidates of a query vertex; of the root all vertices, as labels come with their rows."""
        if vertex == self._reach.root and self._allowed[vertex] is None:
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

    def _pieces_of_rows(self) -> Iterator[Piece]:
        """Iterate over the entries that the rows of the part are made of, and others."""
        first = 0
        while len((slices := self._part.slices(first, self._rows.window))[0]):
            ids, least, most = slices
            yield from self._counted(self._rows.pieces(ids, Slices(least, most)))
            first = int(ids[-1]) + 1

    def _counted(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            self.read += piece.entries
            yield piece


def arcs_of(rows: RowsOfPlan) -> list[Arc]:
    """Return the arcs of rows."""
    return [
        (tuple(pair for pair in pairs if pair[0] == source), tuple(kinds))
        for pairs, kinds in rows.keys
        for source in dict.fromkeys(pair[0] for pair in pairs)
    ]
