"""The copies of some entries of a shard that a query edge may fall on, with the values that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.attributes import EDGE
from motiflux.cluster.shards.copies import EdgeCopies
from motiflux.cluster.shards.judging import places_of
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.ranks import Ranked, RanksOf
from motiflux.cluster.shards.rows import RowArrays
from motiflux.conditions import AllOf, AnyOf, Condition, Degree, Not
from motiflux.graph import AttributeTable, Column, Direction, Kind
from motiflux.graph.copies import ColumnKey, Form


@dataclass(frozen=True, slots=True)
class CopiesWanted:
    """The copies that a query edge may fall on.

    Parameters
    ----------
    direction, labels
        Of entries; None: any label.
    where
        A condition that each copy satisfies, as it was given.
    columns
        The compared attributes: a copy without one of them is left out.
    """

    direction: Direction
    labels: tuple[int, ...] | None
    where: Condition | None
    columns: tuple[ColumnKey, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """Pairs of a row's vertex and a neighbour, in the order of rows.

    Parameters
    ----------
    ids, lengths
        int64 [rows]: the vertices, and the number of neighbours of each.
    neighbors
        uint32 [arcs], ascending in each row.
    """

    ids: Ids
    lengths: Ids
    neighbors: NDArray[np.uint32]

    def part(self, begin: int, end: int) -> Arcs:
        """Return some of the arcs, by their places."""
        ends = np.cumsum(self.lengths)
        lengths = np.minimum(ends, end) - np.maximum(ends - self.lengths, begin)
        kept = lengths > 0
        return Arcs(self.ids[kept], lengths[kept], self.neighbors[begin:end])


@dataclass(frozen=True, slots=True, eq=False)
class FoundCopies:
    """The copies of the first ones of some arcs.

    Parameters
    ----------
    numbers
        int64: the number of copies of each of these arcs.
    columns
        For each attribute the values of the copies, as whole numbers or the bits of floats.
    """

    numbers: NDArray[np.int64]
    columns: list[NDArray[np.int64]]


def copies_at(
    wanted: CopiesWanted,
    arcs: Arcs,
    most: int,
    at_once: int,
    rows: RowArrays,
    copies: EdgeCopies,
    layout: Layout,
    ranks: RanksOf,
) -> FoundCopies:
    """Return the copies of as many of the first arcs as have at most some number; of none if one has more.

    Parameters
    ----------
    at_once
        Copies that are judged at a time.
    rows, layout
        Of the shard, with kinds that have no bits of conditions.
    """
    first, last, arc = _places(wanted, arcs, rows, copies, layout)
    numbers = np.zeros(len(arcs.neighbors), np.int64)
    values: list[list[NDArray[np.int64]]] = [[] for _ in wanted.columns]
    of_ranks = [
        ranks(Ranked.of(key, EDGE)) if _is_ranked(copies, key) else np.zeros(0, np.int64)
        for key in wanted.columns
    ]
    whole = found = 0
    for places, own in _batches(first, last, arc, at_once):
        columns = [_column(copies, key).take(places) for key in wanted.columns]
        kept = np.ones(len(places), np.bool_)
        for column in columns:
            kept &= ~column.missing()
        if wanted.where is not None:
            kept &= _holds(wanted.where, copies, places)
        for key, column, of_strings, parts in zip(wanted.columns, columns, of_ranks, values, strict=True):
            parts.append(_values(key, column, of_strings)[kept])
        numbers += np.bincount(own[kept], minlength=len(numbers))
        found += int(np.count_nonzero(kept))
        whole = int(own[-1])  # the arcs before it have all of their copies
        if found > most:
            break
    else:
        whole = len(numbers)
    fitting = int(np.searchsorted(np.cumsum(numbers), most, side="right"))
    numbers = numbers[: min(whole, fitting)]
    size = int(numbers.sum())
    return FoundCopies(numbers, [np.concatenate([np.zeros(0, np.int64), *one])[:size] for one in values])


def first_values(
    names: Sequence[str],
    rows: RowArrays,
    copies: EdgeCopies,
    ends: tuple[Ids, Ids],
    kinds: NDArray[np.uint32],
) -> list[Column]:
    """Return attributes of the first copy of each of some entries, by rows, neighbours and kinds."""
    places, of = places_of(rows, ends, kinds, 0)
    at = np.zeros(len(kinds), np.int64)
    at[of] = places
    if copies.starts is not None:
        at = np.asarray(copies.starts[at])
    return [copies.columns[name].take(at) for name in names]


def _places(
    wanted: CopiesWanted, arcs: Arcs, rows: RowArrays, copies: EdgeCopies, layout: Layout
) -> tuple[Ids, Ids, Ids]:
    """Return the first copies of the entries of arcs, those behind the last, and the arc of each entry."""
    least = arcs.neighbors.astype(np.int64)
    ids = np.repeat(arcs.ids, arcs.lengths)
    begins, ends, number = _native.slice_rows(rows.offsets, rows.neighbors, rows.first, ids, least, least + 1)
    arc = np.arange(len(begins))
    if number != len(begins) or (ends - begins != 1).any():
        lengths = ends - begins
        arc = np.repeat(arc, lengths)
        begins = np.arange(len(arc)) + np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    allowed = layout.kinds_of(wanted.direction, wanted.labels)
    if rows.kinds is not None and not allowed.all():
        kept = allowed[rows.kinds[begins]]
        begins, arc = begins[kept], arc[kept]
    if copies.starts is None:
        return begins, begins + 1, arc
    return np.asarray(copies.starts[begins]), np.asarray(copies.starts[begins + 1]), arc


def _batches(first: Ids, last: Ids, arc: Ids, most: int) -> Iterator[tuple[Ids, Ids]]:
    """Yield the places of copies, of at most some number at a time, and the arc of each."""
    pieces = -(-(last - first) // most)
    if (pieces != 1).any():  # an entry has copies
        of = np.repeat(np.arange(len(first)), pieces)
        within = np.arange(len(of)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        begins = first[of] + within * most
        first, last, arc = begins, np.minimum(begins + most, last[of]), arc[of]
    lengths = last - first
    before = np.concatenate([[0], np.cumsum(lengths)])
    at = 0
    while at < len(first):
        end = max(at + 1, int(np.searchsorted(before, before[at] + most, side="right")) - 1)
        own = lengths[at:end]
        starts = first[at:end] - (before[at:end] - before[at])
        yield np.arange(int(own.sum())) + np.repeat(starts, own), np.repeat(arc[at:end], own)
        at = end


def _column(copies: EdgeCopies, key: ColumnKey) -> Column:
    return copies.columns[str(key.attribute)]


def _is_ranked(copies: EdgeCopies, key: ColumnKey) -> bool:
    return key.form is Form.RANK and _column(copies, key).strings is not None


def _values(key: ColumnKey, column: Column, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return values as they are compared; those that are missing are anything."""
    if column.kind is Kind.NOTHING:
        return np.zeros(len(column), np.int64)
    if key.form is Form.RANK and column.strings is not None:
        return ranks[column.data.astype(np.int64)]
    if key.form is Form.FLOAT:
        return column.data.astype(np.float64).view(np.int64)
    return column.data.astype(np.int64)


def _holds(condition: Condition, copies: EdgeCopies, places: Ids) -> NDArray[np.bool_]:
    names = set(_attributes_of(condition))
    table = AttributeTable(EDGE, {name: copies.columns[name].take(places) for name in names})
    return table.holds(condition, len(places))


def _attributes_of(condition: Condition) -> Iterator[str]:
    match condition:
        case Not(inner):
            yield from _attributes_of(inner)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _attributes_of(part)
        case Degree():
            return
        case _:
            yield condition.attribute


AskCopies = Callable[[CopiesWanted, Arcs, int, int], Callable[[], FoundCopies]]
"""Asks a shard for copies; see `copies_at`. Returns a function that waits for them."""


def split(arcs: Arcs, layout: Layout) -> Iterator[tuple[int, Arcs]]:
    """Yield the arcs of each shard of a layout that has some, in their order."""
    before = np.concatenate([[0], np.cumsum(arcs.lengths)])
    ends = np.searchsorted(arcs.ids, layout.starts)
    for shard, (begin, end) in enumerate(pairwise(ends.tolist())):
        if begin < end:
            neighbors = arcs.neighbors[before[begin] : before[end]]
            yield shard, Arcs(arcs.ids[begin:end], arcs.lengths[begin:end], neighbors)
