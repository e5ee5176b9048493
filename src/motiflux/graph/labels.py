"""Labels and ids as the user writes them, and the dense codes used inside."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.errors import GraphError
from motiflux.interop import Coded
from motiflux.interop.arrays import is_masked
from motiflux.interop.dense import dense_codes
from motiflux.types import DEFAULT_LABEL, LABEL_DTYPE, Label, LabelArray
from motiflux.units import counted


@dataclass(frozen=True)
class LabelTable:
    """The distinct labels of a graph's vertices or edges; a label's code is its position.

    Parameters
    ----------
    values
        Labels in ascending order, all ints or all strings.
    """

    values: tuple[Label, ...] = (DEFAULT_LABEL,)
    _codes: dict[Label, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_codes", {value: code for code, value in enumerate(self.values)})

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, labels: Iterable[Label]) -> tuple[int, ...]:
        """Return the codes of the `labels` that occur, ascending."""
        return tuple(sorted(self._codes[label] for label in set(labels) if label in self._codes))


def encode_labels(
    labels: ArrayLike | Coded | None, length: int, what: str, threads: int = 1
) -> tuple[LabelTable, LabelArray | None]:
    """Return the table of `labels` and their codes; no codes where there is only one label.

    Raises
    ------
    GraphError
        `labels` has another length, or holds something other than integers or strings.
    """
    if labels is None:
        return LabelTable(), None
    array = labels if isinstance(labels, Coded) else as_column(labels, what)
    if len(array) != length:
        raise GraphError(f"{what}: expected {counted(length, 'label')}, found {len(array)}")
    if isinstance(array, Coded):
        values, codes = _recoded(array, what)
    else:
        values, (codes,) = dense_codes([array], threads)
    if len(values) == 0:
        return LabelTable(), None
    return LabelTable(tuple(values.tolist())), codes if len(values) > 1 else None


def _recoded(labels: Coded, what: str) -> tuple[NDArray[Any], LabelArray]:
    """Return the labels that occur, ascending, and which of them each entry is."""
    if labels.missing is not None and labels.missing.any():
        row = int(labels.missing.argmax())
        raise GraphError(f"{what}, row {row}: expected a label, found none")
    values = as_column(labels.values, what)
    occurs = np.zeros(len(values), dtype=bool)
    occurs[labels.codes] = True
    kept = np.flatnonzero(occurs)
    order = kept[np.argsort(values[kept], kind="stable")]
    new_code = np.zeros(len(values), dtype=LABEL_DTYPE)
    new_code[order] = np.arange(len(order), dtype=LABEL_DTYPE)
    return values[order], new_code[labels.codes]


def as_names(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return ids or labels as an int64 or string array, refusing everything that is neither.

    Raises
    ------
    GraphError
        Fractions, NaN, booleans, mixed or other types, integers beyond 64 bits.
    """
    array = _as_array(values, what)
    if array.dtype.kind == "O":
        array = _from_objects(array, what)
    if array.size == 0 and array.dtype.kind == "f":  # an empty Python list
        array = array.astype(np.int64)
    if array.dtype.kind == "U":
        check_characters(array, what)
        return array
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise GraphError(f"{what}: expected integers below 2**63, found {int(array.max())}")
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    sample = f" such as {_first_odd(array.reshape(-1)).item()!r}" if array.size else ""
    raise GraphError(f"{what}: expected integers or strings, found {array.dtype}{sample}")


def _first_odd(array: NDArray[Any]) -> Any:
    """Return the first value; of floats the first that is no integer, if there is one."""
    if array.dtype.kind != "f":
        return array[0]
    odd = array != np.floor(array)  # true for NaN
    return array[int(odd.argmax())]


def check_characters(array: NDArray[Any], what: str) -> None:
    """Refuse strings of numbers that are no characters, which only a damaged file holds.

    Raises
    ------
    GraphError
        Says which number. (NumPy would fail to make a Python string of it.)
    """
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    largest = int(native.view(np.uint32).max()) if native.nbytes else 0
    if largest > sys.maxunicode:
        raise GraphError(f"{what}: expected characters up to {sys.maxunicode:#x}, found {largest:#x}")


def is_plain(values: object) -> bool:
    """Tell whether values are an array of integers that `as_names` would let pass as they are, or widened."""
    return (
        isinstance(values, np.ndarray)
        and not is_masked(values)
        and values.dtype.kind in "iu"
        and values.dtype != np.uint64
        and values.dtype.isnative
    )


def as_column(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return ids or labels as `as_names` does, refusing all but one dimension."""
    array = as_names(values, what)
    if array.ndim != 1:
        raise GraphError(f"{what}: expected an array of shape [n], found {list(array.shape)}")
    return array


def _as_array(values: ArrayLike, what: str) -> NDArray[Any]:
    if is_masked(values):
        raise GraphError(f"{what}: expected an array without a mask, found a masked one")
    if isinstance(values, (Mapping, set, frozenset)):  # NumPy takes them for one object
        raise GraphError(f"{what}: expected a sequence, in order, found a {type(values).__name__}")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise GraphError(f"{what}: expected an array of integers or strings, found none: {error}") from None
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        # NumPy turns [1, "a"] into strings, so the types are checked in the list itself.
        return np.asarray(values, dtype=object)
    return array.astype(object) if array.dtype.kind == "T" else array


def _from_objects(array: NDArray[Any], what: str) -> NDArray[Any]:
    for kind in (str, int):
        if all(isinstance(item, kind) and not isinstance(item, bool) for item in array.flat):
            if kind is str:
                _refuse_trailing_nul(array, what)
            try:
                return array.astype(np.str_ if kind is str else np.int64)
            except OverflowError:
                raise GraphError(f"{what}: expected integers below 2**63, found a larger one") from None
    kinds = {bool: 0, int: 1, str: 1}
    first = type(array.flat[0])
    odd = next(item for item in array.flat if type(item) is not first or not kinds.get(first))
    raise GraphError(f"{what}: expected all integers or all strings, found {odd!r}")


def _refuse_trailing_nul(array: NDArray[Any], what: str) -> None:
    """Refuse strings that NumPy would shorten: its arrays of strings end at their last character but NUL."""
    for item in array.flat:
        if item.endswith("\0"):
            raise GraphError(f"{what}: expected strings that do not end with NUL, found {item!r}")


def mask(codes: Sequence[int] | None, size: int) -> NDArray[np.uint8] | None:
    """Return a byte per code, 1 for codes in `codes`; None if `codes` is None."""
    if codes is None:
        return None
    result = np.zeros(size, dtype=np.uint8)
    result[list(codes)] = 1
    return result
