"""What calls give back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.types import IdArray, VertexArray


class Count(int):
    """A number of embeddings or subgraphs: an int that knows how it came about.

    Attributes
    ----------
    complete : bool
        False if a limit or a timeout cut the search short; the number is then a lower bound.
    seconds : float
        Wall-clock seconds of the search, planning not included.
    plan_seconds : float
        Wall-clock seconds of planning.
    engine, device : str
        What searched, and where.
    """

    complete: bool
    seconds: float
    plan_seconds: float
    engine: str
    device: str

    def __new__(
        cls, value: int, *, complete: bool, seconds: float, plan_seconds: float, engine: str, device: str
    ) -> Count:
        """Return `value` with what is known about it."""
        self = super().__new__(cls, value)
        self.complete = complete
        self.seconds = seconds
        self.plan_seconds = plan_seconds
        self.engine = engine
        self.device = device
        return self

    def __repr__(self) -> str:
        return f"Count({int(self):,}{'' if self.complete else ', incomplete'}, {self.seconds:.3g} s)"

    def __str__(self) -> str:
        return int.__repr__(self)

    def __reduce__(self) -> tuple[Callable[..., Count], tuple[int, dict[str, Any]]]:
        return _count_from, (int(self), vars(self))


def _count_from(value: int, facts: dict[str, Any]) -> Count:
    return Count(value, **facts)


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """How far a search is.

    Parameters
    ----------
    done, total
        Units of work. Their cost varies. A search that is over within a few milliseconds sends no report.
    found
        Embeddings known so far; a count stands for more where the plan multiplies.
    seconds
        Wall-clock seconds since the start.
    """

    done: int
    total: int
    found: int
    seconds: float


class RowSource(Protocol):
    """Where `Matches` takes its rows from: an engine's running search."""

    def next(self) -> VertexArray | None:
        """Return the next block of internal ids, or None at the end."""

    def close(self) -> None:
        """Stop searching."""

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""


class NoRows:
    """The rows of a search that has none: nothing can match, or there was no time to begin."""

    def __init__(self, *, complete: bool) -> None:
        self.complete = complete

    def next(self) -> VertexArray | None:
        """Return None."""
        return None

    def close(self) -> None:
        """Do nothing."""


class Matches:
    """Embeddings as they are found: an iterator over batches, usable once, in bounded memory.

    Each batch is an array [rows, k] of external ids, one column per query vertex in the pattern's order.
    With several threads the order of rows is not defined. Closing it (or leaving a ``with`` block) stops
    the search.

    Attributes
    ----------
    columns : list of str
        ``["v0", ..., "v<k-1>"]``.
    rows : int
        Rows given out so far.
    complete : bool or None
        None while the search goes on; then whether every embedding was given out.
    seconds : float
        Wall-clock seconds since the search began, until its end.
    plan_seconds : float
        Wall-clock seconds of planning.
    engine, device : str
        What searches, and where.
    """

    def __init__(
        self,
        source: RowSource,
        vertex_ids: IdArray,
        columns: int,
        *,
        started: float,
        plan_seconds: float,
        engine: str,
        device: str,
    ) -> None:
        self._source = source
        self._vertex_ids = vertex_ids
        self._started = started
        self.columns = [f"v{column}" for column in range(columns)]
        self.rows = 0
        self.complete: bool | None = None
        self.seconds = 0.0
        self.plan_seconds = plan_seconds
        self.engine = engine
        self.device = device

    @property
    def vertex_dtype(self) -> np.dtype[Any]:
        """Type of the ids: int64, or strings as wide as the longest id of the graph."""
        return self._vertex_ids.dtype

    def __iter__(self) -> Iterator[IdArray]:
        return self

    def __next__(self) -> IdArray:
        if self.complete is not None:
            raise StopIteration
        try:
            block = self._source.next()
            self.seconds = time.perf_counter() - self._started
            if block is not None:
                batch: NDArray[Any] = self._vertex_ids[block]
                self.rows += len(block)
                return batch
        except BaseException:
            self.close()  # rows may be lost: nothing that comes later could be complete
            raise
        self.complete = self._source.complete
        raise StopIteration

    def to_numpy(self) -> IdArray:
        """Return all remaining rows as one array [rows, k]."""
        try:
            batches: list[NDArray[Any]] = [np.empty((0, len(self.columns)), self.vertex_dtype), *self]
            result: NDArray[Any] = np.concatenate(batches)
            return result
        except BaseException:
            self.close()
            self.complete = False
            raise

    def close(self) -> None:
        """Stop the search and drop what was not taken; `complete` becomes False if it was still going on."""
        self._source.close()
        if self.complete is None:
            self.complete = False

    def __enter__(self) -> Matches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "open" if self.complete is None else "complete" if self.complete else "incomplete"
        return f"Matches({self.rows:,} rows of {len(self.columns)}, {state})"
