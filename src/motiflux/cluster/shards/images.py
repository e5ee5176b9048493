"""Counts at each vertex of a sharded graph: sums of the parts of a range, in one array."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.part import Part
from motiflux.cluster.shards.planning import RangedImages
from motiflux.cluster.shards.search import MakeSearch, RangeSearch
from motiflux.cluster.shares import Item
from motiflux.cpu import native
from motiflux.errors import ClusterError

Added = tuple[NDArray[np.int64], NDArray[np.uint64], list[tuple[int, int]]]
"""Places of numbers above 0, the numbers modulo 2^64, and what is missing in some of them."""


class Sums:
    """Numbers of any size at places: the low 64 bits of each, and the rest of those that have more.

    Attributes
    ----------
    words
        The low bits.
    above
        By place: what is missing.
    """

    def __init__(self, size: int) -> None:
        self.words = np.zeros(size, np.uint64)
        self.above: dict[int, int] = {}

    def add(self, added: Added) -> None:
        """Add numbers at different places."""
        places, words, above = added
        sums = self.words[places] + words
        for at in places[sums < words].tolist():  # the sum passed 2^64
            self.above[at] = self.above.get(at, 0) + 2**64
        self.words[places] = sums
        for at, more in above:
            self.above[at] = self.above.get(at, 0) + more

    def take(self) -> Added:
        """Return the numbers above 0, and start anew."""
        places = np.flatnonzero(self.words)
        found = places, self.words[places], list(self.above.items())
        self.words[places] = 0
        self.above = {}
        return found


Words = NDArray[np.uint64]
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)


def total_of(words: Words, above: Iterable[int]) -> int:
    """Return the sum of numbers, and of what is missing in some of them.

    Examples
    --------
    >>> total_of(np.array([2**64 - 1, 2**64 - 1], np.uint64), [2**64]) == 3 * 2**64 - 2
    True
    """
    return (int((words >> _SHIFT).sum()) << 32) + int((words & _LOW).sum()) + sum(above)


NumbersOf = Callable[[Part, RangedImages], Words | None]
"""Counts a part otherwise: a number for each class and vertex of the part; None if it cannot."""


class RangeImages:
    """Adds the embeddings of parts at the images of levels: a number for each class and vertex.

    Attributes
    ----------
    numbers_of
        Counts parts in place of their native search; None for no such way.
    """

    numbers_of: NumbersOf | None = None

    def __init__(self, search: RangeSearch, images: RangedImages, vertices: int) -> None:
        self.search = search
        self._images, self._vertices = images, vertices
        self._sums = Sums(len(images.classes) * vertices)

    def add(self, part: Part, search: MakeSearch, item: Item) -> int:
        """Add the embeddings of a part; return the sum of the numbers of the first class."""
        images, size = self._images, part.vertices
        words = None if self.numbers_of is None else self.numbers_of(part, images)
        above: list[tuple[int, int]] = []
        if words is None:
            words, above = self._counted(size, search(), item)
        of_part = self.search.gathering.vertices()

        def places(at: NDArray[np.int64]) -> NDArray[np.int64]:
            return at // size * self._vertices + of_part[at % size]

        found = np.flatnonzero(words)
        missing = places(np.array([at for at, _ in above], np.int64)).tolist()
        more = [more for _, more in above]
        self._sums.add((places(found), words[found], list(zip(missing, more, strict=True))))
        return total_of(words[:size], [more for at, more in above if at < size])

    def _counted(
        self, size: int, search: _native.NativePlan, item: Item
    ) -> tuple[Words, list[tuple[int, int]]]:
        """Return the numbers of a part of `size` vertices by its native search."""
        images = self._images
        levels = [(level, -1, place * size) for (level,), place in images.levels]
        number = len(images.classes) * size
        portion = ([item], None, None, None)
        words, above, stop, _ = _native.count_images(
            search, levels, None, number, images.listing, self.search.threads, None, None, portion
        )
        if native.Stop(stop) is not native.Stop.NONE:
            raise ClusterError(f"a search of a part ended early: {stop}")
        return words, above

    def take(self) -> Added:
        """Return the numbers above 0, and start anew."""
        return self._sums.take()
