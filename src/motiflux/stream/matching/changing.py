"""Calls that change the graph of a monitor, or leave it as it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, NoReturn

from motiflux import _native
from motiflux.errors import (
    ArgumentError,
    CountOverflowError,
    DeviceMemoryError,
    MotifluxError,
    StreamError,
)
from motiflux.graph import AttributeTable
from motiflux.pattern import Pattern
from motiflux.request.engine import CANNOT
from motiflux.stream.copies.changes import Expanded, Numbered
from motiflux.stream.matching.core import Call
from motiflux.stream.matching.delta import Changes, Delta, EdgesOf
from motiflux.stream.matching.interrupts import in_spite_of_interrupts
from motiflux.stream.matching.match_rows import MatchRows
from motiflux.stream.matching.noops import Noops
from motiflux.stream.matching.numbering import Mark, NativeUpdates
from motiflux.stream.matching.watching import Watching
from motiflux.stream.sources.source import Batch
from motiflux.stream.updates import Updates

_AT_ONCE = {"auto": 0, "on": 1, "off": 2}

UNDONE = 2
"""How a turn of native calls ends if the last one was taken back although an engine had matched it."""

_MOST_WORDS = 1 << 22
"""Rows of more vertices in total are delivered while a call still runs."""

_Outcome = tuple[Changes, dict[str, Any]]
"""The changes, and the numbers of updates and others of the same names in `Delta`."""

Slots = list[tuple[Pattern, int, bool]]
"""Patterns, each with its native number, and whether its matches are given."""

Give = Callable[[list[tuple[Pattern, MatchRows]], bool], None]
"""Takes blocks of matches, by pattern; and whether they are the last of the call."""


class _TimeIsUp(Exception):  # noqa: N818
    """A call took too long."""


class Prepared(NamedTuple):
    """Updates that were numbered, and whose net changes were found, while the call before was matched.

    Parameters
    ----------
    updates, found
        The updates, and what `_native.Monitor.apply_prepared` takes.
    call, mark
        The number of the native call, and the state before it.
    """

    updates: Updates
    found: _native.Found
    call: int
    mark: Mark


class Undoable(NamedTuple):
    """A call that was applied and can be taken back.

    Parameters
    ----------
    call, marked, position
        The number of the native call, the state before it, and the position in the source.
    """

    call: int
    marked: tuple[Mark, int, int]
    position: Any


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
    meanwhile
        Called, at most once, while a device matches the updates; an error that it raises undoes all changes.
    overlaps
        Whether batches before and after this one are worked on during the call.
    after
        Whether the call before can still be taken back, until `Changing._settle`.
    prepared
        What `Changing._prepare` made of the updates.
    """

    give: Give | None = None
    timeout: float | None = None
    batch: Batch | None = None
    ready: Callable[[], None] | None = None
    meanwhile: Callable[[], None] | None = None
    overlaps: bool = False
    after: bool = False
    prepared: Prepared | None = None


PLAIN = Terms()
"""No more than the updates."""


