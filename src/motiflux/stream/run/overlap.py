"""Three batches in work at once: one is matched on a device, the next one prepared, the last one written.

While a device matches batch k, the thread of the run hands the matches of batch k - 1 to the sink, and then
prepares batch k + 1, if it was read by then (docs/design/gpu-changing.md, "Pipeline").
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from motiflux.errors import InternalError
from motiflux.pattern import Pattern
from motiflux.stream.matching.changing import (
    Changing,
    Prepared,
    Terms,
    Undoable,
)
from motiflux.stream.matching.delta import Delta, counts_of
from motiflux.stream.matching.interrupts import raise_after
from motiflux.stream.matching.match_rows import MatchRows
from motiflux.stream.run.ahead import ReadAhead
from motiflux.stream.run.delivery import Delivery, Shield
from motiflux.stream.run.totals import Sums
from motiflux.stream.sinks.file_sink import FileSink
from motiflux.stream.sinks.several import SeveralSinks
from motiflux.stream.sinks.sink import Nowhere, Sink
from motiflux.stream.sinks.standard_output import StandardOutput
from motiflux.stream.sources.source import Batch

_Blocks = list[tuple[Pattern, MatchRows]]


def may_lag(sink: Sink) -> bool:
    """Return whether a sink runs no code of users, which would see a monitor that is ahead of its matches."""
    if type(sink) is SeveralSinks:
        return all(map(may_lag, sink.sinks))
    return type(sink) in (FileSink, StandardOutput, Nowhere)


@dataclass(eq=False)
class _Waiting:
    """A batch that is applied, and whose matches are not handed over yet.

    Parameters
    ----------
    blocks
        The matches that were found since the last time that there were many.
    begun
        Whether handing over has begun: the batch is taken back, unless it also ends.
    """

    batch: Batch
    delta: Delta
    undoable: Undoable
    delivery: Delivery | None
    blocks: _Blocks
    begun: bool = field(default=False)


class Overlap:
    """Applies the batches of a run.

    Parameters
    ----------
    monitor
        With a device that matches; its calls can be taken back two at a time.
    reading
        Reads the batches.
    deliveries
        Two that hand matches to the sink, batch by batch in turns; empty: only totals are wanted.
    shield, sums
        Of the run.
    """

    def __init__(
        self,
        monitor: Changing,
        reading: ReadAhead,
        deliveries: Sequence[Delivery],
        shield: Shield,
        sums: Sums,
    ) -> None:
        self._monitor = monitor
        self._reading = reading
        self._deliveries = deque(deliveries)
        self._shield = shield
        self._sums = sums
        self._waiting: deque[_Waiting] = deque()
        self._prepared: Prepared | None = None
        self._vertices: int | None = None  # before the batch that is applied now
        self._end: float | None = None
        monitor._open_calls = self

    def vertices(self) -> int | None:
        """Return the number of vertices after the last batch that is final; None if all of them are."""
        for one in self._waiting:
            if not self._monitor._is_final(one.undoable):
                return one.undoable.marked[0].vertices
        if self._vertices is None and self._prepared is not None:
            return self._prepared.mark.vertices
        return self._vertices

    def apply(self, batch: Batch, left: float | None) -> Delta:
        """Apply a batch, all or nothing; its matches are handed over later.

        Parameters
        ----------
        left
            Seconds until the time is up.
        """
        if self._prepared is not None and self._prepared.updates is not batch.updates:
            self.drop_prepared()
        prepared = self._prepared
        if self._waiting:
            self._finish_rows(self._waiting[-1])
        if self._monitor._native.may_write_put_off(len(batch.updates)):
            self.hand_over()  # what is written then cannot be taken back
        self._end = None if left is None else time.perf_counter() + left
        delivery = self._next_delivery(batch)
        last: _Blocks = []

        def give(blocks: _Blocks, is_last: bool) -> None:
            if is_last:
                last.extend(blocks)
            elif delivery is not None:
                delivery.give(blocks, False)

        terms = Terms(
            give=None if delivery is None else give,
            timeout=left,
            batch=batch,
            ready=self._shield.up,
            meanwhile=self._meanwhile,
            overlaps=True,
            after=bool(self._waiting),
            prepared=prepared,
        )
        try:
            mark = self._monitor._numbering.mark() if prepared is None else prepared.mark
            self._vertices = mark.vertices
            delta = self._monitor._apply(batch.updates, terms)
            if not delta.complete:
                self._forget(delivery)
                return delta
            # Ctrl-C waits from here on.
            if self._prepared is prepared:
                self._prepared = None
            undoable = self._monitor._undoable
            assert undoable is not None
            self._waiting.append(_Waiting(batch, delta, undoable, delivery, last))
            while len(self._waiting) > 1:  # the device had nothing to match
                self._hand_over_first()
            if delivery is None:
                self._hand_over_first()
            return delta
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, lambda: self._undo(batch, delivery))
        finally:
            self._vertices = None
            self._shield.down()

    def _finish_rows(self, one: _Waiting) -> None:
        """Wait until the rows of a batch are written; a batch whose rows are lost has to be taken back."""
        why = self._monitor._rows_lost(one.undoable)
        if why:
            one.begun = True
            raise InternalError(
                f"{one.batch.whole()}: expected room for the updates of this batch, found none ({why}); "
                "the batch was taken back, and none of its matches was handed over"
            )

    def _next_delivery(self, batch: Batch) -> Delivery | None:
        if not self._deliveries:
            return None
        self._deliveries.rotate()
        self._deliveries[0].begin(batch)
        return self._deliveries[0]

    def _undo(self, batch: Batch, delivery: Delivery | None) -> None:
        """Take back what an error leaves half done."""
        self._shield.down()
        if not (self._waiting and self._waiting[-1].batch is batch):
            self._forget(delivery)
        self._take_back_begun()

    def _forget(self, delivery: Delivery | None) -> None:
        """Take note that a batch was not applied."""
        self.drop_prepared()
        if delivery is not None:
            delivery.end()

    def drop_prepared(self) -> None:
        """Take back what is prepared."""
        if self._prepared is not None:
            self._monitor._unprepare(self._prepared.call, self._prepared.mark)
            self._prepared = None

    def _meanwhile(self) -> None:
        """Do what there is to do while the device matches: write the last batch, prepare the next one."""
        self.hand_over()
        following = self._reading.following()
        if following is not None:
            self._prepared = self._monitor._prepare(following, self._end)

    def hand_over(self) -> None:
        """Hand all matches to the sink that it does not have yet."""
        while self._waiting:
            self._hand_over_first()

    def _hand_over_first(self) -> None:
        """Hand the matches of a batch to the sink; the batch is final then."""
        first = self._waiting[0]
        delivery, shield = first.delivery, self._shield
        first.begun = True
        was_up = shield.is_up

        def end() -> None:
            if delivery is not None:
                delivery.end()
            if not was_up:
                shield.down()

        try:
            self._finish_rows(first)
            counts = counts_of(first.delta)
            there = time.perf_counter()
            if delivery is not None:
                delivery.give(first.blocks, True)
                there = delivery.there
            shield.up()
            self._sums.add(first.batch, first.delta, there - first.batch.arrived, counts)
            self._monitor._settle(first.undoable)
            self._waiting.popleft()
            if delivery is not None:
                delivery.acknowledge()
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, end)
        end()

    def _take_back_begun(self) -> None:
        """Take back a batch whose matches could not be handed over, and those after it."""
        if not (self._waiting and self._waiting[0].begun):
            return
        first = self._waiting[0]
        if self._monitor._is_final(first.undoable):  # the error came right afterwards
            self._waiting.popleft()
            if first.delivery is not None:
                first.delivery.acknowledge()
            return
        self._monitor._take_back(first.undoable, first.batch.updates)
        self._waiting.clear()
        self._prepared = None

    def end(self) -> None:
        """Have the monitor forget the run, after `finish`."""
        if self._monitor._open_calls is self:
            self._monitor._open_calls = None

    def finish(self) -> None:
        """Hand over what is left, and take back what is prepared, or what could not be handed over."""
        self.drop_prepared()
        self._take_back_begun()
        try:
            self.hand_over()
        except BaseException as error:  # noqa: BLE001 - it is raised
            raise_after(error, self._take_back_begun)
