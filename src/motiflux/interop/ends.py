"""The ends of edges, batch by batch: integers kept as narrow as they are, strings numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError
from motiflux.interop import arrow
from motiflux.interop.dense import dense_codes

_MAX_UINT32 = 2**32 - 1
_MAX_INT64 = 2**63 - 1
_EXPECTED = "an id, an integer or a string"


class Ends:
    """Collects two columns of ids, or one.

    Parameters
    ----------
    source, target
        What to call the columns in an error; no target: only one column is collected.
    """

    def __init__(self, source: str, target: str | None) -> None:
        self._columns = [_Ids(source)] if target is None else [_Ids(source), _Ids(target)]
        self._rows = 0

    def add(self, sources: Any, targets: Any) -> None:
        """Take the ids of one batch.

        Raises
        ------
        GraphError
            One is missing, or no id, or of another kind than those before; names its column and row.
        """
        for column, values in zip(self._columns, (sources, targets), strict=False):
            column.add(values, self._rows)
        kinds = {column.kind for column in self._columns} - {None}
        if len(kinds) > 1:
            names = " and ".join(repr(column.name) for column in self._columns)
            raise GraphError(f"columns {names}: expected ids of one kind, found integers and strings")
        self._rows += len(sources)

    def finish(self, threads: int) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the distinct ids, ascending, and the positions among them of sources and of targets.

        Without targets the last is empty.
        """
        columns, self._columns = self._columns, []
        if any(column.kind == "strings" for column in columns):
            codes, _, names = arrow.joined([chunk for column in columns for chunk in column.chunks])
            ids = np.array(names, dtype=np.str_) if names else np.zeros(0, dtype="<U1")
            return ids, codes[: self._rows], codes[self._rows :]
        integers = [column.integers() for column in columns]
        ids, numbered = dense_codes(integers, threads)
        return ids, numbered[0], numbered[1] if len(numbered) > 1 else numbered[0][:0]


class _Ids:
    """One column of ids."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: str | None = None
        self.chunks: list[Any] = []

    def add(self, values: Any, start: int) -> None:
        if not len(values):
            return
        if not arrow.is_arrow_array(values):
            values = _checked(values, self.name, start)
            if values.dtype.kind in "iu":
                self._take("integers", _narrow(values, self.name, start), start)
                return
            values = arrow.import_arrow(f"column {self.name!r}, of strings").array(values.astype(object))
        row = arrow.first_null(values)
        if row is not None:
            raise _odd(self.name, start + row, values[row].as_py())
        if arrow.is_integer(values):
            self._take("integers", _narrow(arrow.integers(values), self.name, start), start)
        elif arrow.is_string(values):
            self._take("strings", arrow.strings(values), start)
        else:
            raise GraphError(f"{_place(self.name, start)}: expected {_EXPECTED}, found {values.type}")

    def _take(self, kind: str, chunk: Any, start: int) -> None:
        if self.kind not in (None, kind):
            raise GraphError(f"{_place(self.name, start)}: expected {self.kind} as before, found {kind}")
        self.kind = kind
        self.chunks.append(chunk)

    def integers(self) -> NDArray[Any]:
        chunks, self.chunks = self.chunks, []
        if len(chunks) == 1:
            whole: NDArray[Any] = chunks[0]
            return whole
        narrow = all(chunk.dtype == np.uint32 for chunk in chunks)
        joined = np.empty(sum(map(len, chunks)), dtype=np.uint32 if narrow else np.int64)
        start = 0
        for place, chunk in enumerate(chunks):
            joined[start : start + len(chunk)] = chunk
            start += len(chunk)
            chunks[place] = None  # free as soon as copied
        return joined


def _narrow(values: NDArray[Any], name: str, start: int) -> NDArray[Any]:
    """Return integers as uint32 where they fit, else as int64; in a copy, or as they are."""
    if values.dtype == np.uint64 and values.size and values.max() > _MAX_INT64:
        row = int(values.argmax())
        raise GraphError(f"{_place(name, start + row)}: expected integers below 2**63, found {values[row]}")
    if values.dtype.itemsize < 4 and values.dtype.kind == "u":
        return values.astype(np.uint32)
    if values.size and values.min() >= 0 and values.max() <= _MAX_UINT32:
        return values.astype(np.uint32)
    return values.astype(np.int64)


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
