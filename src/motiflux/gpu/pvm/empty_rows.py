"""Empty rows between the rows of a table, so that it has fewer intervals of ids.

    rows of ids          3 _ 5 _ _ 8 9      firsts 3 5 8
    with empty rows      3 4 5 6 7 8 9      firsts 3

Vertices without arcs that satisfy a condition are spread over all ids. An interval takes 8 bytes, and is in
shared memory only if there are few; an empty row takes 4 bytes, and is found like the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.gpu.pcsr.formats import IntervalPartition
from motiflux.types import OffsetArray


def fill_gaps(rows: IntervalPartition, has_row: NDArray[np.bool_]) -> IntervalPartition:
    """Return a table with a row for each id that `has_row`, [n], if that takes no more bytes.

    Ids that have rows in the table must be among them.
    """
    ids = np.flatnonzero(has_row)
    starts = np.flatnonzero(np.diff(ids, prepend=-2) > 1)
    width = rows.offsets.itemsize
    if 8 * len(starts) + width * len(ids) > 8 * len(rows.firsts) + width * rows.rows:
        return rows
    offsets: NDArray[np.uint32] | OffsetArray = np.zeros(len(ids) + 1, rows.offsets.dtype)
    offsets[np.searchsorted(ids, rows.ids()) + 1] = np.diff(rows.offsets)
    np.cumsum(offsets, out=offsets)
    return IntervalPartition(
        ids[starts].astype(np.uint32),
        np.append(starts, len(ids)).astype(np.uint32),
        offsets,
        rows.neighbors,
    )
