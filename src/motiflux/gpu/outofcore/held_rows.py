"""Which rows of one kind have copies in a cache, and in which segment of it."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.outofcore.own_rows import HostOrOwnRows

NONE = 255
"""The segment of a row without a copy; there are fewer segments."""
_versions = itertools.count(1)


class HeldRows:
    """The copies of one kind of rows.

    A byte for each vertex says where its copy is: what a run takes does not grow with the number of copies.

    Attributes
    ----------
    written
        `rows.written` when the copies were noted.
    firsts, sizes
        Of the copies in the order of `held`, the first entry, counted from the start of the cache, and the
        number of entries, if `keeps_places`.
    version
        A number that no other copies have had, new whenever copies were noted or forgotten.

    Parameters
    ----------
    rows
        The rows of the host.
    keeps_places
        Whether it is noted where copies are.
    """

    def __init__(self, rows: HostOrOwnRows, *, keeps_places: bool = False) -> None:
        self.rows, self.written = rows, rows.written
        self.keeps_places, self.version = keeps_places, next(_versions)
        self.firsts = np.empty(0, np.uint64)
        self.sizes = np.empty(0, np.uint64)
        self._placed = np.empty(0, np.uint32)  # the vertices of these
        self._segment = np.full(rows.num_rows, NONE, np.uint8)
        self._added = defaultdict[int, list[NDArray[np.uint32]]](list)  # by segment; some may have left
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def held(self) -> NDArray[np.uint32]:
        """The vertices whose rows are copied, ascending."""
        if not self._count:
            return np.empty(0, np.uint32)
        return np.sort(np.concatenate([self.in_segment(segment) for segment in [*self._added]]))

    def cover(self) -> None:
        """Have room for all vertices that there are."""
        if self.rows.num_rows > len(self._segment):
            grown = np.full(self.rows.num_rows + len(self._segment) // 4, NONE, np.uint8)
            grown[: len(self._segment)] = self._segment
            self._segment = grown

    def add(self, vertices: NDArray[np.uint32], segment: int, first: int, starts: NDArray[np.uint64]) -> None:
        """Note copies of rows of these vertices, ascending, which had none.

        Parameters
        ----------
        first
            The first entry of all of these copies.
        starts
            Where each begins behind it, and where the last one ends, uint64 [rows + 1].
        """
        self.version = next(_versions)
        if self.keeps_places:
            places = np.searchsorted(self._placed, vertices)
            self.firsts = np.insert(self.firsts, places, np.uint64(first) + starts[:-1])
            self.sizes = np.insert(self.sizes, places, np.diff(starts))
            self._placed = np.insert(self._placed, places, vertices)
        self._segment[vertices] = segment
        self._added[segment].append(vertices)
        self._count += len(vertices)

    def has(self, vertices: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return whether there are copies of the rows of these vertices."""
        self.cover()
        found: NDArray[np.bool_] = self._segment[vertices] != NONE
        return found

    def segments_of(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Return the segments of copies, which there are."""
        return self._segment[vertices]

    def in_segment(self, segment: int) -> NDArray[np.uint32]:
        """Return the vertices whose copies are in a segment, ascending."""
        added = self._added.pop(segment, [])
        if not added:
            return np.empty(0, np.uint32)
        found = np.concatenate(added)
        found = found[self._segment[found] == segment]
        if len(added) > 1:
            found = np.unique(found)  # one may have left and come again
        self._added[segment] = [found]
        return found

    def drop(self, vertices: NDArray[np.uint32]) -> None:
        """Forget the copies of rows of these vertices, ascending, which there are."""
        if not len(vertices):
            return
        self.version = next(_versions)
        if self.keeps_places:
            places = np.searchsorted(self._placed, vertices)
            self.firsts, self.sizes = np.delete(self.firsts, places), np.delete(self.sizes, places)
            self._placed = np.delete(self._placed, places)
        self._segment[vertices] = NONE
        self._count -= len(vertices)
