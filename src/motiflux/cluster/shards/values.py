"""Values of vertices of a sharded graph that patterns compare: attributes and ids, which shards have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from motiflux.cluster.shards.attributes import joined
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.graph import AttributeTable, Column
from motiflux.plan import Plan

Names = tuple[str | None, ...]
"""Names of attributes; None: the ids."""
AskValues = Callable[[Ids], Callable[[], list[Column]]]
"""Asks a shard for the columns of vertices, by their places in it; returns a function that waits for them."""

_AT_ONCE = 1 << 18
"""Vertices whose values are asked for at a time."""
_BYTES_OF_VERTEX, _BYTES_OF_VALUE = 8, 20


@dataclass(frozen=True, slots=True)
class Values:
    """The part of a graph that comparisons of vertices look at: see `motiflux.graph.copies.vertex_values`."""

    vertex_ids: Ids
    vertex_attributes: AttributeTable


def compared_names(plan: Plan) -> Names:
    """Return the attributes of vertices that a plan compares."""
    if plan.comparisons is None:
        return ()
    columns = [key.attribute for one in plan.comparisons.variables for key in one.columns]
    return tuple(dict.fromkeys(columns))


class VertexValues:
    """Looks up values of vertices.

    Parameters
    ----------
    names
        What is looked up: numbers and datetimes only.
    shards
        Of each range of the layout.
    """

    def __init__(self, layout: Layout, names: Names, shards: Sequence[AskValues]) -> None:
        self._layout, self._names, self._shards = layout, names, shards

    @property
    def bytes_of_vertex(self) -> int:
        """Bytes that the values of a vertex take in a part."""
        return _BYTES_OF_VERTEX + _BYTES_OF_VALUE * len(self._names)

    def of(self, vertices: Ids) -> Values:
        """Return the values of vertices in ascending order."""
        parts: list[list[Column]] = []
        for begin in range(0, len(vertices), _AT_ONCE):
            some = vertices[begin : begin + _AT_ONCE]
            ends = np.searchsorted(some, self._layout.starts)
            waits = [
                self._shards[shard](some[first:last] - self._layout.starts[shard])
                for shard, (first, last) in enumerate(pairwise(ends.tolist()))
                if first < last
            ]
            parts += [wait() for wait in waits]
        ids, found = np.zeros(len(vertices), np.int64), {}
        for at, name in enumerate(self._names):
            columns: list[tuple[int, dict[str, Column]]] = [(len(one[at]), {"": one[at]}) for one in parts]
            if name is None:
                ids = np.concatenate([ids[:0], *(one[at].data for one in parts)])
            else:
                types = {"": self._layout.attributes[name]}
                found[name] = joined(columns, types)[""]
        return Values(ids, AttributeTable("vertex", found))


def values_at(names: Names, ids: Ids, attributes: AttributeTable, places: Ids) -> list[Column]:
    """Return the columns of some vertices of a shard."""
    every: list[Any] = [Column(ids) if name is None else attributes[name] for name in names]
    return [column.take(places) for column in every]
