"""Streams of NATS JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from motiflux.packages import require
from motiflux.serve.intake import Chunk
from motiflux.serve.nats_client import connect
from motiflux.serve.records import Taken
from motiflux.serve.sources.source import Source

_HEARTBEAT = 5.0
_FULL_PAUSE = 0.005
_MOST_TAKEN = 1000


class NatsSource(Source):
    """Reads the messages of a stream from the one behind its position.

    The position is the number of a message in the stream. Each time it begins, the server makes a consumer
    that pushes all messages behind it, in order and without acknowledgement: the log has the position. A
    message that is missing between two is noticed by the numbers of the consumer, and read again. Messages
    have lines of JSON, or a stream of Arrow.
    """

    def read(self) -> None:
        """Read until the source is to end, or the connection is lost."""
        asyncio.run(self._read())

    async def _read(self) -> None:
        options = self.settings.options
        api = require("nats.js.api", f"source {self.name}")
        lost = asyncio.Event()

        async def closed() -> None:
            lost.set()

        connection = await connect(options, f"source {self.name}", disconnected_cb=closed, closed_cb=closed)
        try:
            context = connection.jetstream()
            begin = await self._begin(context)
            config = api.ConsumerConfig(
                deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=begin + 1,
                ack_policy=api.AckPolicy.NONE,
                filter_subject=options["subject"],
                flow_control=True,
                idle_heartbeat=_HEARTBEAT,
                max_deliver=1,
                inactive_threshold=60.0,
            )
            reader = _Messages(self, lost.set)
            subscription = await context.subscribe(
                options["subject"], stream=options["stream"], config=config, cb=reader.take
            )
            self.works()
            await self._watch(context, subscription, lost, reader)
        finally:
            await connection.close()
        if reader.fault is not None:
            raise reader.fault
        if not self.ends.is_set():
            raise ConnectionError("the connection was lost")

    async def _begin(self, context: Any) -> int:
        """Return the number of the message before the first one to read."""
        info = await context.stream_info(self.settings.options["stream"])
        if self.position is None:
            begin = info.state.last_seq if self.settings.options["begin"] == "new" else 0
            self.put(Taken(), begin)  # or "new" would be later after a kill that comes before a message
        if self.position is not None and self.position > info.state.last_seq:
            raise ValueError(
                f"expected a stream with message {self.position}, which was read, found one that ends at "
                f"{info.state.last_seq}: it is another stream"
            )
        return int(self.position or 0)

    async def _watch(self, context: Any, subscription: Any, lost: asyncio.Event, reader: _Messages) -> None:
        """Note how many messages wait, until the source ends or the connection is lost."""
        info = None
        rounds = 0
        while not self.ends.is_set() and not lost.is_set():
            if rounds % 20 == 0:
                info = await subscription.consumer_info()
                waiting = info.num_pending + subscription.pending_msgs + reader.waiting
                self.figures.lag[self.name] = waiting
                self.is_idle = waiting == 0
            rounds += 1
            try:
                await asyncio.wait_for(lost.wait(), 0.05)
            except TimeoutError:
                continue


class _Messages:
    """Gathers messages that come together into one chunk."""

    def __init__(self, source: NatsSource, stop: Callable[[], None]) -> None:
        self._source, self._stop = source, stop
        self._taken = Taken()
        self._last = 0
        self._delivered = 0
        self._reads = (
            source.reader.arrow if source.settings.options["format"] == "arrow" else source.reader.lines
        )
        self.fault: Exception | None = None
        self.waiting = 0
        """Messages that were taken and wait for the others."""

    async def take(self, message: Any) -> None:
        """Take a message, and wait while the queue is full."""
        if self.fault is not None:
            return
        numbers = message.metadata.sequence
        if numbers.consumer != self._delivered + 1:
            self.fault = ConnectionError(f"message {self._delivered + 1} of the consumer is missing")
            self._stop()
            return
        self._delivered, self._last = numbers.consumer, numbers.stream
        found = self._reads(message.data, lambda number: f"message {numbers.stream}, line {number + 1}")
        self._taken.records += found.records
        self._taken.refused += found.refused
        self.waiting += 1
        if self.waiting == 1:
            asyncio.get_running_loop().call_soon(self._hand_on)
        elif self.waiting >= _MOST_TAKEN:
            self._hand_on()
        while self.waiting >= _MOST_TAKEN and not self._source.ends.is_set():
            await asyncio.sleep(_FULL_PAUSE)
            self._hand_on()

    def _hand_on(self) -> None:
        """Hand on what was taken; where the queue is full, soon."""
        source = self._source
        if not self.waiting or source.ends.is_set():
            return
        source.is_idle = False
        chunk = Chunk(source.name, self._taken.records, self._taken.refused, self._last)
        if source.intake.try_put(chunk):
            source.position = self._last
            self._taken, self.waiting = Taken(), 0
        else:
            asyncio.get_running_loop().call_later(_FULL_PAUSE, self._hand_on)
