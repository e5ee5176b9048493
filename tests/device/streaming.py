"""A monitor whose updates are answered by a resident kernel, as an engine of it would."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

from motiflux.codegen.changing import FOREVER
from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.plans import PlanTable, table_of
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.streaming import INSERTION, JUDGED, UPDATE, ResidentStream, StreamSettings

BACK = 1 << 31
"""``dynamic::End::kBack``."""
SECONDS = 40.0
"""Longest time without any answer; the emulator itself ends a launch that spins for 60."""


@dataclass
class Event:
    """An update of a run: what it is, and the classes of the edge as seen from both ends."""

    source: int
    target: int
    inserts: bool
    forward: int
    back: int


def events_of(run: Any) -> dict[int, Event]:
    """Return the updates of a run that change anything, by moment."""
    ends: dict[int, list[tuple[int, int, int, bool]]] = defaultdict(list)
    for vertex, of, neighbor, first, last, fresh in run.ends.tolist():
        if fresh:
            ends[first].append((vertex, of, neighbor, True))
        if last != FOREVER:
            ends[last].append((vertex, of, neighbor, False))
    roots = {moment: (first, second) for _, first, second, moment in run.roots.tolist()}
    found = {}
    for moment in sorted(ends):
        seen = {(vertex, neighbor): (of, inserts) for vertex, of, neighbor, inserts in ends[moment]}
        forward = [pair for pair, (of, _) in seen.items() if not of & BACK]
        source, target = roots.get(moment, forward[0])
        of, inserts = seen[source, target]
        back, _ = seen[target, source]
        found[moment] = Event(source, target, inserts, of & ~BACK, back & ~BACK)
    return found


@dataclass
class StreamedRuns:
    """Answers the runs of a monitor by a resident kernel.

    Parameters
    ----------
    settings
        Sizes.
    accelerator
        Where the kernel runs; None: where the monitor's engine does.
    between
        Called between updates with the stream and the number of updates that are submitted.
    replaces
        Whether rows stay on the device when the monitor has other plans.

    Attributes
    ----------
    answered
        Number of updates that were answered.
    classes
        Those of the last edge, as seen from its source and its target.
    counters
        Of the stream, after the last run.
    stamps
        Times of the updates of the last run, where stages measure.
    """

    settings: StreamSettings
    accelerator: Accelerator | None = None
    between: Callable[[ResidentStream, int], None] | None = None
    replaces: bool = False
    stream: ResidentStream | None = None
    answered: int = 0
    classes: tuple[int, int] = 0, 0
    counters: dict[str, int] = field(default_factory=dict)
    stamps: Any = None
    _versions: tuple[int, int] | None = None
    _table: PlanTable | None = None

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Have monitors with ``engine="changing"`` answered."""

        def begin(engine: ChangingEngine, native: Any, threads: int) -> None:
            versions = native.plans_version, native.lists_version
            if self.stream is None:
                self.stream = ResidentStream(self.accelerator or engine._accelerator, None, self.settings)
            if versions == self._versions:
                return
            native.prepare()
            self._table = table_of(native)
            if self.replaces and self._versions is not None:
                self.stream.replace_plans(native, self._table, threads)
            else:
                self.stream.load(native, self._table, threads)
            self._versions = versions

        def match(engine: ChangingEngine, run: Any, meanwhile: Any = None, foreseen: Any = None) -> Any:
            found = self._match(run)
            if meanwhile is not None:
                run.write_rows()
                meanwhile()
            return found

        with (
            mock.patch.object(ChangingEngine, "begin", begin),
            mock.patch.object(ChangingEngine, "match", match),
        ):
            try:
                yield
            finally:
                if self.stream is not None:
                    self.stream.close()

    def _match(self, run: Any) -> Any:
        stream, table = self.stream, self._table
        assert stream is not None
        assert table is not None
        events, roots = events_of(run), run.roots.tolist()
        if events:
            stream.reserve(1 + max(max(event.source, event.target) for event in events.values()))
        plans: dict[int, list[int]] = defaultdict(list)
        number_of: dict[tuple[int, int], int] = {}
        for number, (plan, _, _, moment) in enumerate(roots):
            plans[moment].append(plan)
            number_of[moment, plan] = number
        assert set(plans) <= set(events)
        moments = sorted(events)
        updates = np.zeros(len(moments), UPDATE)
        for at, moment in enumerate(moments):
            event = events[moment]
            self.classes = event.forward, event.back
            kind = stream.kind(event.forward, event.back, tuple(plans[moment]))
            updates[at] = event.source, event.target, kind, JUDGED | (INSERTION if event.inserts else 0)
        first = stream.moment
        stream.start()
        counts, rows = self._answers(stream, updates)
        totals = np.zeros((len(roots), 2), np.uint64)
        for count in counts:
            number = number_of[moments[int(count["moment"]) - first - 1], int(count["plan"])]
            assert totals[number].sum() == 0
            assert bool(count["sign"]) == bool(run.positive[number])
            totals[number] = count["low"], count["high"]
        listed = np.zeros((len(rows), 1 + table.most_levels), np.uint32)
        for at, row in enumerate(rows):
            listed[at, 0] = number_of[moments[int(row["moment"]) - first - 1], int(row["plan"])]
            listed[at, 1:] = row["vertices"]
            assert bool(row["sign"]) == bool(run.positive[listed[at, 0]])
        listed = listed[np.argsort(listed[:, 0], kind="stable")]
        self.answered += len(updates)
        stream.park()
        self.counters = dict(stream.counters())
        assert self.counters["violated"] == 0
        if self.settings.measures:
            self.stamps = stream.stamps(range(first + 1, stream.moment + 1))
        given = listed if table.lists_any else None
        if not run.one_change:
            return totals, None, given
        sums = np.zeros((len(table.levels), 2, 2), np.uint64)
        for number, (plan, *_) in enumerate(roots):
            sums[plan, int(run.positive[number])] += totals[number]
        return None, sums, given

    def _answers(self, stream: ResidentStream, updates: Any) -> tuple[list[Any], list[Any]]:
        """Return all counts and rows of some updates."""
        counts: list[Any] = []
        rows: list[Any] = []
        submitted, last = 0, stream.moment + len(updates)
        while True:
            if submitted < len(updates):
                submitted += stream.submit(updates[submitted:])
            taken = stream.take(timeout=0.0 if submitted < len(updates) else SECONDS)
            counts += list(taken.counts)
            rows += list(taken.rows)
            if taken.finished == last:
                return counts, rows
            if self.between is not None:
                self.between(stream, submitted)
