"""Batches of text that are applied without Python knowing of their updates, or writing their matches."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from motiflux import _native
from motiflux.stream.matching.changing import Changing
from motiflux.stream.matching.interrupts import raise_after
from motiflux.stream.run.delivery import Delivery, Shield
from motiflux.stream.run.totals import Sums
from motiflux.stream.sinks.native_lines import native_lines
from motiflux.stream.sinks.sink import Sink
from motiflux.stream.sources.reading import SPIN
from motiflux.stream.sources.source import Batch, Feeding, Position
from motiflux.stream.updates import Updates

_WAIT = 0.05
"""Seconds of waiting for a pipe, in which a signal may go to another thread."""


class QuietBatches:
    """Has batches applied natively, in turns of some milliseconds.

    Matches are written natively where the sink has a file for their lines; otherwise they are handed to it
    batch by batch. A batch is left to the caller if it holds anything but plain insertions and deletions.

    Parameters
    ----------
    monitor
        The monitor.
    sink, delivery
        The sink of the run, and what hands matches to it.
    sums, shield
        Of the run.
    size
        Most updates of a batch.
    limited
        Whether there is a limit on matches: batches with matches are left to the caller then.
    deadline
        The moment (`time.perf_counter`) until which waiting is allowed.
    """

    def __init__(
        self,
        monitor: Changing,
        sink: Sink,
        delivery: Delivery | None,
        sums: Sums,
        shield: Shield,
        size: int,
        *,
        limited: bool,
        deadline: float | None,
    ) -> None:
        self._monitor = monitor
        self._sink = sink
        self._delivery = delivery
        self._sums = sums
        self._shield = shield
        self._size = size
        self._limited = limited
        self._deadline = deadline
        self._feed: _native.QuietFeed | None = None
        self._feeding: Feeding | None = None
        self._lines: _native.Lines | None = None
        self._lines_of: tuple[object, ...] = ()

    def go_on(self, feeding: Feeding, tell: Callable[[Batch], None] | None) -> int:
        """Apply batches and report the progress; return the number of their updates."""
        monitor = self._monitor
        is_closed = monitor._native is None  # an error where an update follows
        if is_closed or not monitor.takes_quiet_batches(self._size) or self._sink.wants_empty_batches:
            return 0
        if self._feed is None:
            self._feed = _native.QuietFeed(list(feeding.words))
        self._feeding = feeding
        try:
            updates = monitor._alone(lambda: self._turn(feeding))
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, self._shield.down)
        self._shield.down()
        if updates and tell is not None:
            tell(Batch(_NO_UPDATES, feeding.origin, monitor.source_position, time.perf_counter()))
        return updates

    def _turn(self, feeding: Feeding) -> int:
        feed, monitor = self._feed, self._monitor
        numbering = monitor._numbering
        assert feed is not None
        self._monitor._choose(0)
        # An open batch refers to these: they stay, even if the sink closes the monitor.
        parser, ids, native = feeding.parsing.parser, numbering.ids.native, monitor._open()
        native.begin()
        monitor._follow_graph()
        self._lines = self._native_lines(feeding)
        arguments = (
            parser,
            ids,
            native,
            self._size,
            feeding.partial,
            numbering.plain_code(),
            numbering.may_lack_labels(),
            numbering.edge_labels.table(),
            monitor._terms(),
            not self._limited and not self._sink.wants_changes,
            self._lines,
            monitor.batches_applied if monitor.mode == "batch" else monitor.updates_applied,
            feeding.descriptor,
            SPIN,
            self._wait(),
        )
        try:
            feed.run(*arguments)
            while feed.is_open:
                self._deliver(feed)
                if feed.turn_is_over or monitor._native is not native:
                    break
                feed.go_on()
            return self.note()
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, lambda: self._take_back(feed, feeding))

    def _wait(self) -> float:
        """Return for how many seconds a silent pipe is waited for."""
        if self._deadline is None:
            return _WAIT
        return min(_WAIT, max(0.0, self._deadline - time.perf_counter()))

    def _native_lines(self, feeding: Feeding) -> _native.Lines | None:
        """Return where matches are written as lines of text; None: they are handed to the sink."""
        delivery = self._delivery
        if delivery is None or self._limited or feeding.attributes:
            return None
        file = self._sink.line_file()
        if file is None:
            return None
        listed = delivery.listed()
        if self._lines is None or self._lines_of != (file, listed):
            self._lines_of = (file, listed)
            return native_lines(file, listed)
        return self._lines

    def _deliver(self, feed: _native.QuietFeed) -> None:
        """Hand the matches of the open batch to the sink; the batch is final then."""
        delivery, shield = self._delivery, self._shield
        try:
            found = feed.found()
            if delivery is not None:
                delivery.give_whole(found, feed.first)
            shield.up()
            feed.commit()
            if delivery is not None:
                delivery.acknowledge()
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, shield.down)
        shield.down()

    def _take_back(self, feed: _native.QuietFeed, feeding: Feeding) -> None:
        """Undo the open batch after an error in its delivery; its updates are those that were not applied."""
        if not feed.is_open:
            return
        self._shield.up()  # until the turn has ended
        feed.take_back()
        self.note()  # before the parser goes on
        self._monitor.unapplied = feeding.parsing.take().found.updates

    def note(self) -> int:
        """Count the batches applied since the last time; return the number of their updates.

        Call it before anything else is done with the monitor, also after Ctrl-C.
        """
        feed, feeding = self._feed, self._feeding
        if feed is None or feeding is None or feed.batches == 0:
            return 0
        monitor, parser = self._monitor, feeding.parsing.parser
        was_up = self._shield.is_up
        self._shield.up()
        try:
            given, batches, rows = self._sums.add_quiet(
                feed, feeding.origin, monitor._write_put_off, monitor._in_slots(), monitor._ran
            )
            monitor.updates_applied += given
            monitor.batches_applied += batches
            monitor._snapshot = monitor.unapplied = None
            monitor.source_position = Position(parser.line, parser.offset)
            if self._lines is not None:
                written, rest = self._lines.take_written(), self._lines.take_rest()
                try:
                    self._sink.written_natively(rows, written, rest, self._shield.has_arrived)
                except BaseException as error:
                    if self._delivery is not None:
                        self._delivery.error = self._delivery.error or error
                    raise
        finally:
            if not was_up:
                self._shield.down()
        return given


_NO_UPDATES = Updates(np.empty(0, dtype=bool), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
