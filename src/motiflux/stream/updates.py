"""Insertions and deletions of edges, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux import _native
from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError, GraphError, StreamError
from motiflux.graph import Column
from motiflux.graph.attributes.columns import make_column
from motiflux.graph.labels import as_column
from motiflux.stream.time_kinds import Zoned, has_zone
from motiflux.stream.window import as_moments
from motiflux.types import Label, VertexId
from motiflux.units import counted

Row: TypeAlias = tuple[Any, ...]
"""``(op, source, target)`` or ``(op, source, target, label)``."""

OPS = {
    **dict.fromkeys(("+", "e", "insert", "add", "1"), True),
    **dict.fromkeys(("-", "-e", "delete", "remove", "-1"), False),
}
"""The words for an insertion (True) or a deletion of an edge."""


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
        int64 [k]: the update before which each is named, from 0.

    Raises
    ------
    StreamError
        Columns of different lengths, or of types that are neither ids nor labels nor positions.
    """

    ids: NDArray[Any]
    labels: NDArray[Any]
    positions: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("ids", "labels", "positions"):
            object.__setattr__(self, name, _column(getattr(self, name), name, "vertex labels"))
        for name, values in (("labels", self.labels), ("positions", self.positions)):
            if len(values) != len(self.ids):
                raise StreamError(
                    f"vertex labels, {name}: expected {counted(len(self.ids), 'value')}, found {len(values)}"
                )
        if self.positions.dtype.kind != "i" or (len(self.positions) and int(self.positions.min()) < 0):
            raise StreamError("vertex labels, positions: expected numbers of updates, from 0, found others")

    @classmethod
    def of(cls, labels: Mapping[VertexId, Label]) -> VertexLabels:
        """Return the labels of a mapping, which are set before all updates.

        Raises
        ------
        ArgumentError, StreamError
            It is no mapping, or not from ids to labels.
        """
        if not isinstance(labels, Mapping):
            raise ArgumentError("vertex_labels", "a mapping from ids to labels", labels)
        return cls(list(labels), list(labels.values()), np.zeros(len(labels), dtype=np.int64))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Updates:
    """Insertions and deletions of edges, in order.

    Parameters
    ----------
    inserts
        bool [k], True for an insertion.
    sources, targets
        External ids [k]: integers or strings.
    labels
        A label for each edge [k], integers or strings; None if all have the label 0.
    times
        Times [k]: datetimes, or integers or floats in the monitor's unit; None without times.
    vertex_labels
        Labels of new vertices of these updates, for example a mapping from ids to labels.
    zoned
        Whether the datetimes of `times` have a time zone, all or each [k]; None: those of Python say so
        themselves, and those of NumPy have none.
    attributes
        Attributes of the edges by name, columns [k] of all types that `Graph.from_edges` takes, in which None
        is a missing value. An insertion brings a copy of its edge with them; a deletion takes the oldest copy
        of which they are true, as far as they are given. Only monitors with conditions on attributes of edges
        read them (``Monitor(attributes=...)``).

    Raises
    ------
    StreamError
        Columns of different lengths, or of types that are not ids, labels, times or attributes.

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
    zoned: Zoned | None = None
    attributes: Mapping[str, Column] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inserts", _flags(self.inserts))
        for name in ("sources", "targets", "labels"):
            values = getattr(self, name)
            if values is not None or name != "labels":
                object.__setattr__(self, name, _column(values, name))
        named: object = self.vertex_labels
        if isinstance(named, Mapping):
            object.__setattr__(self, "vertex_labels", VertexLabels.of(named))
        elif not isinstance(named, (VertexLabels, NoneType)):
            raise StreamError("updates, vertex labels: expected VertexLabels, or labels by id, found others")
        if self.times is not None:
            object.__setattr__(self, "zoned", has_zone(self.times) if self.zoned is None else self.zoned)
            object.__setattr__(self, "times", as_moments(self.times))
        for name in ("sources", "targets", "labels", "times", "zoned"):
            values = getattr(self, name)
            if values is not None and not isinstance(values, bool) and len(values) != len(self.inserts):
                raise StreamError(
                    f"updates, {name}: expected {counted(len(self.inserts), 'value')}, found {len(values)}"
                )

        if self.attributes is not None:
            object.__setattr__(self, "attributes", attribute_columns(self.attributes, len(self.inserts)))

    def __len__(self) -> int:
        return len(self.inserts)

    @classmethod
    def of_checked(
        cls,
        inserts: NDArray[np.bool_],
        sources: NDArray[Any],
        targets: NDArray[Any],
        labels: NDArray[Any] | None = None,
        times: NDArray[Any] | None = None,
        vertex_labels: VertexLabels | None = None,
        zoned: Zoned | None = None,
        attributes: Mapping[str, Column] | None = None,
    ) -> Updates:
        """Return updates in columns that are known to be as `Updates` has them."""
        made = object.__new__(cls)
        made.__dict__.update(
            inserts=inserts,
            sources=sources,
            targets=targets,
            labels=labels,
            times=times,
            vertex_labels=vertex_labels,
            zoned=zoned,
            attributes=attributes,
        )
        return made

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Updates:
        """Return updates given one by one: ``(op, source, target[, label])``, op ``"+"`` or ``"-"``.

        Raises
        ------
        StreamError
            Names the row.
        """
        listed = _listed(rows, "updates")
        if (columns := _native.plain_rows(listed)) is not None:
            return cls.of_checked(columns[0].view(bool), *columns[1:])
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
    ) -> Updates:
        """Return deletions, then insertions: arrays [k, 2], tuples of columns, or ``(u, v[, label])``."""
        if deletes is None and _is_plain(inserts):
            sources, targets = np.ascontiguousarray(inserts.T)
            return cls.of_checked(np.ones(len(sources), dtype=bool), sources, targets)
        deleted, inserted = _edge_columns(deletes, "deletes"), _edge_columns(inserts, "inserts")
        labels = None
        if deleted[2] is not None or inserted[2] is not None:
            labels = _joined([_labels_or_default(part) for part in (deleted, inserted)], "labels")
        return cls(
            np.repeat([False, True], [len(deleted[0]), len(inserted[0])]),
            _joined([deleted[0], inserted[0]], "sources"),
            _joined([deleted[1], inserted[1]], "targets"),
            labels,
        )

    def with_more(
        self,
        vertex_labels: Mapping[VertexId, Label] | None,
        times: ArrayLike | None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Updates:
        """Return the updates with vertex labels, one time for all updates or one for each, and attributes.

        Raises
        ------
        ArgumentError, StreamError
            The labels, times or attributes are invalid.
        """
        if vertex_labels is None and times is None and attributes is None:
            return self
        named = self.vertex_labels if vertex_labels is None else VertexLabels.of(vertex_labels)
        column, zoned = self.times, self.zoned
        if times is not None:
            given = [times] if np.ndim(times) == 0 else times
            column, zoned = as_moments(given), has_zone(given)
            if np.ndim(times) == 0:
                column = np.repeat(column, len(self))
        columns = self.attributes if attributes is None else attributes
        return replace(self, times=column, vertex_labels=named, zoned=zoned, attributes=columns)

    def with_attributes(self, attributes: Mapping[str, Column]) -> Updates:
        """Return the updates with attributes that are columns of their length."""
        made: Updates = object.__new__(type(self))
        made.__dict__.update({**self.__dict__, "attributes": attributes})
        return made

    def rows(self, rows: NDArray[np.int64]) -> Updates:
        """Return some of the updates, without labels of vertices."""
        labels = None if self.labels is None else self.labels[rows]
        times = None if self.times is None else self.times[rows]
        zoned = zones_at(self.zoned, rows)
        ends = self.sources[rows], self.targets[rows]
        return Updates(self.inserts[rows], *ends, labels, times, None, zoned, attributes_at(self, rows))

    def slices(self, size: int) -> Iterator[Updates]:
        """Return the updates in pieces of at most `size`."""
        size = check_integer("size", size, 1)
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
            zones_at(self.zoned, part),
            attributes_at(self, np.arange(first, end)[: max(0, len(self) - first)]),
        )


def attributes_at(updates: Updates, rows: NDArray[Any]) -> dict[str, Column] | None:
    """Return the attributes of some updates."""
    if updates.attributes is None:
        return None
    return {name: narrowed(column.take(rows)) for name, column in updates.attributes.items()}


def narrowed(column: Column) -> Column:
    """Return a column without the strings of other rows: batches of a large column are coded one by one."""
    if column.strings is None or len(column.strings) <= len(column):
        return column
    codes, strings = column.strings.used(column.data)
    return Column(codes, column.mask, strings, column.times)


def attribute_columns(given: object, length: int) -> dict[str, Column]:
    """Return attributes by name as columns of a length.

    Raises
    ------
    StreamError
        They are none, or of another length.
    """
    if not isinstance(given, Mapping):
        raise StreamError(f"updates, attributes: expected columns by name, found {given!r}")
    columns = {}
    for name, values in given.items():
        if not isinstance(name, str) or not name:
            raise StreamError(f"updates, attributes: expected names that are not empty, found {name!r}")
        try:
            columns[name] = make_column(values, f"updates, attribute {name!r}")
        except GraphError as error:
            raise StreamError(str(error)) from None
        if len(columns[name]) != length:
            found = len(columns[name])
            raise StreamError(
                f"updates, attribute {name!r}: expected {counted(length, 'value')}, found {found}"
            )
    return columns


def zones_at(zoned: Zoned | None, rows: Any) -> Zoned | None:
    """Return which of some rows have times with a time zone."""
    return zoned[rows] if isinstance(zoned, np.ndarray) else zoned


_Edges: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]


def _is_plain(edges: object) -> TypeGuard[NDArray[np.int64]]:
    """Return whether edges are integers in an array [k, 2]."""
    if not isinstance(edges, np.ndarray) or type(edges) is not np.ndarray:
        return False
    return edges.dtype == np.int64 and edges.ndim == 2 and edges.shape[1] == 2


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
        if len(lengths) > 1 or not lengths <= {2, 3}:
            raise StreamError(f"{what}: expected rows (source, target[, label]), found {rows[0]!r}")
        columns = [_column(list(part), what) for part in zip(*rows, strict=True)]
    if len({len(column) for column in columns}) > 1:
        raise StreamError(f"{what}: expected columns of one length, found {[len(one) for one in columns]}")
    return columns[0], columns[1], columns[2] if len(columns) == 3 else None


def _listed(rows: object, what: str) -> list[Any]:
    if isinstance(rows, list):
        return rows
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


def _column(values: ArrayLike, what: str, of: str = "updates") -> NDArray[Any]:
    try:
        return as_column(values, what)
    except GraphError as error:
        raise StreamError(f"{of}, {error}") from None
