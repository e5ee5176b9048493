"""Empty rows between the rows of a table, so that it has fewer intervals of ids.

    rows of ids          3 _ 5 _ _ 8 _ _ _ _ _ 14      firsts 3 5 8 14
    with empty rows      3 4 5 6 7 8 _ _ _ _ _ 14      firsts 3 14

An interval takes 8 bytes, an empty row as many as an offset. If the intervals are few, all of them are in
shared memory, and the place of a row is found without a load from device memory. Renaming makes them few in
most partitions; they are many where edges have a condition, and in directed graphs with many edge labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from motiflux.gpu.pcsr.formats import IntervalPartition

FEW = 4095
"""Intervals that are in 32 KiB of shared memory."""
_MOST_GROWTH = 0.25
"""Share of a table's bytes that empty rows may add if few intervals are left."""
_INTERVAL_BYTES = 8


def fill_gaps(rows: IntervalPartition, few: int = FEW) -> IntervalPartition:
    """Return the table with empty rows in its shortest gaps.

    As many gaps are filled as take no bytes on balance; more if at most `few` intervals are left then, at
    least one, and the table does not grow much.
    """
    before = rows.rows_before.astype(np.int64)
    gaps = rows.firsts[1:].astype(np.int64) - (rows.firsts[:-1] + np.diff(before)[:-1])
    order = np.argsort(gaps, kind="stable")
    growth = np.cumsum(gaps[order] * rows.offsets.itemsize - _INTERVAL_BYTES)
    filled = int(np.count_nonzero(np.minimum.accumulate(growth[::-1])[::-1] <= 0))
    wanted = len(rows.firsts) - few
    if filled < wanted and growth[wanted - 1] <= _MOST_GROWTH * rows.nbytes:
        filled = wanted
    if filled == 0:
        return rows
    added = np.zeros(len(rows.firsts) + 1, np.int64)  # empty rows before each interval
    added[1 + order[:filled]] = gaps[order[:filled]]
    starts = added[:-1] == 0
    copies = np.ones(rows.rows + 1, np.int64)
    copies[before] += added
    offsets: Any = np.repeat(rows.offsets, copies)
    rows_before = before + np.cumsum(added)
    kept = np.append(rows_before[:-1][starts], rows_before[-1]).astype(np.uint32)
    return IntervalPartition(rows.firsts[starts], kept, offsets, rows.neighbors)
