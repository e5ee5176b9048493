"""Hands the matches of batches to a sink, and keeps signals off where they would part the two."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.pattern import Pattern
from motiflux.stream.matching.core import Core
from motiflux.stream.matching.interrupts import raise_after
from motiflux.stream.matching.match_rows import MatchRows
from motiflux.stream.run.held import Held
from motiflux.stream.run.totals import PatternNumbers
from motiflux.stream.sinks.sink import FoundMatches, Sink
from motiflux.stream.sources.source import Batch


class Delivery:
    """Hands the matches of a batch to a sink before the batch is final.

    A sink receives matches of whole batches only: matches of an unfinished batch are held. Patterns have
    numbers as in `Sums`: those watched at the start in their order, then those added.
    """

    def __init__(
        self, monitor: Core, sink: Sink, shield: Shield, numbers: PatternNumbers | None = None
    ) -> None:
        self._monitor = monitor
        self._sink = sink
        self.most: int | None = None
        """Matches of the next batch that the sink gets at most; None: all."""
        self.given: Counter[tuple[int, int]] = Counter()
        """How many of the last batch it got, by number of the pattern and sign."""
        self._held = Held()
        # With a limit: updates and numbers of matches by block, and how many each pattern may still give.
        self._tallies: list[tuple[int, NDArray[Any], NDArray[Any]]] = []
        self._left: Counter[int] = Counter()
        self._shield = shield
        self._times: NDArray[Any] | None = None
        self._causes: Batch | None = None
        self._first_update = 0
        self._in_batches = monitor.mode == "batch"
        self.numbers = PatternNumbers() if numbers is None else numbers
        """Of patterns; several of one run have them in common."""
        self._number_patterns()
        self.there = 0.0
        """When the last batch's matches were there."""
        self.error: BaseException | None = None
        """The first that the sink raised. It is noted without a call, before which Ctrl-C might come."""

    def give_whole(self, found: _native.Found, first: int) -> None:
        """Hand all matches of a batch to the sink, of which only the matches are wanted.

        `first`: the number of its first update; in batch mode, of the batch.
        """
        sink, shield = self._sink, self._shield
        if sink.uninterrupted:
            shield.up()
        ids_of = self._monitor._numbering.ids
        try:
            for pattern, slot, listed in self._monitor._in_slots():
                number = self.numbers.of(pattern)
                if listed and (columns := ids_of.columns(found, slot, first)) is not None:
                    ids, updates, signs = columns
                    sink.write(FoundMatches(pattern, number, signs, updates, None, ids))
            sink.flush()
        except BaseException as error:
            self.error = self.error or error
            raise
        shield.up()

    def listed(self) -> list[tuple[Pattern, int, int]]:
        """Return the patterns whose matches are given, each with its numbers in monitor and run."""
        watched = self._monitor._watched.items()
        return [(pattern, one.slot, self.numbers.of(pattern)) for pattern, one in watched if one.told]

    def _number_patterns(self) -> None:
        for pattern in self._monitor.patterns:
            self.numbers.of(pattern)

    def begin(self, batch: Batch) -> None:
        """Take matches of this batch from now on."""
        self.given.clear()
        self._tallies.clear()
        self._number_patterns()
        in_batches = self._in_batches
        self._causes = batch if self._sink.wants_changes and not in_batches else None
        self._times = batch.updates.times
        if in_batches and self._times is not None:
            self._times = self._times[-1:]
        self._first_update = self._monitor.batches_applied if in_batches else self._monitor.updates_applied

    def give(self, blocks: list[tuple[Pattern, MatchRows]], last: bool) -> None:
        """Take blocks of matches by pattern; when they are the last, all go to the sink."""
        for pattern, rows in blocks:
            number = self.numbers.of(pattern)
            self._held.put(number, rows)
            if self.most is not None:
                self._tallies.append((number, *rows.by_update()))
        if not last:
            return
        if self.most is not None:
            self._left = self._first(self.most)
        self.there = time.perf_counter()
        if self._sink.uninterrupted:
            self._shield.up()
        try:
            for number, rows in self._held.take():
                self._write(number, rows)
            self._sink.flush()
        except BaseException as error:
            self.error = self.error or error
            raise
        # The graph keeps a change once the sink has its matches: Ctrl-C interrupts before both or after both.
        self._shield.up()

    def _write(self, number: int, rows: MatchRows) -> None:
        if self.most is not None:
            left = self._left[number]
            self._left[number] -= min(left, len(rows))
            if left == 0:
                return
            rows = rows.part(0, left)
        self._sink.write(self._found(number, rows))
        if self.most is None:
            return
        positive = int(rows.runs.sizes[rows.runs.positive].sum())
        self.given[number, 1] += positive
        self.given[number, -1] += len(rows) - positive

    def _first(self, most: int) -> Counter[int]:
        """Return how many of the first matches belong to each pattern: earlier updates come first."""
        chosen: Counter[int] = Counter()
        if not self._tallies:
            return chosen
        numbers = np.concatenate([np.full(len(updates), number) for number, updates, _ in self._tallies])
        updates = np.concatenate([updates for _, updates, _ in self._tallies])
        matches = np.concatenate([matches for *_, matches in self._tallies])
        order = np.lexsort((numbers, updates))
        before = np.cumsum(matches[order]) - matches[order]
        for number, taken in zip(numbers[order], np.clip(most - before, 0, matches[order]), strict=True):
            chosen[int(number)] += int(taken)
        return chosen

    def given_of(self, pattern: Pattern) -> tuple[int, int]:
        """Return how many matches of a pattern it got of the last batch: appeared, vanished."""
        number = self.numbers.of(pattern)
        return self.given[number, 1], self.given[number, -1]

    def acknowledge(self) -> None:
        """Tell the sink that the batch is applied; interrupts wait meanwhile."""
        try:
            self._sink.acknowledged(self._shield.has_arrived)
        except BaseException as error:
            self.error = self.error or error
            raise

    def end(self) -> None:
        """Forget what was not delivered: the batch is applied, or taken back."""
        self._held.drop()

    def _edges_of(self, pattern: Pattern, rows: MatchRows) -> dict[str, dict[str, list[Any]]] | None:
        if not (self._monitor.keeps_attributes and self._sink.wants_edges):
            return None
        edges = self._monitor._edges_of(pattern, rows)
        return {
            name: {attribute: values.to_list() for attribute, values in table.items()}
            for name, table in edges.items()
        }

    def _found(self, number: int, rows: MatchRows) -> FoundMatches:
        updates = rows.by_row(rows.runs.updates.astype(np.int64))
        changes = attributes = None
        if self._causes is not None:
            changes = self._causes.updates.rows(updates)
            if self._causes.attributes is not None and self._causes.lines is not None:
                attributes = self._causes.attributes(self._causes.lines[updates])
        return FoundMatches(
            self.numbers.patterns[number],
            number,
            rows.by_row(np.where(rows.runs.positive, 1, -1).astype(np.int8)),
            updates + self._first_update,
            None if self._times is None else self._times[updates],
            self._monitor.names(rows.vertices),
            changes,
            attributes,
            self._edges_of(self.numbers.patterns[number], rows),
        )


