"""Rows of a sharded graph in a worker: those of its own node's shards, and others through a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.layout import Ids, Layout

_BYTES_OF_ROW = 44
"""Bytes of a cached row beside its entries."""
_LEAST_PIECE = 1 << 10
"""Least entries of a piece."""
_BYTES_OF_PLACE = 64
"""Bytes of a row of a piece beside its entries, while it is chosen."""
_LEAST_CACHED = 4
"""Rows are mostly read in their order, so there is a cache only if it has room for one part in so many."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The neighbours that are wanted of each row.

    Parameters
    ----------
    least, most
        Those with ids from `least` up to `most`, without it.
    side
        1: only those greater than the row's vertex; -1: only those less; 0: both.
    """

    least: int
    most: int
    side: int = 0

    def bounds(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the least id, and the id behind the greatest, for the rows of some vertices."""
        least, most = np.full(len(ids), self.least, np.int64), np.full(len(ids), self.most, np.int64)
        if self.side > 0:
            np.maximum(least, ids + 1, out=least)
        if self.side < 0:
            np.minimum(most, ids, out=most)
        return least, most

    def part(self, begin: int, end: int) -> Cut:
        """Return the cut of some of the rows."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """As `Cut`, with bounds for each row. The same vertex may have several, one after another.

    Parameters
    ----------
    least, most
        int64 [rows].
    """

    least: Ids
    most: Ids

    def bounds(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the bounds of all rows, whose vertices are given."""
        return self.least, self.most

    def part(self, begin: int, end: int) -> Slices:
        """Return the bounds of some of the rows."""
        return Slices(self.least[begin:end], self.most[begin:end])


Wanted = Cut | Slices


@dataclass(frozen=True, slots=True)
class Piece:
    """Entries of rows, or of a part of one row, in arrays that may have others, too.

    Parameters
    ----------
    ids
        int64 [rows], ascending.
    labels
        uint32 [rows]: codes of their labels.
    begins, ends
        int64 [rows]: where the entries of each lie in the arrays.
    neighbors, kinds
        Of each entry; no kinds where there is one only.
    cut_short
        Whether its only row has more entries.
    counted
        The number of entries of all rows, if it is known.
    """

    ids: Ids
    labels: NDArray[np.uint32]
    begins: Ids
    ends: Ids
    neighbors: NDArray[np.uint32]
    kinds: NDArray[Any] | None
    cut_short: bool = False
    counted: int | None = None

    @classmethod
    def of(
        cls,
        ids: Ids,
        labels: NDArray[np.uint32],
        lengths: Ids,
        neighbors: NDArray[np.uint32],
        kinds: NDArray[Any] | None,
    ) -> Piece:
        """Return the piece of rows that lie one after another."""
        ends = np.cumsum(lengths)
        return cls(ids, labels, ends - lengths, ends, neighbors, kinds)

    @property
    def lengths(self) -> Ids:
        """The number of entries of each row."""
        return self.ends - self.begins

    @property
    def entries(self) -> int:
        """The number of entries of all rows."""
        return int(self.lengths.sum()) if self.counted is None else self.counted

    @property
    def native(self) -> tuple[Ids, Ids, Ids, NDArray[np.uint32], NDArray[Any] | None]:
        """The piece as the extension takes it."""
        return self.ids, self.begins, self.ends, self.neighbors, self.kinds

    def packed(self) -> Piece:
        """Return a piece with arrays of its own, without other entries."""
        neighbors = _native.take_entries(self.neighbors, self.begins, self.ends)
        kinds = None if self.kinds is None else _native.take_entries(self.kinds, self.begins, self.ends)
        lengths = self.lengths
        ends = np.cumsum(lengths)
        begins = ends - lengths
        return Piece(self.ids, self.labels, begins, ends, neighbors, kinds, self.cut_short, len(neighbors))

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        each = self.neighbors.itemsize + (0 if self.kinds is None else self.kinds.itemsize)
        return each * self.entries


