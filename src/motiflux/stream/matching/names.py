"""Growing tables of ids and labels: from the user's values to numbers, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import GraphError, StreamError
from motiflux.graph import LabelTable
from motiflux.types import DEFAULT_LABEL, MAX_VERTICES, IdArray, Label, LabelArray, VertexArray, VertexId

# A table from ids to vertices is kept if it has at most this number of entries for each vertex.
_SPARSEST = 8
_FEWEST = 1 << 16

_UNKNOWN = -1

# Integer labels below this are looked up in a table.
_DIRECT = 1 << 12


class GrowingLabels:
    """Labels and their codes, which stay as they are while more are added.

    Parameters
    ----------
    table
        The labels known from the start.
    in_use
        Whether an element has a label: then all later ones must be of the same type.
    """

    def __init__(self, table: LabelTable, *, in_use: bool) -> None:
        self.values: list[Label] = list(table.values)
        self._codes: dict[Label, int] = {value: code for code, value in enumerate(self.values)}
        self.kind_in_use: str | None = ("U" if isinstance(self.values[0], str) else "i") if in_use else None
        self._table = np.full(_DIRECT, _UNKNOWN, dtype=np.int32)

    def code(self, label: Label) -> int:
        """Return the code of a label, which is added if it is new."""
        known = self._codes.get(label)
        if known is None:
            known = len(self.values)
            self.values.append(label)  # first: `keep` reads these, whenever Ctrl-C is raised
            self._codes[label] = known
        return known

    @property
    def kind(self) -> str | None:
        """``"i"`` for integers, ``"U"`` for strings; None while nothing has a label."""
        return self.kind_in_use

    def admit(self, kind: str, what: str) -> None:
        """Refuse strings where labels are integers, and the other way round; patterns may ask for either.

        Raises
        ------
        StreamError
            Names the element with such labels.
        """
        if self.kind_in_use is None:
            self.kind_in_use = kind
        elif kind != self.kind_in_use:
            words = {"i": "integers", "U": "strings"}
            found = words[kind] if kind == "U" else f"{words[kind]} (without a label: {DEFAULT_LABEL})"
            raise StreamError(f"{what}: expected {words[self.kind_in_use]}, as others have, found {found}")

    def array(self) -> NDArray[Any]:
        """Return all labels by code; unused codes may have any label."""
        if self.kind_in_use == "U":
            return np.array([str(value) for value in self.values])
        return np.array([DEFAULT_LABEL if isinstance(value, str) else value for value in self.values])

    def find(self, label: Label) -> int | None:
        """Return the code of a label, or None if there is no such label."""
        return self._codes.get(label)

    def codes_of(self, labels: NDArray[Any]) -> LabelArray:
        """Return the codes of labels [k], integers or strings."""
        if labels.dtype.kind == "i" and len(labels) and labels.min() >= 0 and labels.max() < _DIRECT:
            codes: NDArray[Any] = self._table[labels]
            if (unknown := codes < 0).any():
                for label in np.unique(labels[unknown]).tolist():
                    self._table[label] = self.code(label)
                codes = self._table[labels]
            return codes.astype(np.uint32)
        distinct, places = np.unique(labels, return_inverse=True)
        coded: NDArray[Any] = np.array([self.code(label) for label in distinct.tolist()], dtype=np.uint32)
        all_codes: LabelArray = coded[places]
        return all_codes

    def keep(self, count: int) -> None:
        """Drop the labels after the first `count`."""
        for label in self.values[count:]:
            self._codes.pop(label, None)
            if isinstance(label, int) and 0 <= label < _DIRECT:
                self._table[label] = _UNKNOWN
        del self.values[count:]


class GrowingIds:
    """External ids of vertices, numbered in the order of their first occurrence.

    Ctrl-C may interrupt between any two steps: `keep` undoes half an addition too, and at any time an id is
    in the dict or the table or both.

    Parameters
    ----------
    ids
        The ids with the first numbers.
    """

    def __init__(self, ids: IdArray) -> None:
        self._ids: NDArray[Any] = ids
        self._size = len(self._ids)
        # The ids of an empty graph may become integers or strings.
        self.kind: str | None = self._ids.dtype.kind if self._size else None
        self._late: dict[VertexId, int] = {}
        self._table: NDArray[np.int64] | None = None
        self._make_table()

    def __len__(self) -> int:
        return self._size

    def _make_table(self) -> None:
        """Make an array from id to vertex, where ids are small numbers."""
        ids = self._ids[: self._size]
        if ids.dtype.kind != "i" or not self._size:
            if self._size and not self._late:
                self._late = {name: number for number, name in enumerate(ids.tolist())}
            return
        least, most = int(ids.min()), int(ids.max())
        if least < 0 or most >= max(_SPARSEST * self._size, _FEWEST):
            self._late = {name: number for number, name in enumerate(ids.tolist())}
            self._table = None
            return
        number_type = np.int32 if self._size < 2**31 else np.int64
        table: NDArray[Any] = np.full(most + 1, _UNKNOWN, dtype=number_type)
        table[ids] = np.arange(self._size, dtype=number_type)
        self._table = table
        self._late = {}

    def find(self, ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the vertices of ids [k]; -1 for unknown ids."""
        found = np.full(len(ids), _UNKNOWN, dtype=np.int64)
        if self._table is not None and ids.dtype.kind == "i":
            within = (ids >= 0) & (ids < len(self._table))
            if within.all():
                found = self._table[ids].astype(np.int64)
            else:
                found[within] = self._table[ids[within]]
        if self._late:
            rows = np.flatnonzero(found < 0)
            found[rows] = [self._late.get(name, _UNKNOWN) for name in ids[rows].tolist()]
        return found

    def add(self, ids: NDArray[Any]) -> None:
        """Give the next numbers to ids that are new and distinct."""
        if self._size + len(ids) > MAX_VERTICES:
            raise GraphError(f"expected at most {MAX_VERTICES:,} vertices, found more")
        if not len(ids):
            return
        if self.kind is None:
            self.kind, self._ids = ids.dtype.kind, np.empty(0, dtype=ids.dtype)
        room = len(self._ids)
        wider = np.promote_types(self._ids.dtype, ids.dtype)
        if self._size + len(ids) > room or wider != self._ids.dtype:
            grown = np.empty(max(self._size + len(ids), room + room // 2), dtype=wider)
            grown[: self._size] = self._ids[: self._size]
            self._ids = grown
        self._ids[self._size : self._size + len(ids)] = ids
        first = self._size
        self._size += len(ids)  # before they are found, as `keep` reads no further
        for number, name in enumerate(ids.tolist(), first):
            self._late[name] = number
        if self._table is not None and len(self._late) > max(_FEWEST, self._size // 2):
            self._make_table()

    def keep(self, count: int) -> None:
        """Drop the ids after the first `count`."""
        dropped = self._ids[count : self._size]
        for name in dropped.tolist():
            self._late.pop(name, None)
        if self._table is not None:
            self._table[dropped[(dropped >= 0) & (dropped < len(self._table))]] = _UNKNOWN
        self._size = count

    def names(self, vertices: VertexArray | NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids of vertices, in the shape given."""
        return self._ids[vertices]

    def all(self) -> NDArray[Any]:
        """Return the ids of all vertices."""
        return self._ids[: self._size]

    def check_kind(self, ids: NDArray[Any], what: str) -> None:
        """Refuse strings where ids are integers, and the other way round.

        Raises
        ------
        StreamError
            Names the first id.
        """
        kind = ids.dtype.kind
        if len(ids) and self.kind is not None and kind != self.kind:
            wanted = "integers" if self.kind == "i" else "strings"
            raise StreamError(f"{what}: expected {wanted}, as the graph's ids are, found {ids[0].item()!r}")


class GrowingCodes:
    """Label codes of vertices, which grow in number.

    Parameters
    ----------
    vertices, codes
        How many vertices there are at the start, and their codes; None: all 0.
    """

    def __init__(self, vertices: int, codes: NDArray[np.uint32] | None) -> None:
        self._first = codes
        self._known = vertices
        self._late = np.empty(0, dtype=np.uint32)
        self._size = vertices

    def add(self, codes: NDArray[np.uint32]) -> None:
        """Append the codes of the next vertices."""
        begin = self._size - self._known
        end = begin + len(codes)
        if end > len(self._late):
            grown = np.empty(max(end, 2 * len(self._late)), dtype=np.uint32)
            grown[:begin] = self._late[:begin]
            self._late = grown
        self._late[begin:end] = codes
        self._size += len(codes)

    def keep(self, count: int) -> None:
        """Drop the vertices after the first `count`."""
        self._size = count

    def of(self, vertex: int) -> int:
        """Return that of a vertex."""
        if vertex >= self._known:
            return int(self._late[vertex - self._known])
        return 0 if self._first is None else int(self._first[vertex])

    def all(self) -> NDArray[np.uint32]:
        """Return the codes of all vertices."""
        first = np.zeros(self._known, dtype=np.uint32) if self._first is None else self._first
        late = self._late[: self._size - self._known]
        return np.concatenate([first, late]) if len(late) else first


def label_codes(labels: Iterable[Label] | None, known: GrowingLabels) -> tuple[int, ...] | None:
    """Return the codes of a pattern's labels, which are added if they are new; None lets all through."""
    return None if labels is None else tuple(sorted(known.code(label) for label in labels))
