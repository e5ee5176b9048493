"""Sources of the rows of queries: one pattern after the other, and parts beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.result.images import Block, written
from motiflux.result.queries.columns import MISSING
from motiflux.result.rows import OutOfTimeError, RowSource
from motiflux.types import VERTEX_DTYPE, VertexArray

Filter = Callable[[VertexArray], VertexArray]
"""Returns a block made of the rows of another one, such as those that belong to the result."""

_MOST_PAIRS = 1 << 16
"""Rows of two parts that are put beside each other at once."""


class ChangedRows:
    """The rows of a source, of which each block is changed.

    Parameters
    ----------
    source
        The rows.
    changed
        Makes a block of a block, which may have fewer rows, and other columns.
    """

    def __init__(self, source: RowSource, changed: Filter) -> None:
        self._source = source
        self._changed = changed

    def next(self) -> VertexArray | None:
        """Return the next block, which may be empty, or None at the end."""
        found = self._source.next()
        return None if found is None else self._changed(written(found))

    def close(self) -> None:
        """Stop the search."""
        self._source.close()

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""
        return self._source.complete


def of_case(
    number: int, width: int, filters: Sequence[Filter], rows: NDArray[Any], dtype: Any = VERTEX_DTYPE
) -> NDArray[Any]:
    """Return rows of a case under its number, without those that a filter drops.

    Parameters
    ----------
    width
        The columns of the result.
    filters
        Take blocks of this width.
    dtype
        The type of the result.
    """
    block = widened(range(1, 1 + rows.shape[1]), width, rows, dtype)
    block[:, 0] = number
    for keep in filters:
        block = block[:0] if not len(block) else keep(block)
    return block


def widened(there: Sequence[int], width: int, rows: NDArray[Any], dtype: Any = VERTEX_DTYPE) -> NDArray[Any]:
    """Return rows of some columns in the place of these; the others have no vertex."""
    block: NDArray[Any] = np.full((len(rows), width), MISSING, dtype)
    block[:, list(there)] = rows
    return block


def come_first(images: Sequence[tuple[int, ...]], rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows come first, in the order of words, among their images.

    Parameters
    ----------
    images
        For each, the column that each of its columns has the values of.
    """
    least = np.ones(len(rows), dtype=bool)
    for image in images:
        other = rows[:, image]
        differs = other != rows
        first, every = differs.argmax(axis=1), np.arange(len(rows))
        least &= ~differs.any(axis=1) | (rows[every, first] < other[every, first])
    return least


class RowsInTurn:
    """The rows of several cases, each begun when the one before has ended.

    Parameters
    ----------
    begin
        Functions that begin the search of a case for at most so many rows; None: all.
    limit
        Maximum number of rows.
    """

    def __init__(self, begin: Sequence[Callable[[int | None], RowSource]], limit: int | None) -> None:
        self._begin = list(begin)
        self._left = limit
        self._running: RowSource | None = None
        self._complete = True
        self._closed = False

    def next(self) -> Block | None:
        """Return the next block, or None at the end."""
        while not self._closed:
            if self._running is None:
                if not self._begin:
                    return None
                # With nothing left, one row more would show that the result is cut.
                wanted = None if self._left is None else max(1, self._left)
                self._running = self._begin.pop(0)(wanted)
            try:
                block = self._running.next()
            except OutOfTimeError:
                self._complete = False
                self._stop()
                return None
            if block is None:
                self._complete = self._complete and self._running.complete
                self._running = None
                if not self._complete:
                    self._stop()
                continue
            if self._left is not None and len(block) > self._left:
                block = block[: self._left]
                self._complete = False
                self._stop()
            if self._left is not None:
                self._left -= len(block)
            if len(block):
                return block
        return None

    def close(self) -> None:
        """Stop the search; blocks not taken are dropped."""
        if self._begin or self._running is not None:
            self._complete = False
        self._stop()

    def _stop(self) -> None:
        self._closed = True
        self._begin = []
        if self._running is not None:
            self._running.close()
            self._running = None

    @property
    def complete(self) -> bool:
        """Whether all rows were given."""
        return self._complete


class BesideRows:
    """The rows of several parts beside each other: every choice of a row of each.

    Parameters
    ----------
    source
        The rows of the first part.
    others
        All rows of each of the others.
    check
        Raises `OutOfTimeError` if time is up.
    """

    def __init__(self, source: RowSource, others: Sequence[NDArray[Any]], check: Callable[[], None]) -> None:
        self._source = source
        self._others = others
        self._check = check
        self._pending: list[VertexArray] = []
        self._kept: VertexArray | None = None
        self._next_other = 0

    def next(self) -> VertexArray | None:
        """Return the next block, or None at the end.

        Raises
        ------
        OutOfTimeError
            Time is up.
        """
        if any(not len(rows) for rows in self._others):
            self._source.close()
            return None
        while self._kept is None:
            found = self._source.next()
            if found is None:
                return None
            if len(found):
                self._kept, self._next_other = written(found), 0
        self._check()
        total = int(np.prod([len(rows) for rows in self._others], dtype=object))
        first = self._next_other
        last = min(total, first + max(1, _MOST_PAIRS // len(self._kept)))
        self._next_other = last
        kept = self._kept
        if last == total:
            self._kept = None
        return self._beside(kept, np.arange(first, last, dtype=np.int64))

    def _beside(
        self, rows: VertexArray, chosen: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    ) -> VertexArray:
        """Return each of the rows beside each choice of rows of the others, by its number."""
        parts = [np.repeat(rows, len(chosen), axis=0)]
        for other in self._others:
            chosen, at = np.divmod(chosen, len(other))
            parts.append(np.tile(other[at], (len(rows), 1)))
        return np.concatenate(parts, axis=1)

    def close(self) -> None:
        """Stop the search."""
        self._source.close()
        self._kept = None

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""
        return self._source.complete or any(not len(rows) for rows in self._others)


def all_rows(source: RowSource, most: int) -> tuple[VertexArray | None, bool]:
    """Return all rows of a source, and whether nothing was cut; no rows if there are more than `most`."""
    blocks: list[VertexArray] = []
    number = 0
    while (block := source.next()) is not None:
        blocks.append(written(block).copy())
        number += len(block)
        if number > most:
            source.close()
            return None, False
    return np.concatenate(blocks) if blocks else np.empty((0, 0), VERTEX_DTYPE), source.complete
