"""The rows that searches of a run open, counted in plain Python, beside what the native monitor says.

`CountingEngine` finds no matches. It hands each run, with the accesses that it counted, to a function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from motiflux import _native
from motiflux.stream.matching.engine import ENGINES
from tests.stream_engines import PlainEngine

WEIGHTED, PAPER, EXACT = range(3)

Accesses = dict[tuple[int, int, int], float]
"""How often rows are opened, by target, way and vertex."""


class CountingEngine(PlainEngine):
    """Counts the rows that are opened, and finds nothing."""

    name = "counting"
    counts_tails = True
    look: ClassVar[Callable[[CountingEngine, _native.Run], None]]

    @property
    def native(self) -> _native.Monitor:
        """The monitor whose runs come here."""
        return self._native

    @property
    def names(self) -> list[tuple[int, int]]:
        """The rows that plans read."""
        steps = (step for *_, steps, _ in self._plans for step in steps[2:])
        return list(dict.fromkeys((target, way) for step in steps for _, way, target, _ in step[0]))

    def match(self, run: _native.Run, meanwhile: Callable[[], None] | None = None) -> Any:
        """Have the function look at the run."""
        ends = run.ends.tolist()
        for rows in self._rows.values():
            rows.begin_run(self._native, ends, directed=self._native.directed)
        type(self).look(self, run)
        if not run.keep_going():
            return None
        for rows in self._rows.values():
            rows.end_run()
        if meanwhile is not None:
            meanwhile()
        sums = np.zeros((len(self._plans), 2, 2), np.uint64)
        if run.one_change:
            return None, sums, None
        return np.zeros((run.num_roots, 2), np.uint64), None, None

    def counted(self, run: _native.Run) -> Accesses:
        """Count the rows that searches of a run open."""
        found: Counter[tuple[int, int, int]] = Counter()
        _, _, columns, words = self._native.candidates()
        self._table = words.reshape(self._native.num_vertices, -1) if columns else None
        for root in run.roots.tolist():
            self._columns = self._native.plan_columns(root[0])
            self._count(root, found)
        return dict(found)

    def estimated(self, run: _native.Run, method: int = EXACT, **options: Any) -> Accesses:
        """Return what the native monitor says."""
        given = self.estimate(run, method, **options)
        names = self.names
        rows = zip(given.names.tolist(), given.vertices.tolist(), given.times.tolist(), strict=True)
        return {(*names[name], vertex): times for name, vertex, times in rows}

    def estimate(self, run: _native.Run, method: int, **options: Any) -> _native.Accesses:
        """Call the native monitor."""
        estimator = options.pop("estimator", None) or _native.AccessEstimator()
        return self._native.estimate_accesses(estimator, run, self.names, method=method, **options)

    def _count(self, root: list[int], found: Counter[tuple[int, int, int]]) -> None:
        number, first, second, moment = root
        _, listed, levels, steps, (tail_start, parts) = self._plans[number]
        if levels <= 2:
            return
        walked = levels if listed else min(tail_start, levels - 1)
        if tail_start == levels:
            parts = [([levels - 1], 1, [])]

        def open_rows(level: int, values: Sequence[int]) -> None:
            for at, way, target, _ in steps[level][0]:
                found[target, way, values[at]] += 1

        begun = {level: set[tuple[int, ...]]() for level in range(2, walked)}
        for values in self._nodes(steps, moment, [first, second], walked):
            if len(values) in begun:  # the set of the next level is needed, for the vertices up to its anchor
                begun[len(values)].add(tuple(values[: max(steps[len(values)][2], 1) + 1]))
            if not listed and len(values) == walked:
                for members, _, _ in parts:
                    open_rows(members[0], values)
                    if len(self._candidates(steps, members[0], moment, values)) < len(members):
                        break
        for level, prefixes in begun.items():
            for prefix in prefixes:
                open_rows(level, prefix)

    def _nodes(self, steps: Any, moment: int, values: list[int], walked: int) -> Iterator[list[int]]:
        yield values
        if len(values) < walked:
            for vertex in self._candidates(steps, len(values), moment, values):
                yield from self._nodes(steps, moment, [*values, vertex], walked)

    def _candidates(self, steps: Any, level: int, moment: int, values: list[int]) -> list[int]:
        """Return the members of a level's set; of the levels before it, those that are matched count."""
        _, _, _, after, before, distinct, _ = steps[level]
        return [
            vertex
            for vertex in sorted(self._set(steps, level, moment, values))
            if all(
                not (after >> at & 1 and vertex <= other)
                and not (before >> at & 1 and vertex >= other)
                and not (distinct >> at & 1 and vertex == other)
                for at, other in enumerate(values)
            )
            and self._is_candidate(level, vertex)
        ]

    def _is_candidate(self, level: int, vertex: int) -> bool:
        column = self._columns[level]
        if self._table is None or column < 0:
            return True
        return bool(int(self._table[vertex, column // 64]) >> column % 64 & 1)


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None, tuning: Mapping[str, str] | None = None
) -> CountingEngine:
    """Open the engine for a monitor."""
    return CountingEngine(", ".join(devices), gpu_memory)


PLACEMENT: dict[str, Any] = {"device": "cuda", "engine": CountingEngine.name}
"""Arguments of a monitor that this engine matches for."""


@contextmanager
def looking(look: Callable[[CountingEngine, _native.Run], None]) -> Iterator[None]:
    """Let monitors have this engine, which has `look` called with itself and each run."""
    ENGINES[CountingEngine.name] = __name__
    CountingEngine.look = staticmethod(look)  # type: ignore[assignment]
    try:
        yield
    finally:
        del ENGINES[CountingEngine.name]
