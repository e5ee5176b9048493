"""Streams of NATS JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from motiflux.packages import require
from motiflux.serve.intake import Chunk, Lost
from motiflux.serve.nats_client import connect
from motiflux.serve.records import Taken
from motiflux.serve.sources.source import Source

_HEARTBEAT = 5.0
_FULL_PAUSE = 0.005
_MOST_TAKEN = 1000
_MOST_BYTES = 2**22
"""Messages, and their bytes, that are handed on together."""
_LONGEST_REASON = 1000
_REPLY_PARTS = 9


class NatsSource(Source):
    """Reads the messages of a stream from the one behind its position.

    The position is the number of a message in the stream. Each time it begins, the server makes a consumer
    that pushes all messages behind it, in order and without acknowledgement: the log has the position. A
    message that is missing between two is noticed by the numbers of the consumer, and read again. One that
    the stream does not have any more is noticed by its number in the stream, and told: exactly if the stream
    has no other subjects, else as far as its first message is behind the position. Messages have lines of
    JSON, or a stream of Arrow.
    """

    is_alone = False
    """Whether the stream has no subject but ours, so that its numbers have no gaps."""

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
        self.is_alone = list(info.config.subjects or ()) == [self.settings.options["subject"]]
        if self.position is None:
            is_new = self.settings.options["begin"] == "new"
            begin = info.state.last_seq if is_new else max(0, info.state.first_seq - 1)
            self.put(Taken(), begin)  # or "new" would be later after a kill that comes before a message
        if self.position is not None and self.position > info.state.last_seq:
            raise ValueError(
                f"expected a stream with message {self.position}, which was read, found one that ends at "
                f"{info.state.last_seq}: it is another stream"
            )
        begin, first = int(self.position or 0), int(info.state.first_seq)
        if begin < first - 1:
            self.put(Taken(), first - 1, self.missing(begin + 1, first - 1))
        return int(self.position or 0)

    def missing(self, first: int, last: int) -> Lost:
        """Return what is told of messages that the stream does not have any more."""
        there = "" if self.is_alone else "; some may be of other subjects"
        reason = (
            f"expected message {first} of the stream {self.settings.options['stream']}, found {last + 1}: "
            f"those between were dropped before they were read{there}"
        )
        return Lost(f"messages {first} to {last}", last - first + 1, reason)

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
        self._last = int(source.position or 0)
        self._lost: Lost | None = None
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
        in_stream, in_consumer = _numbers_of(message)
        if in_consumer != self._delivered + 1:
            self.fault = ConnectionError(f"message {self._delivered + 1} of the consumer is missing")
            self._stop()
            return
        if self._source.is_alone and self._last < in_stream - 1:
            self._note_loss(self._source.missing(self._last + 1, in_stream - 1))
        self._delivered, self._last = in_consumer, in_stream
        found = self._reads(message.data, lambda number: f"message {in_stream}, line {number + 1}")
        self._taken.add(found)
        self.waiting += 1
        if self.waiting == 1:
            asyncio.get_running_loop().call_soon(self._hand_on)
        elif self._has_enough:
            self._hand_on()
        while self._has_enough and not self._source.ends.is_set():
            await asyncio.sleep(_FULL_PAUSE)
            self._hand_on()

    @property
    def _has_enough(self) -> bool:
        return self.waiting >= _MOST_TAKEN or self._taken.size >= _MOST_BYTES

    def _note_loss(self, lost: Lost) -> None:
        """Have a loss told with the next chunk, whatever was lost before in the same one."""
        if (before := self._lost) is not None:
            reason = f"{before.reason}; {lost.reason}"[:_LONGEST_REASON]
            lost = Lost(before.place, before.amount + lost.amount, reason)
        self._lost = lost

    def _hand_on(self) -> None:
        """Hand on what was taken; where the queue is full, soon."""
        source = self._source
        if not self.waiting or source.ends.is_set():
            return
        source.is_idle = False
        taken = self._taken
        chunk = Chunk(source.name, taken.records, taken.refused, self._last, lost=self._lost, size=taken.size)
        if source.intake.try_put(chunk):
            source.position = self._last
            self._taken, self._lost, self.waiting = Taken(), None, 0
        else:
            asyncio.get_running_loop().call_later(_FULL_PAUSE, self._hand_on)


def _numbers_of(message: Any) -> tuple[int, int]:
    """Return the numbers of a message in the stream and of its consumer.

    They are in the subject of the reply, ``$JS.ACK.stream.consumer.delivered.number.number.time.waiting``.
    The client reads all of it, which takes several times as long; other forms are left to it.
    """
    parts = message.reply.split(".")
    if len(parts) == _REPLY_PARTS:
        return int(parts[5]), int(parts[6])
    numbers = message.metadata.sequence
    return numbers.stream, numbers.consumer
