"""Rows of a sharded graph in a worker: those of its own node's shards, and others through a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.layout import Ids, Layout

_LEAST_PIECE = 1 << 12
"""Least entries of a piece."""


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

    def ask(self, ids: Ids, first: int, last: int | None) -> Callable[[], Piece]:
        """Ask for the entries ``first .. last - 1`` of rows, and return a function that waits for them."""


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

    def ask(self, ids: Ids, first: int = 0, last: int | None = None) -> Callable[[], Piece]:
        """Return a function that takes entries of rows out of the arrays."""
        return lambda: self.take(ids, first, last)

    def take(self, ids: Ids, first: int = 0, last: int | None = None) -> Piece:
        """Return the entries ``first .. last - 1`` of rows; None: all from `first` on."""
        at = ids - self.first
        begins = self.offsets[at].astype(np.int64) + first
        ends = self.offsets[at + 1].astype(np.int64)
        if last is not None:
            ends = np.minimum(ends, begins - first + last)
        lengths = np.maximum(ends - begins, 0)
        labels = np.zeros(len(ids), np.uint32) if self.labels is None else self.labels[at].astype(np.uint32)
        chosen: slice | Ids
        if len(ids) and int(ids[-1]) - int(ids[0]) + 1 == len(ids) and first == 0 and last is None:
            chosen = slice(int(begins[0]), int(ends[-1]))
        else:
            chosen = _indices(begins, lengths)
        kinds = None if self.kinds is None else self.kinds[chosen]
        return Piece(ids, labels, lengths, self.neighbors[chosen], kinds)


def _indices(begins: Ids, lengths: Ids) -> Ids:
    """Return ``begins[i] .. begins[i] + lengths[i] - 1`` for each i, one after another."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - ends + lengths, lengths)


class RowCache:
    """Whole rows that were fetched, up to a number of entries: once it is full, it starts anew."""

    def __init__(self, layout: Layout, entries: int) -> None:
        self._neighbors = np.empty(max(0, min(entries, layout.entries)), np.uint32)
        self._kinds = None if layout.kind_type is None else np.empty(len(self._neighbors), layout.kind_type)
        self._clear()

    def _clear(self) -> None:
        self._filled = 0
        self._ids: Ids = np.empty(0, np.int64)
        self._begins: Ids = np.empty(0, np.int64)
        self._lengths: Ids = np.empty(0, np.int64)
        self._labels = np.empty(0, np.uint32)

    def holds(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which rows it has."""
        if not len(self._ids):
            return np.zeros(len(ids), np.bool_)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.asarray(self._ids[at] == ids)

    def take(self, ids: Ids) -> Piece:
        """Return rows that it has."""
        at = np.searchsorted(self._ids, ids)
        lengths = self._lengths[at]
        chosen = _indices(self._begins[at], lengths)
        kinds = None if self._kinds is None else self._kinds[chosen]
        return Piece(ids, self._labels[at], lengths, self._neighbors[chosen], kinds)

    def add(self, piece: Piece) -> None:
        """Keep whole rows that it has not."""
        size = len(piece.neighbors)
        if size > len(self._neighbors):
            return
        if self._filled + size > len(self._neighbors):
            self._clear()
        begins = self._filled + np.cumsum(piece.lengths) - piece.lengths
        self._neighbors[self._filled : self._filled + size] = piece.neighbors
        if self._kinds is not None:
            self._kinds[self._filled : self._filled + size] = piece.kinds
        self._filled += size
        ids = np.concatenate([self._ids, piece.ids])
        order = np.argsort(ids, kind="stable")
        self._ids = ids[order]
        self._begins = np.concatenate([self._begins, begins])[order]
        self._lengths = np.concatenate([self._lengths, piece.lengths])[order]
        self._labels = np.concatenate([self._labels, piece.labels])[order]


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
        self, layout: Layout, shards: Sequence[Shard], near: Sequence[bool], hot: RowArrays | None, memory: int
    ) -> None:
        self.layout = layout
        self._shards, self._near = shards, np.array(near, np.bool_)
        self._hot = hot
        each = 4 + (0 if layout.kind_type is None else layout.kind_type.itemsize)
        cached = 0 if all(near) else 3 * memory // (4 * each)
        self._cache = RowCache(layout, cached)
        # Of an entry of a piece there are its neighbour, its position, and some masks.
        self._most = max(_LEAST_PIECE, memory // (4 * (each + 24)))
        self.fetched = self.asked = 0

    def pieces(self, ids: Ids, first: int = 0, last: int | None = None) -> Iterator[Piece]:
        """Iterate over the rows of ascending vertices, a bounded number of entries at a time.

        With `first` and `last` there is one vertex, and its entries ``first .. last - 1`` are meant.
        """
        if first or last is not None:
            (length,) = self.layout.degrees_of(ids)
            yield from self._parts(ids, first, int(length) if last is None else last)
            return
        ends = np.cumsum(self.layout.degrees_of(ids))
        begin, before = 0, 0
        while begin < len(ids):
            end = int(np.searchsorted(ends, before + self._most, side="right"))
            if end == begin:  # a row longer than a piece
                yield from self._parts(ids[begin : begin + 1], 0, int(ends[begin]) - before)
                end = begin + 1
            else:
                yield from self._whole(ids[begin:end])
            begin, before = end, int(ends[end - 1])

    def _parts(self, ids: Ids, first: int, last: int) -> Iterator[Piece]:
        for begin in range(first, last, self._most):
            until = min(last, begin + self._most)
            if self._hot is not None and ids[0] >= self._hot.first:
                yield self._hot.take(ids, begin, until)
                continue
            (shard,) = self.layout.shards_of(ids)
            piece = self._shards[shard].ask(ids, begin, until)()
            self._note(piece, int(shard))
            yield piece

    def _whole(self, ids: Ids) -> Iterator[Piece]:
        if self._hot is not None:
            cut = int(np.searchsorted(ids, self._hot.first))
            if cut < len(ids):
                yield self._hot.take(ids[cut:])
                ids = ids[:cut]
        cached = self._cache.holds(ids)
        if cached.any():
            yield self._cache.take(ids[cached])
            ids = ids[~cached]
        shards = self.layout.shards_of(ids)
        wanted = np.unique(shards)
        waiting = [(int(one), self._shards[one].ask(ids[shards == one], 0, None)) for one in wanted]
        for shard, wait in waiting:
            piece = wait()
            self._note(piece, shard)
            if not self._near[shard]:
                self._cache.add(piece)
            yield piece

    def _note(self, piece: Piece, shard: int) -> None:
        if not self._near[shard]:
            self.fetched += piece.nbytes
            self.asked += 1
