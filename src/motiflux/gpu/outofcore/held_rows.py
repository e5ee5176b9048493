"""Which rows of one kind have copies in a cache, and in which segment of it."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.outofcore.own_rows import HostOrOwnRows

_versions = itertools.count(1)


class HeldRows:
    """The copies of one kind of rows.

    Looking up all rows that a run wants in `held` would take most of the time of a run's copies. So there is
    also a byte for each vertex.

    Attributes
    ----------
    written
        `rows.written` when the copies were noted.
    held
        The vertices whose rows are copied, ascending.
    segments
        The segment that each of these copies is in.
    firsts, sizes
        Of each of these copies, the first entry, counted from the start of the cache, and the number of
        entries, if `keeps_places`.
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
        self.held = np.empty(0, np.uint32)
        self.segments = np.empty(0, np.uint8)
        self._is_held = np.zeros(rows.num_rows, np.bool_)

    def cover(self) -> None:
        """Have room for all vertices that there are."""
        missing = self.rows.num_rows - len(self._is_held)
        if missing > 0:
            grown = np.zeros(self.rows.num_rows + len(self._is_held) // 4, np.bool_)
            grown[: len(self._is_held)] = self._is_held
            self._is_held = grown

    def add(self, vertices: NDArray[np.uint32], segment: int, first: int, starts: NDArray[np.uint64]) -> None:
        """Note copies of rows of these vertices, ascending.

        Parameters
        ----------
        first
            The first entry of all of these copies.
        starts
            Where each begins behind it, and where the last one ends, uint64 [rows + 1].
        """
        self.version = next(_versions)
        places = np.searchsorted(self.held, vertices)
        if self.keeps_places:
            self.firsts = np.insert(self.firsts, places, np.uint64(first) + starts[:-1])
            self.sizes = np.insert(self.sizes, places, np.diff(starts))
        self.held = np.insert(self.held, places, vertices)
        self.segments = np.insert(self.segments, places, segment)
        self._is_held[vertices] = True

    def has(self, vertices: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Return whether there are copies of the rows of these vertices."""
        self.cover()
        return self._is_held[vertices]

    def segments_of(self, vertices: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Return the segments of copies, which there are."""
        return self.segments[np.searchsorted(self.held, vertices)]

    def in_segment(self, segment: int) -> NDArray[np.uint32]:
        """Return the vertices whose copies are in a segment, ascending."""
        return np.asarray(self.held[self.segments == segment])

    def drop(self, vertices: NDArray[np.uint32]) -> None:
        """Forget the copies of rows of these vertices, ascending."""
        if len(vertices):
            self.version = next(_versions)
            places = np.searchsorted(self.held, vertices)
            if self.keeps_places:
                self.firsts, self.sizes = np.delete(self.firsts, places), np.delete(self.sizes, places)
            self.held, self.segments = np.delete(self.held, places), np.delete(self.segments, places)
            self._is_held[vertices] = False
