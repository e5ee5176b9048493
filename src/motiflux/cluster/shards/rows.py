"""Rows of a sharded graph in a worker: those of its own node's shards, and others through a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.layout import Ids, Layout

_BYTES_OF_ROW = 44
"""Bytes of a cached row beside its entries."""
_LEAST_PIECE = 1 << 10
"""Least entries of a piece."""


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


@dataclass(frozen=True, slots=True)
class Piece:
    """Entries of rows, or of a part of one row.

    Parameters
    ----------
    ids
        int64 [rows], ascending.
    labels
        uint32 [rows]: codes of their labels.
    lengths
        int64 [rows]: number of entries of each.
    neighbors, kinds
        Of each entry; no kinds where there is one only.
    """

    ids: Ids
    labels: NDArray[np.uint32]
    lengths: Ids
    neighbors: NDArray[np.uint32]
    kinds: NDArray[Any] | None

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        return self.neighbors.nbytes + (0 if self.kinds is None else self.kinds.nbytes)


class Shard(Protocol):
    """Some rows of a graph, wherever they are."""

    def ask(
        self, ids: Ids, first: int, last: int | None, cut: Cut | None, most: int | None = None
    ) -> Callable[[], Piece]:
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

    def ask(
        self, ids: Ids, first: int, last: int | None, cut: Cut | None, most: int | None = None
    ) -> Callable[[], Piece]:
        """Return a function that takes entries of rows out of the arrays."""
        return lambda: self.take(ids, first, last, cut, most)

    def take(
        self,
        ids: Ids,
        first: int = 0,
        last: int | None = None,
        cut: Cut | None = None,
        most: int | None = None,
    ) -> Piece:
        """Return the entries ``first .. last - 1`` of rows, or all from `first` on, within a cut.

        With `most`, only of so many of the first rows that they have no more entries, but of one at least.
        """
        at = ids - self.first
        begins = self.offsets[at].astype(np.int64) + first
        ends = self.offsets[at + 1].astype(np.int64)
        if last is not None:
            ends = np.minimum(ends, begins - first + last)
        labels = np.zeros(len(ids), np.uint32) if self.labels is None else self.labels[at].astype(np.uint32)
        ends = np.maximum(begins, ends)
        return _taken(ids, labels, self.neighbors, self.kinds, begins, ends, cut, most)


def _taken(
    ids: Ids,
    labels: NDArray[np.uint32],
    neighbors: NDArray[np.uint32],
    kinds: NDArray[Any] | None,
    begins: Ids,
    ends: Ids,
    cut: Cut | None,
    most: int | None,
) -> Piece:
    """Return the entries of rows from `begins` up to `ends` that are within a cut; see `RowArrays.take`."""
    if cut is not None:
        begins, ends = begins.copy(), ends.copy()
        _native.narrow_rows(neighbors, begins, ends, *cut.bounds(ids))
    if most is not None:
        rows = max(1, int(np.searchsorted(np.cumsum(ends - begins), most, side="right")))
        ids, labels, begins, ends = ids[:rows], labels[:rows], begins[:rows], ends[:rows]
    chosen: slice | Ids
    if (begins[1:] == ends[:-1]).all():
        chosen = slice(int(begins[0]), int(ends[-1])) if len(ids) else slice(0, 0)
    else:
        chosen = _indices(begins, ends - begins)
    of_entries = None if kinds is None else kinds[chosen]
    return Piece(ids, labels, ends - begins, neighbors[chosen], of_entries)


def _indices(begins: Ids, lengths: Ids) -> Ids:
    """Return ``begins[i] .. begins[i] + lengths[i] - 1`` for each i, one after another."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - ends + lengths, lengths)


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

    def holds(self, ids: Ids, cut: Cut) -> NDArray[np.bool_]:
        """Return which rows it has within a cut."""
        self._sort()
        if not len(self._ids):
            return np.zeros(len(ids), np.bool_)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        least, most = cut.bounds(ids)
        return np.asarray(
            (self._ids[at] == ids) & (self._places[2, at] <= least) & (self._places[3, at] >= most)
        )

    def take(self, ids: Ids, cut: Cut, most: int) -> Piece:
        """Return rows that it has; see `RowArrays.take`."""
        at = np.searchsorted(self._ids, ids)
        begins, ends = self._places[0, at], self._places[1, at]
        return _taken(ids, self._labels[at], self._neighbors, self._kinds, begins, ends, cut, most)

    def add(self, piece: Piece, cut: Cut) -> None:
        """Keep rows, in the place of those with a narrower cut."""
        size = len(piece.neighbors)
        if size > len(self._neighbors) or len(piece.ids) > self._most_rows:
            return
        if self._filled + size > len(self._neighbors) or self._rows + len(piece.ids) > self._most_rows:
            self._clear()
        self._rows += len(piece.ids)
        ends = self._filled + np.cumsum(piece.lengths)
        self._neighbors[self._filled : self._filled + size] = piece.neighbors
        if self._kinds is not None:
            self._kinds[self._filled : self._filled + size] = piece.kinds
        self._filled += size
        places = np.stack([ends - piece.lengths, ends, *cut.bounds(piece.ids)])
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
        Which shards are on this node: their rows are not cached.
    hot
        The rows of the vertices of highest degrees, which each node has; None for none.
    memory
        Bytes for the cache and for a piece together: three quarters for the cache.

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
        self._shards, self._near = shards, np.array(near, np.bool_)
        self._hot = hot
        each = 4 + (0 if layout.kind_type is None else layout.kind_type.itemsize)
        self._cache = RowCache(layout, 0 if all(near) else 3 * memory // 4)
        # Of an entry of a piece there are its neighbour, its position, and some masks.
        self._most = max(_LEAST_PIECE, memory // (4 * (each + 60)))
        # All shards are asked at a time.
        self._each = max(_LEAST_PIECE, self._most // max(1, len(shards)))
        self.fetched = self.asked = 0

    def entry(self, vertex: int, entry: int) -> int:
        """Return the neighbour of an entry of a row."""
        (piece,) = self._parts(np.array([vertex]), entry, entry + 1, None)
        return int(piece.neighbors[0])

    def pieces(self, ids: Ids, cut: Cut) -> Iterator[Piece]:
        """Iterate over rows of ascending vertices within a cut, a bounded number of entries at a time."""
        for window in range(0, len(ids), self._most):
            some = ids[window : window + self._most]
            long = self.layout.degrees_of(some) > self._each
            yield from self._whole(some[~long], cut)
            for at in np.flatnonzero(long):
                yield from self._parts(some[at : at + 1], 0, int(self.layout.degrees_of(some[at])), cut)

    def _parts(self, ids: Ids, first: int, last: int, cut: Cut | None) -> Iterator[Piece]:
        for begin in range(first, last, self._most):
            until = min(last, begin + self._most)
            if self._hot is not None and ids[0] >= self._hot.first:
                yield self._hot.take(ids, begin, until, cut)
                continue
            (shard,) = self.layout.shards_of(ids)
            piece = self._shards[shard].ask(ids, begin, until, cut)()
            self._note(piece, int(shard))
            yield piece

    def _whole(self, ids: Ids, cut: Cut) -> Iterator[Piece]:
        """Iterate over rows that are no longer than a piece."""
        if self._hot is not None:
            hot = int(np.searchsorted(ids, self._hot.first))
            yield from self._all(ids[hot:], partial(self._hot.take, cut=cut, most=self._most))
            ids = ids[:hot]
        cached = self._cache.holds(ids, cut)
        # Rows that are added below may drive out others.
        yield from self._all(ids[cached], partial(self._cache.take, cut=cut, most=self._most))
        ids = ids[~cached]
        shards = self.layout.shards_of(ids)
        waiting = {int(shard): ids[shards == shard] for shard in np.unique(shards)}
        while waiting:
            asked = {
                one: self._shards[one].ask(some, 0, None, cut, self._each) for one, some in waiting.items()
            }
            for shard, wait in asked.items():
                piece = wait()
                self._note(piece, shard)
                if not self._near[shard]:
                    self._cache.add(piece, cut)
                yield piece
                waiting[shard] = waiting[shard][len(piece.ids) :]
            waiting = {shard: some for shard, some in waiting.items() if len(some)}

    def _all(self, ids: Ids, take: Callable[[Ids], Piece]) -> Iterator[Piece]:
        """Iterate over all rows, by calls that return some of the first ones."""
        while len(ids):
            piece = take(ids)
            yield piece
            ids = ids[len(piece.ids) :]

    def _note(self, piece: Piece, shard: int) -> None:
        if not self._near[shard]:
            self.fetched += piece.nbytes
            self.asked += 1
