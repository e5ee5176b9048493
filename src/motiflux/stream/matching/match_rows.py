"""Matches as rows, with the update of each."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class Runs(NamedTuple):
    """Rows of one update that all appeared or all vanished, run after run.

    Parameters
    ----------
    updates
        uint64 [runs]: the position of the update.
    positive
        bool [runs]: whether the matches appeared.
    ends
        int64 [runs]: the number of rows up to the end of each.
    """

    updates: NDArray[np.uint64]
    positive: NDArray[np.bool_]
    ends: NDArray[np.int64]

    @classmethod
    def of_rows(cls, updates: NDArray[np.uint64], positive: NDArray[np.bool_]) -> Self:
        """Return the runs of rows with these updates and signs."""
        differs = (updates[1:] != updates[:-1]) | (positive[1:] != positive[:-1])
        firsts = np.flatnonzero(np.concatenate([[len(updates) > 0], differs]))
        ends = np.append(firsts[1:], [len(updates)] if len(firsts) else [])
        return cls(updates[firsts], positive[firsts], ends.astype(np.int64))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each: int64 [runs]."""
        return np.diff(self.ends, prepend=np.int64(0))

    def part(self, first: int, last: int) -> Runs:
        """Return the runs of the rows [first, last), of which there is at least one."""
        begin = int(np.searchsorted(self.ends, first, side="right"))
        end = int(np.searchsorted(self.ends, last, side="left")) + 1
        chosen = slice(begin, end)
        return Runs(self.updates[chosen], self.positive[chosen], np.minimum(self.ends[chosen], last) - first)


NO_RUNS = Runs(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.int64))


class MatchRows:
    """Matches that appeared or vanished, in the order in which they were found.

    Parameters
    ----------
    vertices
        uint32 [rows, k]: internal numbers, by query vertex.
    updates
        uint64 [rows]: the position of the update among the applied ones; 0 in batch mode.
    positive
        bool [rows]: whether the match appeared.
    """

    __slots__ = ("_positive", "_runs", "_updates", "_vertices")

    def __init__(
        self, vertices: NDArray[np.uint32], updates: NDArray[np.uint64], positive: NDArray[np.bool_]
    ) -> None:
        self._vertices = vertices
        self._runs = Runs.of_rows(updates, positive)
        self._updates: NDArray[np.uint64] | None = updates
        self._positive: NDArray[np.bool_] | None = positive

    @classmethod
    def of_runs(cls, vertices: NDArray[np.uint32], runs: Runs) -> Self:
        """Return rows whose columns `updates` and `positive` are made when they are read."""
        rows = cls.__new__(cls)
        rows._vertices, rows._runs = vertices, runs
        rows._updates = rows._positive = None
        return rows

    @property
    def vertices(self) -> NDArray[np.uint32]:
        """Internal numbers, by query vertex: uint32 [rows, k]."""
        return self._vertices

    @property
    def updates(self) -> NDArray[np.uint64]:
        """The position of the update among the applied ones, 0 in batch mode: uint64 [rows]."""
        if self._updates is None:
            self._updates = self.by_row(self._runs.updates)
        return self._updates

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Whether the match appeared: bool [rows]."""
        if self._positive is None:
            self._positive = self.by_row(self._runs.positive)
        return self._positive

    @property
    def runs(self) -> Runs:
        """The runs of rows with the same update and sign."""
        return self._runs

    @property
    def nbytes(self) -> int:
        """Bytes of the rows and their runs."""
        return self._vertices.nbytes + sum(column.nbytes for column in self._runs)

    def __len__(self) -> int:
        return len(self._vertices)

    def __repr__(self) -> str:
        return f"MatchRows({self.vertices!r}, {self.updates!r}, {self.positive!r})"

    def by_row(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of runs [runs] as a column of rows [rows]."""
        return np.repeat(values, self._runs.sizes)

    def part(self, first: int, last: int) -> MatchRows:
        """Return the rows [first, last), as far as there are any."""
        last = min(last, len(self))
        runs = self._runs.part(first, last) if first < last else NO_RUNS
        return MatchRows.of_runs(self._vertices[first:last], runs)

    def of_sign(self, *, positive: bool) -> NDArray[np.uint32]:
        """Return the vertices of the matches that appeared, or of those that vanished."""
        chosen = self._runs.positive == positive
        return self._vertices if chosen.all() else self._vertices[self.by_row(chosen)]

    def by_update(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the updates that have rows, ascending, and the number of rows of each."""
        updates, places = np.unique(self._runs.updates, return_inverse=True)
        rows = np.zeros(len(updates), dtype=np.int64)
        np.add.at(rows, places, self._runs.sizes)
        return updates, rows
