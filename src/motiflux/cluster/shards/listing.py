"""Rows of a sharded graph, in its ids: the same ones for a share, whatever worker lists it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cluster.shards.ids import VertexIds, VertexNumbers
from motiflux.cluster.shards.part import Part
from motiflux.cluster.shards.search import MakeSearch, RangeSearch
from motiflux.cluster.shares import Item, Share, roots
from motiflux.cluster.tasks import Bounds
from motiflux.errors import InternalError
from motiflux.plan import Plan
from motiflux.result.images import ImageBlock, Images
from motiflux.types import VertexArray

BYTES_OF_VERTEX = 20
"""Bytes that a vertex of a part takes while its id is looked up."""
_BLOCK = 1 << 16
_LISTED = 1 << 17
"""A range of more rows is halved before some of them are picked."""
_STEPS_OF_ENTRY = 8
"""A part may take this number of steps of the search for each entry that it was made of."""

IdRows = NDArray[np.int64]
RowsOf = Callable[[Part, int], VertexArray | None]
"""Lists at most some number of rows of a part otherwise, always in the same order; None if it cannot.

It raises `TooManyRowsError` if there are more.
"""
Places = NDArray[np.int64]


class TooManyRowsError(Exception):
    """The rows of a range are too many for one task."""


class _EnoughError(Exception):
    """A task has its number of rows, and its root arc has more."""


@dataclass(slots=True)
class _Found:
    """Rows of a range so far.

    Parameters
    ----------
    skip
        Rows to leave out, which another task has.
    most, work
        Number of rows, and of steps of the search in a part, above which there are too many.
    alone
        Whether the range is one root arc, which cannot be divided.
    number
        Rows so far, without their images, with those that are left out.
    """

    skip: int
    most: int
    work: int
    alone: bool
    number: int = 0
    blocks: list[IdRows] = field(default_factory=list)


@dataclass(slots=True)
class _Picking:
    """Rows at ascending places of a range, so far; their images are not among them.

    Parameters
    ----------
    number, picked
        Rows that were looked at, and places that were reached.
    """

    places: Places
    number: int = 0
    picked: int = 0
    rows: list[IdRows] = field(default_factory=list)


class RowLister:
    """Lists the rows of shares.

    A task lists range after range of its entries, from the first on, each of about as many as fill a part
    with their roots. It ends once it has `Bounds.rows` rows or has read `Bounds.work` entries; a range that
    has too many rows is halved. All of this depends on the share and on the memory only. The last number of
    an item of one root arc, if it has one, is the number of its rows that other tasks have.

    Attributes
    ----------
    rows_of
        Lists parts of several root arcs in place of their native search; None for no such way.
    """

    rows_of: RowsOf | None = None

    def __init__(self, search: RangeSearch, ids: VertexIds | VertexNumbers, plan: Plan) -> None:
        self.search, self._ids = search, ids
        self.order, self._images = plan.order, Images(plan)

    def rows(self, share: Share, bounds: Bounds) -> tuple[list[IdRows], Share, int]:
        """Return rows of a share, the share that is left, and the number of the rows without images."""
        assert bounds.rows is not None
        assert bounds.work is not None
        gathering = self.search.gathering
        blocks: list[IdRows] = []
        number, read, left = 0, gathering.read, list(share)
        size = most = self.search.entries_of_part
        while left:
            found, rest, size = self._list_first(left[0], bounds.rows, bounds.work, size)
            size = min(2 * size, most)
            blocks += found.blocks
            number += found.number - found.skip
            left = [*rest, *left[1:]]
            if number >= bounds.rows or gathering.read - read >= bounds.work:
                break
        return blocks, left, number

    def picked(self, first: int, last: int, rows: int, places: Places) -> IdRows:
        """Return the rows at ascending places among those of a range of entries, without their images.

        A range of many rows is halved, and its first half counted: only halves with places are listed.

        Parameters
        ----------
        rows
            The number of rows of the range.
        """
        found: list[IdRows] = []
        waiting = [(first, last, rows, places)]
        while waiting:
            begin, end, number, wanted = waiting.pop()
            if number <= _LISTED or end - begin == 1:
                found.append(self._picked_here(begin, end, wanted))
                continue
            middle = (begin + end) // 2
            counted = self.search.each(begin, middle, None, None, self.search.counted).total
            halves = np.split(wanted, [int(np.searchsorted(wanted, counted))])
            sides = [
                (begin, middle, counted, halves[0]),
                (middle, end, number - counted, halves[1] - counted),
            ]
            waiting += [side for side in sides[::-1] if len(side[3])]
        return np.concatenate(found)

    def _picked_here(self, first: int, last: int, places: Places) -> IdRows:
        picking = _Picking(places)
        with suppress(_EnoughError):
            self.search.whole(first, last, partial(self._pick_part, picking))
        if picking.picked < len(places):
            raise InternalError(f"expected more than {int(places[-1])} rows, found {picking.number}")
        return np.concatenate(picking.rows)

    def _pick_part(self, picking: _Picking, part: Part, search: MakeSearch, item: Item) -> int:
        places = picking.places[picking.picked :] - picking.number
        portion = ([item], None, None, None)
        chosen, seen = _native.pick_rows(search(), self.order, portion, places.tolist())
        picking.picked += len(chosen)
        picking.number += seen
        distinct, back = np.unique(chosen, return_inverse=True)
        ids = self._ids.of(self.search.gathering.vertices()[distinct])
        picking.rows.append(ids[back.reshape(chosen.shape)])
        if picking.picked == len(picking.places):
            raise _EnoughError
        return 0

    def _list_first(self, item: Item, most: int, work: int, size: int) -> tuple[_Found, Share, int]:
        """Return the rows of the first entries of an item, its rest, and the number of these entries."""
        _, first, last, *_, given = item
        size = min(size, last - first)
        while True:
            end = first + size
            found = _Found(sum(given), most, work, alone=size == 1)
            rest: Share = [roots(end, last)] if end < last else []
            try:
                self.search.whole(first, end, partial(self._list_part, found))
            except TooManyRowsError:
                size //= 2
            except _EnoughError:
                return found, [(*roots(first, end)[:6], [found.number]), *rest], size
            else:
                return found, rest, size

    def _list_part(self, found: _Found, part: Part, search: MakeSearch, item: Item) -> int:
        if found.number - found.skip >= found.most:  # those of parts before
            raise _EnoughError if found.alone else TooManyRowsError
        listed = None
        if self.rows_of is not None and not found.alone:
            listed = self.rows_of(part, found.most - found.number)
        if listed is None:
            return self._list_natively(found, part, search(), item)
        found.number += len(listed)
        found.blocks += self._external(part, [listed])
        return 0

    def _list_natively(self, found: _Found, part: Part, search: _native.NativePlan, item: Item) -> int:
        bounds = self._bounds(found)
        rows = _native.Rows(search, self.order, 1, _BLOCK, None, None, None, ([item], None, *bounds))
        blocks: list[VertexArray] = []
        try:
            while (block := rows.next(None)) is not None:
                found.number += len(block)
                new = found.number - found.skip
                if new > 0:
                    blocks.append(block[max(0, len(block) - new) :])
            left = rows.left()
        finally:
            rows.close()
        if left and not found.alone:
            raise TooManyRowsError
        found.blocks += self._external(part, blocks)
        if left:
            raise _EnoughError
        return 0

    def _bounds(self, found: _Found) -> tuple[int | None, int]:
        """Return the steps and rows after which the search of a part ends."""
        rows = max(1, found.skip + found.most - found.number)
        if found.alone:
            return None, rows
        return max(found.work, _STEPS_OF_ENTRY * self.search.gathering.read_for_part), rows

    def _external(self, part: Part, blocks: Sequence[VertexArray]) -> list[IdRows]:
        """Return all images of rows, in ids of the graph."""
        if not blocks:
            return []
        used = np.zeros(part.vertices, np.bool_)
        for block in blocks:
            used[block] = True
        ids = np.zeros(part.vertices, np.int64)
        ids[used] = self._ids.of(self.search.gathering.vertices()[used])
        found: list[IdRows] = []
        for block in blocks:
            images: Any = self._images.of(block)
            if isinstance(images, ImageBlock):
                found.append(images.numbered(ids, 1).view(np.int64))
            else:
                found.append(ids[images])
        return found
