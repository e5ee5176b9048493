"""Edges that come and go, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.errors import GraphError, StreamError
from motiflux.graph.labels import as_column
from motiflux.types import Label, VertexId

Row: TypeAlias = tuple[Any, ...]
"""``(op, source, target)`` or ``(op, source, target, label)``."""

OPS = {
    **dict.fromkeys(("+", "e", "insert", "add", "1"), True),
    **dict.fromkeys(("-", "-e", "delete", "remove", "-1"), False),
}
"""What says that an edge comes (True) or goes."""


@dataclass(frozen=True, eq=False)
class VertexLabels:
    """Vertices whose labels are named.

    Parameters
    ----------
    ids
        External ids [k].
    labels
        A label for each.
    positions
        int64 [k]: the update before which each is named.
    """

    ids: NDArray[Any]
    labels: NDArray[Any]
    positions: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Mapping[VertexId, Label]) -> VertexLabels:
        """Return those of a mapping, named before all updates."""
        return cls(
            as_column(list(labels), "vertex_labels, ids"),
            as_column(list(labels.values()), "vertex_labels"),
            np.zeros(len(labels), dtype=np.int64),
        )


@dataclass(frozen=True, eq=False)
class Updates:
    """Insertions and deletions of edges, in order.

    Parameters
    ----------
    inserts
        bool [k], True where the edge comes.
    sources, targets
        External ids [k]: integers or strings.
    labels
        A label for each edge [k], integers or strings; None where all have the label 0.
    times
        Moments [k]: datetimes, or integers or floats of the monitor's unit; None where they have none.
    vertex_labels
        Labels of vertices that come with these updates.

    Raises
    ------
    StreamError
        Columns of different lengths, or of types that are neither ids nor labels nor moments.

    Examples
    --------
    >>> import motiflux as mf
    >>> updates = mf.Updates.of([("+", "ann", "bob"), ("-", "bob", "cy")])
    >>> len(updates)
    2
    """

    inserts: NDArray[np.bool_]
    sources: NDArray[Any]
    targets: NDArray[Any]
    labels: NDArray[Any] | None = None
    times: NDArray[Any] | None = None
    vertex_labels: VertexLabels | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inserts", _flags(self.inserts))
        for name in ("sources", "targets", "labels"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, _column(values, name))
        if self.times is not None:
            object.__setattr__(self, "times", _moments(self.times))
        for name in ("sources", "targets", "labels", "times"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.inserts):
                raise StreamError(
                    f"updates, {name}: expected {len(self.inserts)} values, found {len(values)}"
                )

    def __len__(self) -> int:
        return len(self.inserts)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Updates:
        """Return updates given one by one: ``(op, source, target[, label])``, op ``"+"`` or ``"-"``.

        Raises
        ------
        StreamError
            Names the row.
        """
        listed = _listed(rows, "updates")
        for number, row in enumerate(listed):
            if not isinstance(row, Sequence) or isinstance(row, str) or len(row) not in (3, 4):
                raise StreamError(
                    f"updates, row {number}: expected (op, source, target[, label]), found {row!r}", number
                )
            if not isinstance(row[0], str) or row[0] not in OPS:
                raise StreamError(f"updates, row {number}: expected '+' or '-', found {row[0]!r}", number)
        labelled = sum(len(row) == 4 for row in listed)
        if labelled not in (0, len(listed)):
            number = next(number for number, row in enumerate(listed) if len(row) == 3)
            raise StreamError(f"updates, row {number}: expected a label as in other rows, found none", number)
        return cls(
            np.array([OPS[row[0]] for row in listed], dtype=bool),
            _column([row[1] for row in listed], "sources"),
            _column([row[2] for row in listed], "targets"),
            _column([row[3] for row in listed], "labels") if labelled else None,
        )

    @classmethod
    def edges(
        cls,
        inserts: object = None,
        deletes: object = None,
        vertex_labels: Mapping[VertexId, Label] | None = None,
    ) -> Updates:
        """Return deletions, then insertions: arrays [k, 2], tuples of columns, or ``(u, v[, label])``."""
        gone, come = _edge_columns(deletes, "deletes"), _edge_columns(inserts, "inserts")
        labels = None
        if gone[2] is not None or come[2] is not None:
            labels = _joined([_labels_or_default(part) for part in (gone, come)], "labels")
        return cls(
            np.repeat([False, True], [len(gone[0]), len(come[0])]),
            _joined([gone[0], come[0]], "sources"),
            _joined([gone[1], come[1]], "targets"),
            labels,
            vertex_labels=None if vertex_labels is None else VertexLabels.of(vertex_labels),
        )

    def slices(self, size: int) -> Iterator[Updates]:
        """Return the updates in pieces of at most `size`."""
        for first in range(0, len(self), size):
            last = min(first + size, len(self))
            yield self._slice(first, last, last=last == len(self))

    def _slice(self, first: int, end: int, *, last: bool) -> Updates:
        named = self.vertex_labels
        if named is not None:
            inside = (named.positions >= first) & ((named.positions < end) | last)
            named = VertexLabels(named.ids[inside], named.labels[inside], named.positions[inside] - first)
        part = slice(first, end)
        return Updates(
            self.inserts[part],
            self.sources[part],
            self.targets[part],
            None if self.labels is None else self.labels[part],
            None if self.times is None else self.times[part],
            named,
        )


_Edges: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]


def _edge_columns(edges: object, what: str) -> _Edges:
    if edges is None:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, None
    if isinstance(edges, tuple) and len(edges) in (2, 3) and not isinstance(edges[0], (int, str)):
        columns = [_column(part, what) for part in edges]
    elif isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] not in (2, 3):
            raise StreamError(
                f"{what}: expected an array of shape [k, 2] or [k, 3], found {list(edges.shape)}"
            )
        columns = [_column(edges[:, at], what) for at in range(edges.shape[1])]
    else:
        rows = _listed(edges, what)
        if not rows:
            return _edge_columns(None, what)
        strange = [row for row in rows if isinstance(row, str) or not hasattr(row, "__len__")]
        if strange:
            raise StreamError(f"{what}: expected rows (source, target[, label]), found {strange[0]!r}")
        lengths = {len(row) for row in rows}
        if len(lengths) > 1 or lengths > {2, 3}:
            raise StreamError(f"{what}: expected rows (source, target[, label]), found {rows[0]!r}")
        columns = [_column(list(part), what) for part in zip(*rows, strict=True)]
    if len({len(column) for column in columns}) > 1:
        raise StreamError(f"{what}: expected columns of one length, found {[len(one) for one in columns]}")
    return columns[0], columns[1], columns[2] if len(columns) == 3 else None


def _listed(rows: object, what: str) -> list[Any]:
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise StreamError(f"{what}: expected rows, found {rows!r}")
    return list(rows)


def _flags(inserts: ArrayLike) -> NDArray[np.bool_]:
    flags = np.asarray(inserts)
    if flags.ndim != 1 or (flags.dtype.kind != "b" and not np.isin(flags, (0, 1)).all()):
        raise StreamError("updates, inserts: expected a column of True and False, found others")
    return np.ascontiguousarray(flags, dtype=bool)


def _labels_or_default(edges: _Edges) -> NDArray[Any]:
    return np.zeros(len(edges[0]), dtype=np.int64) if edges[2] is None else edges[2]


def _joined(parts: Sequence[NDArray[Any]], what: str) -> NDArray[Any]:
    some = [part for part in parts if len(part)]
    if not some:
        return parts[0]
    if len({part.dtype.kind for part in some}) > 1:
        raise StreamError(f"{what}: expected all integers or all strings, found both")
    return np.concatenate(some)


def _column(values: ArrayLike, what: str) -> NDArray[Any]:
    try:
        return as_column(values, what)
    except GraphError as error:
        raise StreamError(f"updates, {error}") from None


def _moments(values: ArrayLike) -> NDArray[Any]:
    times = np.asarray(values)
    if times.dtype.kind == "M" and times.ndim == 1:
        times = times.astype("datetime64[ns]")
        if (missing := np.isnat(times)).any():
            raise StreamError(f"updates, times, row {int(missing.argmax())}: expected a moment, found none")
        return times
    if times.ndim != 1 or times.dtype.kind not in "iuf":
        raise StreamError(f"updates, times: expected numbers, found {times.dtype}")
    if times.dtype.kind == "f" and not np.isfinite(times).all():
        row = int(np.flatnonzero(~np.isfinite(times))[0])
        raise StreamError(f"updates, times, row {row}: expected a moment, found {times[row]}")
    return times
