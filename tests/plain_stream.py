"""The resident kernel of ``engine="streaming"`` in plain Python, to test what is above it.

It answers each update when it is submitted, from its own sets of neighbours, by trying every candidate.
Answers are given in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple
from unittest import mock

import numpy as np

from motiflux import _native
from motiflux.codegen.streaming import IS_ROW, JUDGED
from motiflux.gpu.streaming import engine as streaming_engine
from motiflux.gpu.streaming.engine import StreamingEngine

OUT, IN, EITHER = 0, 1, 2
_PIECE = 5
"""Records that are taken at a time."""


class Kind(NamedTuple):
    """Where an update is written, and its roots."""

    forward: int
    back: int
    plans: tuple[int, ...]
    skipped: frozenset[int]


class PlainStream:
    """Answers updates one by one."""

    opened: ClassVar[list[PlainStream]] = []

    def __init__(self, room: int = 7) -> None:
        self.room = room
        self.fails_in: int | None = None
        """The updates until `submit` raises an error; None: it does not."""
        self.loads = self.replaced = self.starts = 0
        self.is_running = self.is_loaded = self.is_closed = False
        self.has_best_kernel = True
        self.vertices = 0
        self.opened.append(self)

    def load(self, native: _native.Monitor, table: Any, threads: int) -> None:
        assert not self.is_running
        self.loads += 1
        self._native, self._table = native, table
        self.moment = self._base = self._sent = 0
        self.vertices = native.num_vertices
        self._rows: list[list[set[int]]] = []
        for target, way in table.names:
            offsets, _, neighbors = native.target_rows(target, way, threads)
            pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            self._rows.append([set(neighbors[first:last].tolist()) for first, last in pairs])
        self._kinds: dict[Kind, int] = {}
        self._records: list[list[int]] = []
        self.is_loaded = True

    def replace_plans(self, native: _native.Monitor, table: Any, threads: int) -> None:
        assert not self.is_running
        self.replaced += 1
        self._table = table
        self._kinds.clear()

    def start(self) -> None:
        assert self.is_loaded
        self.starts += not self.is_running
        self.is_running = True

    def arm(self, updates: Any, native: Any) -> None:
        """Do nothing: all runs come to `exchange`."""

    def disarm(self, updates: Any) -> None:
        """Do nothing."""

    def park(self) -> None:
        self.is_running = False

    def stop(self) -> None:
        self.is_running = self.is_loaded = False

    def close(self) -> None:
        self.stop()
        self.is_closed = True

    def accept_classes(self, native: _native.Monitor) -> None:
        """Classes are asked for with each update."""

    def reserve(self, vertices: int) -> None:
        for rows in self._rows:
            rows.extend(set() for _ in range(vertices - self.vertices))
        self.vertices = vertices

    def where(self) -> str:
        return f"{self.moment} updates submitted"

    def kind(
        self, forward: int, back: int, plans: tuple[int, ...], skipped: frozenset[int] = frozenset()
    ) -> int:
        return self._kinds.setdefault(Kind(forward, back, plans, skipped), len(self._kinds))

    def exchange(self, updates: _native.StreamUpdates, seconds: float) -> bool:
        """Answer the next updates; some answers come later, the last ones first."""
        assert self.is_running
        given = updates.updates.tolist()
        if self._sent == 0:
            self._base = self.moment
        kinds = list(self._kinds)
        for source, target, of, flags in given[self._sent : self._sent + self.room]:
            assert flags & JUDGED
            assert max(source, target) < self.vertices
            if self.fails_in is not None:
                self.fails_in -= 1
                if self.fails_in < 0:
                    self.stop()
                    raise OSError("the device is gone")
            self.moment += 1
            self._answer(source, target, kinds[of], inserts=bool(flags & 1))
        self._sent = self.moment - self._base
        given_now, self._records = self._records[-_PIECE:], self._records[:-_PIECE]
        if given_now:
            updates.take(np.array(given_now, np.uint32), self._base)
        if self._records or self._sent < len(given):
            return False
        self._sent = 0
        return True

    def _answer(self, source: int, target: int, kind: Kind, *, inserts: bool) -> None:
        if inserts:
            self._write(source, target, kind, inserts=True)
        for plan in kind.plans:
            found = list(self._from(plan, [source, target], self._changed(source, target, kind)))
            header = [self.moment, 0, plan, int(inserts)]
            width = max(4, self._table.most_levels)
            if self._table.listed[plan]:
                rows = [[*row, *[0] * (width - len(row))] for row in found]
                self._records += [[*header[:3], header[3] | IS_ROW, *row] for row in rows]
            elif found:
                self._records.append([*header, len(found), *[0] * (width - 1)])
        if not inserts:
            self._write(source, target, kind, inserts=False)

    def _entries(self, source: int, target: int, kind: Kind) -> Iterator[tuple[int, int, int]]:
        """The rows, vertices and neighbours that an update changes."""
        directed = self._native.directed
        ends = ((source, target, kind.forward, False), (target, source, kind.back, True))
        for number, (of_target, way) in enumerate(self._table.names):
            classes = self._native.target_classes(of_target)
            for vertex, neighbor, of, is_back in ends:
                if number in kind.skipped or (classes is not None and of not in classes.tolist()):
                    continue
                if directed and way != EITHER and is_back != (way == IN):
                    continue
                yield number, vertex, neighbor

    def _changed(self, source: int, target: int, kind: Kind) -> set[tuple[int, int, int]]:
        return set(self._entries(source, target, kind))

    def _write(self, source: int, target: int, kind: Kind, *, inserts: bool) -> None:
        for number, vertex, neighbor in self._entries(source, target, kind):
            assert (neighbor in self._rows[number][vertex]) != inserts, "an update has an effect on each row"
            self._rows[number][vertex] ^= {neighbor}

    def _from(self, plan: int, values: list[int], changed: set[tuple[int, int, int]]) -> Iterator[list[int]]:
        steps = self._table.steps[plan]
        level = len(values)
        if level == len(steps):
            yield list(values)
            return
        _, _, _, after, before, distinct, _ = steps[level]
        for vertex in sorted(self._set(steps, level, values, changed)):
            if all(
                not (after >> at & 1 and vertex <= other)
                and not (before >> at & 1 and vertex >= other)
                and not (distinct >> at & 1 and vertex == other)
                for at, other in enumerate(values)
            ):
                yield from self._from(plan, [*values, vertex], changed)

    def _set(self, steps: Any, level: int, values: list[int], changed: set[tuple[int, int, int]]) -> set[int]:
        sources, reuse, _, _, _, _, allowed = steps[level]
        sets = [] if reuse < 0 else [self._set(steps, reuse, values, changed)]
        for at, way, target, hides in sources:
            number = self._table.names.index((target, way))
            row = self._rows[number][values[at]]
            gone = {other for of, vertex, other in changed if hides and of == number and vertex == values[at]}
            sets.append(row - gone)
        if allowed >= 0:
            sets.append(set(self._native.list(allowed).tolist()))
        return set.intersection(*sets)


def open_update_engine(
    devices: Sequence[str], *, gpu_memory: int | None = None, tuning: Mapping[str, str] | None = None
) -> StreamingEngine:
    """Open the engine with a stream in plain Python, which counts no levels in closed form."""
    engine = StreamingEngine(PlainStream(), devices[0])  # type: ignore[arg-type]
    engine.counts_tails = False
    return engine


@contextmanager
def plain_streams() -> Iterator[list[PlainStream]]:
    """Let monitors with ``engine="streaming"`` use streams in plain Python; give those that are opened."""
    PlainStream.opened.clear()
    with mock.patch.object(streaming_engine, "open_update_engine", open_update_engine):
        yield PlainStream.opened


PLACEMENT: dict[str, Any] = {"device": "cuda", "engine": "streaming"}
"""Arguments of a monitor whose updates are answered so."""
