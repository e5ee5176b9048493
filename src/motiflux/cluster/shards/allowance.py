"""What a query vertex asks of its images, and which vertices of a shard satisfy it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
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
class NumberOfEnds:
    """How many vertices arcs from a vertex lead to.

    Parameters
    ----------
    arcs
        The arcs.
    end
        What these vertices have to satisfy beyond labels; None: nothing.
    number
        The number of different ones.
    apart
        Arcs that must not lead to them.
    start
        What the vertex itself has to satisfy, else the number is 0; None: nothing.
    """

    arcs: AdjacencyKey
    end: Allowance | None
    number: int
    apart: tuple[AdjacencyKey, ...] = ()
    start: Allowance | None = None

    @property
    def ends(self) -> Iterator[Allowance]:
        """What other ends of arcs have to satisfy, which is judged before."""
        if self.end is not None:
            yield self.end
        for one in () if self.start is None else self.start.exactly:
            yield from one.ends


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
    exactly
        Numbers of other ends of its arcs.
    alone
        The kinds of negated edges to any vertex that it has, also of labels that the graph does not have:
        automorphisms keep them.
    """

    labels: tuple[int, ...] | None
    ids: tuple[int, ...] | None
    where: Condition | None
    without: tuple[AdjacencyKey, ...]
    alone: frozenset[Hashable] = frozenset()
    exactly: tuple[NumberOfEnds, ...] = ()

    @property
    def needs_bits(self) -> bool:
        """Whether there is more than labels, which kinds of entries tell."""
        return self.ids is not None or self.where is not None or bool(self.alone)


def bits_of_shard(
    wanted: Allowance,
    rows: RowArrays,
    ids: Ids,
    attributes: AttributeTable,
    layout: Layout,
    ends: Mapping[Allowance, Bits] | None = None,
) -> Bits:
    """Return the bits of the vertices of a shard, from that of its first vertex's byte on.

    Parameters
    ----------
    ends
        The bits of all vertices of the graph, for what other ends of arcs have to satisfy.
    """
    holds = _satisfying(wanted, rows, ids, attributes, layout, ends or {})
    return np.packbits(np.concatenate([np.zeros(rows.first % 8, np.bool_), holds]), bitorder="little")


def _satisfying(
    wanted: Allowance,
    rows: RowArrays,
    ids: Ids,
    attributes: AttributeTable,
    layout: Layout,
    ends: Mapping[Allowance, Bits],
) -> NDArray[np.bool_]:
    """Return which vertices of a shard satisfy what is asked; see `bits_of_shard`."""
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
        holds &= _numbers(rows, _kinds_of(key, layout)) == 0
    for one in wanted.exactly:
        bits = None if one.end is None else ends[one.end]
        apart = [_kinds_of(key, layout) for key in one.apart]
        numbers = _neighbors(rows, _kinds_of(one.arcs, layout), bits, apart)
        if one.start is not None:
            numbers[~_satisfying(one.start, rows, ids, attributes, layout, ends)] = 0
        holds &= numbers == one.number
    return holds


def _kinds_of(key: AdjacencyKey, layout: Layout) -> NDArray[np.bool_]:
    """Return which kinds of entries are arcs of a key."""
    kinds = layout.kinds_of(key.direction, key.edge_labels, key.edge_where)
    if key.target_labels is not None:
        kinds &= np.isin(layout.label_of_neighbor(np.arange(layout.kinds)), list(key.target_labels))
    return kinds


def _numbers(rows: RowArrays, kinds: NDArray[np.bool_]) -> Ids:
    """Return the number of entries of some kinds in each row."""
    if kinds.all():
        offsets: Ids = rows.offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]
    found = np.zeros(len(rows.offsets) - 1, np.int64)
    for first, places, chosen in _blocks(rows, kinds):
        sums = np.concatenate([[0], np.cumsum(chosen, dtype=np.int64)])
        found[first : first + len(places) - 1] = sums[places[1:]] - sums[places[:-1]]
    return found


def _neighbors(
    rows: RowArrays, kinds: NDArray[np.bool_], bits: Bits | None, apart: Sequence[NDArray[np.bool_]]
) -> Ids:
    """Return the number of different neighbours of each row, with a bit, in its entries of some kinds.

    Parameters
    ----------
    apart
        Kinds of entries that none of these neighbours may be in.
    """
    others = np.logical_or.reduce([np.zeros_like(kinds), *apart])
    if rows.kinds is None and bits is None:  # then each has one entry
        return _numbers(rows, kinds & ~others)
    found = np.zeros(len(rows.offsets) - 1, np.int64)
    for first, places, chosen in _blocks(rows, kinds | others):
        entries = np.flatnonzero(chosen)
        own = np.searchsorted(places, entries, side="right") - 1
        entries += int(rows.offsets[first])
        neighbors = rows.neighbors[entries]
        of = np.zeros(len(entries), np.uint8) if rows.kinds is None else rows.kinds[entries]
        if bits is not None:
            has_bit = (bits[neighbors >> 3] >> (neighbors & 7).astype(np.uint8)) & 1 == 1
            own, neighbors, of = own[has_bit], neighbors[has_bit], of[has_bit]
        new = np.ones(len(own), np.bool_)
        new[1:] = (np.diff(own) != 0) | (neighbors[1:] != neighbors[:-1])  # neighbours ascend in a row
        begins = np.flatnonzero(new)
        if len(begins) and apart:
            begins = begins[
                np.logical_or.reduceat(kinds[of], begins) & ~np.logical_or.reduceat(others[of], begins)
            ]
        found[first : first + len(places) - 1] = np.bincount(own[begins], minlength=len(places) - 1)
    return found


def _blocks(rows: RowArrays, kinds: NDArray[np.bool_]) -> Iterator[tuple[int, Ids, NDArray[np.bool_]]]:
    """Yield the first row of each block, where its rows begin and end, and which entries have some kinds."""
    offsets = rows.offsets.astype(np.int64)
    if not kinds.any():
        return
    first, size = 0, len(offsets) - 1
    while first < size:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _AT_ONCE, side="right")) - 1)
        begin, end = int(offsets[first]), int(offsets[last])
        chosen = np.ones(end - begin, np.bool_) if rows.kinds is None else kinds[rows.kinds[begin:end]]
        yield first, offsets[first : last + 1] - begin, chosen
        first = last
