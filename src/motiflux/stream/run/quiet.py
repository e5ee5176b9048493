"""Batches of text that are applied without Python knowing of their updates."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from motiflux import _native
from motiflux.stream.matching.changing import Changing
from motiflux.stream.run.delivery import Delivery, Shield
from motiflux.stream.run.totals import Sums
from motiflux.stream.sinks.sink import Sink
from motiflux.stream.sources.reading import SPIN
from motiflux.stream.sources.source import Batch, Feeding, Position
from motiflux.stream.updates import Updates


class QuietBatches:
    """Has batches applied natively: in turns of some milliseconds, or up to one that changes matches.

    A batch is left to the caller if it holds anything but plain insertions and deletions.

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
    delivers
        Whether matches are delivered here; if not, batches with matches are left to the caller too.
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
        delivers: bool,
    ) -> None:
        self._monitor = monitor
        self._sink = sink
        self._delivery = delivery
        self._sums = sums
        self._shield = shield
        self._size = size
        self._delivers = delivers
        self._feed: _native.QuietFeed | None = None
        self._feeding: Feeding | None = None

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
            if self._delivery is not None and self._delivery.is_begun:
                self._delivery.acknowledge()
        finally:
            if self._delivery is not None and self._delivery.is_begun:
                self._delivery.end()
            self._shield.down()
        if updates and tell is not None:
            tell(Batch(_NO_UPDATES, feeding.origin, monitor.source_position, time.perf_counter()))
        return updates

    def _turn(self, feeding: Feeding) -> int:
        feed, numbering = self._feed, self._monitor._numbering
        assert feed is not None
        self._monitor._choose(0)
        # An open batch refers to these: they stay, even if the sink closes the monitor.
        parser, ids, native = feeding.parsing.parser, numbering.ids.native, self._monitor._open()
        try:
            feed.run(
                parser,
                ids,
                native,
                self._size,
                feeding.partial,
                numbering.plain_code(),
                numbering.may_lack_labels(),
                numbering.edge_labels.table(),
                self._monitor._terms(),
                self._delivers,
                feeding.descriptor,
                SPIN,
            )
            updates = self.note()
            if feed.is_open:
                self._deliver(feed)
                updates += self.note()
            return updates
        except BaseException:
            self._take_back(feed, feeding)
            raise

    def _deliver(self, feed: _native.QuietFeed) -> None:
        """Hand the matches of the open batch to the sink; the batch is final then."""
        found = feed.found()
        if self._delivery is not None:
            self._delivery.give_whole(found)
        self._shield.up()
        feed.commit()
        changes = self._monitor._changes(found)
        self._sums.add_matches(changes, changes.counts())

    def _take_back(self, feed: _native.QuietFeed, feeding: Feeding) -> None:
        """Undo the open batch after an error in its delivery; its updates are those that were not applied."""
        interrupted_by: KeyboardInterrupt | None = None
        while feed.is_open:
            try:
                feed.take_back()
                self.note()  # before the parser goes on
                self._monitor.unapplied = feeding.parsing.take().found.updates
            except KeyboardInterrupt as interrupt:
                interrupted_by = interrupt
        if interrupted_by is not None:
            raise interrupted_by

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
            updates, batches = self._sums.add_quiet(
                feed, feeding.origin, monitor._write_put_off, monitor._ran
            )
            monitor.updates_applied += updates
            monitor.batches_applied += batches
            monitor._snapshot = monitor.unapplied = None
            monitor.source_position = Position(parser.line, parser.offset)
        finally:
            if not was_up:
                self._shield.down()
        return updates


_NO_UPDATES = Updates(np.empty(0, dtype=bool), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