class Shard(Protocol):
    """Some rows of a graph, wherever they are."""

    def ask(self, ids: Ids, cut: Wanted | None, most: int, skip: int = 0) -> Callable[[], Piece]:
        """Ask for entries of rows, as `RowArrays.take`; return a function that waits for them."""


@dataclass(frozen=True, slots=True, eq=False)
class RowArrays:
    """Rows of vertices that follow one another, in arrays.

    Parameters
    ----------
    first
        The first vertex.
    offsets
        uint64 [rows + 1].
    labels
        Codes of the vertices' labels; None where all have one.
    """

    first: int
    offsets: NDArray[np.uint64]
    neighbors: NDArray[np.uint32]
    kinds: NDArray[Any] | None
    labels: NDArray[np.uint32] | None

    def ask(self, ids: Ids, cut: Wanted | None, most: int, skip: int = 0) -> Callable[[], Piece]:
        """Return a function that takes entries of rows out of the arrays."""
        return lambda: self.take(ids, cut, most, skip).packed()

    def take(self, ids: Ids, cut: Wanted | None = None, most: int | None = None, skip: int = 0) -> Piece:
        """Return the entries of rows within a cut.

        With `most`, only of so many of the first rows that they have no more entries; of the first row alone,
        if that has more, the first ones after `skip` entries. The entries of a neighbour stay together.
        """
        cut_short, counted = False, None
        if cut is None:
            at = ids - self.first
            begins, ends = self.offsets[at].astype(np.int64), self.offsets[at + 1].astype(np.int64)
        elif most is None:
            given = self.offsets, self.neighbors, self.first, ids, *cut.bounds(ids)
            begins, ends, counted = _native.slice_rows(*given)
        else:
            given = self.offsets, self.neighbors, self.first, ids, *cut.bounds(ids)
            begins, ends, cut_short = _native.first_slices(*given, most, skip)
            ids = ids[: len(begins)]
        labels = np.zeros(len(ids), np.uint32)
        if self.labels is not None:
            labels = self.labels[ids - self.first].astype(np.uint32)
        rows = Piece(ids, labels, begins, ends, self.neighbors, self.kinds, cut_short, counted)
        return rows if cut is not None else _taken(rows, None, most, skip)


def _taken(rows: Piece, cut: Wanted | None, most: int | None, skip: int = 0) -> Piece:
    """Return some entries of rows; see `RowArrays.take`."""
    begins, ends = rows.begins, rows.ends
    if cut is not None:
        begins, ends = begins.copy(), ends.copy()
        _native.narrow_rows(rows.neighbors, begins, ends, *cut.bounds(rows.ids))
    if skip:
        begins = begins.copy()
        begins[0] = min(begins[0] + skip, ends[0])
    if most is None or not len(begins):
        return replace(rows, begins=begins, ends=ends)
    lengths = ends - begins
    if int(lengths.sum()) <= most:
        return Piece(rows.ids, rows.labels, begins, ends, rows.neighbors, rows.kinds)
    number = max(1, int(np.searchsorted(np.cumsum(lengths), most, side="right")))
    cut_short = bool(lengths[0] > most)
    ids, labels, begins, ends = rows.ids[:number], rows.labels[:number], begins[:number], ends[:number]
    if cut_short:
        behind = int(ends[0])
        ends = np.array([_behind_neighbor(rows.neighbors, int(begins[0]) + most, behind)])
        cut_short = bool(ends[0] < behind)
    return Piece(ids, labels, begins, ends, rows.neighbors, rows.kinds, cut_short)


def _behind_neighbor(neighbors: NDArray[np.uint32], at: int, end: int) -> int:
    """Return the first place from `at` on where another neighbour than that of the entry before begins."""
    while at < end and neighbors[at] == neighbors[at - 1]:
        at += 1
    return at


