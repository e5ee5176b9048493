"""A service but for the network: sources, engine, log and sinks together."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from motiflux.errors import ArgumentError, InternalError
from motiflux.graph import Graph
from motiflux.serve.ends import make_sink, make_source
from motiflux.serve.engine import Engine
from motiflux.serve.figures import Figures
from motiflux.serve.intake import Intake
from motiflux.serve.log.committer import Committer
from motiflux.serve.log.group import DROPPED, NETWORK, PAUSED, Group, PatternRow
from motiflux.serve.log.schema import unwritable
from motiflux.serve.log.store import Store
from motiflux.serve.records import RecordReader
from motiflux.serve.settings.parts import PatternSettings
from motiflux.serve.settings.read import Settings, read_pattern, read_settings
from motiflux.serve.settings.table import Table
from motiflux.serve.sinks.sink import Sink
from motiflux.serve.sources.source import Source

LOG = logging.getLogger("motiflux.serve")

T = TypeVar("T")

_LOCK = "lock"
_POLL = 0.01


class CountingError(ArgumentError):
    """A pattern is to be counted while another one is."""


class Core:
    """A service without the network; see `Service`."""

    def __init__(self, configuration: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        self.settings: Settings = read_settings(configuration)
        self.figures = Figures()
        self.intake = Intake(self.settings.limits.queue, self.settings.limits.queue_bytes)
        self._lock = _locked(self.settings)
        self.store: Store | None = None
        try:
            self.store = Store(self.settings.state)
            self.store.set_sinks([one.name for one in self.settings.sinks])
            self.committer = Committer(self.store, self._committed, self._clean)
            self.engine = Engine(self.settings, self.store, self.committer, self.intake, self.figures)
            known, positions = self.store.sinks(), self.store.positions()
            self.sinks: list[Sink] = [
                make_sink(one, self.store, self.figures, *known[one.name], self._mark)
                for one in self.settings.sinks
            ]
            self.readers = {one.name: self._reader(one.columns) for one in self.settings.sources}
            self.sources: list[Source] = [
                source
                for one in self.settings.sources
                if (
                    source := make_source(
                        one, self.readers[one.name], self.intake, self.figures, positions.get(one.name)
                    )
                )
                is not None
            ]
        except BaseException as error:
            if self.store is not None:
                self.store.close()
            os.close(self._lock)
            if isinstance(error, sqlite3.OperationalError):
                raise unwritable(self.settings.state, error) from None
            raise
        self._started = self._stopped = False
        self.is_stopping = False
        """Whether the service is about to end."""
        self._told = threading.Condition()
        self._counting = threading.Lock()
        self.last_alert = self.store.next_alert - 1
        """The number of the last alert on disk."""

    def _reader(self, columns: Mapping[str, str]) -> RecordReader:
        return RecordReader(self.settings.stream, columns, self.settings.limits.record_bytes)

    def start(self) -> None:
        """Begin to read, apply and deliver.

        Raises
        ------
        OutputError
            The log cannot be written.
        """
        assert self.store is not None
        self._started, number = True, self.engine.number
        self.committer.start()
        self.engine.start()
        for sink in self.sinks:
            sink.start(self.last_alert)
        for source in self.sources:
            source.start()
        LOG.info("began after record %d; %d records were applied again", number, self.engine.replayed)

    def stop(self) -> None:
        """Read no more, apply what was read, take a checkpoint, deliver what can be delivered, and end.

        Raises
        ------
        InternalError
            The engine or the log failed; what was not written is still with its sources.
        """
        if self._stopped:
            return
        self._stopped = self.is_stopping = True
        try:
            if self._started:
                for source in self.sources:
                    source.stop()
                self.committer.give_up()
                self.engine.stop()
                for sink in self.sinks:
                    sink.stop()
                self.committer.stop()
        finally:
            assert self.store is not None
            self.store.close()
            os.close(self._lock)
        self.raise_if_failed()

    def raise_if_failed(self) -> None:
        """Raise an error if the engine or the log failed.

        Raises
        ------
        InternalError
            One of them did.
        """
        failed = self.engine.failed or self.committer.failed
        if failed is not None:
            raise InternalError(f"the service cannot go on: {failed}") from failed

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            with contextlib.suppress(Exception):
                self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def is_ready(self) -> bool:
        """Whether records are applied and written."""
        works = self.engine.is_alive and self.engine.failed is None and self.committer.failed is None
        return works and self.committer.trouble is None

    def wait_until_idle(self, seconds: float | None = None) -> bool:
        """Wait until all that the sources have was applied, and all alerts were delivered.

        Parameters
        ----------
        seconds
            Most seconds to wait; None: no limit.

        Returns
        -------
        bool
            Whether it is so.

        Raises
        ------
        InternalError
            The engine or the log failed.
        """
        end = None if seconds is None else time.monotonic() + seconds
        idle_for = 0
        while end is None or time.monotonic() < end:
            self.raise_if_failed()
            idle_for = idle_for + 1 if self._is_idle() else 0
            if idle_for >= 2:
                return True
            time.sleep(_POLL)
        return False

    def _is_idle(self) -> bool:
        if not all(source.is_idle for source in self.sources) or not self.intake.is_idle:
            return False
        if not self.committer.is_idle or len(self.engine.ordering):
            return False
        return all(not sink.lag for sink in self.sinks)

    # Patterns, from any thread.

    def patterns(self) -> list[PatternRow]:
        """Return the patterns, each with state and counts."""
        return self.engine.patterns.all()

    def add_pattern(self, given: Mapping[str, Any]) -> PatternRow:
        """Watch one more pattern from now on.

        Parameters
        ----------
        given
            As under ``[[patterns]]`` of the configuration.

        Returns
        -------
        PatternRow
            The pattern, once it is on disk.

        Raises
        ------
        FormatError, ArgumentError, PatternError
            It is invalid, or cannot be watched, or what is there cannot be counted in time.
        CountingError
            Another pattern is being counted.
        """
        settings = self.pattern_settings(given)

        def add(group: Group) -> PatternRow:
            return self.engine.patterns.add(settings, NETWORK, self.engine.number, group, counts=False)

        return self._counted(add, settings, DROPPED)

    def _counted(
        self, begin: Callable[[Group], PatternRow], settings: PatternSettings, otherwise: str
    ) -> PatternRow:
        """Have a pattern watched, and count what was there before meanwhile, if that is wanted.

        Parameters
        ----------
        begin
            Has it watched.
        otherwise
            Its state if what was there cannot be counted.
        """
        if not settings.backfill:
            return self._call(begin)
        if not self._counting.acquire(blocking=False):
            raise CountingError("backfill", "no other pattern that is being counted", "one; try again later")
        try:
            monitor = self.engine.monitors.get(settings.monitor)
            if monitor is None:
                raise ArgumentError("monitor", "one that is configured", settings.monitor)
            graphs: list[Graph] = []

            def begin_with_graph(group: Group) -> PatternRow:
                graphs.append(monitor.snapshot())
                return begin(group)

            row = self._call(begin_with_graph)
            number, since, patterns = row.id, row.since, self.engine.patterns
            try:
                base = monitor.count(settings.pattern, self.settings.limits.backfill_seconds, graphs[0])
            except BaseException as error:
                reason = f"what was there was not counted: {error}"
                self._call(lambda group: patterns.withdraw(number, since, otherwise, reason, group))
                raise
            return self._call(lambda group: patterns.set_base(number, since, base, group))
        finally:
            self._counting.release()

    def pattern_settings(self, given: Mapping[str, Any]) -> PatternSettings:
        """Return the settings of a pattern of a request.

        Raises
        ------
        FormatError
            They are invalid.
        """
        settings = self.settings
        table = Table("pattern", "", given, settings.state)
        sinks = {one.name for one in settings.sinks}
        return read_pattern(table, self.engine.patterns.names(), settings.monitors, sinks, settings.limits)

    def pause_pattern(self, name: str) -> PatternRow:
        """Do not match a pattern until it is resumed.

        Raises
        ------
        ArgumentError
            There is none of this name.
        """

        def pause(group: Group) -> PatternRow:
            row = self.engine.patterns.get(name)
            self.engine.patterns.pause(row, "paused by request", group)
            return row

        return self._call(pause)

    def resume_pattern(self, name: str) -> PatternRow:
        """Match a paused pattern again; it counts anew.

        Raises
        ------
        ArgumentError
            There is none of this name, or it is not paused, or what is there cannot be counted in time.
        CountingError
            Another pattern is being counted.
        """
        patterns = self.engine.patterns
        settings = patterns.get(name).settings
        return self._counted(lambda group: patterns.resume(name, self.engine.number, group), settings, PAUSED)

    def drop_pattern(self, name: str) -> PatternRow:
        """Do not watch a pattern any more.

        Raises
        ------
        ArgumentError
            There is none of this name.
        """
        return self._call(lambda group: self.engine.patterns.drop(name, group))

    def _call(self, function: Callable[[Group], T]) -> T:
        try:
            result: T = self.engine.call(function).result()
        except RuntimeError as error:
            raise ArgumentError("service", "one that runs", str(error)) from None
        return result

    # Called by the committer's thread.

    def _committed(self, groups: list[Group], seconds: float) -> None:
        now = time.perf_counter()
        self.figures.commits += 1
        self.figures.commit_time.add(seconds)
        for group in groups:
            if count := sum(row.count for row in group.rows):
                self.figures.latency.add(now - group.began, count)
        assert self.store is not None
        last = self.store.next_alert - 1
        if last != self.last_alert:
            with self._told:
                self.last_alert = last
                self._told.notify_all()
            for sink in self.sinks:
                sink.tell(last)
        self.intake.wake()

    def _mark(self, sink: str, delivered: int, state: Any, at_once: bool) -> None:
        (self.committer.mark_now if at_once else self.committer.mark)(sink, delivered, state)

    def _clean(self) -> bool:
        log = self.settings.log
        assert self.store is not None
        self.store.drop_checkpoints()
        arrival = self.engine.clock.now()
        return self.store.clean(arrival, log.keep, log.keep_bytes, log.keep_alerts, log.keep_dead)


def _locked(settings: Settings) -> int:
    """Return the descriptor of a file that only one process can have.

    Raises
    ------
    ArgumentError
        Another process has it, or the folder cannot be made.
    """
    try:
        settings.state.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(settings.state / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ArgumentError(
            "service.state", "a folder that can be written", f"{settings.state}: {error}"
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        expected = "a folder that no other process uses"
        raise ArgumentError("service.state", expected, str(settings.state)) from None
    return descriptor
