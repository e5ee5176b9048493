"""Batches applied by a Monitor on a device and on the CPU: times, checked numbers, and figures."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.runtime.kernel_times import taking_times

DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
LIMIT = float(os.environ.get("MOTIFLUX_LIMIT", "1.0"))
"""Seconds after which a query is unsolved (GAMMA: 30 minutes)."""
_AGAIN = 0.2
"""A call that took less is made again; the least time counts."""
_COMPILING = 60.0
"""Seconds that the kernels of a new way may take to compile."""
THREADS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Batch:
    """A batch, and the one that undoes it."""

    inserted: tuple[NDArray[np.int64], NDArray[np.int64]]
    deleted: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return len(self.inserted[0]) + (0 if self.deleted is None else len(self.deleted[0]))

    def updates(self) -> mf.Updates:
        """Return the batch."""
        return _updates(self.inserted, self.deleted)

    def undone(self) -> mf.Updates:
        """Return the batch that undoes it."""
        return _updates(self.deleted, self.inserted)


def _updates(inserted: Any, deleted: Any) -> mf.Updates:
    none = np.empty(0, np.int64)
    (src, dst), (gone_src, gone_dst) = inserted or (none, none), deleted or (none, none)
    signs = np.concatenate([np.ones(len(src), bool), np.zeros(len(gone_src), bool)])
    return mf.Updates(signs, np.concatenate([src, gone_src]), np.concatenate([dst, gone_dst]))


@dataclass
class Outcome:
    """One query on one monitor.

    Parameters
    ----------
    changes
        Matches that appeared and vanished, by the batch and by its undoing; None: not solved in time.
    seconds, undo_seconds
        Of both calls, until the rows of the host are written too; the limit if not solved.
    figures
        Of the batch: what the engine spent, and what it measured; ``answer_seconds`` is the time of the call,
        which may return before the rows of the host are written.
    """

    changes: tuple[tuple[int, int], ...] | None
    seconds: float
    undo_seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def solved(self) -> bool:
        """Whether it was solved in time."""
        return self.changes is not None


class Side:
    """A monitor that takes one query after the other.

    Parameters
    ----------
    threads
        Of the CPU; None: all.
    tuning
        Private switches too.
    listed
        Whether matches are listed.
    """

    def __init__(
        self,
        graph: mf.Graph,
        device: str,
        threads: int | None = None,
        tuning: Mapping[str, str] | None = None,
        *,
        listed: bool = False,
    ) -> None:
        engine = "cpu" if device == "cpu" else "batch"
        self._monitor = mf.Monitor(
            graph,
            mode="batch",
            matches=listed,
            device=device,
            engine=engine,
            threads=threads,
            tuning=private_tuning(tuning or {}),
        )

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *args: object) -> None:
        self._monitor.close()

    def solve(self, pattern: mf.Pattern, batch: Batch) -> Outcome:
        """Apply a batch and undo it; the graph is as before afterwards."""
        self._monitor.add(pattern)
        try:
            self._warm(batch)
            best = self._once(batch)
            if best.solved and best.seconds + best.undo_seconds < _AGAIN:
                again = self._once(batch)
                assert again.changes == best.changes, "the same batch gives the same matches"
                undo = min(best.undo_seconds, again.undo_seconds)
                best = min(best, again, key=lambda one: one.seconds)
                best.undo_seconds = undo
            return best
        finally:
            self._monitor.drop(0)

    def _warm(self, batch: Batch) -> None:
        """Load rows and kernels, with an update that is taken back; nothing is compiled afterwards."""
        engine: Any = self._monitor._engine
        if engine is not None:
            engine.is_ready()  # begins with the kernels of many updates
        few = batch.updates().rows(np.arange(min(1, len(batch))))
        self._monitor.apply(few, timeout=LIMIT + _COMPILING)
        self._monitor.apply(mf.Updates(~few.inserts, few.sources, few.targets))
        if engine is not None:
            engine._accelerator.compiler.settle()

    def _once(self, batch: Batch) -> Outcome:
        updates, undone = batch.updates(), batch.undone()
        with taking_times() as times:
            begun = time.perf_counter()
            delta = self._monitor.apply(updates, timeout=LIMIT)
            answered = time.perf_counter() - begun
            seconds = self._since(begun)
        if not delta.complete:
            return Outcome(None, LIMIT, LIMIT)
        figures = {**self._spent(), **delta.measured, "kernel_seconds": times.searches}
        figures["answer_seconds"] = answered
        begun = time.perf_counter()
        back = self._monitor.apply(undone)
        undo_seconds = self._since(begun)
        changes = tuple((one[0].positive, one[0].negative) for one in (delta, back))
        return Outcome(changes, seconds, undo_seconds, figures)

    def _since(self, begun: float) -> float:
        """Wait until other threads have written the rows of the host; return the time that has passed."""
        self._monitor._native.prepare()
        return time.perf_counter() - begun

    def _spent(self) -> dict[str, float]:
        engine = self._monitor._engine
        return {} if engine is None else dict(getattr(engine, "spent", {}))

    def search_bytes(self) -> float:
        """Return the bytes that searches hold on the device: lists of candidates, totals, the work queue."""
        engine: Any = self._monitor._engine
        return float(engine.search.nbytes)


@dataclass
class SetOutcome:
    """A query set on several monitors, query by query.

    Parameters
    ----------
    sides
        Outcomes by the name of the side.
    """

    sides: dict[str, list[Outcome]]

    def disagrees(self) -> bool:
        """Whether two sides solved a query differently."""
        return any(
            len({one.changes for one in outcomes if one.solved}) > 1
            for outcomes in zip(*self.sides.values(), strict=True)
        )

    def over(self, side: str, other: str, *, undo: bool = False, figure: str = "") -> float | None:
        """Return the geometric mean of another side's times over a side's.

        A query that one of the two did not solve counts with the limit there. One that neither solved is left
        out.

        Parameters
        ----------
        undo
            Compare the times of undoing.
        figure
            Compare a figure, over the queries that both sides solved.
        """

        def value(one: Outcome) -> float:
            return one.figures.get(figure, 0.0) if figure else one.undo_seconds if undo else one.seconds

        pairs = zip(self.sides[side], self.sides[other], strict=True)
        ratios = [
            value(theirs) / value(mine)
            for mine, theirs in pairs
            if (mine.solved or theirs.solved) and value(mine) and value(theirs)
        ]
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None

    def solved(self, side: str) -> list[Outcome]:
        """Return the outcomes of solved queries."""
        return [one for one in self.sides[side] if one.solved]

    def mean(self, side: str, figure: str = "") -> float:
        """Return the mean time of solved queries, or the mean of a figure."""
        values = [one.figures.get(figure, 0.0) if figure else one.seconds for one in self.solved(side)]
        return sum(values) / len(values) if values else 0.0

    def changes(self, side: str) -> int:
        """Return the number of matches that appeared or vanished by the batches."""
        return sum(sum(one.changes[0]) for one in self.solved(side) if one.changes is not None)


def solve_all(sides: Mapping[str, Side], patterns: Sequence[mf.Pattern], batch: Batch) -> SetOutcome:
    """Solve all queries on all sides in turn."""
    found: dict[str, list[Outcome]] = {name: [] for name in sides}
    for pattern in patterns:
        for name, side in sides.items():
            found[name].append(side.solve(pattern, batch))
    return SetOutcome(found)
