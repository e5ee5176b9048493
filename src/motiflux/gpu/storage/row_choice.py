"""The choice of the rows of the host that are copied to a device: the best ones that there is room for.

Rows are not sorted. The value of a row is a number of bins on a logarithmic scale, the bytes in each bin are
added up, and the bins with the highest values are taken; of the first bin that does not fit, the rows of the
greatest vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from motiflux.request.deadline import Deadline
from motiflux.types import OffsetArray

Values = Callable[[int, int], NDArray[np.float64]]
"""Returns the values of the rows of the vertices of a range, [end - first]; at least 0."""

_PIECE = 1 << 21
"""Vertices between two checks of the deadline: some tens of milliseconds."""
_BINS_OF_OCTAVE = 64
_NEVER = -(1 << 15)
"""The bin of empty rows and rows without value."""


def choose(
    kinds: Sequence[tuple[OffsetArray, Values]], room: int, deadline: Deadline
) -> list[NDArray[np.bool_]]:
    """Return, for each kind of rows, which ones are copied.

    Parameters
    ----------
    kinds
        Offsets of rows, and their values.
    room
        Bytes that there is room for.

    Raises
    ------
    OutOfTimeError
        Time was up before the rows were chosen.
    """
    bins = [_bins_of(offsets, values, deadline) for offsets, values in kinds]
    held = np.zeros(1 << 16)
    for (offsets, _), of_kind in zip(kinds, bins, strict=True):
        for first, end in pieces(len(of_kind), deadline):
            nbytes = 4.0 * np.diff(offsets[first : end + 1])
            held += np.bincount(of_kind[first:end].astype(np.int32) - _NEVER, nbytes, len(held))
    held[0] = 0
    taken = np.cumsum(held[::-1])
    fitting = int(np.searchsorted(taken, room, "right"))  # bins, from the last one
    least = len(held) - fitting + _NEVER
    chosen = [(of_kind >= least) & (of_kind > _NEVER) for of_kind in bins]
    left = room - int(taken[fitting - 1] if fitting else 0)
    for (offsets, _), of_kind, which in zip(kinds, bins, chosen, strict=True):
        deadline.check()
        if least - 1 > _NEVER:
            left = _take_last(np.flatnonzero(of_kind == least - 1), offsets, which, left)
    return chosen


def _take_last(vertices: NDArray[np.intp], offsets: OffsetArray, chosen: NDArray[np.bool_], room: int) -> int:
    """Choose the rows of the last of these vertices that fit; return the bytes that are left."""
    lengths = offsets[vertices + 1] - offsets[vertices]
    taken = np.cumsum(4 * lengths[::-1])
    fitting = int(np.searchsorted(taken, room, "right"))
    if fitting:
        chosen[vertices[-fitting:]] = True
        room -= int(taken[fitting - 1])
    return room


def _bins_of(offsets: OffsetArray, values: Values, deadline: Deadline) -> NDArray[np.int16]:
    bins = np.full(len(offsets) - 1, _NEVER, np.int16)
    for first, end in pieces(len(bins), deadline):
        value = values(first, end)
        some = np.flatnonzero((np.diff(offsets[first : end + 1]) > 0) & (value > 0))
        scaled = np.rint(_BINS_OF_OCTAVE * np.log2(value[some]))
        bins[first + some] = np.clip(scaled, _NEVER + 1, -_NEVER - 1).astype(np.int16)
    return bins


def pieces(vertices: int, deadline: Deadline) -> Iterator[tuple[int, int]]:
    """Yield ranges of vertices, and check the deadline before each one."""
    for first in range(0, vertices, _PIECE):
        deadline.check()
        yield first, min(vertices, first + _PIECE)