class RowCache:
    """Rows that were fetched within a cut, up to a number of bytes: once it is full, it starts anew.

    Parameters
    ----------
    nbytes
        Two thirds are for entries, the rest for the index of rows.
    """

    def __init__(self, layout: Layout, nbytes: int) -> None:
        each = 4 + (0 if layout.kind_type is None else layout.kind_type.itemsize)
        entries = max(0, min(2 * nbytes // (3 * each), layout.entries))
        self._most_rows = nbytes // (3 * _BYTES_OF_ROW)
        self._neighbors = np.empty(entries, np.uint32)
        self._kinds = None if layout.kind_type is None else np.empty(entries, layout.kind_type)
        self._clear()

    def _clear(self) -> None:
        self._filled = self._rows = 0
        self._labels = np.empty(0, np.uint32)
        self._ids: Ids = np.empty(0, np.int64)
        self._places: Ids = np.empty((4, 0), np.int64)
        """For each row: where it begins and ends, and the bounds of the cut."""
        self._added: list[tuple[Ids, NDArray[np.uint32], Ids]] = []

    @property
    def has_room(self) -> bool:
        """Whether it can have any row."""
        return len(self._neighbors) > 0

    def holds(self, ids: Ids, cut: Wanted) -> NDArray[np.bool_]:
        """Return which rows it has within a cut."""
        self._sort()
        if not len(self._ids):  # none, or there is no room
            return np.zeros(len(ids), np.bool_)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        least, most = cut.bounds(ids)
        return np.asarray(
            (self._ids[at] == ids) & (self._places[2, at] <= least) & (self._places[3, at] >= most)
        )

    def take(self, ids: Ids, cut: Wanted) -> Piece:
        """Return rows that it has; see `RowArrays.take`."""
        at = np.searchsorted(self._ids, ids)
        begins, ends = self._places[0, at], self._places[1, at]
        rows = Piece(ids, self._labels[at], begins, ends, self._neighbors, self._kinds)
        return _taken(rows, cut, None)

    def add(self, piece: Piece, cut: Wanted) -> None:
        """Keep rows, in the place of those with a narrower cut; the piece has no other entries."""
        size = len(piece.neighbors)
        if not size or size > len(self._neighbors) or len(piece.ids) > self._most_rows:
            return
        if self._filled + size > len(self._neighbors) or self._rows + len(piece.ids) > self._most_rows:
            self._clear()
        self._rows += len(piece.ids)
        self._neighbors[self._filled : self._filled + size] = piece.neighbors
        if self._kinds is not None:
            self._kinds[self._filled : self._filled + size] = piece.kinds
        places = np.stack([piece.begins + self._filled, piece.ends + self._filled, *cut.bounds(piece.ids)])
        self._filled += size
        self._added.append((piece.ids, piece.labels, places))

    def _sort(self) -> None:
        """Sort rows that were added since the last time in among the others."""
        if not self._added:
            return
        ids, labels, places = zip(*self._added, strict=True)
        self._added.clear()
        every = np.concatenate([self._ids, *ids])
        order = np.argsort(every, kind="stable")
        last = np.concatenate([every[order][1:] != every[order][:-1], [True]])  # those added last
        order = order[last]
        self._ids = every[order]
        self._labels = np.concatenate([self._labels, *labels])[order]
        self._places = np.concatenate([self._places, *places], axis=1)[:, order]


class Rows:
    """The rows of a sharded graph.

    Parameters
    ----------
    shards
        Of each range of the layout.
    near
        Which shards are on this node, as `RowArrays`: their rows are not cached.
    hot
        The rows of the vertices of highest degrees, which each node has; None for none.
    memory
        Bytes for the cache, if there is one, for the entries of pieces, and for the places of their rows.

    Attributes
    ----------
    fetched, asked
        Bytes of entries that came from other nodes, and requests for them.
    """

    def __init__(
        self,
        layout: Layout,
        shards: Sequence[Shard],
        near: Sequence[bool],
        hot: RowArrays | None,
        memory: int,
    ) -> None:
        self.layout = layout
        self._shards = shards
        self._here = [
            one if is_near and isinstance(one, RowArrays) else None
            for one, is_near in zip(shards, near, strict=True)
        ]
        self._hot = hot
        each = 4 + (0 if layout.kind_type is None else layout.kind_type.itemsize)
        remote = any(one is None for one in self._here)
        cached = memory // 2 if remote and memory // 2 * _LEAST_CACHED > layout.entries * each else 0
        self._cache = RowCache(layout, cached)
        self.window = max(_LEAST_PIECE, memory // (4 * _BYTES_OF_PLACE))
        """The most rows that should be asked for at a time."""
        self._most = max(_LEAST_PIECE, (3 * memory // 4 - cached) // each)
        # All shards are asked at a time, and one of them for its next piece.
        self._each = max(_LEAST_PIECE, self._most // (len(shards) + 1))
        self.fetched = self.asked = 0

    def entry(self, vertex: int, entry: int) -> int:
        """Return the neighbour of an entry of a row."""
        ids = np.array([vertex])
        (shard,) = self.layout.shards_of(ids)
        piece = self._shards[shard].ask(ids, None, 1, entry)()
        return int(piece.neighbors[piece.begins[0]])

    def pieces(self, ids: Ids, cut: Wanted) -> Iterator[Piece]:
        """Iterate over rows of ascending vertices within a cut, in this order.

        Those of other nodes come in bounded pieces.
        """
        hot = len(ids) if self._hot is None else int(np.searchsorted(ids, self._hot.first))
        places = np.searchsorted(ids[:hot], self.layout.starts).tolist()
        spans = [(shard, begin, end) for shard, (begin, end) in enumerate(pairwise(places)) if begin < end]
        asked = {}
        for shard, begin, end in spans:
            some, of_some = ids[begin:end], cut.part(begin, end)
            cached = self._cache.has_room and self._cache.holds(some, of_some).any()
            if self._here[shard] is None and not cached:
                asked[shard] = self._shards[shard].ask(some, of_some, self._each, 0)
        for shard, begin, end in spans:
            some, of_some = ids[begin:end], cut.part(begin, end)
            here = self._here[shard]
            if here is not None:
                yield here.take(some, of_some)
            elif shard in asked:
                yield from self._answers(shard, some, of_some, asked.pop(shard))
            else:
                yield from self._from_other(shard, some, of_some)
        if self._hot is not None and hot < len(ids):
            yield self._hot.take(ids[hot:], cut.part(hot, len(ids)))

    def _from_other(self, shard: int, ids: Ids, cut: Wanted) -> Iterator[Piece]:
        """Iterate over rows of a shard of another node, of which some are cached."""
        at, end = 0, len(ids)
        while at < end:
            cached = self._cache.holds(ids[at:], cut.part(at, end))  # rows that are added drive out others
            missing = np.flatnonzero(~cached)
            begin, behind = (at + int(missing[0]), at + int(missing[-1]) + 1) if len(missing) else (end, end)
            if at < begin:
                yield self._cache.take(ids[at:begin], cut.part(at, begin))
            if begin < behind:
                some, of_some = ids[begin:behind], cut.part(begin, behind)
                wait = self._shards[shard].ask(some, of_some, self._each, 0)
                yield from self._answers(shard, some, of_some, wait)
            at = behind

    def _answers(self, shard: int, ids: Ids, cut: Wanted, wait: Callable[[], Piece]) -> Iterator[Piece]:
        """Iterate over the pieces of rows of a shard that was asked; the next one is asked for ahead."""
        at = skip = 0
        while at < len(ids):
            piece = wait()
            self.fetched += piece.nbytes
            self.asked += 1
            if self._cache.has_room and not skip and not piece.cut_short:
                self._cache.add(piece, cut.part(at, at + len(piece.ids)))
            skip = skip + len(piece.neighbors) if piece.cut_short else 0
            at += 0 if piece.cut_short else len(piece.ids)
            if at < len(ids):
                wait = self._shards[shard].ask(ids[at:], cut.part(at, len(ids)), self._each, skip)
            yield piece
