"""A table of rows in ranges of rows, each of which takes a bounded number of bytes.

    rows   0 1 2 | 3 | 4 5 6 7        row 3 alone takes more bytes than a range should

Offsets of each range begin at 0; neighbours are parts of those of the table, not copies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.pcsr.formats import HashPartition, IntervalPartition

_MOST_NARROW = 2**32 - 1
"""Most arcs of a range whose offsets have 32 bits."""


class RowRanges:
    """The ranges of a table, each made when it is first asked for, and kept.

    Parameters
    ----------
    rows
        The table.
    ends
        The first row of each range, and the number of all rows.
    """

    def __init__(self, rows: IntervalPartition, ends: Sequence[int]) -> None:
        self._rows, self._ends = rows, ends
        self._made: dict[int, IntervalPartition] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> IntervalPartition:
        if not 0 <= number < len(self):
            raise IndexError(number)
        if len(self) == 1:
            return self._rows
        if (found := self._made.get(number)) is None:
            found = self._made[number] = take_range(self._rows, self._ends[number], self._ends[number + 1])
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of all ranges beside the table: those of their offsets."""
        return self._rows.offsets.nbytes

    def __iter__(self) -> Iterator[IntervalPartition]:
        return (self[number] for number in range(len(self)))

    def least_ids(self) -> NDArray[np.uint32]:
        """Return the least id of each range, uint32 [ranges]; 0 for the first.

        The ids of a range end before the least one of the next, whether or not they have rows.
        """
        found = np.zeros(len(self), np.uint32)
        for number in range(1, len(self)):
            first = self._ends[number]
            interval = _interval_of(self._rows, first)
            found[number] = self._rows.firsts[interval] + np.uint32(
                first - int(self._rows.rows_before[interval])
            )
        return found

    def nbytes_of(self, number: int) -> int:
        """Return the most bytes that a range takes, without making it."""
        if len(self) == 1:
            return self._rows.nbytes
        return _bytes_of(self._rows, self._ends[number], self._ends[number + 1])


class WholeTable:
    """A table that is not divided, as its only range."""

    def __init__(self, rows: HashPartition) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> HashPartition:
        if number != 0:
            raise IndexError(number)
        return self._rows

    def __iter__(self) -> Iterator[HashPartition]:
        return iter((self._rows,))

    @property
    def nbytes(self) -> int:
        """Bytes beside the table: none."""
        return 0

    def least_ids(self) -> NDArray[np.uint32]:
        """Return the least id of the only range."""
        return np.zeros(1, np.uint32)

    def nbytes_of(self, number: int) -> int:
        """Return the bytes that it takes."""
        return self[number].nbytes


def split_rows(rows: IntervalPartition, most_bytes: int) -> RowRanges:
    """Return ranges of at most `most_bytes`; a row that takes more is a range of its own.

    Takes time logarithmic in the number of rows, for each range.
    """
    if rows.nbytes <= most_bytes or rows.rows == 0:
        return RowRanges(rows, (0, rows.rows))
    ends = [0]
    while (first := ends[-1]) < rows.rows:
        possible = range(first + 1, rows.rows + 1)
        fitting = bisect_right(possible, most_bytes, key=lambda end: _bytes_of(rows, first, end))
        ends.append(first + max(1, fitting))
    return RowRanges(rows, ends)


def take_range(rows: IntervalPartition, first: int, end: int) -> IntervalPartition:
    """Return the rows from `first` to `end`, exclusive: at least one."""
    interval, last = _interval_of(rows, first), _interval_of(rows, end - 1)
    firsts = rows.firsts[interval : last + 1].copy()
    firsts[0] += np.uint32(first - int(rows.rows_before[interval]))
    rows_before = rows.rows_before[interval : last + 2].astype(np.int64) - first
    rows_before[0], rows_before[-1] = 0, end - first
    begin, behind = int(rows.offsets[first]), int(rows.offsets[end])
    offsets = rows.offsets[first : end + 1] - rows.offsets[first]
    if behind - begin <= _MOST_NARROW:
        offsets = offsets.astype(np.uint32, copy=False)
    return IntervalPartition(firsts, rows_before.astype(np.uint32), offsets, rows.neighbors[begin:behind])


def _bytes_of(rows: IntervalPartition, first: int, end: int) -> int:
    """Return the bytes of rows from `first` to `end`, if their offsets are as wide as those of the table."""
    intervals = _interval_of(rows, end - 1) - _interval_of(rows, first) + 1
    arcs = int(rows.offsets[end]) - int(rows.offsets[first])
    return 4 * (2 * intervals + 1) + rows.offsets.itemsize * (end - first + 1) + 4 * arcs


def _interval_of(rows: IntervalPartition, row: int) -> int:
    return int(np.searchsorted(rows.rows_before, row, side="right")) - 1
