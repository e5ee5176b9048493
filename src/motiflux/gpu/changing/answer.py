"""What an engine answers to the native monitor: totals of roots or sums of plans, and rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.gpu.changing.plans import PlanTable

_PLAN, _FIRST, _SECOND = range(3)
"""Columns of the roots of a run."""
_SIGNS = 2
"""Matches vanish or appear."""

Found = tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None, NDArray[np.uint32] | None]
"""Totals of roots, sums of plans, rows: what the native monitor takes."""


def slots_of(run: _native.Run, table: PlanTable) -> int:
    """Return the number of totals: by plan and sign of one change, else by root."""
    return _SIGNS * len(table.levels) if run.one_change else run.num_roots


def answer_of(
    run: _native.Run,
    table: PlanTable,
    totals: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    pairs: NDArray[np.uint32],
) -> Found:
    """Return what the native monitor takes.

    Parameters
    ----------
    totals, rows
        What searches counted, by slot, and the rows that they listed, by root.
    pairs
        Numbers of the roots whose match is the changed edge itself; they are added.
    """
    if len(pairs):
        roots = run.roots[pairs]
        listed = table.listed[roots[:, _PLAN]]
        counted = pairs[~listed]
        if run.one_change:
            slots = _SIGNS * run.roots[counted, _PLAN].astype(np.int64) + run.positive[counted]
            totals[:, 0] += np.bincount(slots, minlength=len(totals)).astype(np.uint64)
        else:
            totals[counted, 0] = 1
        if listed.any():
            own = np.zeros((int(listed.sum()), rows.shape[1]), np.uint32)
            own[:, 0], own[:, 1:3] = pairs[listed], roots[listed][:, _FIRST : _SECOND + 1]
            rows = np.concatenate([rows, own])
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
    given_rows = np.ascontiguousarray(rows) if table.lists_any else None
    if run.one_change:
        return None, totals.reshape(-1, 2, 2), given_rows
    return totals, None, given_rows