class Shield:
    """Lets SIGINT and SIGTERM wait while it is up, in the main thread.

    It stands in for their handlers from `__enter__` to `__exit__`, so that `up` and `down` cost nothing.
    """

    def __init__(self) -> None:
        self.is_up = False
        self._arrived: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.is_up = True  # an interrupt must not leave its handler behind, here and at the end
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)
        try:
            self.down()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, kind: object = None, error: BaseException | None = None, trace: object = None) -> None:
        self.is_up = True  # without a call, in which an interrupt might come
        for number, handler in reversed(self._handlers.items()):
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)
        try:
            if error is not None:
                raise_after(error, self.down)
        finally:
            del error  # as in `raise_after`
        self.down()

    def _note(self, number: int, frame: FrameType | None) -> None:
        # Before the first line of `__exit__` it may be down; an error there would leave this handler behind.
        leaves = frame is not None and frame.f_code is Shield.__exit__.__code__
        if self.is_up or leaves:
            self._arrived.append((number, frame))
        else:
            self._handlers[number](number, frame)

    def has_arrived(self) -> bool:
        """Return whether one is waiting."""
        return bool(self._arrived)

    def up(self) -> None:
        """Let them wait from now on."""
        self.is_up = True

    def down(self) -> None:
        """Handle an interrupt that arrived."""
        self.is_up = False
        arrived, self._arrived = self._arrived, []
        for number, frame in arrived[:1]:
            self._handlers[number](number, frame)
