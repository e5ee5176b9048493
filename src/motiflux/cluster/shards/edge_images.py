"""Counts at each pair of vertices that a query edge joins: sums of the parts of ranges, by pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.pairs import Above, Keys, PairSums, keys_of
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
    either
        For each class, whether the numbers of both directions of a pair are added.
    directed
        Whether the graph is directed: numbers of pairs in either direction are those of both.
    """

    images: RangedImages
    either: tuple[bool, ...]
    directed: bool

    @property
    def share(self) -> int:
        """See `RangeSearch`: a number of each arc of a part takes twice its bytes, in each direction."""
        return 6 * (1 + len(self.images.classes))


_Slot = tuple[int, int, bool]
"""A class, a key of the plan, and whether its arcs lead from the second end of query edges to the first."""


class RangeEdges:
    """Adds the embeddings of parts at the images of query edges: a number for each class and pair."""

    def __init__(self, search: RangeSearch, edges: RangedEdges, sums: PairSums) -> None:
        self.search, self.sums = search, sums
        self._edges = edges

    def add(self, part: Part, search: MakeSearch, item: Item) -> int:
        """Add the embeddings of a part."""
        slots, levels, rows, size = self._slots(part)
        listing = self._edges.images.listing
        portion = ([item], None, None, None)
        words, above, stop, _ = _native.count_images(
            search(), levels, rows, size, listing, self.search.threads, None, None, portion
        )
        if native.Stop(stop) is not native.Stop.NONE:
            raise ClusterError(f"a search of a part ended early: {stop}")
        ids = self.search.gathering.vertices()
        for slot, first in slots.items():
            arcs = part.rows[slot[1]]
            number = int(arcs[0][-1])
            missing = {at - first: more for at, more in above if first <= at < first + number}
            self._add_slot(slot, arcs, words[first : first + number], missing, ids)
        return 0

    def _slots(self, part: Part) -> tuple[dict[_Slot, int], list[tuple[int, int, int]], list[Adjacency], int]:
        """Return where the numbers of arcs begin, the counted levels and the rows of each, and the size."""
        _, of_plan = self.search.planned
        slots: dict[_Slot, int] = {}
        levels, rows, size = [], [], 0
        for (one, other), place in self._edges.images.levels:
            earlier, later = min(one, other), max(one, other)
            key = of_plan.arcs[earlier, later]
            slot = place, key, one > other and not self._edges.either[place]
            if slot not in slots:
                slots[slot] = size
                size += int(part.rows[key][0][-1])
            levels.append((earlier, later, slots[slot]))
            rows.append(part.rows[key])
        return slots, levels, rows, size

    def _add_slot(
        self,
        slot: _Slot,
        arcs: Adjacency,
        words: NDArray[np.uint64],
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
            for keys in self._keys(place, sources, targets):
                of_keys: Above = {}
                for key, one in zip(keys[np.isin(at, more)].tolist(), sorted(above), strict=True):
                    of_keys[key] = of_keys.get(key, 0) + above[one]
                self.sums.add(place, keys, words[at], of_keys)

    def _keys(self, place: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> Sequence[Keys]:
        """Return the keys of pairs that numbers are added at."""
        if not self._edges.either[place]:
            return [keys_of(first, second)]
        if self._edges.directed:
            return [keys_of(first, second), keys_of(second, first)]
        return [keys_of(np.minimum(first, second), np.maximum(first, second))]
