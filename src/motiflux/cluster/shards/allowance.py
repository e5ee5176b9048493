"""What a query vertex asks of its images, and which vertices of a shard satisfy it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.rows import RowArrays
from motiflux.conditions import Condition, Degree
from motiflux.graph import AdjacencyKey, AttributeTable, Direction

Bits = NDArray[np.uint8]
"""Bit v % 8 of byte v / 8 is that of vertex v."""
_AT_ONCE = 1 << 22
"""Entries whose kinds are looked at together."""
_DIRECTIONS = {"out": Direction.OUT, "in": Direction.IN, None: Direction.EITHER}


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a query vertex asks of its images.

    Parameters
    ----------
    labels
        Codes of labels; None: any.
    ids
        External ids, ascending; None: any.
    where
        A condition on attributes and degrees.
    without
        Arcs that must not leave it.
    alone
        The kinds of negated edges to any vertex that it has, also of labels that the graph does not have:
        automorphisms keep them.
    """

    labels: tuple[int, ...] | None
    ids: tuple[int, ...] | None
    where: Condition | None
    without: tuple[AdjacencyKey, ...]
    alone: frozenset[Hashable] = frozenset()

    @property
    def needs_bits(self) -> bool:
        """Whether there is more than labels, which kinds of entries tell."""
        return self.ids is not None or self.where is not None or bool(self.alone)


def bits_of_shard(
    wanted: Allowance, rows: RowArrays, ids: Ids, attributes: AttributeTable, layout: Layout
) -> Bits:
    """Return the bits of the vertices of a shard, from that of its first vertex's byte on."""
    size = len(ids)
    holds = np.ones(size, np.bool_)
    if wanted.labels is not None and rows.labels is not None:
        holds &= np.isin(rows.labels, np.array(wanted.labels, np.uint32))
    if wanted.ids is not None:
        holds &= np.isin(ids, np.array(wanted.ids, np.int64))
    if wanted.where is not None:

        def degrees(condition: Degree) -> Ids:
            codes = None if condition.labels is None else layout.edge_label_table.codes(condition.labels)
            return _numbers(rows, layout.kinds_of(_DIRECTIONS[condition.direction], codes))

        holds &= attributes.holds(wanted.where, size, degrees)
    for key in wanted.without:
        kinds = layout.kinds_of(key.direction, key.edge_labels, key.edge_where)
        if key.target_labels is not None:
            kinds &= np.isin(layout.label_of_neighbor(np.arange(layout.kinds)), list(key.target_labels))
        holds &= _numbers(rows, kinds) == 0
    return np.packbits(np.concatenate([np.zeros(rows.first % 8, np.bool_), holds]), bitorder="little")


def _numbers(rows: RowArrays, kinds: NDArray[np.bool_]) -> Ids:
    """Return the number of entries of some kinds in each row."""
    offsets = rows.offsets.astype(np.int64)
    if kinds.all():
        return np.diff(offsets)
    found = np.zeros(len(offsets) - 1, np.int64)
    if rows.kinds is None or not kinds.any():
        return found
    first = 0
    while first < len(found):
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _AT_ONCE, side="right")) - 1)
        begin, end = int(offsets[first]), int(offsets[last])
        sums = np.concatenate([[0], np.cumsum(kinds[rows.kinds[begin:end]], dtype=np.int64)])
        places = offsets[first : last + 1] - begin
        found[first:last] = sums[places[1:]] - sums[places[:-1]]
        first = last
    return found
