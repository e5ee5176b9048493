"""A monitor on a source: batch after batch, to the end of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from motiflux.arguments import check_integer, check_seconds
from motiflux.errors import ArgumentError, MotifluxError, MotifluxWarning, StreamError
from motiflux.io.files.progress import Update, is_shown, meter, shares_terminal
from motiflux.stream.matching.changing import Changing, Terms
from motiflux.stream.matching.delta import Delta, counts_of
from motiflux.stream.matching.interrupts import in_spite_of_interrupts, raise_after
from motiflux.stream.run import ahead
from motiflux.stream.run.delivery import Delivery, Shield
from motiflux.stream.run.limit import first_matches
from motiflux.stream.run.overlap import Overlap, may_lag
from motiflux.stream.run.quiet import QuietBatches
from motiflux.stream.run.skipping import without_refused
from motiflux.stream.run.totals import Sums, Totals
from motiflux.stream.sinks.sink import Sink
from motiflux.stream.sources.source import DEFAULT_SIZE, Batch, Feeding, Request, Source, can_repeat
from motiflux.stream.updates import Updates
from motiflux.units import quantity, quantity_was

Progress = bool | Callable[[Totals], None]
"""The type of the `progress` argument of `Monitor.run`."""

_SECONDS_BETWEEN_REPORTS = 0.2
_SKIPS_TOLD = 5


class Saver(Protocol):
    """Keeps the monitor in a file, now and then and at the end."""

    def after(self, updates: int) -> None:
        """Save if it is time, after `updates` acknowledged updates."""

    def idle(self) -> None:
        """Save if it is time and there is something to save, while no update arrives."""

    def end(self, *, failed: bool) -> None:
        """Save after the sink was closed; after an error, only updates since the last save."""


class Run:
    """One run.

    Parameters
    ----------
    monitor
        The monitor that applies the updates.
    source
        The source of updates.
    batch_size
        Most updates applied in one call; None: 1024 for updates that arrive one by one.
    timeout
        Seconds after which it ends.
    progress
        Whom to tell.
    skips
        Whether updates that the monitor refuses are left out.
    limit
        Matches after which it ends.
    saver
        Keeps the monitor in a file.
    """

    def __init__(
        self,
        monitor: Changing,
        source: Source,
        *,
        batch_size: int | None = None,
        timeout: float | None = None,
        progress: Progress = False,
        skips: bool = False,
        limit: int | None = None,
        saver: Saver | None = None,
    ) -> None:
        timeout = None if timeout is None else check_seconds("timeout", timeout)
        if not isinstance(progress, bool) and not callable(progress):
            raise ArgumentError("progress", "whether to show it, or a function", progress)
        self._monitor = monitor
        self._source = source
        self._size = None if batch_size is None else check_integer("batch_size", batch_size, 1)
        self._progress = progress
        self._start = time.perf_counter()
        self._deadline = None if timeout is None else self._start + timeout
        self._shield = Shield()
        self._sums = Sums(monitor._ran)
        self._skips = skips
        self._limit = None if limit is None else check_integer("limit", limit, 0)
        self._is_cut = False
        self._error: BaseException | None = None
        self._saver = saver
        self._prints = self._wants_changes = self._is_ahead = self._laps = False
        self._quiet: QuietBatches | None = None
        self._ahead: ahead.ReadAhead | None = None
        self._overlap: Overlap | None = None
        self._deliveries: list[Delivery] = []
        self._report: Callable[[Batch], None] = lambda batch: None

    def deltas(self) -> Iterator[Delta]:
        """Apply and yield, batch by batch."""
        with self._reporting() as report:
            for batch in self._batches():
                delta = self._applied(batch, None)
                report(batch)
                yield delta
        self._warn()

    def into(self, sink: Sink) -> Totals:
        """Apply all updates and pass the matches to a sink; return the totals.

        Ctrl-C ends the run like the end of the source, with the updates that were acknowledged until then;
        the totals report the interrupt.
        """
        delivery = None
        if sink.wants_matches:
            if not self._monitor.lists_matches:
                raise ArgumentError(
                    "sink", "Monitor(..., matches=True) beside a sink that takes matches", sink
                )
            delivery = Delivery(self._monitor, sink, self._shield)
            self._deliveries = [delivery, Delivery(self._monitor, sink, self._shield, delivery.numbers)]
        stop: KeyboardInterrupt | None = None
        self._sums.watch(self._monitor.patterns)
        self._prints, self._wants_changes = sink.prints, sink.wants_changes
        size = DEFAULT_SIZE if self._size is None else self._size
        self._quiet = QuietBatches(
            self._monitor,
            sink,
            delivery,
            self._sums,
            self._shield,
            size,
            limited=self._limit is not None,
            deadline=self._deadline,
        )
        self._is_ahead = self._may_read_ahead(sink)
        self._laps = self._is_ahead and self._may_lap(sink)
        try:
            sink.open(self._monitor.patterns)
            try:
                self._play(delivery)
            except KeyboardInterrupt as interrupt:
                for error in (self._error, *(one.error for one in self._deliveries)):
                    if error is not None and not isinstance(error, KeyboardInterrupt):
                        raise error  # noqa: B904 - the interrupt came later: it is the context
                stop = interrupt.with_traceback(None)  # it would hold the monitor
        except BaseException:
            sink.abandon()
            if self._saver is not None:
                with suppress(MotifluxError):  # the first error is raised
                    self._saver.end(failed=True)
            raise
        finally:  # their tracebacks hold this run, and its monitor
            self._error = None
            for one in self._deliveries:
                one.error = None
        sink.close()
        if self._saver is not None:
            self._saver.end(failed=False)
        self._warn()
        complete = self._is_enough() or (stop is None and not self._is_late())
        return self._totals(complete=complete, stop=None if complete else stop)

    def _play(self, delivery: Delivery | None) -> None:
        if not can_repeat(self._source) or getattr(self._source, "may_grow", False):
            self._play_all(delivery)  # calls do not follow each other: the source may wait for updates
            return
        try:
            self._monitor._hold_engine(on=True)
            self._play_all(delivery)
        finally:
            in_spite_of_interrupts(lambda: self._monitor._hold_engine(on=False))

    def _play_all(self, delivery: Delivery | None) -> None:
        with self._shield, self._reporting() as self._report:
            try:
                self._play_batches(delivery)
                self._shield.is_up = True
            except BaseException as error:  # noqa: BLE001 - it is raised
                self._shield.is_up = True  # without a call, in which Ctrl-C might come
                raise_after(error, self._end_pipeline)
            self._end_pipeline()

    def _play_batches(self, delivery: Delivery | None) -> None:
        try:
            for batch in self._batches():
                delta = self._applied(batch, delivery)
                self._report(batch)
                if self._saver is not None and delta.complete:
                    self._saver.after(len(batch.updates))
            self._catch_up()
        except BaseException as error:  # noqa: BLE001 - it is raised
            self._error = error  # noted without a call, before which Ctrl-C might come
            raise_after(error, self._note_quiet)
        self._note_quiet()

    def _end_pipeline(self) -> None:
        """End the thread that reads, and leave whole batches; Ctrl-C is raised afterwards."""

        def end() -> None:
            try:
                if self._ahead is not None:
                    self._ahead.stop()
            finally:
                try:
                    self._catch_up()
                finally:
                    if self._overlap is not None:
                        self._overlap.end()

        in_spite_of_interrupts(end)

    def _may_read_ahead(self, sink: Sink) -> bool:
        """Return whether a thread reads the source while a device matches."""
        if not can_repeat(self._source):
            return False
        runs_code = callable(self._progress) or not may_lag(sink)
        if runs_code and getattr(self._source, "may_grow", False):
            return False
        size = getattr(self._source, "columns_size", DEFAULT_SIZE) if self._size is None else self._size
        overlaps = self._monitor.overlaps(size, in_memory=getattr(self._source, "in_memory", False))
        return size >= ahead.LEAST_UPDATES and overlaps

    def _may_lap(self, sink: Sink) -> bool:
        """Return whether batches may be prepared and written, too, while the device matches others."""
        needs_each = self._limit is not None or self._saver is not None
        return self._monitor.overlaps_calls and may_lag(sink) and not needs_each

    def _pass_quiet(self, feeding: Feeding) -> bool:
        """Apply batches that need no more than native code; return whether the run goes on."""
        assert self._quiet is not None
        report = self._report if self._progress else None
        while updates := self._quiet.go_on(feeding, report):
            if self._saver is not None:
                self._saver.after(updates)
            if self._is_late():
                return False
        return True

    def _note_quiet(self) -> None:
        if self._quiet is not None:
            self._quiet.note()

    def _batches(self) -> Iterator[Batch]:
        monitor = self._monitor
        size = self._size
        if self._skips and monitor.mode == "sequence":
            size = size or DEFAULT_SIZE  # finding the refused update means checking the rest again
        request = Request(
            size,
            exact=monitor.mode == "batch",
            deadline=self._deadline,
            idle=None if self._saver is None else self._saver.idle,
            attributes=self._wants_changes and monitor.mode == "sequence",
            edge_attributes=monitor.wants_attribute if monitor.keeps_attributes else None,
            attribute_kinds=monitor.attribute_kinds(),
            times=monitor.needs_times,
            quiet=None if self._quiet is None else self._pass_quiet,
            is_over=None,
            **monitor.kinds(),
        )
        if self._is_late() or self._is_enough():
            return
        batches = self._source.batches(request) if not self._is_ahead else self._read_ahead(request)
        for batch in batches:
            if not isinstance(batch, Batch):
                raise ArgumentError("source", "one that gives `motiflux.stream.Batch`es", batch)
            # Data taken out of a queue or an iterator is not there any more, so it is applied, late or not.
            yield batch
            if self._is_late() or self._is_enough():
                return

    def _read_ahead(self, request: Request) -> Iterator[Batch]:
        self._ahead = ahead.ReadAhead(self._source, request, self._hand_over)
        if self._laps:
            self._overlap = Overlap(self._monitor, self._ahead, self._deliveries, self._shield, self._sums)
        return self._ahead.batches()

    def _is_late(self) -> bool:
        return self._is_cut or (self._deadline is not None and time.perf_counter() >= self._deadline)

    def _is_enough(self) -> bool:
        return self._limit is not None and self._sums.matches >= self._limit

    def _applied(self, batch: Batch, delivery: Delivery | None) -> Delta:
        self._monitor.unapplied = batch.updates
        try:
            try:
                delta = self._apply_once(batch, delivery)
            except StreamError:
                if not self._skips:
                    raise
                self._catch_up()
                batch = without_refused(batch, self._refusal)
                delta = self._monitor._no_delta(0.0) if self._is_late() else self._apply_once(batch, delivery)
        except StreamError as error:
            raise batch.located(error) from error
        if delta.complete:
            self._tell_skipped(batch)
        else:
            self._is_cut = True
        return delta

    def _refusal(self, updates: Updates) -> StreamError | None:
        if self._is_late():  # nothing will be applied in any case
            return None
        self._shield.up()
        try:
            refusal = self._monitor._refusal(updates)
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, self._shield.down)
        self._shield.down()
        return refusal

    def _apply_once(self, batch: Batch, delivery: Delivery | None) -> Delta:
        left = None if self._deadline is None else max(0.0, self._deadline - time.perf_counter())
        if self._overlap is not None:
            return self._overlap.apply(batch, left)
        if delivery is not None:
            delivery.most = None if self._limit is None else self._limit - self._sums.matches
            delivery.begin(batch)

        def end() -> None:
            if delivery is not None:
                delivery.end()
            self._shield.down()

        try:
            delta = self._delivered(batch, delivery, left)
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, end)
        end()
        return delta

    def _delivered(self, batch: Batch, delivery: Delivery | None, left: float | None) -> Delta:
        """Apply a batch and have the sink and the totals know it; Ctrl-C waits afterwards."""
        give = None if delivery is None else delivery.give
        delta = self._monitor._apply(batch.updates, Terms(give, left, batch, self._shield.up))
        if delta.complete:
            there = time.perf_counter() if delivery is None else delivery.there
            self._sums.add(batch, delta, there - batch.arrived, self._counts(delta, delivery))
            if delivery is not None:
                delivery.acknowledge()
        return delta

    def _counts(self, delta: Delta, delivery: Delivery | None) -> list[tuple[int, int]]:
        """Return how many matches of each pattern appeared and vanished, up to the limit."""
        counts = counts_of(delta)
        most = None if self._limit is None else self._limit - self._sums.matches
        if most is None or sum(map(sum, counts)) <= most:
            return counts
        if delivery is not None and delivery.given:
            return [delivery.given_of(pattern) for pattern in delta.patterns]
        return first_matches(delta, most)

    def _hand_over(self) -> None:
        """Have the sink and the totals know all batches that are applied."""
        if self._overlap is not None:
            self._overlap.hand_over()

    def _catch_up(self) -> None:
        """Have the sink and the totals know all batches that are applied, and nothing prepared."""
        if self._overlap is not None:
            self._overlap.finish()

    def _totals(
        self, *, complete: bool, stop: KeyboardInterrupt | None = None, writes: bool = True
    ) -> Totals:
        seconds = time.perf_counter() - self._start
        return self._sums.totals(seconds, complete=complete, stopped_by=stop, writes=writes)

    def _tell_skipped(self, batch: Batch) -> None:
        """Tell the first few lines that are left out at once: a stream may have no end."""
        for line, message in batch.skipped[: _SKIPS_TOLD - self._sums.skips_told]:
            self._sums.skips_told += 1
            text = batch.text_of(line)
            told = f"{batch.place(line)}: {message}; it was left out"
            warnings.warn(told + (f": {text}" if text else ""), MotifluxWarning, stacklevel=5)

    def _warn(self) -> None:
        """Warn of lines that were left out."""
        sums = self._sums
        if sums.skipped > sums.skips_told:
            self._note(f"{quantity_was(sums.skipped, sums.unit)} left out in all")
        if sums.late:
            done = "left out" if self._monitor.options["disorder"] == "drop" else "given the time before it"
            self._note(f"{quantity_was(sums.late, 'update')} out of time order, and {done}")
        if sums.self_loops:
            self._note(f"{quantity_was(sums.self_loops, 'self-loop')} left out")

    def _note(self, text: str) -> None:
        warnings.warn(f"{self._sums.origin}: {text}", MotifluxWarning, stacklevel=4)

    @contextmanager
    def _reporting(self) -> Iterator[Callable[[Batch], None]]:
        progress = self._progress
        if callable(progress):

            def tell(batch: Batch) -> None:
                self._catch_up()  # a function may look at the monitor, or change its patterns
                progress(self._totals(complete=False))

            yield self._now_and_then(tell)
        elif progress and is_shown():
            with meter("watching", in_lines=self._prints and shares_terminal()) as update:
                yield self._now_and_then(lambda batch: self._show(update, batch))
        else:
            yield lambda batch: None

    def _now_and_then(self, tell: Callable[[Batch], None]) -> Callable[[Batch], None]:
        following = 0.0

        def report(batch: Batch) -> None:
            nonlocal following
            now = time.perf_counter()
            if now >= following:
                following = now + _SECONDS_BETWEEN_REPORTS
                tell(batch)

        return report

    def _show(self, update: Update, batch: Batch) -> None:
        """Show how far the run is; matches that wait are not counted, and updates put off are not written."""
        size = getattr(self._source, "size", None) or 0
        done = batch.position.offset if size else 0
        update(min(done, size), size, progress_note(self._totals(complete=False, writes=False)))


def progress_note(totals: Totals) -> str:
    """Say in a few words how a run is going."""
    text = f"{quantity(totals.updates, 'update')}, {totals.updates_per_second:,.0f}/s"
    if totals.latency is not None:
        text += f", latency p50 {totals.latency.p50:,.0f} us, p99 {totals.latency.p99:,.0f} us"
    return text
