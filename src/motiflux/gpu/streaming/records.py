"""What a resident kernel answers: records of the output ring, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.streaming import APPEARS, COUNT_WORDS, HEADER_WORDS, IS_ROW

_HEADER: list[Any] = [("moment", "<u8"), ("plan", "<u4"), ("sign", "<u4")]
COUNT = np.dtype([*_HEADER, ("low", "<u8"), ("high", "<u8")])
"""The matches of an update by a plan, 128 bits; ``sign`` is 1 if they appear, 0 if they vanish."""


@cache
def row_type(levels: int) -> np.dtype[Any]:
    """Return the type of records of rows, with a vertex for each level."""
    return np.dtype([*_HEADER, ("vertices", "<u4", levels)])


@dataclass(frozen=True)
class Taken:
    """What was taken of a stream's answers.

    Parameters
    ----------
    counts
        `COUNT` records, one for each update and plan with matches.
    rows
        Records of `row_type`; columns beyond the levels of a plan are 0.
    finished
        All updates up to this moment are finished, and all their records were given.
    """

    counts: NDArray[Any]
    rows: NDArray[Any]
    finished: int


def words_of_record(levels: int, *, lists: bool) -> int:
    """Return the 32-bit words of a record."""
    return max(COUNT_WORDS, HEADER_WORDS + levels if lists else 0)


def divide(records: NDArray[np.uint32], levels: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return counts and rows of records, [records, words]."""
    is_row = records[:, HEADER_WORDS - 1] & IS_ROW != 0
    counts = np.ascontiguousarray(records[~is_row, :COUNT_WORDS]).view(COUNT).reshape(-1)
    listed = records[is_row, : HEADER_WORDS + levels]
    rows = np.ascontiguousarray(listed).view(row_type(levels)).reshape(-1) if len(listed) else none(levels)
    rows["sign"] &= APPEARS
    return counts, rows


def none(levels: int) -> NDArray[Any]:
    """Return no rows."""
    return np.zeros(0, row_type(levels))
