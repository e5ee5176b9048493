"""The ends of edges, batch by batch: integers kept as narrow as they are, strings numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux._native import Names
from motiflux.errors import GraphError
from motiflux.interop import arrow
from motiflux.interop.arrays import is_masked
from motiflux.interop.dense import dense_codes
from motiflux.interop.missing import (
    ADVICE,
    ADVICE_ON_FLOATS,
    ADVICE_ON_WORDS,
    Missing,
    first_row,
    words_among,
)
from motiflux.interop.strings import from_list
from motiflux.packages import require

_AT_ONCE = 1 << 20
_MAX_UINT32 = 2**32 - 1
# Memory for more rows is allocated only when they are read, as the number may be wrong.
_MOST_EXPECTED = 1 << 28
_MAX_INT64 = 2**63 - 1
_EXPECTED = "an id, an integer or a string"

Rows = range | NDArray[np.int64]
"""The rows of the table that a batch has."""


class Ends:
    """Collects two columns of ids, or one.

    Parameters
    ----------
    names
        The names of the columns in errors: of sources and targets, or of one column only.
    rows
        The number of rows, if it is known; then memory is allocated for exactly this number.
    missing
        Treatment of words that stand for a missing id.
    """

    def __init__(self, names: Sequence[str], rows: int | None, missing: Missing = "error") -> None:
        self._names: list[Names] = []
        self._columns = [_Ids(name, rows or 0, self._names) for name in names]
        self._refuses_words = missing == "error"

    def add(self, columns: Sequence[Any], rows: Rows) -> None:
        """Take the ids of one batch.

        Raises
        ------
        GraphError
            A value is missing, is not an id, or has another type than earlier ones; names its column and row.
        """
        for column, values in zip(self._columns, columns, strict=True):
            column.add(values, rows)
        kinds = {column.kind for column in self._columns} - {None}
        if len(kinds) > 1:
            names = " and ".join(repr(column.name) for column in self._columns)
            raise GraphError(f"columns {names}: expected ids of one kind, found integers and strings")

    def finish(self, threads: int) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the distinct ids, ascending, and the positions among them of sources and of targets.

        Without targets the last is empty.

        Raises
        ------
        GraphError
            An id is a word that stands for a missing one; names its column and row.
        """
        columns, self._columns = self._columns, []
        if self._names:
            ids, codes = self._named(columns)
        elif any(column.strings for column in columns):
            ids, codes = dense_codes([column.named() for column in columns], threads)
        else:
            ids, codes = dense_codes([column.integers() for column in columns], threads)
        if self._refuses_words and ids.dtype.kind == "U":
            self._refuse_words([column.name for column in columns], ids, codes)
        return ids, codes[0], codes[1] if len(codes) > 1 else codes[0][:0]

    def _refuse_words(self, names: list[str], ids: NDArray[Any], codes: Sequence[NDArray[Any]]) -> None:
        found = first_row(codes, words_among(ids))
        if found is not None:
            row, which = found
            word = ids[codes[which][row]].item()
            raise GraphError(
                f"{_place(names[which], row)}: expected {_EXPECTED}, found {word!r}; {ADVICE_ON_WORDS}"
            )

    def _named(self, columns: list[_Ids]) -> tuple[NDArray[Any], list[NDArray[np.uint32]]]:
        for column in columns:
            column.code()
        ids, places = arrow.distinct(self._names[0])
        codes = [column.integers() for column in columns]
        for one in codes:
            for start in range(0, len(one), _AT_ONCE):  # in place, but for a little at a time
                part = one[start : start + _AT_ONCE]
                part[:] = places[part]
        return ids, codes


