"""Counts at each pair of vertices that a query edge joins: sums of the parts of ranges, by pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.images import total_of
from motiflux.cluster.shards.pairs import Above, Keys, PairSums, Words, keys_of
from motiflux.cluster.shards.part import Part
from motiflux.cluster.shards.planning import RangedImages
from motiflux.cluster.shards.search import MakeSearch, RangeSearch
from motiflux.cluster.shares import Item
from motiflux.cpu import native
from motiflux.errors import ClusterError
from motiflux.graph import Adjacency

SHARE_OF_SUMS = 4
"""Numbers of pairs take one part of so many of the memory of a search."""
_ARCS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class RangedEdges:
    """A search that counts by the images of query edges.

    Parameters
    ----------
    sums
        The class of each sum, and whether the numbers of both directions of a pair are added. A class has one
        of each if its query edges are arcs and edges in either direction.
    directed
        Whether the graph is directed: numbers of pairs in either direction are those of both.
    """

    images: RangedImages
    sums: tuple[tuple[int, bool], ...]
    directed: bool

    @property
    def share(self) -> int:
        """See `RangeSearch`: a number of each arc of a part takes twice its bytes, in each direction."""
        return 6 * (1 + len(self.images.classes))


_Slot = tuple[int, int, bool]
"""A class, a key of the plan, and whether its arcs lead from the second end of query edges to the first."""


@dataclass(frozen=True, slots=True)
class PlacesInPart:
    """The levels at whose arcs a part is counted, and the places of the numbers of these arcs.

    Parameters
    ----------
    levels
        The earlier level of a query edge, the later one, and the place of the number of the first arc.
    keys
        Of the plan, for each of these: its rows have the arcs.
    slots
        The first numbers of classes.
    size
        How many numbers there are.
    """

    levels: list[tuple[int, int, int]]
    keys: list[int]
    slots: dict[_Slot, int]
    size: int


NumbersOfArcs = Callable[[Part, RangedImages, PlacesInPart], Words | None]
"""Counts a part otherwise: all numbers of arcs; None if it cannot."""


class RangeEdges:
    """Adds the embeddings of parts at the images of query edges: a number for each class and pair.

    Attributes
    ----------
    numbers_of
        Counts parts in place of their native search; None for no such way.
    """

    numbers_of: NumbersOfArcs | None = None

    def __init__(self, search: RangeSearch, edges: RangedEdges, sums: PairSums) -> None:
        self.search, self.sums = search, sums
        self._edges = edges

    def add(self, part: Part, search: MakeSearch, item: Item) -> int:
        """Add the embeddings of a part; return the sum of the numbers of the first class."""
        places = self._places(part)
        words = None if self.numbers_of is None else self.numbers_of(part, self._edges.images, places)
        above: list[tuple[int, int]] = []
        if words is None:
            words, above = self._counted(part, places, search(), item)
        ids = self.search.gathering.vertices()
        total = 0
        for slot, first in places.slots.items():
            arcs = part.rows[slot[1]]
            number = int(arcs[0][-1])
            missing = {at - first: more for at, more in above if first <= at < first + number}
            self._add_slot(slot, arcs, words[first : first + number], missing, ids)
            if slot[0] == 0:
                total += total_of(words[first : first + number], missing.values())
        return total

    def _counted(
        self, part: Part, places: PlacesInPart, search: _native.NativePlan, item: Item
    ) -> tuple[Words, list[tuple[int, int]]]:
        """Return the numbers of arcs of a part by its native search."""
        rows = [part.rows[key] for key in places.keys]
        listing = self._edges.images.listing
        portion = ([item], None, None, None)
        words, above, stop, _ = _native.count_images(
            search, places.levels, rows, places.size, listing, self.search.threads, None, None, portion
        )
        if native.Stop(stop) is not native.Stop.NONE:
            raise ClusterError(f"a search of a part ended early: {stop}")
        return words, above

    def _places(self, part: Part) -> PlacesInPart:
        """Return where a part is counted."""
        _, of_plan = self.search.planned
        with_direction = {of_class for of_class, either in self._edges.sums if not either}
        slots: dict[_Slot, int] = {}
        levels, keys, size = [], [], 0
        for (one, other), place in self._edges.images.levels:
            earlier, later = min(one, other), max(one, other)
            key = of_plan.arcs[earlier, later]
            slot = place, key, one > other and place in with_direction
            if slot not in slots:
                slots[slot] = size
                size += int(part.rows[key][0][-1])
            levels.append((earlier, later, slots[slot]))
            keys.append(key)
        return PlacesInPart(levels, keys, slots, size)

    def _add_slot(
        self,
        slot: _Slot,
        arcs: Adjacency,
        words: Words,
        missing: dict[int, int],
        ids: NDArray[np.int64],
    ) -> None:
        place, _, swapped = slot
        offsets, neighbors = arcs
        for begin, end in pairwise([*range(0, len(words), _ARCS_AT_ONCE), len(words)]):
            at = begin + np.flatnonzero(words[begin:end])
            more = [one for one in missing if begin <= one < end]
            at = np.union1d(at, np.array(more, np.int64)) if more else at
            sources = ids[np.searchsorted(offsets, at.astype(np.uint64), side="right") - 1]
            targets = ids[neighbors[at]]
            if swapped:
                sources, targets = targets, sources
            above = {one: missing[one] for one in more}
            for number, keys in self._keys(place, sources, targets):
                of_keys: Above = {}
                for key, one in zip(keys[np.isin(at, more)].tolist(), sorted(above), strict=True):
                    of_keys[key] = of_keys.get(key, 0) + above[one]
                self.sums.add(number, keys, words[at], of_keys)

    def _keys(
        self, place: int, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> Iterator[tuple[int, Keys]]:
        """Yield the sums that numbers of a class are added to, and the keys of the pairs of each."""
        for number, (of_class, either) in enumerate(self._edges.sums):
            if of_class != place:
                continue
            if either and not self._edges.directed:
                yield number, keys_of(np.minimum(first, second), np.maximum(first, second))
                continue
            yield number, keys_of(first, second)
            if either:
                yield number, keys_of(second, first)
