"""The ends of edges, batch by batch: integers kept as narrow as they are, strings numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.interop import arrow
from motiflux.interop.dense import dense_codes

_MAX_UINT32 = 2**32 - 1
# A file that announces more rows is not believed before they come.
_MOST_EXPECTED = 1 << 28
_MAX_INT64 = 2**63 - 1
_EXPECTED = "an id, an integer or a string"


class Ends:
    """Collects two columns of ids, or one.

    Parameters
    ----------
    names
        What to call the columns in an error: of sources and targets, or of one column alone.
    rows
        How many there will be, if that is known; then no memory is taken beyond what they need.
    """

    def __init__(self, names: Sequence[str], rows: int | None) -> None:
        self._columns = [_Ids(name, rows or 0) for name in names]
        self._rows = 0

    def add(self, *columns: Any) -> None:
        """Take the ids of one batch.

        Raises
        ------
        GraphError
            One is missing, or no id, or of another kind than those before; names its column and row.
        """
        for column, values in zip(self._columns, columns, strict=True):
            column.add(values, self._rows)
        kinds = {column.kind for column in self._columns} - {None}
        if len(kinds) > 1:
            names = " and ".join(repr(column.name) for column in self._columns)
            raise GraphError(f"columns {names}: expected ids of one kind, found integers and strings")
        self._rows += len(columns[0])

    def finish(self, threads: int) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the distinct ids, ascending, and the positions among them of sources and of targets.

        Without targets the last is empty.
        """
        columns, self._columns = self._columns, []
        if any(column.strings for column in columns):
            return self._named([column.strings for column in columns], threads)
        ids, numbered = dense_codes([column.integers() for column in columns], threads)
        return ids, numbered[0], numbered[1] if len(numbered) > 1 else numbered[0][:0]

    def _named(
        self, columns: list[list[Any]], threads: int
    ) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint32]]:
        if not any(arrow.is_arrow_array(chunk) for chunks in columns for chunk in chunks):
            whole = [np.concatenate(chunks) if chunks else np.zeros(0, "<U1") for chunks in columns]
            ids, numbered = dense_codes(whole, threads)
            return ids, numbered[0], numbered[1] if len(numbered) > 1 else numbered[0][:0]
        chunks = [arrow.strings(chunk) for chunks in columns for chunk in chunks]
        codes, _, names = arrow.joined(chunks)
        ids = np.array(names, dtype=np.str_) if names else np.zeros(0, dtype="<U1")
        return ids, codes[: self._rows], codes[self._rows :]


class _Ids:
    """One column of ids."""

    def __init__(self, name: str, rows: int) -> None:
        self.name = name
        self.kind: str | None = None
        self.strings: list[Any] = []
        self._integers: NDArray[Any] = np.empty(rows if rows <= _MOST_EXPECTED else 0, dtype=np.uint32)
        self._count = 0

    def add(self, values: Any, start: int) -> None:
        if not len(values):
            return
        if not arrow.is_arrow_array(values):
            values = _checked(values, self.name, start)
            self._take(values, start, integers=values.dtype.kind in "iu")
            return
        row = arrow.first_null(values)
        if row is not None:
            raise _odd(self.name, start + row, values[row].as_py())
        if arrow.is_integer(values):
            self._take(arrow.integers(values), start, integers=True)
        elif arrow.is_string(values):
            self._take(arrow.strings(values), start, integers=False)
        else:
            raise GraphError(f"{_place(self.name, start)}: expected {_EXPECTED}, found {values.type}")

    def _take(self, chunk: Any, start: int, *, integers: bool) -> None:
        kind = "integers" if integers else "strings"
        if self.kind not in (None, kind):
            raise GraphError(f"{_place(self.name, start)}: expected {self.kind} as before, found {kind}")
        self.kind = kind
        if integers:
            self._append(chunk, start)
        else:
            self.strings.append(chunk)

    def _append(self, values: NDArray[Any], start: int) -> None:
        """Keep integers as uint32 while all fit, else as int64."""
        low, high = int(values.min()), int(values.max())
        if high > _MAX_INT64:
            place = _place(self.name, start + int(values.argmax()))
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


def _checked(values: Any, name: str, start: int) -> NDArray[Any]:
    """Return NumPy's array of ids, or a list of them, without anything missing: integers or strings."""
    if isinstance(values, np.ma.MaskedArray):
        absent = np.flatnonzero(np.ma.getmaskarray(values))
        if absent.size:
            raise _odd(name, start + int(absent[0]), None)
        values = values.data
    if isinstance(values, list) or values.dtype.kind in ("O", "T"):
        listed = values if isinstance(values, list) else values.tolist()
        return _from_objects(listed, name, start)
    if values.dtype.kind == "f":
        absent = np.flatnonzero(np.isnan(values))
        row = int(absent[0]) if absent.size else 0
        raise _odd(name, start + row, values[row].item())
    if values.dtype.kind not in "iuU":
        raise _odd(name, start, values[0].item())
    array: NDArray[Any] = values
    return array


def _from_objects(values: list[Any], name: str, start: int) -> NDArray[Any]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kind = str if isinstance(plain[0], str) else int
    for row, value in enumerate(plain):
        if not isinstance(value, (int, str)) or isinstance(value, bool):
            raise _odd(name, start + row, value)
        if not isinstance(value, kind):
            kinds = "integers" if kind is int else "strings"
            raise GraphError(f"{_place(name, start + row)}: expected {kinds} as before, found {value!r}")
    if kind is str:
        return np.array(plain, dtype=object).astype(np.str_)
    try:
        return np.array(plain, dtype=np.int64)
    except OverflowError:
        row = next(row for row, value in enumerate(plain) if not -(2**63) <= value < 2**63)
        raise GraphError(
            f"{_place(name, start + row)}: expected integers of 64 bits, found {plain[row]}"
        ) from None


def _place(name: str, row: int) -> str:
    return f"column {name!r}, row {row}"


def _odd(name: str, row: int, found: object) -> GraphError:
    said = "none" if found is None else repr(found)
    return GraphError(f"{_place(name, row)}: expected {_EXPECTED}, found {said}")
