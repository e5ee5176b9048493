"""Updates as columns: tables in memory and in files, with the types that they have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError, FormatError, GraphError, StreamError
from motiflux.graph import Column as ColumnOfEdges
from motiflux.graph import Kind
from motiflux.graph.attributes.columns import make_column
from motiflux.interop import arrow
from motiflux.interop.tables import Table
from motiflux.stream.sources.columns import Name, StreamColumns, without_times
from motiflux.stream.sources.missing_ids import refusal, words_at
from motiflux.stream.sources.source import BEGIN, Batch, Position, Request
from motiflux.stream.updates import OPS, Updates, VertexLabels, narrowed
from motiflux.types import Label, VertexId

_SKIPS_TOLD = 8
_LARGE = 1 << 16
"""Rows that a batch of a file may have; how many is not known before it is read."""


class TableSource:
    """The rows of a table, in order.

    Parameters
    ----------
    opened
        Opens the table, once for each pass.
    name
        The name of the table in errors.
    columns
        The meaning of the columns.
    on_error
        ``"stop"`` or ``"skip"``: the treatment of rows without an id or a moment, or with an unknown op.
    missing
        One of `MISSING`: the treatment of words for a missing id.
    start
        Where to go on.
    can_repeat
        Whether the table can be opened again, and may be read by another thread.
    """

    columns_size = _LARGE

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Table]],
        name: str,
        *,
        columns: Mapping[str, Name] | StreamColumns | None = None,
        on_error: str = "stop",
        missing: str = "error",
        start: Position = BEGIN,
        can_repeat: bool = False,
    ) -> None:
        self.can_repeat = can_repeat
        self._missing = missing
        self._zoned: bool | None = None
        self._opened = opened
        self._name = name
        self._columns = StreamColumns.of(columns)
        self._skips = on_error == "skip"
        self._start = start

    def batches(self, request: Request) -> Iterator[Batch]:
        """Yield batches of rows.

        Raises
        ------
        StreamError
            Names the row, counted from 0; all before it was given.
        """
        done = 0
        held: list[_Rows] = []
        size = request.size
        for rows in self._rows(request):
            if request.has_ended:
                return
            done += rows.length
            if done <= self._start.line:
                continue
            held.append(rows.tail(max(0, self._start.line - (done - rows.length))))
            if size is None or sum(part.length for part in held) >= size:
                whole = _joined(held)
                cut = whole.length if size is None else whole.length - whole.length % size
                yield from self._given(whole.part(0, cut), size)
                held = [whole.tail(cut)] if cut < whole.length else []
        if held:
            yield from self._given(_joined(held), None)

    def _rows(self, request: Request) -> Iterator[_Rows]:
        try:
            with self._opened() as table:
                yield from self._rows_of(table, request)
        except GraphError as error:
            raise StreamError(str(error)) from error

    def _rows_of(self, table: Table, request: Request) -> Iterator[_Rows]:
        try:
            chosen = self._columns.choose(table.names, self._name)
        except ArgumentError as error:
            if self._columns != StreamColumns():
                raise
            raise FormatError(self._name, str(error).removeprefix(f"{error.argument}: ")) from None
        if request.times and "time" not in chosen:
            raise FormatError(self._name, without_times(table.names))
        places = list(chosen.values())
        keeps = request.edge_attributes
        kept = [name for name in table.names if keeps is not None and keeps(name)]
        others = [
            place
            for place, name in enumerate(table.names)
            if place not in places and (request.attributes or name in kept)
        ]
        first = 0
        for columns in table.batches(places + others):
            arrays = {
                part: _as_array(column, f"{self._name}, column {table.names[place]!r}")
                for (part, place), column in zip(chosen.items(), columns[: len(places)], strict=True)
            }
            if "time" in arrays and arrow.is_arrow_array(time := columns[list(chosen).index("time")]):
                self._zoned = getattr(time.type, "tz", None) is not None
            rest = {
                table.names[place]: one for place, one in zip(others, columns[len(places) :], strict=True)
            }
            extra = {name: _as_objects(one) for name, one in rest.items()} if request.attributes else {}
            of_edges = None
            if keeps is not None:
                of_edges = {name: self._attribute(name, one) for name, one in rest.items() if name in kept}
            rows = _Rows(arrays, first, len(arrays["src"][0]), extra, of_edges)
            first += rows.length
            if rows.length:
                yield rows

    def _attribute(self, name: str, values: Any) -> ColumnOfEdges:
        return make_column(values, f"{self._name}, column {name!r}")

    def _given(self, rows: _Rows, size: int | None) -> Iterator[Batch]:
        step = rows.length if size is None else size
        for first in range(0, rows.length, step):
            yield from self._batch(rows.part(first, first + step))

    def _batch(self, rows: _Rows) -> Iterator[Batch]:
        wrong = rows.wrong(refuses_words=self._missing == "error", advised=not self._skips)
        is_good = np.array([one is None for one in wrong], dtype=bool)
        bad = np.flatnonzero(~is_good)
        told: list[int] = bad[:_SKIPS_TOLD].tolist() if self._skips else []
        kept = rows
        if len(bad):
            kept = rows.where(is_good) if self._skips else rows.part(0, int(bad[0]))
        if kept.length or self._skips:
            yield Batch(
                kept.updates(self._name, each_names=self._skips, zoned=self._zoned),
                self._name,
                Position(int((rows if self._skips else kept).numbers[-1]) + 1),
                time.perf_counter(),
                kept.numbers + 1,
                unit="row",
                skips=len(bad) if self._skips else 0,
                skipped=tuple((int(rows.numbers[at]) + 1, str(wrong[at])) for at in told),
                attributes=kept.attributes_of if kept.attributes else None,
            )
        if len(bad) and not self._skips:
            row = int(rows.numbers[bad[0]])
            raise StreamError(f"{self._name}, row {row}: {wrong[bad[0]]}")


Column = tuple[NDArray[Any], NDArray[np.bool_] | None]
"""Values, and where they are missing."""


class _Rows:
    """Some rows of a table, by part of an update."""

    def __init__(
        self,
        columns: Mapping[str, Column],
        first: int,
        length: int,
        attributes: Mapping[str, NDArray[np.object_]] = MappingProxyType({}),
        of_edges: Mapping[str, ColumnOfEdges] | None = None,
    ) -> None:
        self.columns = dict(columns)
        self.of_edges = of_edges
        self.attributes = dict(attributes)
        self.length = length
        self.numbers = np.arange(first, first + length)

    def _chosen(self, rows: Any) -> _Rows:
        columns = {
            part: (values[rows], None if missing is None else missing[rows])
            for part, (values, missing) in self.columns.items()
        }
        numbers = self.numbers[rows]
        attributes = {name: values[rows] for name, values in self.attributes.items()}
        at = np.arange(self.length)[rows]
        of_edges = self.of_edges
        if of_edges is not None and len(at) < self.length:
            of_edges = {name: narrowed(values.take(at)) for name, values in of_edges.items()}
        chosen = _Rows(columns, 0, len(numbers), attributes, of_edges)
        chosen.numbers = numbers
        return chosen

    def attributes_of(self, lines: NDArray[np.int64]) -> dict[str, list[Any]]:
        """Return the values of other columns, for rows by their numbers from 1."""
        at = np.searchsorted(self.numbers, lines - 1)
        return {name: values[at].tolist() for name, values in self.attributes.items()}

    def part(self, first: int, end: int) -> _Rows:
        return self._chosen(slice(first, end))

    def tail(self, first: int) -> _Rows:
        return self.part(first, self.length)

    def where(self, kept: NDArray[np.bool_]) -> _Rows:
        return self._chosen(kept)

    def wrong(self, *, refuses_words: bool, advised: bool) -> NDArray[Any]:
        """Return the error of each row, or None."""
        found = np.full(self.length, None, dtype=object)
        for part, (values, missing) in reversed(self.columns.items()):
            if part in ("src", "dst") and refuses_words and values.dtype.kind == "U":
                for at in words_at(values):
                    found[at] = refusal(part, str(values[at]), advised=advised)
            if missing is not None and part not in ("src_label", "dst_label"):
                found[missing] = f"{part}: found nothing, expected a value"
            if part == "time" and values.dtype.kind == "f":
                found[~np.isfinite(values)] = "time: found no finite number, expected one"
            if part == "op":
                for at in np.flatnonzero([op is None for op in _ops(values)]).tolist():
                    found[at] = f"op: found {values[at].item()!r}, expected '+' or '-'"
        return found

    def updates(self, name: str, *, each_names: bool, zoned: bool | None) -> Updates:
        """Return the rows as updates, of which nothing is missing.

        Parameters
        ----------
        each_names
            Whether each row has the labels of its ends; they may be left out if earlier rows had them.
        zoned
            Whether datetimes have a time zone; None if they say so themselves.
        """
        inserts = np.ones(self.length, dtype=bool)
        if "op" in self.columns:
            inserts = np.array(_ops(self.columns["op"][0]), dtype=bool)
        values = {part: column[0] for part, column in self.columns.items()}
        try:
            return Updates(
                inserts,
                values["src"],
                values["dst"],
                values.get("label"),
                values.get("time"),
                self._vertex_labels(each=each_names),
                zoned,
                self.of_edges,
            )
        except StreamError as error:
            raise StreamError(f"{name}: {error}") from None

    def _vertex_labels(self, *, each: bool) -> VertexLabels | None:
        named: dict[tuple[VertexId, Label, int], int] = {}
        for end, part in (("src", "src_label"), ("dst", "dst_label")):
            if part not in self.columns:
                continue
            labels, missing = self.columns[part]
            there = np.arange(self.length) if missing is None else np.flatnonzero(~missing)
            pairs = zip(self.columns[end][0][there].tolist(), labels[there].tolist(), strict=True)
            for row, (vertex, label) in zip(there.tolist(), pairs, strict=True):
                key = (vertex, label, row if each else 0)
                named[key] = min(row, named.get(key, row))
        if not named:
            return None
        in_order = sorted(named.items(), key=lambda item: item[1])
        return VertexLabels(
            np.array([key[0] for key, _ in in_order]),
            np.array([key[1] for key, _ in in_order]),
            np.array([row for _, row in in_order], dtype=np.int64),
        )


def _ops(values: NDArray[Any]) -> list[bool | None]:
    """Return whether each op is an insertion; None for an invalid op."""
    if values.dtype.kind == "b":
        return list(values.tolist())
    if values.dtype.kind in "iu":
        return [{1: True, -1: False, 0: False}.get(value) for value in values.tolist()]
    return [OPS.get(value) if isinstance(value, str) else None for value in values.tolist()]


def _as_array(column: Any, what: str) -> Column:
    """Return a column as an array of NumPy."""
    if not arrow.is_arrow_array(column):
        values = np.asarray(column)
        if values.dtype.kind != "O":
            return values, None
        missing = np.array([value is None or value != value for value in column], dtype=bool)
        listed = [None if absent else value for value, absent in zip(column, missing.tolist(), strict=True)]
        return _of_objects(listed), missing if missing.any() else None
    lacking = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if arrow.is_string(column):
        return _of_objects(column.to_pylist()), lacking
    if lacking is not None:
        column = column.fill_null(False if str(column.type) == "bool" else 0)
    return np.asarray(arrow.numbers(column, what).to_numpy(zero_copy_only=False)), lacking


def _as_objects(column: Any) -> NDArray[np.object_]:
    """Return a column as an array of objects of Python; None is a missing value."""
    if arrow.is_arrow_array(column):
        values = column.to_pylist()
    else:
        array = np.asarray(column)
        values = list(array) if array.dtype.kind in "mM" else array.tolist()  # else, integers
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _of_objects(values: list[Any]) -> NDArray[Any]:
    there = [value for value in values if value is not None]
    if not there:
        return np.zeros(len(values), dtype=np.int64)
    filler = type(there[0])()
    return np.array([filler if value is None else value for value in values])


def _joined_attribute(name: str, parts: Sequence[ColumnOfEdges]) -> ColumnOfEdges:
    kinds = {part.kind for part in parts}
    if len(kinds) > 1 or parts[0].strings is not None or parts[0].kind is Kind.NOTHING:
        return make_column([value for part in parts for value in part.to_list()], f"column {name!r}")
    missing = np.concatenate([part.missing() for part in parts])
    data = np.concatenate([part.data for part in parts])
    return ColumnOfEdges(data, missing if missing.any() else None, None, parts[0].times)


def _joined(parts: Sequence[_Rows]) -> _Rows:
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Column] = {}
    for part in parts[0].columns:
        pieces = [rows.columns[part] for rows in parts]
        missing = None
        if any(lacking is not None for _, lacking in pieces):
            missing = np.concatenate(
                [np.zeros(len(one), bool) if lacking is None else lacking for one, lacking in pieces]
            )
        columns[part] = (np.concatenate([values for values, _ in pieces]), missing)
    attributes = {
        name: np.concatenate([rows.attributes[name] for rows in parts]) for name in parts[0].attributes
    }
    of_edges = None
    if parts[0].of_edges is not None:
        of_edges = {
            name: _joined_attribute(
                name, [rows.of_edges[name] for rows in parts if rows.of_edges is not None]
            )
            for name in parts[0].of_edges
        }
    joined = _Rows(columns, 0, sum(rows.length for rows in parts), attributes, of_edges)
    joined.numbers = np.concatenate([rows.numbers for rows in parts])
    return joined
