"""The ids of the vertices of a sharded graph, which lie in its shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from motiflux.cluster.shards.layout import Ids, Layout

_AT_ONCE = 1 << 20
"""Ids that are asked for at a time."""

AskIds = Callable[[Ids], Callable[[], Ids]]
"""Asks a shard for the ids of vertices, by their places in it; returns a function that waits for them."""


class VertexNumbers:
    """Has the numbers of vertices in the place of their ids."""

    def of(self, vertices: Ids) -> Ids:
        """Return the vertices."""
        return vertices.astype(np.int64)


class VertexIds:
    """Looks up the ids of vertices.

    Parameters
    ----------
    shards
        Of each range of the layout.
    """

    def __init__(self, layout: Layout, shards: Sequence[AskIds]) -> None:
        self._layout, self._shards = layout, shards

    def of(self, vertices: Ids) -> Ids:
        """Return the ids of vertices in ascending order."""
        found = np.empty(len(vertices), np.int64)
        for begin in range(0, len(vertices), _AT_ONCE):
            some = vertices[begin : begin + _AT_ONCE]
            ends = np.searchsorted(some, self._layout.starts)
            asked = [
                (start, end, self._shards[shard](some[start:end] - self._layout.starts[shard]))
                for shard, (start, end) in enumerate(pairwise(ends.tolist()))
                if start < end
            ]
            for start, end, wait in asked:
                found[begin + start : begin + end] = wait()
        return found

    def all(self) -> Ids:
        """Return the ids of all vertices."""
        return self.of(np.arange(self._layout.num_vertices))
