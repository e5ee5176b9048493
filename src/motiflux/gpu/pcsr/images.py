"""The rows of a partition in one piece of memory: of a device, or on the way there.

    offsets | neighbors | firsts | rows_before

Wide offsets are at the beginning, where memory is aligned. An image takes `IntervalPartition.nbytes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import pcsr as layout
from motiflux.gpu.pcsr.formats import IntervalPartition


def arrays_of(part: IntervalPartition) -> tuple[NDArray[Any], ...]:
    """Return the arrays in the order in which an image has them."""
    return part.offsets, part.neighbors, part.firsts, part.rows_before


def read_image(arrays: Sequence[NDArray[Any]], first: int, into: NDArray[np.uint8]) -> None:
    """Fill `into` with the bytes of consecutive arrays from byte `first` on."""
    begin = 0
    for array in arrays:
        start, end = max(first, begin), min(first + len(into), begin + array.nbytes)
        if start < end:
            into[start - first : end - first] = array.view(np.uint8)[start - begin : end - begin]
        begin += array.nbytes


def rows_at(part: IntervalPartition, address: int, renamed: int) -> layout.IntervalRows:
    """Return rows whose image is at an address as kernels see them.

    Parameters
    ----------
    renamed
        Address of the ids of all vertices; 0: vertices are asked for by the ids of the rows.
    """
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
