"""Batches of text that change no match: applied without Python knowing of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from motiflux import _native
from motiflux.stream.matching.changing import Changing
from motiflux.stream.run.totals import Sums
from motiflux.stream.sinks.sink import Sink
from motiflux.stream.sources.reading import SPIN
from motiflux.stream.sources.source import Batch, Position
from motiflux.stream.updates import Updates

if TYPE_CHECKING:
    from motiflux.stream.run.delivery import Shield


class QuietBatches:
    """Has quiet batches applied natively, and notes them in turns of some milliseconds.

    A batch is left to the caller if it changes a match, or holds anything but plain insertions and deletions.

    Parameters
    ----------
    monitor
        The monitor.
    sink
        The sink of the run.
    sums, shield
        Of the run.
    size
        Most updates of a batch.
    """

    def __init__(self, monitor: Changing, sink: Sink, sums: Sums, shield: Shield, size: int) -> None:
        self._monitor = monitor
        self._sink = sink
        self._sums = sums
        self._shield = shield
        self._size = size
        self._feed: _native.QuietFeed | None = None
        self._parser: _native.UpdateParser | None = None
        self._origin = ""

    def go_on(
        self, parser: _native.UpdateParser, origin: str, words: Sequence[str], descriptor: int, partial: bool
    ) -> None:
        """Apply batches from a parser until one is not quiet, or a turn is over; see `Request.quiet`."""
        monitor = self._monitor
        if not monitor.takes_plain_updates or self._sink.wants_empty_batches:
            return
        if self._feed is None:
            self._feed = _native.QuietFeed(list(words))
        self._parser, self._origin = parser, origin
        feed, numbering = self._feed, monitor._numbering
        monitor._alone(
            lambda: feed.run(
                parser,
                numbering.ids.native,
                monitor._open(),
                self._size,
                partial,
                numbering.plain_code(),
                numbering.may_lack_labels(),
                numbering.edge_labels.table(),
                monitor._terms(),
                descriptor,
                SPIN,
            )
        )

    def note(self, tell: Callable[[Batch], None]) -> int:
        """Count the batches applied since the last time; return the number of their updates.

        Call it before anything else is done with the monitor, also after Ctrl-C.
        """
        if self._feed is None or self._feed.batches == 0:
            return 0
        assert self._parser is not None
        monitor = self._monitor
        self._shield.up()
        try:
            origin = self._origin
            updates, batches = self._sums.add_quiet(self._feed, origin)
            monitor.updates_applied += updates
            monitor.batches_applied += batches
            monitor._snapshot = None
            position = Position(self._parser.line, self._parser.offset)
            monitor.source_position = position
        finally:
            self._shield.down()
        tell(Batch(_NO_UPDATES, origin, position, time.perf_counter()))
        return updates


_NO_UPDATES = Updates(np.empty(0, dtype=bool), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
