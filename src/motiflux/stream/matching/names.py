"""Growing tables of ids and labels: from the user's values to numbers, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import StreamError
from motiflux.graph import LabelTable
from motiflux.types import DEFAULT_LABEL, MAX_VERTICES, IdArray, Label, LabelArray, VertexArray, VertexId

# Integer ids below this are looked up in a table, whatever the number of vertices.
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
        for value, code in self._codes.items():
            if _is_direct(value):
                self._table[value] = code

    def code(self, label: Label) -> int:
        """Return the code of a label, which is added if it is new."""
        known = self._codes.get(label)
        if known is None:
            known = len(self.values)
            self.values.append(label)  # first: `keep` reads these, whenever Ctrl-C is raised
            self._codes[label] = known
            if _is_direct(label):
                self._table[label] = known
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
                for label in np.flatnonzero(np.bincount(labels[unknown])).tolist():
                    self.code(label)
                codes = self._table[labels]
            return codes.astype(np.uint32)
        listed = labels.tolist()
        known = list(map(self._codes.get, listed))
        if None in known:
            known = [self.code(label) for label in listed]
        return np.array(known, dtype=np.uint32)

    def table(self) -> NDArray[np.int32] | None:
        """Return the codes of small integers, -1 where one is unknown; None if labels are not integers."""
        return self._table if self.kind_in_use == "i" else None

    def keep(self, count: int) -> None:
        """Drop the labels after the first `count`."""
        for label in self.values[count:]:
            self._codes.pop(label, None)
            if _is_direct(label):
                self._table[label] = _UNKNOWN
        del self.values[count:]


class GrowingIds:
    """External ids of vertices, numbered in the order of their first occurrence.

    Parameters
    ----------
    ids
        The ids with the first numbers.
    """

    def __init__(self, ids: IdArray) -> None:
        self.native = _native.VertexIds(_FEWEST, MAX_VERTICES)
        if ids.dtype.kind == "U":
            self.native.load_strings(code_points(ids))
        else:
            self.native.load_integers(np.ascontiguousarray(ids, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.native)

    @property
    def kind(self) -> str | None:
        """``"i"`` for integers, ``"U"`` for strings; None while there are none, which may become either."""
        return self.native.kind

    def vertex_of(self, name: VertexId) -> int | None:
        """Return the vertex of an id, or None while there is no such vertex."""
        return self.native.vertex_of(name)

    def keep(self, count: int) -> None:
        """Drop the ids after the first `count`."""
        self.native.keep(count)

    def names(self, vertices: VertexArray | NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids of vertices, in the shape given."""
        wanted = vertices.astype(np.uint32, copy=False)
        return _as_ids(self.native.names(wanted.reshape(-1))).reshape(vertices.shape)

    def columns(
        self, found: _native.Found, slot: int, first: int
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int8]] | None:
        """Return the ids [rows, k], updates and signs of the matches of a pattern, which are taken out.

        None if there are none. Updates are counted from `first`.
        """
        taken = self.native.columns(found, slot, first)
        if taken is None:
            return None
        ids, rows, updates, signs = taken
        if ids.dtype.kind == "u":  # code points
            ids = _as_ids(ids).reshape(rows, -1)
        return ids, updates, signs

    def all(self) -> NDArray[Any]:
        """Return the ids of all vertices."""
        return _as_ids(self.native.all())

    def check_kind(self, ids: NDArray[Any], what: str) -> None:
        """Refuse strings where ids are integers, and the other way round.

        Raises
        ------
        StreamError
            Names the first id.
        """
        known = self.native.kind
        if known is not None and ids.dtype.kind != known and len(ids):
            wanted = "integers" if known == "i" else "strings"
            raise StreamError(f"{what}: expected {wanted}, as the graph's ids are, found {ids[0].item()!r}")


def _is_direct(label: Label) -> TypeGuard[int]:
    """Whether a label has a place in the table of codes."""
    return isinstance(label, int) and 0 <= label < _DIRECT


def code_points(strings: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the code points of strings, uint32 [k, the most characters], with zeros at the end."""
    wide = strings if strings.dtype.itemsize else strings.astype("<U1")
    return np.ascontiguousarray(wide).view(np.uint32).reshape(len(wide), wide.dtype.itemsize // 4)


def _as_ids(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers as they are, and code points [k, width] as strings."""
    return values if values.ndim == 1 else values.view(f"<U{values.shape[1]}").reshape(len(values))


def label_codes(labels: Iterable[Label] | None, known: GrowingLabels) -> tuple[int, ...] | None:
    """Return the codes of a pattern's labels, which are added if they are new; None lets all through."""
    return None if labels is None else tuple(sorted(known.code(label) for label in labels))
