"""The copies of the arcs of a part of a sharded graph, from the shards that have them.

A part has rows of arcs, which are pairs of vertices. Once it is gathered, a worker asks the shards of the
rows for the copies of those arcs that compared query edges follow, piece by piece, and sorts them as those of
whole graphs are (`motiflux.graph.copies`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.copies_at import Arcs, AskCopies, CopiesWanted, FoundCopies, split
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.part import Part, TooLarge
from motiflux.cluster.shards.reach import RowsOfPlan
from motiflux.conditions import Condition
from motiflux.graph import Adjacency
from motiflux.graph.copies import CopyIndex, CopyKey, copies_of_arcs
from motiflux.plan import Plan
from motiflux.plan.comparisons.native import followed_from_rows

_BYTES_OF_PIECE = 1 << 22
"""Bytes of what is asked for at a time: arcs, copies that are judged, and answers."""
_SHARE_OF_PIECE = 8
"""A piece takes at most one part of so many of the room for copies."""
_BYTES_ASKED, _BYTES_JUDGED = 160, 96
"""Bytes of an arc while its copies are looked up, and of a copy while it is judged, about."""
_LEAST_ASKED, _LEAST_JUDGED = 8, 16
_BYTES_OF_ARC = 72
"""Bytes of an arc while its copies are sorted, in arrays that grow."""
_SCRATCH_OF_PAIR, _SCRATCH_OF_VERTEX = 64, 8
"""Bytes of a thread for each copy of the pair, and of the vertex, that has the most."""
_LEAST_PART_OF_ROWS = 64
"""The rows of a part take at least one part of so many of its memory."""
_ALL = 1 << 62
"""More copies than a graph has."""
_BYTES_OF_ROW_ARC = 12
"""Bytes of an arc in rows, and its share of a vertex."""

OfVariables = Mapping[int, CopyIndex]
"""The copies of each variable of a plan that is an edge, by its position in `BoundComparisons.variables`."""


@dataclass(frozen=True, slots=True)
class BytesOfCopies:
    """The bytes that the copies of a part take, about.

    Parameters
    ----------
    nbytes
        Bytes of all copies while they are sorted, and of what the threads of a search take for some of them.
    copies
        The number of copies of the query edge that has the most.
    levels
        The levels of the plan that this edge joins.
    """

    nbytes: int
    copies: int
    levels: tuple[int, int]


class PartCopies:
    """Asks for the copies of arcs of parts.

    Parameters
    ----------
    shards
        Of each range of the layout.
    given
        The conditions on edges as they were given, by those of plans.
    """

    def __init__(
        self,
        layout: Layout,
        shards: Sequence[AskCopies],
        given: Mapping[Condition, Condition] | None = None,
    ) -> None:
        self._layout, self._shards, self._given = layout, shards, given or {}

    def of(
        self, plan: Plan, rows: RowsOfPlan, part: Part, vertices: Ids, room: int, threads: int
    ) -> dict[int, CopyIndex] | TooLarge:
        """Return the copies of each variable of a plan that is an edge, by its position.

        Parameters
        ----------
        vertices
            The vertices of the part, by their numbers in it.
        room
            Bytes for all copies, and for what the threads of a search take for some of them.
        """
        made: dict[_Index, CopyIndex] = {}
        found: dict[int, CopyIndex] = {}
        for at, which in _indexes_of(plan, rows).items():
            if which not in made:
                left = room - sum(one.nbytes for one in made.values())
                index = self.index(part.rows[which[0]], which[1], vertices, left)
                if isinstance(index, TooLarge):
                    return index
                made[which] = index
            found[at] = made[which]
        scratch = threads * sum(_scratch_bytes(one) for one in found.values())
        if scratch + sum(one.nbytes for one in made.values()) > room:
            return TooLarge()
        return found

    def bytes_of(
        self, plan: Plan, rows: RowsOfPlan, part: Part, vertices: Ids, threads: int
    ) -> BytesOfCopies:
        """Return the bytes that the copies of `of` take, whose room is too small: none of them are kept."""
        numbers: dict[_Index, int] = {}
        most = BytesOfCopies(0, 0, (0, 0))
        sorting = searching = 0
        followed = followed_from_rows(plan)
        for at, which in _indexes_of(plan, rows).items():
            if which not in numbers:
                key, (offsets, neighbors) = which[1], part.rows[which[0]]
                numbers[which] = self._number(part.rows[which[0]], key, vertices)
                sorting += _bytes_of_vertex(key) * len(offsets) + _BYTES_OF_ARC * len(neighbors)
                sorting += _bytes_of_copy(key) * numbers[which]
            searching += (_SCRATCH_OF_PAIR + _SCRATCH_OF_VERTEX) * numbers[which]
            if numbers[which] >= most.copies:
                ends = followed[at][1]
                most = BytesOfCopies(0, numbers[which], (ends.start, ends.end))
        nbytes = sorting * _SHARE_OF_PIECE // (_SHARE_OF_PIECE - 1) + threads * searching
        return replace(most, nbytes=nbytes)

    def _number(self, arcs: Adjacency, key: CopyKey, vertices: Ids) -> int:
        """Return the number of copies of the arcs of some rows, also of those without a compared value."""
        most = _BYTES_OF_PIECE // _BYTES_ASKED
        wanted = replace(self._wanted(key), columns=())
        pieces = _pieces(*arcs, vertices, most)
        found = (one for some in pieces for one in self._asked(wanted, some, _BYTES_OF_PIECE, _ALL))
        return sum(int(one.numbers.sum()) for one in found)

    def _wanted(self, key: CopyKey) -> CopiesWanted:
        where = None if key.where is None else self._given.get(key.where, key.where)
        return CopiesWanted(key.direction, key.edge_labels, where, key.columns)

    def index(self, arcs: Adjacency, key: CopyKey, vertices: Ids, room: int) -> CopyIndex | TooLarge:
        """Return the copies of the arcs of some rows; `room`: bytes for them while they are sorted."""
        offsets, neighbors = arcs
        piece = min(_BYTES_OF_PIECE, room // _SHARE_OF_PIECE)
        room -= piece + _bytes_of_vertex(key) * len(offsets) + _BYTES_OF_ARC * len(neighbors)
        most = room // _bytes_of_copy(key)
        wanted = self._wanted(key)
        starts = np.zeros(len(neighbors), np.int64)
        values: list[list[NDArray[np.int64]]] = [[] for _ in key.columns]
        at = copies = 0
        for some in _pieces(offsets, neighbors, vertices, max(_LEAST_ASKED, piece // (3 * _BYTES_ASKED))):
            end = at + len(some.neighbors)
            for found in self._asked(wanted, some, piece // 3, most - copies):
                sums = copies + np.cumsum(found.numbers)
                starts[at : at + len(sums)] = sums - found.numbers
                at, copies = at + len(sums), int(sums[-1])
                for parts, column in zip(values, found.columns, strict=True):
                    parts.append(column)
            if at < end or copies > most:
                return TooLarge()
        joined = [np.concatenate([np.zeros(0, np.int64), *parts]) for parts in values]
        for parts in values:
            parts.clear()
        return copies_of_arcs(offsets, neighbors, starts, joined, copies, key)

    def _asked(self, wanted: CopiesWanted, arcs: Arcs, piece: int, most: int) -> Iterator[FoundCopies]:
        """Yield the copies of arcs, some after others: of all, unless there are more than `most`.

        Parameters
        ----------
        piece
            Bytes of copies that are asked for at a time, unless an arc has more.
        """
        parts = list(split(arcs, self._layout))
        each = max(1, piece // (8 * (1 + len(wanted.columns)) * len(parts)))
        judged = max(_LEAST_JUDGED, piece // _BYTES_JUDGED)
        waits = [self._shards[shard](wanted, own, min(each, most), judged) for shard, own in parts]
        for (shard, own), wait in zip(parts, waits, strict=True):
            begin, asked = 0, min(each, most)
            while True:
                found = wait()
                if len(found.numbers):
                    yield found
                elif asked >= most:
                    return
                begin += len(found.numbers)
                most -= int(found.numbers.sum())
                if begin == len(own.neighbors):
                    break
                asked = min(each, most) if len(found.numbers) else most
                wait = self._shards[shard](wanted, own.part(begin, len(own.neighbors)), asked, judged)


_Index = tuple[int, CopyKey]
"""Rows of a part, by their position, and the copies of their arcs."""


def _indexes_of(plan: Plan, rows: RowsOfPlan) -> dict[int, _Index]:
    """Return the copies that each variable of a plan needs: those by main value serve for the others, too."""
    needed: dict[int, _Index] = {}
    for at, (source, ends) in followed_from_rows(plan).items():
        assert ends.key is not None
        needed[at] = rows.sources[source], ends.key
    every = set(needed.values())
    by_value = {at: (place, replace(key, by_value=True)) for at, (place, key) in needed.items()}
    return {at: by_value[at] if by_value[at] in every else one for at, one in needed.items()}


def compares_edges(plan: Plan) -> bool:
    """Return whether a plan chooses copies of edges."""
    return plan.comparisons is not None and any(one.edge is not None for one in plan.comparisons.variables)


def share_of_rows(plan: Plan, layout: Layout, keys_of_rows: int) -> int:
    """Return n where rows get 1/n of the memory of a part, and copies the rest.

    It is the mean number of copies of an arc that tells.

    Parameters
    ----------
    keys_of_rows
        The number of keys of the plan, each of which has rows.
    """
    if plan.impossible is not None or not compares_edges(plan):
        return 1
    keys = {ends.key for _, ends in followed_from_rows(plan).values() if ends.key is not None}
    copies = layout.num_edges + (layout.duplicate_edges if layout.copies else 0)
    average = copies / max(1, layout.num_edges)
    each = [_BYTES_OF_ARC + _bytes_of_vertex(key) + average * _bytes_of_copy(key) for key in keys]
    return min(_LEAST_PART_OF_ROWS, 1 + ceil(sum(each) / (_BYTES_OF_ROW_ARC * keys_of_rows)))


def _bytes_of_vertex(key: CopyKey) -> int:
    """Return the bytes of a vertex of a part while its copies are sorted."""
    return 32 if key.by_value else 8


def _bytes_of_copy(key: CopyKey) -> int:
    """Return the bytes of a copy: as it came, and sorted by pairs and by vertices."""
    columns = len(key.columns)
    return 8 + 16 * columns + (8 * columns + 28 if key.by_value else 0)


def _scratch_bytes(index: CopyIndex) -> int:
    """Return the bytes that one thread of a search takes for the copies of a pair and of a vertex, about."""
    of_pair = int(np.diff(index.starts).max(initial=0))
    of_vertex = 0
    if index.by_value is not None:
        of_vertex = int(np.diff(index.by_value.arrays[2]).max(initial=0))
    return _SCRATCH_OF_PAIR * of_pair + _SCRATCH_OF_VERTEX * of_vertex


def _pieces(
    offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32], vertices: Ids, most: int
) -> Iterator[Arcs]:
    """Yield the arcs of rows in ids of the graph, at most some number at a time."""
    for begin in range(0, len(neighbors), most):
        end = min(len(neighbors), begin + most)
        places = np.arange(begin, end, dtype=np.uint64)
        rows = np.searchsorted(offsets, places, side="right") - 1
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        lengths = np.diff(firsts, append=len(rows))
        yield Arcs(vertices[rows[firsts]], lengths, vertices[neighbors[begin:end]].astype(np.uint32))
