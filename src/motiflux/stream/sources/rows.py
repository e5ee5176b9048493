"""Updates of the program itself: rows, `Updates` and tables, from an iterable or a queue."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import StreamError
from motiflux.graph.labels import as_column
from motiflux.interop import arrow
from motiflux.interop.tables import open_table
from motiflux.stream.sources.columns import StreamColumns
from motiflux.stream.sources.source import DEFAULT_SIZE, Batch, Position, Request
from motiflux.stream.sources.tables import TableSource
from motiflux.stream.updates import Updates, VertexLabels

_NAME = "updates"
"""What errors call them."""

_COLUMNS = StreamColumns()
"""The meaning of the keys of a mapping."""

_LATER = object()
"""Nothing is there for now."""

_WAIT = 0.1
"""Seconds of waiting for a queue, after which the run checks whether to stop."""


def is_table(item: object) -> bool:
    """Whether an object holds columns: an Arrow table, a structured array, a mapping of arrays."""
    if isinstance(item, Mapping):
        return all(hasattr(value, "__len__") and not isinstance(value, str) for value in item.values())
    return arrow.is_arrow(item) or (isinstance(item, np.ndarray) and item.dtype.names is not None)


class RowSource:
    """Rows, `Updates` and tables one after the other.

    Rows are collected into batches; columns are cut into batches, and never joined.

    Parameters
    ----------
    items
        ``(op, source, target[, label])``, mappings by column, `Updates`, tables.
    on_error
        As for `TableSource`.
    """

    can_repeat = False
    may_grow = False
    """Whether the items are in a list, which code of users may extend while it is read."""
    in_memory = True
    """There is next to nothing to read: a thread that does it ahead is of little use."""
    columns_size = DEFAULT_SIZE
    """The most updates of a batch if columns are returned as they are."""

    def __init__(self, items: Iterable[Any], *, on_error: str = "stop") -> None:
        if isinstance(items, (list, tuple)) and items and all(type(item) is Updates for item in items):
            self.can_repeat, self.columns_size = True, max(map(len, items))
            self.may_grow = isinstance(items, list)
        self._items = items
        self._on_error = on_error
        self._keeps: Callable[[str], bool] | None = None

    def batches(self, request: Request) -> Iterator[Batch]:
        """Yield batches as items arrive.

        Raises
        ------
        StreamError
            Names the update, counted from 1.
        """
        done = 0
        self._keeps = request.edge_attributes
        for held in self._pieces(request):
            if request.has_ended:
                return
            given = self._of_rows(held, done) if isinstance(held, list) else self._of_columns(held, request)
            for batch in given:
                size = len(batch.updates) + batch.skips
                first, done = done, done + size
                if isinstance(held, list):
                    yield batch
                    continue
                lines = None if batch.lines is None else batch.lines + first
                skipped = tuple((line + first, message) for line, message in batch.skipped)
                yield replace(batch, position=Position(done), lines=lines, skipped=skipped)

    def _pieces(self, request: Request) -> Iterator[Any]:
        """Yield lists of rows, and each item of columns separately."""
        rows: list[Any] = []
        for item in self._coming(request):
            if item is _LATER:
                if rows and not request.exact:
                    yield rows
                    rows = []
                continue
            if isinstance(item, Updates) or is_table(item):
                if rows:
                    yield rows
                    rows = []
                yield item
                continue
            rows.append(item)
            if len(rows) == request.rows:
                yield rows
                rows = []
        if rows:
            yield rows

    def _coming(self, request: Request) -> Iterator[Any]:
        yield from self._items

    def _of_columns(self, item: Any, request: Request) -> Iterator[Batch]:
        if not isinstance(item, Updates):
            source = TableSource(lambda: nullcontext(open_table(item, _NAME)), _NAME, on_error=self._on_error)
            first = 0
            for batch in source.batches(request):
                lines = None if batch.lines is None else batch.lines - first
                yield replace(batch, lines=lines)
                first += len(batch.updates) + batch.skips
            return
        size = len(item) if request.size is None else request.size
        for updates in item.slices(max(1, size)) if len(item) else [item]:
            yield self._batch(updates)

    def _batch(self, updates: Updates, first: int = 0, skipped: Sequence[tuple[int, str]] = ()) -> Batch:
        """Return a batch that begins after `first` updates; `skipped`: those left out, and why."""
        wrong = [(first + line, message) for line, message in skipped]
        last = first + len(updates) + len(wrong)
        lines = np.arange(first + 1, last + 1)
        if wrong:
            lines = np.setdiff1d(lines, [line for line, _ in wrong])
        return Batch(
            updates,
            _NAME,
            Position(last),
            time.perf_counter(),
            lines,
            unit="update",
            skips=len(wrong),
            skipped=tuple(wrong),
        )

    def _of_rows(self, rows: list[Any], done: int) -> Iterator[Batch]:
        try:
            updates = self._updates(rows)
        except StreamError as error:
            if error.row is None:
                raise
            if self._on_error == "skip":
                yield self._good_rows(rows, done)
                return
            if error.row:
                yield self._batch(self._updates(rows[: error.row]), done)
            message = error.message.removeprefix(f"updates, row {error.row}: ")
            raise StreamError(f"{_NAME}, update {done + error.row + 1}: {message}") from None
        yield self._batch(updates, done)

    def _good_rows(self, rows: list[Any], done: int) -> Batch:
        good, wrong = [], []
        for number, row in enumerate(rows, 1):
            try:
                self._updates([row])
                good.append(row)
            except StreamError as error:
                wrong.append((number, error.message.removeprefix("updates, row 0: ")))
        return self._batch(self._updates(good), done, wrong)

    def _updates(self, rows: list[Any]) -> Updates:
        if not rows or not isinstance(rows[0], Mapping):
            return Updates.of(rows)
        updates = Updates.of([_row_of(row) for row in rows])
        attributes = None if self._keeps is None else _attributes_of(rows, self._keeps)
        return replace(updates, times=_times_of(rows), vertex_labels=_labels_of(rows), attributes=attributes)


class QueueSource(RowSource):
    """The items of a queue; None ends it.

    Parameters
    ----------
    items
        A `queue.Queue`, or what has its `get`.
    """

    def __init__(self, items: Any, *, on_error: str = "stop") -> None:
        super().__init__((), on_error=on_error)
        self._queue = items

    def _coming(self, request: Request) -> Iterator[Any]:
        take: Callable[..., Any] = self._queue.get
        while True:
            try:
                item = take(block=False)
            except queue.Empty:
                yield _LATER
                if request.deadline is not None and time.perf_counter() >= request.deadline:
                    return
                try:
                    item = take(timeout=_WAIT)
                except queue.Empty:
                    continue
            if item is None:
                return
            yield item


def _row_of(row: Any) -> Any:
    """Return a mapping as a row; what is none is left to be refused."""
    if not isinstance(row, Mapping):
        return row
    values = _parts_of(row)
    label = (values["label"],) if "label" in values else ()
    return (values.get("op", "+"), values["src"], values["dst"], *label)


def _parts_of(row: Mapping[str, Any]) -> dict[str, Any]:
    values = list(row.values())
    return {part: values[place] for part, place in _COLUMNS.choose(list(row), "a row").items()}


def _times_of(rows: Sequence[Mapping[str, Any]]) -> NDArray[Any] | None:
    """Return the moments of mappings; None where none has one."""
    times = [_parts_of(row).get("time") for row in rows]
    absent = [number for number, time in enumerate(times) if time is None]
    if len(absent) == len(times):
        return None
    if absent:
        raise StreamError(
            f"updates, row {absent[0]}: expected a time as in other rows, found none", absent[0]
        )
    return np.array(times)


def _attributes_of(rows: Sequence[Mapping[str, Any]], keeps: Callable[[str], bool]) -> dict[str, Any]:
    """Return the values of mappings that are no part of an update, by name; None where there is none."""
    found: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        parts = set(_COLUMNS.choose(list(row), "a row").values())
        for place, (name, value) in enumerate(row.items()):
            if place not in parts and keeps(name):
                found.setdefault(name, [None] * len(rows))[number] = value
    return found


def _labels_of(rows: Sequence[Mapping[str, Any]]) -> VertexLabels | None:
    """Return the labels that mappings have for their ends."""
    named = [
        (values[end], values[label], number)
        for number, values in enumerate(_parts_of(row) for row in rows)
        for end, label in (("src", "src_label"), ("dst", "dst_label"))
        if values.get(label) is not None
    ]
    if not named:
        return None
    ids, labels, numbers = zip(*named, strict=True)
    return VertexLabels(
        as_column(ids, "updates, ids"), as_column(labels, "updates, vertex labels"), np.array(numbers)
    )
