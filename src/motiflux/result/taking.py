"""Rows taken from a running search, each once, and the errors of calls that cannot have all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from motiflux.errors import MotifluxError, OutOfMemoryError
from motiflux.result.columns import RowColumns
from motiflux.result.images import Block, written
from motiflux.result.queries.columns import QueryColumns
from motiflux.result.rows import RowSource
from motiflux.types import VertexArray
from motiflux.units import bytes_text, quantity

T = TypeVar("T")

_KEEP = "keep the result of the first call, or call match again"

_KEEPING = ("to_numpy", "to_arrow", "to_pandas", "to_polars")
"""Calls that keep all rows in memory."""

_MOST_SHOWN = 5
"""First rows that are kept for notebooks."""


class RowTaker:
    """Rows of a search as they are found; see `motiflux.Matches`."""

    def __init__(
        self,
        source: RowSource,
        layout: RowColumns | QueryColumns,
        *,
        started: float,
        plan_seconds: float,
        engine: str,
        device: str,
        reason: str = "",
        batch_rows: int | None = None,
        limit: int | None = None,
    ) -> None:
        self._source = source
        self._limit = limit
        self._layout = layout
        self._most_rows = batch_rows
        self._kept: Block | None = None
        self._first: VertexArray | None = None
        self._begun = False
        self._dropped = False
        self._on_device: bool | None = None
        self._started = started
        self.columns = layout.columns
        self.fields = layout.fields
        self.rows = 0
        self.complete: bool | None = None
        self.seconds = 0.0
        self.plan_seconds = plan_seconds
        self.engine = engine
        self.device = device
        self.reason = reason

    def _check_whole(self, call: str) -> None:
        """Refuse a call that would return a part of the rows."""
        if self.rows or self._dropped:
            raise gone(call, self.rows, dropped=self._dropped)

    def _check_open(self, call: str) -> None:
        """Refuse to go on after all rows were taken, or after rows were dropped by `close` or an error."""
        if self._dropped or (self.complete is not None and self.rows):
            raise gone(call, self.rows, dropped=self._dropped, expected="rows that were not taken")

    def _keep_to(self, *, on_device: bool) -> None:
        """Refuse to mix rows in GPU memory and rows in the memory of the host: the source would lose some."""
        if self._on_device is None:
            self._on_device = on_device
        elif self._on_device is not on_device and self.complete is None:
            wanted, found = ("GPU memory", "the host's memory")[:: 1 if on_device else -1]
            rows = quantity(self.rows, "row")
            raise MotifluxError(
                f"expected all rows in {wanted}, found {rows} taken in {found}; call match again"
            )

    def _given(self, make: Callable[[Block], T], batch_rows: int | None = None) -> Iterator[T]:
        """Yield `make(block)` for the remaining rows, `batch_rows` at a time if that is given."""

        def batch() -> T | None:
            block = self._next_batch() if batch_rows is None else self._next_rows(batch_rows)
            if block is None:
                return None
            made = make(block)
            self.rows += len(block)
            return made

        while True:
            self._keep_to(on_device=False)
            made = self._closing_on_error(batch, "a batch", batch_rows)
            if made is None:
                return
            yield made

    def _next_batch(self) -> Block | None:
        """Return the next block, or the allowed number of rows of a larger block; None at the end."""
        block = self._next_block()
        if block is not None and self._most_rows is not None and len(block) > self._most_rows:
            block, self._kept = block[: self._most_rows], block[self._most_rows :]
        return block

    def _next_rows(self, rows: int) -> Block | None:
        """Return the next `rows` rows, fewer at the end, None after it; other rows of a block are kept."""
        parts: list[Block] = []
        while rows and (block := self._next_block()) is not None:
            parts.append(block[:rows])
            self._kept = block[rows:] if len(block) > rows else None
            rows -= len(parts[-1])
        if len(parts) > 1:
            return np.concatenate([written(part) for part in parts])
        return parts[0] if parts else None

    def _next_block(self) -> Block | None:
        """Return the next block of internal ids, or None at the end."""
        if self.complete is not None:
            return None
        block, self._kept = self._kept, None
        if block is None:
            self._begun = True
            block = self._source.next()
            self.seconds = time.perf_counter() - self._started
        if block is None:
            self.complete = self._source.complete
        elif self._first is None:
            self._first = written(block[:_MOST_SHOWN]).copy()
        return block

    def _closing_on_error(self, make: Callable[[], T], call: str, batch_rows: int | None = None) -> T:
        """Return the result of `make`.

        An error in it ends a search that has begun: rows may be lost then. Before, nothing is, and another
        call may have the rows.
        """
        try:
            return make()
        except BaseException as error:
            if self._begun:
                self.close()
                self.complete = False
                self._dropped = True
            if isinstance(error, MemoryError):
                raise self._out_of_memory(call, batch_rows or self._most_rows or 1) from error
            raise

    def _out_of_memory(self, call: str, batch_rows: int) -> OutOfMemoryError:
        row_bytes = sum(field.dtype.itemsize for field in self.fields)
        if call == "to_numpy":
            empty = self._layout.empty()
            row_bytes = empty.itemsize * (1 if empty.ndim == 1 else len(self.columns))
        if self.rows and call in _KEEPING:
            return all_out_of_memory(call, self.rows, row_bytes)
        return batch_out_of_memory(call, batch_rows, row_bytes)

    def close(self) -> None:
        """Stop the search and drop the remaining rows; `complete` becomes False if the search was running."""
        self._source.close()
        self._kept = None
        if self.complete is None:
            self.complete = False
            self._dropped = True

    def _taken(self) -> str:
        return quantity(self.rows, "row") if self.rows else "no row"

    def _state(self) -> str:
        if self.complete is None:
            return "open"
        if self.complete:
            return "complete"
        return "incomplete" if self._limit is None or self.rows < self._limit else "stopped at the limit"


def take_through(rows: RowTaker, wrap: Callable[[RowSource], RowSource]) -> None:
    """Take the rows from `wrap(source)` instead of their source."""
    rows._source = wrap(rows._source)


def gone(call: str, rows: int, *, dropped: bool, expected: str = "all rows") -> MotifluxError:
    """Return the error of a call that wants rows which were taken before, or dropped.

    >>> print(gone("to_numpy", 6, dropped=True))
    to_numpy: expected all rows, found a search that was closed or failed after 6 rows; call match again
    """
    if dropped:
        found = f"a search that was closed or failed after {quantity(rows, 'row')}"
        return MotifluxError(f"{call}: expected {expected}, found {found}; call match again")
    return MotifluxError(f"{call}: expected {expected}, found {quantity(rows, 'row')} taken before; {_KEEP}")


def all_out_of_memory(call: str, rows: int, row_bytes: int) -> OutOfMemoryError:
    """Return the error of a call that keeps all rows and has room for no more.

    >>> all_out_of_memory("to_numpy", 1000, 16).needed
    32000
    """
    # The batches of rows are there until the result is whole.
    needed = 2 * rows * row_bytes
    advice = "take the rows in batches (batches), write them to a file (save), or ask for fewer (limit)"
    return _out_of_memory(call, needed, f"the {quantity(rows, 'row')} so far", advice)


def batch_out_of_memory(call: str, rows: int, row_bytes: int) -> OutOfMemoryError:
    """Return the error of a call that has no room for a batch of rows."""
    advice = "ask for smaller batches (batch_rows) or fewer rows (limit)"
    return _out_of_memory(call, rows * row_bytes, f"a batch of {quantity(rows, 'row')}", advice)


def _out_of_memory(call: str, needed: int, what: str, advice: str) -> OutOfMemoryError:
    room = f"{quantity(needed, 'byte')} of memory ({bytes_text(needed)})"
    return OutOfMemoryError(f"{call}: expected at least {room} for {what}, found less; {advice}", needed)
