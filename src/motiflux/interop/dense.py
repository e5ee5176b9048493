"""Ids and labels to the numbers 0, 1, 2 ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.types import LABEL_DTYPE, LabelArray


def dense_codes(columns: Sequence[NDArray[Any]], threads: int) -> tuple[NDArray[Any], list[LabelArray]]:
    """Return the distinct values of some columns and where among them each entry is.

    Parameters
    ----------
    columns
        1-d arrays, all of integers that fit into 64 bits with a sign, or all of strings.

    Returns
    -------
    tuple
        The distinct values, ascending, and for each column the position of each entry among them.
    """
    if columns[0].dtype.kind in "iu":
        kinds = {_numbered_as(column.dtype) for column in columns}
        kind = kinds.pop() if len(kinds) == 1 else np.dtype(np.int64)
        values, integer_codes = _native.number_integers(
            [_strided(column, kind) for column in columns], threads
        )
        return values.view(np.int64), integer_codes  # NumPy has two types of 64 bits, which print differently
    width = max(1, *(column.dtype.itemsize // 4 for column in columns))
    plain = [np.ascontiguousarray(column, dtype=f"=U{width}") for column in columns]
    rows = [column.view(np.uint8).reshape(len(column), 4 * width) for column in plain]
    found, codes = _native.number_rows(rows, threads)
    values = found.view(f"=U{width}")
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(order), dtype=LABEL_DTYPE)
    rank[order] = np.arange(len(order), dtype=LABEL_DTYPE)
    return values[order], [rank[one] for one in codes]


def _strided(column: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a column in a type, without a copy where its entries are a whole number of entries apart."""
    plain = column.astype(dtype, copy=False)
    regular = plain.flags.aligned and (not plain.size or plain.strides[0] % plain.itemsize == 0)
    return plain if regular else np.ascontiguousarray(plain)


def _numbered_as(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return which of the types that are numbered natively holds the integers of a type."""
    if dtype in (np.int64, np.uint32):
        return dtype.newbyteorder("=")
    if dtype.itemsize < 4 or dtype == np.int32:
        return np.dtype(np.int32)
    return np.dtype(np.int64)
