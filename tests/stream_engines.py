"""An engine that matches runs of updates in plain Python, to test the seam of monitors.

Its rows are its own: it loads them once and then knows nothing but the lifetimes that runs bring. It finds
matches by trying every candidate at the moment of the root.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from motiflux import _native
from motiflux.stream.matching.engine import ENGINES

OUT, IN, EITHER = 0, 1, 2
_BACK = 1 << 31
_FOREVER = (1 << 32) - 1


class RowsAtMoments:
    """The rows of one target and way.

    Parameters
    ----------
    target, way
        Which neighbours.
    """

    def __init__(self, native: _native.Monitor, target: int, way: int, threads: int) -> None:
        self.target, self.way = target, way
        offsets, sizes, neighbors = native.target_rows(target, way, threads)
        assert (offsets.dtype, sizes.dtype, neighbors.dtype) == (np.uint64, np.uint64, np.uint32)
        assert (np.diff(offsets) == sizes).all()
        assert len(offsets) == native.num_vertices + 1
        self._stays: dict[int, Counter[int]] = defaultdict(Counter)
        for vertex in range(native.num_vertices):
            row = neighbors[int(offsets[vertex]) : int(offsets[vertex + 1])].tolist()
            assert row == sorted(row)
            self._stays[vertex] = Counter(row)
        self._lives: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)

    def begin_run(self, native: _native.Monitor, ends: list[list[int]], *, directed: bool) -> None:
        """Take the lifetimes of a run that belong to these rows."""
        classes = native.target_classes(self.target)
        wanted = None if classes is None else set(classes.tolist())
        for vertex, of, neighbor, first, last, fresh in ends:
            way = EITHER if not directed or self.way == EITHER else IN if of & _BACK else OUT
            if (not directed or self.way == way) and (wanted is None or of & ~_BACK in wanted):
                self._lives[vertex].append((neighbor, first, last, fresh))
                if not fresh:
                    assert self._stays[vertex][neighbor] > 0
                    self._stays[vertex][neighbor] -= 1

    def end_run(self) -> None:
        """Insert and delete the entries that changed."""
        for vertex, lives in self._lives.items():
            for neighbor, _, last, _ in lives:
                self._stays[vertex][neighbor] += last == _FOREVER
        self._lives.clear()

    def at(self, vertex: int, moment: int, *, before_change: bool) -> set[int]:
        """Return the neighbours at a moment, or those that would be there without its change."""
        found = {neighbor for neighbor, edges in self._stays[vertex].items() if edges > 0}
        for neighbor, first, last, fresh in self._lives.get(vertex, ()):
            changed = (fresh and first == moment) or last == moment
            if first <= moment <= last and not (before_change and changed):
                found.add(neighbor)
        return found


class PlainEngine:
    """Matches runs with dictionaries.

    Parameters
    ----------
    device
        Its name in results; it is not opened.
    """

    name = "plain"
    coalesces = False
    pools = False
    counts_tails = False
    overlaps_calls = True
    takes_turns = False
    feed_updates = 4096
    opened: ClassVar[list[PlainEngine]] = []
    """All that were opened by monitors since `registered`."""

    def __init__(self, device: str, gpu_memory: int | None) -> None:
        self.device, self.gpu_memory = device, gpu_memory
        self.fails_in: int | None = None
        """The runs until `match` raises an error, after it has changed rows; None: it does not."""
        self.most_levels = 32
        self._native: Any = None
        self._version = -1
        self._changed = False
        self._rows: dict[tuple[int, int], RowsAtMoments] = {}
        self._plans: list[Any] = []
        self.loads = self.runs = self.abandoned = 0
        self.closed = False

    def check(self, plans: list[Any]) -> str | None:
        """Refuse plans with too many levels."""
        most = max(plan[2] for plan in plans)
        return f"{most} levels, at most {self.most_levels}" if most > self.most_levels else None

    def begin(self, native: _native.Monitor, threads: int) -> None:
        """Load rows if there are other plans, or if they are not those of the host."""
        self._changed = False
        if self._native is native and self._version == native.plans_version:
            return
        self._native = native
        self.loads += 1
        self._plans = [native.plan(number) for number in range(native.num_plans)]
        wanted = {
            (target, way)
            for _, _, _, steps, _ in self._plans
            for sources, *_ in steps
            for _, way, target, _ in sources
        }
        self._rows = {key: RowsAtMoments(native, *key, threads) for key in wanted}
        self._version = native.plans_version

    def measured(self) -> dict[str, float]:
        """Nothing is measured."""
        return {}

    def describe(self, positions: Any) -> str:
        """Name the engine."""
        return f"engine {self.name} on {self.device}"

    def is_ready(self) -> bool:
        """There is nothing to compile."""
        return True

    def begin_turn(self) -> None:
        """Do nothing: calls of a feed come one by one."""

    def end_turn(self) -> None:
        """Do nothing."""

    def hold(self, *, on: bool) -> None:
        """Nothing runs between calls."""

    def outdate(self) -> None:
        """Forget all rows."""
        self._version = -1

    def abandon(self) -> None:
        """Forget all rows, if they have changed."""
        self.abandoned += 1
        if self._changed:
            self._version = -1

    def close(self) -> None:
        """Forget everything."""
        self.closed = True
        self._native, self._rows, self._version = None, {}, -1

    def match(
        self, run: _native.Run, meanwhile: Callable[[], None] | None = None
    ) -> tuple[Any, Any, Any] | None:
        """Return the matches of a run."""
        native = self._native
        self.runs += 1
        self._changed = True
        ends, roots = run.ends.tolist(), run.roots.tolist()
        assert [end[:3] for end in ends] == sorted([end[:3] for end in ends], key=lambda end: end[0])
        assert [root[3] for root in roots] == sorted(root[3] for root in roots)
        directed = any(end[1] & _BACK for end in ends)
        for rows in self._rows.values():
            rows.begin_run(native, ends, directed=directed)
        if self.runs % 3 > 0:  # else the monitor does it afterwards
            run.write_rows()
            if meanwhile is not None:
                meanwhile()
        if self.fails_in is not None:
            self.fails_in -= 1
            if self.fails_in < 0:
                raise OSError("the device is gone")
        found = []
        for root in roots:
            if not run.keep_going():
                return None
            found.append(list(self._matches(root)))
        for rows in self._rows.values():
            rows.end_run()
        return self._result(run, roots, found)

    def _result(self, run: _native.Run, roots: Any, found: Any) -> tuple[Any, Any, Any]:
        listed = [self._plans[plan][1] for plan, *_ in roots]
        rows = [
            [number, *row]
            for number, (matches, given) in enumerate(zip(found, listed, strict=True))
            if given
            for row in matches
        ]
        width = 1 + max((plan[2] for plan in self._plans), default=0)
        table = np.zeros((len(rows), width), dtype=np.uint32)
        for number, row in enumerate(rows):
            table[number, : len(row)] = row
        sums = totals = None
        if run.one_change and self.runs % 2 == 0:  # totals of each root will do, too
            sums = np.zeros((len(self._plans), 2, 2), dtype=np.uint64)
            for (plan, *_), matches, positive in zip(roots, found, run.positive.tolist(), strict=True):
                sums[plan, positive, 0] += np.uint64(len(matches))
        else:
            totals = np.array([[len(matches), 0] for matches in found], dtype=np.uint64).reshape(-1, 2)
        return totals, sums, table if any(listed) else None

    def _matches(self, root: list[int]) -> Iterator[list[int]]:
        plan, first, second, moment = root
        yield from self._from(self._plans[plan][3], moment, [first, second])

    def _from(self, steps: Any, moment: int, values: list[int]) -> Iterator[list[int]]:
        level = len(values)
        if level == len(steps):
            yield list(values)
            return
        _, _, _, after, before, distinct, _ = steps[level]
        for vertex in sorted(self._set(steps, level, moment, values)):
            others = enumerate(values)
            if all(
                not (after >> at & 1 and vertex <= other)
                and not (before >> at & 1 and vertex >= other)
                and not (distinct >> at & 1 and vertex == other)
                for at, other in others
            ):
                yield from self._from(steps, moment, [*values, vertex])

    def _set(self, steps: Any, level: int, moment: int, values: list[int]) -> set[int]:
        sources, reuse, _, _, _, _, allowed = steps[level]
        sets = [] if reuse < 0 else [self._set(steps, reuse, moment, values)]
        for at, way, target, before_change in sources:
            sets.append(self._rows[target, way].at(values[at], moment, before_change=before_change))
        if allowed >= 0:
            sets.append(set(self._native.list(allowed).tolist()))
        return set.intersection(*sets)


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None, tuning: Mapping[str, str] | None = None
) -> PlainEngine:
    """Open the engine for a monitor."""
    engine = PlainEngine(", ".join(devices), gpu_memory)
    PlainEngine.opened.append(engine)
    return engine


PLACEMENT: dict[str, Any] = {"device": "cuda", "engine": PlainEngine.name}
"""Arguments of a monitor that this engine matches for."""


@contextmanager
def registered() -> Iterator[list[PlainEngine]]:
    """Let monitors have this engine; give a list that has those that are opened."""
    ENGINES[PlainEngine.name] = __name__
    PlainEngine.opened.clear()
    try:
        yield PlainEngine.opened
    finally:
        del ENGINES[PlainEngine.name]
        PlainEngine.opened.clear()
