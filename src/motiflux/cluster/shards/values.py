"""Values of vertices of a sharded graph that patterns compare: attributes and ids, which shards have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from motiflux.cluster.shards.attributes import VERTEX, joined
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.ranks import Ranked, RanksOf, ranked_column
from motiflux.graph import AttributeTable, Column, Kind
from motiflux.graph.copies import ColumnKey, Form
from motiflux.plan import Plan
from motiflux.plan.comparisons.bound import BoundComparisons

Names = tuple[str | Ranked | None, ...]
"""Names of attributes, whose strings are told by their ranks or as they are; None: the ids."""
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
    return names_of(plan.comparisons)


def names_of(comparisons: BoundComparisons) -> Names:
    """Return the attributes of vertices that are compared."""
    of_vertices = [one for one in comparisons.variables if one.vertex is not None]
    return tuple(dict.fromkeys(name_of(key) for one in of_vertices for key in one.columns))


def name_of(key: ColumnKey) -> str | Ranked | None:
    """Return the name of compared values."""
    if key.form is not Form.RANK:
        return key.attribute
    return Ranked.of(key, VERTEX)


class VertexValues:
    """Looks up values of vertices.

    Parameters
    ----------
    names
        The values that are looked up. Strings have no bound on their bytes; their ranks have one.
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
            elif isinstance(name, Ranked):
                found[name.attribute] = joined(columns, {"": (Kind.INTEGER.value, "<i8")})[""]
            else:
                of_name = joined(columns, {"": self._layout.attributes[name]})[""]
                found.setdefault(name, of_name)  # ranks of its strings come before these
        return Values(ids, AttributeTable(VERTEX, found))


def values_at(
    names: Names, ids: Ids, attributes: AttributeTable, places: Ids, ranks: RanksOf | None = None
) -> list[Column]:
    """Return the columns of some vertices of a shard, whose strings have ranks."""
    found: list[Column] = []
    for name in names:
        if isinstance(name, Ranked):
            assert ranks is not None
            found.append(ranked_column(attributes[name.attribute], partial(ranks, name), places))
        else:
            column: Any = Column(ids) if name is None else attributes[name]
            found.append(column.take(places))
    return found
