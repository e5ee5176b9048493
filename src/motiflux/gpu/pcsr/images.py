"""The rows of a partition in one piece of memory: of a device, or on the way there.

    offsets | neighbors | firsts | rows_before          by intervals
    words | neighbors                                   by a hash table

Wide offsets are at the beginning, where memory is aligned. An image takes the `nbytes` of the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen import pcsr as layout
from motiflux.gpu.pcsr.formats import HashPartition, IntervalPartition

_FEW = 1 << 16
"""Words that one thread copies."""


def arrays_of(part: IntervalPartition | HashPartition) -> tuple[NDArray[Any], ...]:
    """Return the arrays in the order in which an image has them."""
    if isinstance(part, HashPartition):
        return part.words, part.neighbors
    return part.offsets, part.neighbors, part.firsts, part.rows_before


def read_image(
    arrays: Sequence[NDArray[Any]], first: int, into: NDArray[np.uint32], threads: int = 1
) -> None:
    """Fill `into` with consecutive arrays, seen as words of 4 bytes, from word `first` on."""
    begin = 0
    for words in (array.view(np.uint32) for array in arrays):
        start, end = max(first, begin), min(first + len(into), begin + len(words))
        if start < end:
            _copy(words[start - begin : end - begin], into[start - first : end - first], threads)
        begin += len(words)


def _copy(words: NDArray[np.uint32], into: NDArray[np.uint32], threads: int) -> None:
    if len(words) < _FEW:
        into[:] = words
        return
    one_row = np.array([0, len(words)], np.uint64)
    _native.pack_row_ends(one_row, words, one_row, 0, into, threads)


def rows_at(
    part: IntervalPartition | HashPartition, address: int, renamed: int
) -> layout.IntervalRows | layout.HashRows:
    """Return rows whose image is at an address as kernels see them.

    Parameters
    ----------
    renamed
        Address of the ids of all vertices; 0: vertices are asked for by the ids of the rows.
    """
    if isinstance(part, HashPartition):
        return layout.HashRows(address, address + part.words.nbytes, part.groups, 0)
    neighbors = address + part.offsets.nbytes
    firsts = neighbors + part.neighbors.nbytes
    wide = part.offsets.dtype == np.uint64
    return layout.IntervalRows(
        renamed,
        firsts,
        firsts + part.firsts.nbytes,
        0 if wide else address,
        address if wide else 0,
        neighbors,
        len(part.firsts),
        0,
    )