class Changing(Watching):
    """A monitor's inside to which updates are applied."""

    _has_given = False
    """Whether matches of the running call were given before its end."""
    _has_prepared = False
    """Whether the next batch was prepared during the running call."""
    _undoable: Undoable | None = None
    """The last call that was applied."""

    def _apply(self, updates: Updates, terms: Terms) -> Delta:
        return self._in_parts(partial(self._applied, updates), len(updates), 1, terms)

    def _advance(self, moment: object) -> Delta:
        return self._in_parts(lambda _, end: self._left(moment, end), 0, 0, PLAIN)

    def _in_parts(
        self, work: Callable[[Terms, float | None], _Outcome], updates: int, batches: int, terms: Terms
    ) -> Delta:
        """Apply updates by `work`, all or none; in smaller runs if a device lacks memory for all at once.

        `work` gets the terms and the moment at which it has to end.
        """
        start = time.perf_counter()
        self._run_limit.begin()
        while True:
            try:
                delta = self._change(partial(work, terms), updates, batches, terms, start)
                if self.on_alert is not None:
                    for alert in delta.alerts:
                        self.on_alert(alert)
                return delta
            except DeviceMemoryError:
                is_smaller = self._run_limit.lower(self._unmatched)  # of the next call, too
                if not is_smaller or self._has_given or self._has_prepared:
                    raise
            # What was prepared has been taken back. Other batches wait for one that is applied in parts; the
            # batch before may have become final meanwhile.
            before = self._undoable
            after = terms.after and before is not None and not self._is_final(before)
            terms = replace(terms, prepared=None, meanwhile=None, after=after)

    def _feed_turn(self, queue: _native.FeedQueue, most: int, slots: int, seconds: float, rest: float) -> int:
        """Apply plain updates of a feed natively, call by call.

        Parameters
        ----------
        queue
            The updates, and their answers.
        most
            Most updates of a call.
        slots
            A number that answers have, by which their patterns are known.
        seconds, rest
            The longest time, and the longest without updates.

        Returns
        -------
        int
            How it ended, as `_native.FeedQueue.turn` returns it.
        """
        return self._alone(lambda: self._turn_of_feed(queue, most, slots, seconds, rest))

    def _turn_of_feed(
        self, queue: _native.FeedQueue, most: int, slots: int, seconds: float, rest: float
    ) -> int:
        self._choose(0)
        native, numbering, engine = self._open(), self._numbering, self._engine
        self._run_limit.begin()
        self._run_limit.set(native)
        native.begin()
        self._follow_graph()
        first = None
        if engine is not None:
            engine.begin(native, self._threads)
            first = engine.begin_turn()
        try:
            how, updates, calls = queue.turn(
                numbering.ids.native,
                native,
                self._terms(),
                numbering.plain_code(),
                numbering.may_lack_labels(),
                numbering.edge_labels.table(),
                first,
                most,
                slots,
                seconds,
                rest,
            )
        finally:
            if engine is not None:
                engine.end_turn()
        if calls:
            self._snapshot = self._undoable = None
            self.updates_applied += updates
            self.batches_applied += calls
        if how == UNDONE and engine is not None:
            engine.outdate()
        return how

    def _delta_of_turn(
        self, found: _native.Found, seconds: float, slots: Slots, write: Callable[[], None]
    ) -> Delta:
        """Return the delta of a call of a turn; `write` writes what was put off."""
        known = {
            "updates": found.applied,
            "self_loops": found.self_loops,
            "found_noops": Noops(found.noops, found.put_off, write),
        }
        return self._delta_of(Changes(found, slots, self._numbering.ids), known, seconds)

    def _refusal(self, updates: Updates) -> StreamError | None:
        """Return why updates cannot be applied, None if they can; nothing is applied."""
        return self._alone(lambda: self._tried(updates))

    def _tried(self, updates: Updates) -> StreamError | None:
        native = self._open()
        number = native.begin()
        self._begin_copies()
        marked = self._mark()
        try:
            columns = self._numbering.columns(updates, native)
            if self._copies is not None:
                self._of_copies(updates, columns)
            elif self._options.strict:
                self._checked(updates, columns)
        except StreamError as error:
            return error
        finally:
            native.take_back(number)
            self._back_to(marked)
        return None

    def _change(
        self,
        work: Callable[[float | None], _Outcome],
        updates: int,
        batches: int,
        terms: Terms,
        start: float,
    ) -> Delta:
        """Apply updates by `work`, all or none, and return the delta.

        `work` gets the moment at which it has to end. `start`: when the call began. If the GPU of
        ``device="auto"`` fails, the CPU goes on, unless matches were given already, or the GPU may have room
        for smaller runs.
        """
        if self._auto is None:
            return self._changed(work, updates, batches, terms, start)
        while True:
            try:
                return self._changed(work, updates, batches, terms, start)
            except CANNOT as error:
                lacks_memory = isinstance(error, DeviceMemoryError)
                if self._engine is None or (lacks_memory and self._run_limit.can_lower(self._unmatched)):
                    raise
                self._alone(partial(self._leave_gpu, error))
                if self._has_given:
                    raise

    def _changed(
        self,
        work: Callable[[float | None], _Outcome],
        updates: int,
        batches: int,
        terms: Terms,
        start: float,
    ) -> Delta:
        call = Call()
        number, marked = 0, None
        interrupted_by: KeyboardInterrupt | None = None
        try:
            self._begin_call(call, overlaps=terms.overlaps)
            self._has_given, self._has_prepared, self._unmatched = False, False, 0
            native = self._open()
            self._run_limit.set(native)
            chosen_at = start
            if self._auto is not None:
                self._choose(updates)
                chosen_at = time.perf_counter()
            self._meanwhile = terms.meanwhile
            if terms.prepared is None:
                number = native.begin(terms.after)
                self._begin_copies()
                self._follow_graph()
                marked = self._mark()
            else:
                number, marked = terms.prepared.call, (terms.prepared.mark, *self._mark()[1:])
            self._await_missing(marked, after=terms.after)
            if self._engine is not None:
                self._engine.begin(native, self._threads)
            changes, known = work(None if terms.timeout is None else start + terms.timeout)
            if self._counting is not None:
                slots = [(pattern, one.slot) for pattern, one in self._watched.items()]
                known["alerts"] = self._counting.alerts(changes, slots)
            delta = self._delta_of(changes, known, time.perf_counter() - start)
            if terms.give is not None:
                self._has_given = True
                terms.give(changes.blocks(), True)
            if terms.ready is not None:
                terms.ready()
            if self._auto is not None:
                self._auto.note(updates, time.perf_counter() - chosen_at)
            self._undoable = Undoable(number, marked, self.source_position)
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
                    native.take_back(number)
                    self._back_to(marked)
                    if self._engine is not None:
                        self._engine.abandon()
                    marked = None
                except KeyboardInterrupt as interrupt:  # from the beginning: nothing stays half done
                    interrupted_by = interrupt
            if self._call is call:
                self._call = None
            if interrupted_by is not None and isinstance(error, _TimeIsUp):
                raise interrupted_by from error
            if isinstance(error, _TimeIsUp):
                return self._stopped_delta(time.perf_counter() - start)
            if isinstance(error, OverflowError) and not isinstance(error, MotifluxError):
                raise CountOverflowError(f"{error}; nothing of the call was applied") from error
            raise
        finally:
            self._meanwhile = None  # it holds the run, and its source

    def _await_missing(self, marked: tuple[Mark, int, int], *, after: bool) -> None:
        """Await ids no longer that final vertices have; `after`: the last call can be taken back."""
        if self._numbering.awaited:
            before = self._undoable.marked if after and self._undoable is not None else marked
            self._numbering.await_no_vertex(before[0].vertices)

    def _delta_of(self, changes: Changes, known: dict[str, Any], seconds: float) -> Delta:
        ran = self._ran
        if self._engine is not None:
            known["measured"] = self._engine.measured()
        return Delta(changes, seconds=seconds, engine=ran.engine, device=ran.device, reason=ran.why, **known)

    def _no_delta(self, seconds: float) -> Delta:
        """Return the delta of a call that was stopped."""
        return self._delta_of(self._changes(None), {"updates": 0, "complete": False}, seconds)

    def _stopped_delta(self, seconds: float) -> Delta:
        """Return the delta of a call that was stopped after it had begun, with how far it came."""
        reached, seconds_of = self._native.progress()
        told = [
            (pattern, seconds_of[slot]) for pattern, slot, _ in self._in_slots() if slot < len(seconds_of)
        ]
        told.sort(key=lambda one: -one[1])
        searched = {pattern: taken for pattern, taken in told if taken > 0}
        return replace(self._no_delta(seconds), reached=reached, searched=searched)

    def _changes(self, found: _native.Found | None) -> Changes:
        return Changes(found, self._in_slots(), self._numbering.ids)

    def _edges_of_call(self) -> EdgesOf:
        """Return what gives the attributes of the edges of matches of this call, until the next one."""
        assert self._copies is not None
        call = self._copies.calls

        def edges(pattern: Pattern, rows: MatchRows) -> dict[str, AttributeTable]:
            if self._copies is None or self._copies.calls != call or pattern not in self._watched:
                raise ArgumentError("monitor", "attributes of edges before the next call", "a later call")
            return self._edges_of(pattern, rows)

        return edges

    def _applied(self, updates: Updates, terms: Terms, end: float | None) -> _Outcome:
        """Apply and match updates."""
        give, prepared = terms.give, terms.prepared
        if self._takes_columns and updates.times is None and updates.vertex_labels is None:
            full = None if give is None else self._full(give)
            found: _native.Found | Literal[False] | None
            if prepared is not None:
                found = self._native.apply_prepared(prepared.found, self._terms(), full, _left(end))
            else:
                found = self._numbering.apply(updates, self._native, self._terms(), full, _left(end))
            if found is None:
                raise _TimeIsUp
            if found:
                self._snapshot = None
                return self._changes(found), {
                    "updates": found.applied,
                    "self_loops": found.self_loops,
                    "expired": found.expired,
                    "found_noops": self._noops(found),
                }
        columns = self._numbering.columns(updates, self._open())
        counts = {
            "updates": len(columns.sources),
            "self_loops": columns.self_loops,
            "late": columns.late,
        }
        if self._copies is not None:
            expanded = self._of_copies(updates, columns)
            return self._matched_copies(expanded, counts, give, end)
        if not self._options.strict:
            return self._matched(columns, counts, give, end)
        applied, counts["expired"] = self._checked(updates, columns)
        return self._matched(applied, counts, give, end, expanded=True)

    def _prepare(self, updates: Updates, end: float | None) -> Prepared | None:
        """Prepare a batch while a device matches the batch before, in its call; return what was made.

        Vertices are numbered and net changes found. None, and nothing is changed, if that is not possible, or
        the updates are refused or memory is full: the call of the batch raises the error then. Other errors
        are raised, and undo the call before.
        """
        native, numbering = self._open(), self._numbering
        if updates.times is not None or updates.vertex_labels is not None:
            return None
        if numbering.awaited or native.may_write_put_off(len(updates)):
            return None
        mark = numbering.mark()
        call = native.begin_next()
        if call == 0:
            return None
        prepared = None
        with suppress(MotifluxError, MemoryError):
            found = numbering.apply(updates, native, self._terms(), None, _left(end), prepares=True)
            prepared = Prepared(updates, found, call, mark) if found else None
        if prepared is None:
            self._unprepare(call, mark)
        self._has_prepared = prepared is not None
        return prepared

    def _unprepare(self, call: int, mark: Mark) -> None:
        """Take back what `_prepare` did, unless that was done with the call before, which stays."""

        def undo() -> None:
            if self._native.last_call >= call:
                self._back_to((mark, self.updates_applied, self.batches_applied))
                self._native.take_back(call)  # last: it says that all is done

        in_spite_of_interrupts(undo)

    def _settle(self, done: Undoable) -> None:
        """Make a call final: it is not taken back any more."""
        self._native.settle(done.call)

    def _rows_lost(self, done: Undoable) -> str:
        """Wait until the rows of a call are written; return why they could not be, empty if they are.

        The graph is as before the call once that is taken back.
        """
        return self._native.finish_call(done.call)

    def _is_final(self, done: Undoable) -> bool:
        """Return whether a call is final, whatever came after `_settle` had made it so."""
        return done.call <= self._native.final_call

    def _take_back(self, done: Undoable, updates: Updates) -> None:
        """Take back a call that was applied, and those after it; `updates` are those of the call."""

        def undo() -> None:
            self._native.take_back(done.call)
            self._back_to(done.marked)
            if self._engine is not None:
                self._engine.outdate()
            self._snapshot = None
            self.source_position, self.unapplied = done.position, updates

        in_spite_of_interrupts(undo)

    def _left(self, moment: object, end: float | None) -> _Outcome:
        """Apply and match the deletions of the edges that leave the window until a moment."""
        until, late = self._numbering.clock.reach(moment)
        if self._copies is not None:
            expanded = self._copies.advance(until)
            if self._compared is not None:
                self._compared.apply(expanded)
            return self._matched_copies(expanded, {"updates": 0, "late": late}, None, end)
        inserts, sources, targets, labels, origin, expired = self._open().advance(until)
        leaving = NativeUpdates(inserts, sources, targets, labels, origin)
        counts = {"updates": 0, "late": late, "expired": expired}
        return self._matched(leaving, counts, None, end, expanded=True)

    def _of_copies(self, updates: Updates, columns: NativeUpdates) -> Expanded:
        """Apply updates to the copies of edges; return those of the native graph.

        Raises
        ------
        StreamError
            An update does not fit, or has no effect where that is an error.
        """
        assert self._copies is not None
        assert self._facets is not None
        numbered = Numbered(
            columns.inserts, columns.sources, columns.targets, columns.labels, columns.origin, columns.moments
        )
        expanded = self._copies.apply(updates, numbered, self._facets)
        if self._compared is not None:
            self._compared.apply(expanded)
        if self._options.strict and expanded.first_noop is not None:
            self._refuse_noop(updates, expanded.first_noop)
        return expanded

    def _matched_copies(
        self, expanded: Expanded, counts: dict[str, int], give: Give | None, end: float | None
    ) -> _Outcome:
        """Match updates of the native graph, in which edges stand for copies."""
        applied = NativeUpdates(
            expanded.inserts, expanded.sources, expanded.targets, expanded.facets, expanded.origins
        )
        counts = {**counts, "expired": expanded.expired}
        changes, known = self._matched(applied, counts, give, end, expanded=True)
        changes.edges, changes.deleted = self._edges_of_call(), expanded.deleted
        return changes, {**known, "found_noops": Noops(expanded.noops)}

    def _matched(
        self,
        applied: NativeUpdates,
        counts: dict[str, int],
        give: Give | None,
        end: float | None,
        *,
        expanded: bool = False,
    ) -> _Outcome:
        """Apply and match updates natively; `expanded`: they have the deletions that the window sets off."""
        self._snapshot = None
        found = self._native.apply(
            applied.inserts,
            applied.sources,
            applied.targets,
            applied.labels,
            applied.origin,
            applied.moments,
            expanded,
            self._terms(),
            None if give is None else self._full(give),
            _left(end),
        )
        if found is None:
            raise _TimeIsUp
        if self._compared is not None:
            of_compared = None if give is None else self._full(give)
            if not self._compared.match(found, self._terms(), of_compared, _left(end)):
                raise _TimeIsUp
        if not expanded:
            counts["expired"] = found.expired
        return self._changes(found), {**counts, "found_noops": self._noops(found)}

    def _noops(self, found: _native.Found) -> Noops:
        return Noops(found.noops, found.put_off, self._write_put_off)

    def _full(self, give: Give) -> Callable[[_native.Found], None]:
        """Return a function that gives the matches found so far, while a call runs."""

        def full(found: _native.Found) -> None:
            self._has_given = True
            give(self._changes(found).blocks(), False)

        return full

    def _terms(self) -> _native.Terms:
        if self._native_terms is None:
            switches = self._options.switches
            at_once, put_off = _AT_ONCE[switches["at_once"]], switches["put_off"] == "on"
            in_batches = self.mode == "batch"
            self._native_terms = _native.Terms(in_batches, self._threads, at_once, put_off, _MOST_WORDS)
        return self._native_terms

    def _checked(self, updates: Updates, columns: NativeUpdates) -> tuple[NativeUpdates, int]:
        """Return updates with the deletions that the window sets off, and the number of these.

        Raises
        ------
        StreamError
            An update has no effect.
        """
        applied, expired = self._with_expired(columns)
        self._check_strict(updates, applied)
        return applied, expired

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

    def _check_strict(self, updates: Updates, columns: NativeUpdates) -> None:
        at = self._open().first_noop(columns.inserts, columns.sources, columns.targets, columns.labels)
        if at == len(columns.sources):
            return
        self._refuse_noop(updates, at if columns.origin is None else int(columns.origin[at]))

    def _refuse_noop(self, updates: Updates, row: int) -> NoReturn:
        edge = f"{updates.sources[row].item()!r} - {updates.targets[row].item()!r}"
        if updates.inserts[row]:
            raise StreamError(
                f"updates, row {row}: expected an edge that is not there to insert, found {edge}", row
            )
        raise StreamError(f"updates, row {row}: expected an edge that is there to delete, found {edge}", row)


def _left(end: float | None) -> float | None:
    """Return the seconds until a moment."""
    return None if end is None else end - time.perf_counter()
