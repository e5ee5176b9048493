"""A monitor on a source: batch after batch, to the end of it."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer, check_seconds
from motiflux.errors import ArgumentError, MotifluxWarning, StreamError
from motiflux.io.progress import Update, is_shown, meter
from motiflux.pattern import Pattern
from motiflux.stream.changing import Terms
from motiflux.stream.delta import Delta, MatchRows
from motiflux.stream.held import Held
from motiflux.stream.sink import FoundMatches, Sink
from motiflux.stream.source import Batch, Request, Source
from motiflux.stream.totals import Sums, Totals
from motiflux.units import quantity

if TYPE_CHECKING:
    from motiflux.stream.monitor import Monitor

Progress = bool | Callable[[Totals], None]
"""What the `progress` argument of `Monitor.run` takes."""

_SECONDS_BETWEEN_REPORTS = 0.2


class Run:
    """One run.

    Parameters
    ----------
    monitor
        What takes the updates.
    source
        What gives them.
    batch_size
        Most updates applied in one call; None: 1024 where they come one by one.
    timeout
        Seconds after which it ends.
    progress
        Whom to tell.
    """

    def __init__(
        self,
        monitor: Monitor,
        source: Source,
        *,
        batch_size: int | None,
        timeout: float | None,
        progress: Progress,
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
        self._sums = Sums()

    def deltas(self) -> Iterator[Delta]:
        """Apply and yield, batch by batch."""
        with self._reporting() as report:
            for batch in self._batches():
                delta = self._applied(batch, None)
                report(batch)
                yield delta
        self._warn()

    def into(self, sink: Sink) -> Totals:
        """Apply all and hand what is found to a sink; return what it came to.

        Ctrl-C ends the run as the end of the source does, with what was acknowledged until then; the totals
        say so.
        """
        delivery = None
        if sink.wants_matches:
            if not self._monitor.lists_matches:
                raise ArgumentError(
                    "sink", "Monitor(..., matches=True) beside a sink that takes matches", sink
                )
            delivery = Delivery(self._monitor, sink, self._shield)
        stop: KeyboardInterrupt | None = None
        self._sums.watch(self._monitor.patterns)
        try:
            sink.open(self._monitor.patterns)
            try:
                with self._shield, self._reporting() as report:
                    for batch in self._batches():
                        self._applied(batch, delivery)
                        report(batch)
            except KeyboardInterrupt as interrupt:
                stop = interrupt
        except BaseException:
            sink.abandon()
            raise
        sink.close()
        self._warn()
        return self._totals(complete=stop is None and not self._is_late(), stop=stop)

    def _batches(self) -> Iterator[Batch]:
        monitor = self._monitor
        request = Request(
            self._size,
            exact=monitor.mode == "batch",
            deadline=self._deadline,
            **monitor.kinds(),
        )
        if self._is_late():
            return
        for batch in self._source.batches(request):
            if not isinstance(batch, Batch):
                raise ArgumentError("source", "one that gives `motiflux.stream.Batch`es", batch)
            # What was taken out of a queue or an iterator is not there any more: it is begun, late or not.
            yield batch
            if self._is_late():
                return

    def _is_late(self) -> bool:
        return self._deadline is not None and time.perf_counter() >= self._deadline

    def _applied(self, batch: Batch, delivery: Delivery | None) -> Delta:
        if delivery is not None:
            delivery.begin(batch)
        monitor = self._monitor
        monitor.unapplied = batch.updates
        left = None if self._deadline is None else max(0.0, self._deadline - time.perf_counter())
        try:
            give = None if delivery is None else delivery.give
            delta = monitor._apply(batch.updates, Terms(give, left, batch, self._shield.up))
            if not delta.complete:
                return delta
            there = time.perf_counter() if delivery is None else delivery.there
            self._sums.add(batch, delta, there - batch.arrived)
        except StreamError as error:
            raise batch.located(error) from error
        finally:
            if delivery is not None:
                delivery.end()
            self._shield.down()
        return delta

    def _totals(self, *, complete: bool, stop: KeyboardInterrupt | None = None) -> Totals:
        seconds = time.perf_counter() - self._start
        return self._sums.totals(seconds, complete=complete, stopped_by=stop)

    def _warn(self) -> None:
        """Say what was left out."""
        sums = self._sums
        if sums.first_skip is not None:
            more = "" if sums.skipped == 1 else f", the first of {sums.skipped:,}"
            warnings.warn(f"{sums.first_skip}; it was left out{more}", MotifluxWarning, stacklevel=3)
        if sums.late:
            warnings.warn(
                f"left out: {quantity(sums.late, 'update')} out of time order", MotifluxWarning, stacklevel=3
            )
        if sums.self_loops:
            warnings.warn(
                f"left out: {quantity(sums.self_loops, 'self-loop')}", MotifluxWarning, stacklevel=3
            )

    @contextmanager
    def _reporting(self) -> Iterator[Callable[[Batch], None]]:
        progress = self._progress
        if callable(progress):
            yield self._now_and_then(lambda batch: progress(self._totals(complete=False)))
        elif progress and is_shown():
            with meter("watching") as update:
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
        size = getattr(self._source, "size", None) or 0
        done = batch.position.offset if size else 0
        update(min(done, size), size, progress_note(self._totals(complete=False)))


def progress_note(totals: Totals) -> str:
    """Say in a few words how a run is going."""
    text = f"{totals.updates:,} updates, {totals.updates_per_second:,.0f}/s"
    if totals.latency is not None:
        text += f", latency p50 {totals.latency.p50:,.0f} us, p99 {totals.latency.p99:,.0f} us"
    return text


class Delivery:
    """Hands the matches of a batch to a sink before the batch is final.

    A sink sees matches of whole batches only: those of one that is still going on are held. Patterns have
    numbers as in `Sums`: those watched at the start in their order, then those added.
    """

    def __init__(self, monitor: Monitor, sink: Sink, shield: Shield) -> None:
        self._monitor = monitor
        self._sink = sink
        self._held = Held()
        self._shield = shield
        self._times: NDArray[Any] | None = None
        self._first_update = 0
        self._patterns: list[Pattern] = list(monitor.patterns)
        self._numbers = {pattern: number for number, pattern in enumerate(self._patterns)}
        self.there = 0.0
        """When the last batch's matches were there."""

    def begin(self, batch: Batch) -> None:
        """Take matches of this batch from now on."""
        for pattern in self._monitor.patterns:
            if pattern not in self._numbers:
                self._numbers[pattern] = len(self._patterns)
                self._patterns.append(pattern)
        in_batches = self._monitor.mode == "batch"
        self._times = batch.updates.times
        if in_batches and self._times is not None:
            self._times = self._times[-1:]
        self._first_update = self._monitor.batches_applied if in_batches else self._monitor.updates_applied

    def give(self, blocks: list[tuple[Pattern, MatchRows]], last: bool) -> None:
        """Take blocks of matches by pattern; when they are the last, all go to the sink."""
        for pattern, rows in blocks:
            self._held.put(self._numbers[pattern], rows)
        if not last:
            return
        self.there = time.perf_counter()
        if self._sink.uninterrupted:
            self._shield.up()
        for number, rows in self._held.take():
            self._sink.write(self._found(number, rows))
        self._sink.flush()
        # What the sink has, the graph keeps: Ctrl-C comes before both or after.
        self._shield.up()

    def end(self) -> None:
        """Forget what was not delivered: the batch is applied, or taken back."""
        self._held.drop()

    def _found(self, number: int, rows: MatchRows) -> FoundMatches:
        updates = rows.updates.astype(np.int64)
        return FoundMatches(
            self._patterns[number],
            number,
            np.where(rows.positive, 1, -1).astype(np.int8),
            updates + self._first_update,
            None if self._times is None else self._times[updates],
            self._monitor.names(rows.vertices),
        )


class Shield:
    """Lets SIGINT and SIGTERM wait while it is up, in the main thread.

    It stands in for their handlers from `__enter__` to `__exit__`, so that `up` and `down` cost nothing.
    """

    def __init__(self) -> None:
        self._is_up = False
        self._came: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def __exit__(self, *args: object) -> None:
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._note:
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._is_up:
            self._came.append((number, frame))
        else:
            self._handlers[number](number, frame)

    def up(self) -> None:
        """Let them wait from now on."""
        self._is_up = True

    def down(self) -> None:
        """Handle what came."""
        self._is_up = False
        came, self._came = self._came, []
        for number, frame in came[:1]:
            self._handlers[number](number, frame)
