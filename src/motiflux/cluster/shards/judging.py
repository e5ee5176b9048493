"""Conditions on edges of a sharded graph: servers judge the copies of their entries, once for a call.

The kind of an entry then tells which conditions a copy of it satisfies, beside label and direction: the last
bits of a kind are those of conditions. So what chooses entries by kind chooses them by conditions, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.copies import EdgeCopies
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.cluster.shards.rows import RowArrays, Slices
from motiflux.cluster.shards.scratch import mapped
from motiflux.conditions import Condition
from motiflux.errors import OutputError
from motiflux.graph import AttributeTable, Column
from motiflux.io.binary.sections import SectionFile, write_sections

MOST_CONDITIONS = 8
"""Different conditions on edges of one pattern: each doubles the number of kinds."""
MOST_KINDS = 1 << 20
"""Kinds of entries, of which plans have tables."""
_AT_ONCE = 1 << 20
"""Entries whose copies are judged at a time."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Judged:
    """Conditions that servers have judged.

    Parameters
    ----------
    folder
        Has the kinds of the entries of each shard.
    conditions
        In the order of their bits.
    """

    folder: str
    conditions: tuple[Condition, ...]

    def layout(self, layout: Layout) -> Layout:
        """Return the layout of rows whose kinds have these bits."""
        return replace(layout, judged=self.conditions)

    def rows(self, rows: RowArrays, layout: Layout, number: int) -> RowArrays:
        """Return the rows of a shard with the kinds that have these bits, mapped."""
        kind = self.layout(layout).kind_type
        assert kind is not None  # as there are conditions
        file = SectionFile(_path(self.folder, number))
        return replace(rows, kinds=file.array("kinds", kind.str, (len(rows.neighbors),)))


def judge(judged: Judged, rows: RowArrays, copies: EdgeCopies, layout: Layout, number: int) -> None:
    """Write the kinds of the entries of a shard, with a bit for each condition, piece by piece.

    Raises
    ------
    OutputError
        They cannot be written.
    """
    entries, path = len(rows.neighbors), _path(judged.folder, number)
    kind = judged.layout(layout).kind_type
    assert kind is not None  # as there are conditions
    with ExitStack() as opened:
        try:
            file = opened.enter_context(TemporaryFile(dir=judged.folder))
            for begin in range(0, entries, _AT_ONCE):
                end = min(entries, begin + _AT_ONCE)
                file.write(_kinds(judged, rows, copies, begin, end).astype(kind).data)
            kinds = mapped(file, kind)
        except OSError as error:
            raise OutputError(f"{path}: {error}") from error
        write_sections(path, {}, {"kinds": kinds})


def _kinds(judged: Judged, rows: RowArrays, copies: EdgeCopies, begin: int, end: int) -> NDArray[np.uint32]:
    """Return the kinds of some entries, with a bit for each condition."""
    kinds = np.zeros(end - begin, np.uint32)
    if rows.kinds is not None:
        kinds[:] = rows.kinds[begin:end]
        kinds <<= np.uint32(len(judged.conditions))
    first, last, starts = begin, end, None
    if copies.starts is not None:
        first, last = int(copies.starts[begin]), int(copies.starts[end])
        starts = copies.starts[begin:end] - first
    table = AttributeTable("edge", {name: _part(one, first, last) for name, one in copies.columns.items()})
    for bit, condition in enumerate(judged.conditions):
        holds = table.holds(condition, last - first)
        if starts is not None:
            holds = np.logical_or.reduceat(holds, starts)
        kinds |= holds.astype(np.uint32) << np.uint32(bit)
    return kinds


def bits_at(
    judged: Judged, rows: RowArrays, layout: Layout, ends: tuple[Ids, Ids], kinds: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """Return the bits of some entries, by their rows, neighbours and kinds without bits."""
    number = len(judged.conditions)
    places, at = places_of(rows, ends, kinds, number)
    bits = np.zeros(len(kinds), np.uint32)
    if rows.kinds is not None:  # as there are conditions
        bits[at] = rows.kinds[places].astype(np.uint32) & np.uint32((1 << number) - 1)
    return bits


def places_of(
    rows: RowArrays, ends: tuple[Ids, Ids], kinds: NDArray[np.uint32], bits: int
) -> tuple[Ids, Ids]:
    """Return the places of some entries in their shard, and which of those asked for each is.

    Parameters
    ----------
    ends
        Their rows and neighbours.
    kinds
        Their kinds without the bits of conditions, which kinds of the shard have in some number.
    """
    sources, targets = ends
    piece = rows.take(sources, Slices(targets, targets + 1))
    lengths = piece.lengths
    at = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(at)) + (piece.begins - (np.cumsum(lengths) - lengths))[at]
    if piece.kinds is None:
        return places, at
    same = (piece.kinds[places].astype(np.uint32) >> np.uint32(bits)) == kinds[at]
    return places[same], at[same]


def _part(column: Column, first: int, last: int) -> Column:
    mask = None if column.mask is None else column.mask[first:last]
    return Column(column.data[first:last], mask, column.strings, column.times)


def _path(folder: str, number: int) -> Path:
    return Path(folder, f"kinds-{number:05}")


def sketch_columns(bits: NDArray[Any], names: Sequence[str]) -> dict[str, Column]:
    """Return a boolean attribute for each condition."""
    return {name: Column(((bits >> np.uint32(at)) & 1).astype(np.bool_)) for at, name in enumerate(names)}
