"""Calls that change the graph of a monitor, or leave it as it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import CountOverflowError, MotifluxError, StreamError
from motiflux.pattern import Pattern
from motiflux.stream.matching.core import Call, Core, Watched
from motiflux.stream.matching.delta import NO_NUMBERS, Delta, PatternDelta
from motiflux.stream.matching.match_rows import NO_RUNS, MatchRows, Runs
from motiflux.stream.matching.noops import Noops
from motiflux.stream.matching.numbering import NativeUpdates, original
from motiflux.stream.sources.source import Batch
from motiflux.stream.updates import Updates

_AT_ONCE = {"auto": 0, "on": 1, "off": 2}

_MOST_WORDS = 1 << 22
"""Rows of more vertices in total are delivered while a call still runs."""

Give = Callable[[list[tuple[Pattern, MatchRows]], bool], None]
"""Takes blocks of matches, by pattern; and whether they are the last of the call."""


class _TimeIsUp(Exception):  # noqa: N818
    """A call took too long."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How updates are applied.

    Parameters
    ----------
    give
        Takes the matches as they are found.
    timeout
        Seconds after which nothing is applied.
    batch
        The batch of a source that the updates come from.
    ready
        Called when all else is done; if it raises an error, all changes are undone.
    """

    give: Give | None = None
    timeout: float | None = None
    batch: Batch | None = None
    ready: Callable[[], None] | None = None


class Changing(Core):
    """A monitor's inside to which updates are applied."""

    def _apply(self, updates: Updates, terms: Terms) -> Delta:
        return self._change(lambda: self._prepared(updates), len(updates), 1, terms)

    def _advance(self, moment: object) -> Delta:
        return self._change(lambda: self._leaving(moment), 0, 0, Terms())

    def _refusal(self, updates: Updates) -> StreamError | None:
        """Return why updates cannot be applied, None if they can; nothing is applied."""
        return self._alone(lambda: self._tried(updates))

    def _tried(self, updates: Updates) -> StreamError | None:
        native = self._open()
        native.begin()
        marked = self._mark()
        try:
            self._prepared(updates)
        except StreamError as error:
            return error
        finally:
            native.take_back()
            self._back_to(marked)
        return None

    def _change(
        self,
        prepare: Callable[[], tuple[NativeUpdates, dict[str, Any]]],
        updates: int,
        batches: int,
        terms: Terms,
    ) -> Delta:
        """Apply the updates that `prepare` returns, all or none, and return the delta."""
        start = time.perf_counter()
        call = Call()
        marked = None
        interrupted_by: KeyboardInterrupt | None = None
        try:
            self._begin_call(call)
            native = self._open()
            native.begin()
            marked = self._mark()
            applied, known = prepare()
            left = None if terms.timeout is None else terms.timeout + start - time.perf_counter()
            found, noops, rows = self._matched(applied, terms.give, left)
            patterns = {
                pattern: self._pattern_delta(pattern, watched, found, rows, applied)
                for pattern, watched in self._watched.items()
            }
            delta = Delta(patterns, found_noops=noops, seconds=time.perf_counter() - start, **known)
            if terms.give is not None:
                terms.give(self._blocks(rows, applied), True)
            if terms.ready is not None:
                terms.ready()
            # No call from here on: an interrupt by Ctrl-C then leaves nothing applied.
            self.updates_applied += updates
            self.batches_applied += batches
            if terms.batch is not None:
                self.source_position = terms.batch.position
                self.unapplied = None
            self._call = None
            return delta
        except BaseException as error:
            while marked is not None:
                try:
                    native.take_back()
                    self._back_to(marked)
                    marked = None
                except KeyboardInterrupt as interrupt:  # from the beginning: nothing stays half done
                    interrupted_by = interrupt
            if self._call is call:
                self._call = None
            if interrupted_by is not None:
                raise interrupted_by from error
            if isinstance(error, _TimeIsUp):
                return self._no_delta(time.perf_counter() - start)
            if isinstance(error, OverflowError) and not isinstance(error, MotifluxError):
                raise CountOverflowError(f"{error}; nothing of the call was applied") from error
            raise

    def _matched(
        self, applied: NativeUpdates, give: Give | None, timeout: float | None
    ) -> tuple[list[Any], Noops, list[Any]]:
        """Apply updates natively; return the changes by slot, the no-ops, and rows by slot."""
        self._snapshot = None
        found = self._native.apply(
            applied.inserts,
            applied.sources,
            applied.targets,
            applied.labels,
            self.mode == "batch",
            self._threads,
            _AT_ONCE[self._options.switches["at_once"]],
            self._options.switches["put_off"] == "on",
            _MOST_WORDS,
            None if give is None else lambda rows: give(self._blocks(rows, applied), False),
            timeout,
        )
        if found is None:
            raise _TimeIsUp
        changes, noops, put_off, rows = found
        return changes, Noops(noops, put_off, self._write_put_off), rows

    def _no_delta(self, seconds: float) -> Delta:
        """Return the delta of a call that was stopped."""
        none: tuple[Any, ...] = (0, 0, NO_NUMBERS, NO_NUMBERS)
        nothing = np.empty(0, dtype=np.uint32)
        applied = NativeUpdates(np.empty(0, dtype=np.uint8), nothing, nothing, None, None)
        patterns = {
            pattern: self._pattern_delta(
                pattern, watched, {watched.slot: none}, {watched.slot: None}, applied
            )
            for pattern, watched in self._watched.items()
        }
        return Delta(patterns, updates=0, seconds=seconds, complete=False)

    def _prepared(self, updates: Updates) -> tuple[NativeUpdates, dict[str, Any]]:
        """Return updates in internal numbers, with the deletions that the window sets off."""
        columns = self._numbering.columns(updates, self._open())
        applied, expired = self._with_expired(columns)
        if self._options.strict:
            self._check_strict(updates, applied)
        return applied, {
            "updates": len(columns.sources),
            "self_loops": columns.self_loops,
            "late": columns.late,
            "expired": expired,
        }

    def _leaving(self, moment: object) -> tuple[NativeUpdates, dict[str, Any]]:
        """Return the deletions of the edges that leave the window until a moment."""
        until, late = self._numbering.clock.reach(moment)
        inserts, sources, targets, labels, origin, expired = self._open().advance(until)
        leaving = NativeUpdates(inserts, sources, targets, labels, origin)
        return leaving, {"updates": 0, "late": late, "expired": expired}

    def _with_expired(self, columns: NativeUpdates) -> tuple[NativeUpdates, int]:
        """Return updates with the deletions that the window sets off, and the number of these."""
        if self._options.span is None:
            return columns, 0
        inserts, sources, targets, labels, origin, expired = self._open().expand(
            columns.inserts,
            columns.sources,
            columns.targets,
            columns.labels,
            columns.moments if self._options.span.timed else None,
        )
        if columns.origin is not None:
            origin = columns.origin[origin]
        return NativeUpdates(inserts, sources, targets, labels, origin), expired

    def _blocks(self, rows: list[Any], applied: NativeUpdates) -> list[tuple[Pattern, MatchRows]]:
        """Return blocks of rows by pattern, in the order of the native monitor."""
        origin = applied.origin if self.mode == "sequence" else None
        return [
            (pattern, _match_rows(rows[watched.slot], origin))
            for pattern, watched in self._watched.items()
            if rows[watched.slot] is not None
        ]

    def _pattern_delta(
        self,
        pattern: Pattern,
        watched: Watched,
        found: Sequence[Any] | Mapping[int, Any],
        rows: Sequence[Any] | Mapping[int, Any],
        applied: NativeUpdates,
    ) -> PatternDelta:
        positive, negative, numbers, matches = found[watched.slot]
        if isinstance(matches, list):
            matches = np.array(matches, dtype=object)
        listed = None
        origin = applied.origin if self.mode == "sequence" else None
        if watched.listed:
            none = MatchRows.of_runs(np.empty((0, len(pattern.vertices)), dtype=np.uint32), NO_RUNS)
            listed = none if rows[watched.slot] is None else _match_rows(rows[watched.slot], origin)
        if self.mode == "batch":
            numbers = matches = NO_NUMBERS
        net_signs: NDArray[np.int8] = np.where(applied.inserts[numbers], np.int8(1), np.int8(-1))
        return PatternDelta(
            pattern,
            positive,
            negative,
            original(numbers, origin),
            matches,
            net_signs,
            listed,
            self._numbering.ids,
        )

    def _check_strict(self, updates: Updates, columns: NativeUpdates) -> None:
        at = self._open().first_noop(columns.inserts, columns.sources, columns.targets, columns.labels)
        if at == len(columns.sources):
            return
        row = at if columns.origin is None else int(columns.origin[at])
        edge = f"{updates.sources[row].item()!r} - {updates.targets[row].item()!r}"
        if updates.inserts[row]:
            raise StreamError(
                f"updates, row {row}: expected an edge that is not there to insert, found {edge}", row
            )
        raise StreamError(f"updates, row {row}: expected an edge that is there to delete, found {edge}", row)


def _match_rows(found: tuple[Any, ...], origin: NDArray[np.int64] | None) -> MatchRows:
    """Return the rows of a pattern from the native monitor."""
    vertices, updates, positives, ends = found
    return MatchRows.of_runs(vertices, Runs(original(updates, origin), positives.view(bool), ends))