class _Ids:
    """One column of ids.

    Integers are kept as they are; strings of Arrow arrays as codes of `names`, which columns share and which
    is there once there is such a string; strings of NumPy as they are.
    """

    def __init__(self, name: str, rows: int, names: list[Names]) -> None:
        self.name = name
        self.kind: str | None = None
        self.strings: list[NDArray[Any]] = []
        self._names = names
        self._integers: NDArray[Any] = np.empty(rows if rows <= _MOST_EXPECTED else 0, dtype=np.uint32)
        self._count = 0

    def add(self, values: Any, rows: Rows) -> None:
        if not len(values):
            return
        if not arrow.is_arrow_array(values):
            values = _checked(values, self.name, rows)
            if values.dtype.kind in "iu":
                self._be("integers", rows)
                self._append(values, rows)
            else:
                self._be("strings", rows)
                self.strings.append(values)
            return
        values = arrow.numbers(values, f"column {self.name!r}")
        row = arrow.first_null(values)
        if row is not None:
            raise _odd(self.name, rows[row], values[row].as_py())
        if arrow.is_integer(values):
            self._be("integers", rows)
            self._append(arrow.integers(values), rows)
        elif arrow.is_string(values):
            self._be("strings", rows)
            if not self._names:
                self._names.append(Names())
            self._append(arrow.codes(self._names[0], values), rows)
        elif arrow.is_floating(values):
            raise _odd_float(self.name, rows, values.to_numpy(zero_copy_only=False))
        else:
            raise _odd(self.name, rows[0], values[0].as_py())

    def _be(self, kind: str, rows: Rows) -> None:
        if self.kind not in (None, kind):
            raise GraphError(f"{_place(self.name, rows[0])}: expected {self.kind} as before, found {kind}")
        self.kind = kind

    def code(self) -> None:
        """Convert NumPy's strings to codes, as another column has codes."""
        strings, self.strings = self.strings, []
        for values in strings:
            try:
                array = require("pyarrow", f"column {self.name!r}").array(values.astype(object))
            except UnicodeEncodeError as error:
                raise GraphError(f"column {self.name!r}: expected strings of characters: {error}") from None
            self._append(arrow.codes(self._names[0], array), range(len(array)))

    def named(self) -> NDArray[Any]:
        """Return NumPy's strings."""
        return np.concatenate(self.strings) if self.strings else np.zeros(0, dtype="<U1")

    def _append(self, values: NDArray[Any], rows: Rows) -> None:
        """Keep integers as uint32 while all fit, else as int64."""
        low, high = int(values.min()), int(values.max())
        if high > _MAX_INT64:
            place = _place(self.name, rows[int(values.argmax())])
            raise GraphError(f"{place}: expected integers below 2**63, found {high}")
        narrow = self._integers.dtype == np.uint32 and low >= 0 and high <= _MAX_UINT32
        dtype = np.uint32 if narrow else np.int64
        end = self._count + len(values)
        if end > len(self._integers) or dtype != self._integers.dtype:
            kept = self._integers[: self._count]
            grown = len(self._integers) if end <= len(self._integers) else 2 * len(self._integers)
            self._integers = np.empty(max(end, grown), dtype=dtype)
            self._integers[: self._count] = kept
        self._integers[self._count : end] = values
        self._count = end

    def integers(self) -> NDArray[Any]:
        """Return the integers, and keep none."""
        whole, self._integers = self._integers[: self._count], np.empty(0, dtype=np.uint32)
        return whole


def _checked(values: Any, name: str, rows: Rows) -> NDArray[Any]:
    """Return NumPy's array of ids, or a list of them, without anything missing: integers or strings."""
    if is_masked(values):
        absent = np.flatnonzero(np.ma.getmaskarray(values))
        if absent.size:
            raise _odd(name, rows[int(absent[0])], None)
        values = values.data
    if isinstance(values, list) or values.dtype.kind in ("O", "T"):
        listed = values if isinstance(values, list) else values.tolist()
        return _from_objects(listed, name, rows)
    if values.dtype.kind == "f":
        raise _odd_float(name, rows, values)
    if values.dtype.kind not in "iuU":
        raise _odd(name, rows[0], values[0].item())
    array: NDArray[Any] = values
    return array


def _from_objects(values: list[Any], name: str, rows: Rows) -> NDArray[Any]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kind = str if isinstance(plain[0], str) else int
    for row, value in enumerate(plain):
        if isinstance(value, float):
            floats = np.array([one if isinstance(one, float) else 0.0 for one in plain])
            raise _odd_float(name, rows, floats, row)
        if not isinstance(value, (int, str)) or isinstance(value, bool):
            raise _odd(name, rows[row], value)
        if not isinstance(value, kind):
            kinds = "integers" if kind is int else "strings"
            raise GraphError(f"{_place(name, rows[row])}: expected {kinds} as before, found {value!r}")
    if kind is str:
        return from_list(plain)
    try:
        return np.array(plain, dtype=np.int64)
    except OverflowError:
        row = next(row for row, value in enumerate(plain) if not -(2**63) <= value < 2**63)
        raise GraphError(
            f"{_place(name, rows[row])}: expected integers of 64 bits, found {plain[row]}"
        ) from None


def _place(name: str, row: int) -> str:
    return f"column {name!r}, row {row}"


def _odd_float(name: str, rows: Rows, values: NDArray[Any], first: int = 0) -> GraphError:
    """Return the error of the first NaN, else of the first fraction, else of the first value."""
    for wrong in (np.isnan(values), values != np.floor(values)):
        if wrong.any():
            row = int(wrong.argmax())
            return _odd(name, rows[row], values[row].item())
    return GraphError(f"{_odd(name, rows[first], values[first].item())}; {ADVICE_ON_FLOATS}")


def _odd(name: str, row: int, found: object) -> GraphError:
    described = "none" if found is None else repr(found)
    advice = f"; {ADVICE}" if found is None or found != found else ""
    return GraphError(f"{_place(name, row)}: expected {_EXPECTED}, found {described}{advice}")
