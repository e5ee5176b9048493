"""Rows of a batch without an id: where they are, and the batch without them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.interop import arrow
from motiflux.interop.missing import WORDS

EXACT = 2**53
"""Integers up to this are exact as floats."""


def present(columns: Sequence[Any]) -> NDArray[np.bool_] | None:
    """Return the rows in which all columns of ids have a value; None where all rows do."""
    kept = np.logical_and.reduce([~_absent(column) for column in columns])
    return None if kept.all() else kept


def rows_of(values: Any, kept: NDArray[np.bool_]) -> Any:
    """Return some rows of a column: an array of pyarrow or of NumPy, or a list."""
    if arrow.is_arrow_array(values):
        return values.filter(import_module("pyarrow").array(kept))
    if isinstance(values, list):
        return [value for value, keep in zip(values, kept.tolist(), strict=True) if keep]
    return values[kept]


def whole_numbers(values: Any) -> Any:
    """Return floats without a fraction as integers, as pandas makes floats of integers with missing values.

    All other columns are returned as they are.
    """
    plain = values
    if arrow.is_arrow_array(values) and arrow.is_floating(values):
        plain = values.to_numpy(zero_copy_only=False)
    if isinstance(plain, list) and any(isinstance(value, (float, np.floating)) for value in plain):
        numbers = all(isinstance(value, (int, float, np.number)) and value == value for value in plain)
        plain = np.array(plain, dtype=np.float64) if numbers else plain
    if not isinstance(plain, np.ndarray):
        return values
    if plain.dtype.kind == "O":
        return whole_numbers(plain.tolist())
    if plain.dtype.kind != "f" or not (np.abs(plain) <= EXACT).all() or (plain != np.floor(plain)).any():
        return values
    return plain.astype(np.int64)


def _absent(values: Any) -> NDArray[np.bool_]:
    """Return where a column has no value, NaN, or a word that stands for one."""
    if arrow.is_arrow_array(values):
        return arrow.without_value(values, WORDS)
    if isinstance(values, list) or values.dtype.kind in ("O", "T"):
        listed = values if isinstance(values, list) else values.tolist()
        words = frozenset(WORDS)
        absent = np.array(
            [one is None or one != one or (isinstance(one, str) and one in words) for one in listed]
        )
        absent = absent.astype(bool)
    elif values.dtype.kind == "U":
        absent = np.isin(np.ma.getdata(values), WORDS)
    elif values.dtype.kind == "f":
        absent = np.isnan(np.ma.getdata(values))
    else:
        absent = np.zeros(len(values), dtype=bool)
    return absent | np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else absent
