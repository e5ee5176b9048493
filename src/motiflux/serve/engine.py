"""The thread that applies records to monitors, group by group."""

from __future__ import annotations

import contextlib
import copy
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

from motiflux._native import Records
from motiflux.errors import MotifluxError
from motiflux.serve.batch import Batch, encode, no_records
from motiflux.serve.checkpoints import Checkpoints, Moment
from motiflux.serve.clock import Clock
from motiflux.serve.figures import Figures
from motiflux.serve.intake import Answer, Chunk, Intake, Lost
from motiflux.serve.log.committer import Committer
from motiflux.serve.log.group import DeadLetter, Group, LogRow
from motiflux.serve.log.schema import unwritable
from motiflux.serve.log.store import Store
from motiflux.serve.matching import LiveMonitor, Outcome
from motiflux.serve.ordering import BEGIN, MOMENT, Late
from motiflux.serve.patterns import Patterns
from motiflux.serve.records import SHOWN
from motiflux.serve.recovery import Recovery, order_records
from motiflux.serve.settings.read import Settings

LOG = logging.getLogger("motiflux.serve.engine")

_IDLE_SECONDS = 0.25


class Engine:
    """Takes chunks, applies their records, and hands groups to the committer.

    Parameters
    ----------
    settings, store, committer, intake, figures
        Of the service.

    Raises
    ------
    FormatError
        The state is of another configuration, or damaged.
    """

    def __init__(
        self, settings: Settings, store: Store, committer: Committer, intake: Intake, figures: Figures
    ) -> None:
        self._settings, self._store, self._committer = settings, store, committer
        self._intake, self._figures = intake, figures
        recovery = Recovery(settings, store)
        self.monitors: dict[str, LiveMonitor] = recovery.monitors
        self.ordering = recovery.ordering
        self._late = self.ordering.late
        self.number, last = store.last_row()
        self._row = store.next_row - 1
        self.replayed = recovery.replayed
        self.clock = Clock(last)
        self._last_arrival = last
        self._checkpoints = Checkpoints(
            settings.log, store, committer, figures, recovery.checkpoint, self.clock.now()
        )
        self.patterns = Patterns(settings, store.patterns(), self.monitors)
        self._keys: dict[str, Answer] = {}
        self._answers: set[Future[Any]] = set()
        self.failed: BaseException | None = None
        """What ended the thread."""
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="motiflux-engine", daemon=True)

    def start(self) -> None:
        """Begin; patterns of the configuration are watched.

        Raises
        ------
        OutputError
            The log cannot be written.
        """
        group = Group(arrival=self.clock.now())
        self.patterns.begin(self.number, group)
        if self._settings.stream.lateness:  # while nothing was read, no source was silent
            self._logged(group, BEGIN, no_records(), [])
        self._last_arrival = group.arrival
        if not group.is_empty:
            self._committer.submit(group)
            if (trouble := self._committer.first_trouble()) is not None:
                raise unwritable(self._store.folder, trouble)
        self._thread.start()

    def stop(self) -> None:
        """Apply what waits, take a checkpoint, and end."""
        self._ends.set()
        self._intake.close()
        if self._thread.ident is not None:  # it was started
            self._thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def call(self, function: Callable[[Group], Any]) -> Future[Any]:
        """Call a function between two groups with one that is written then.

        The future has what it returned once the group is on disk; after an error nothing is written.
        """
        answer: Future[Any] = Future()

        def run() -> None:
            group = Group(arrival=self.clock.now())
            try:
                result = function(group)
            except MotifluxError as error:
                answer.set_exception(error)
                return
            self._answers.add(answer)
            group.done += [lambda: self._answers.discard(answer), lambda: _answer(answer, result)]
            self._committer.submit(group)

        def failed(made: Future[Any]) -> None:
            if (error := made.exception()) is not None and not answer.done():
                answer.set_exception(error)

        self._intake.call(run).add_done_callback(failed)
        return answer

    def _run(self) -> None:
        try:
            with self._store.reader() as reader:
                while self._turn(reader):
                    pass
            self._take_checkpoint()
        except BaseException as error:  # `Service` raises it
            LOG.exception("the engine has ended")
            self.failed = error
            self._intake.close()
            for answer in list(self._answers):  # whose groups will not be written
                _answer(answer, RuntimeError(f"the engine has ended: {error}"))

    def _take_checkpoint(self) -> None:
        self._checkpoints.take(self._moment())

    def _moment(self) -> Moment:
        return Moment(self.number, self._row, self.clock.now(), self.monitors, self.ordering.state())

    def _turn(self, reader: sqlite3.Connection) -> bool:
        log = self._settings.log
        chunks, calls = self._intake.take(
            log.commit_size, log.commit_every / 1e9, _IDLE_SECONDS, lambda: self._committer.is_idle
        )
        for function, future in calls:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
                if not isinstance(error, (MotifluxError, RuntimeError)):
                    raise
        if chunks or self._needs_moment():
            self._committer.submit(self._group(chunks, reader))
        if self._checkpoints.is_due(self.number, self.clock.now()):
            self._checkpoints.begin(self._moment(), self._intake.call)
        return bool(chunks) or not self._ends.is_set()

    def _needs_moment(self) -> bool:
        """Whether waiting records would be released by the time alone."""
        silent = self.clock.now() - self._last_arrival
        return len(self.ordering) > 0 and silent > self._settings.stream.idle

    def _group(self, chunks: list[Chunk], reader: sqlite3.Connection) -> Group:
        """Apply the records of chunks, numbered and in order; return what is to be written."""
        needs_moment = self._needs_moment()
        arrival = self.clock.now()
        began = chunks[0].arrived if chunks else time.perf_counter()
        group = Group(arrival=arrival, began=began)
        released: list[Batch] = []
        late: list[Late] = []
        if needs_moment:
            released.append(self._logged(group, MOMENT, no_records(), late))
        for chunk in chunks:
            answer = self._answer_of(chunk, reader)
            if answer is None:
                answer = {
                    "first": self.number,
                    "accepted": len(chunk.records),
                    "refused": len(chunk.refused),
                    "reasons": [f"{one.place}: {one.reason}" for one in chunk.refused[:10]],
                }
                if len(chunk.records):
                    released.append(self._logged(group, chunk.source, chunk.records, late))
                for one in chunk.refused:
                    group.dead.append(DeadLetter(arrival, chunk.source, one.place, one.text, one.reason))
                if chunk.lost is not None:
                    self._note_loss(group, chunk.source, chunk.lost)
                if chunk.position is not None:
                    group.positions[chunk.source] = chunk.position
                if chunk.key is not None:
                    self._remember(group, chunk.key, answer)
                self._figures.took(chunk.source, len(chunk.records), len(chunk.refused))
            if chunk.done is not None:
                group.done.append(_told(chunk.done, answer))
        if group.rows:  # what was refused, or came before, does not make sources be heard
            self._last_arrival = arrival
        outcome, records = Outcome(), Batch.joined(released)
        for monitor in self.monitors.values():
            monitor.apply(records, arrival, outcome)
        self._settle(group, outcome, late)
        return group

    def _note_loss(self, group: Group, source: str, lost: Lost) -> None:
        """Tell of records that will never come: in the log, as a dead letter, and in the figures."""
        LOG.error("source %s: %s", source, lost.reason)
        group.dead.append(DeadLetter(group.arrival, source, lost.place, "", lost.reason))
        self._figures.lose(source, lost.amount, lost.reason)

    def _logged(self, group: Group, source: str, records: Records, late: list[Late]) -> Batch:
        """Add a row of the log to a group; return the records to apply now."""
        records.fill_times(group.arrival)
        row = LogRow(self.number, len(records), group.arrival, source, records.encode())
        group.rows.append(row)
        self._row += 1
        self.number += len(records)
        released, refused = order_records(self.ordering, row.first, source, group.arrival, records)
        late += refused
        return released

    def _answer_of(self, chunk: Chunk, reader: sqlite3.Connection) -> Answer | None:
        """Return the answer of a request that came before with the same key."""
        if chunk.key is None:
            return None
        known = self._keys.get(chunk.key)  # once: the committer's thread removes it when it is on disk
        return self._store.answer(chunk.key, reader) if known is None else known

    def _remember(self, group: Group, key: str, answer: Answer) -> None:
        self._keys[key] = answer
        group.requests.append((key, answer))

        def forget() -> None:
            self._keys.pop(key, None)

        group.done.append(forget)

    def _settle(self, group: Group, outcome: Outcome, late: list[Late]) -> None:
        """Add alerts, counts and dead letters to a group."""
        group.alerts = outcome.alerts
        for number in outcome.changed:
            group.patterns[number] = copy.copy(outcome.changed[number])
        for row, reason in outcome.paused:
            self.patterns.pause(row, reason, group)
            LOG.warning("pattern %s is paused: %s", row.settings.name, reason)
        refused = [(one.numbered, one.reason) for one in late] + outcome.refused
        for numbered, reason in refused:
            text = encode(numbered.record)[:SHOWN]
            place = f"record {numbered.number}"
            group.dead.append(DeadLetter(group.arrival, numbered.source, place, text, reason))
        moved, self._late = self.ordering.late - self._late, self.ordering.late
        kept = moved if self._settings.stream.late == "clamp" else 0
        self._figures.applied(len(outcome.refused), len(late) + kept, len(outcome.alerts))


def _answer(future: Future[Any], result: Any) -> None:
    """Have a future return a result, or raise it."""
    with contextlib.suppress(InvalidStateError):
        (future.set_exception if isinstance(result, RuntimeError) else future.set_result)(result)


def _told(done: Callable[[Answer], None], answer: Answer) -> Callable[[], None]:
    return lambda: done(answer)
