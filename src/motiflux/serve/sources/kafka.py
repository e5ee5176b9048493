"""Topics of Kafka."""

from __future__ import annotations

import time
from typing import Any

from motiflux.packages import require
from motiflux.serve.intake import Lost
from motiflux.serve.records import Taken
from motiflux.serve.sources.source import Source

_MOST = 1000
_MOST_BYTES = 2**22
"""Messages that are asked for together, and bytes that are handed on together."""
_SECONDS = 0.05
_LOOK_SECONDS = 30.0
_CALL_SECONDS = 10.0


class KafkaSource(Source):
    """Reads all partitions of a topic from the offsets in the log.

    The position has the next offset of each partition. Partitions are assigned here and not by a group, so
    no other reader takes them, and offsets are committed nowhere else. Partitions that are added to the topic
    are read from their beginning. Messages that the topic does not have any more are told, and reading goes
    on with the first one that it has.
    """

    def read(self) -> None:
        """Read until the source is to end."""
        options = self.settings.options
        kafka = require("confluent_kafka", f"source {self.name}")
        consumer = kafka.Consumer(
            {
                "group.id": f"motiflux-{self.name}",
                "auto.offset.reset": "error",
                **options["settings"],
                "bootstrap.servers": options["servers"],
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        try:
            looked = -_LOOK_SECONDS
            while not self.ends.is_set():
                if time.monotonic() - looked >= _LOOK_SECONDS:
                    self._assign(kafka, consumer)
                    looked = time.monotonic()
                messages = consumer.consume(_MOST, _SECONDS)
                if not self._take(kafka, consumer, messages):
                    return
        finally:
            consumer.close()

    def _assign(self, kafka: Any, consumer: Any) -> None:
        """Have all partitions read, each from its next offset."""
        options = self.settings.options
        topic = consumer.list_topics(options["topic"], _CALL_SECONDS).topics[options["topic"]]
        if topic.error is not None:
            raise kafka.KafkaException(topic.error)
        is_new = self.position is None
        position: dict[str, int] = dict(self.position or {})
        for partition in topic.partitions:
            is_assigned = bool(consumer.assignment())
            if str(partition) in position and is_assigned:
                continue
            place = kafka.TopicPartition(options["topic"], partition)
            first, end = consumer.get_watermark_offsets(place, _CALL_SECONDS)
            if str(partition) not in position:
                position[str(partition)] = end if is_new and options["begin"] == "new" else first
            elif (offset := position[str(partition)]) < first:
                position[str(partition)] = first
                if not self.put(Taken(), dict(position), self._missing(partition, offset, first)):
                    return
        if is_new:
            self.put(Taken(), position)  # or "new" would be later after a kill that comes before a message
        if position.keys() != (self.position or {}).keys() or not consumer.assignment():
            self.position = position
            self._at_end: set[int] = set()
            consumer.assign(
                [kafka.TopicPartition(options["topic"], int(at), offset) for at, offset in position.items()]
            )
        self.works()

    def _missing(self, partition: int, offset: int, first: int) -> Lost:
        reason = (
            f"expected offset {offset} of partition {partition} of {self.settings.options['topic']}, found "
            f"{first}: those between were dropped before they were read"
        )
        return Lost(f"partition {partition}, offsets {offset} to {first - 1}", first - offset, reason)

    def _waiting(self, kafka: Any, consumer: Any, position: dict[str, int]) -> int:
        """Return how many messages the broker has behind the position, as far as it was heard."""
        waiting = 0
        for partition, offset in position.items():
            place = kafka.TopicPartition(self.settings.options["topic"], int(partition))
            _, end = consumer.get_watermark_offsets(place, cached=True)
            waiting += max(0, end - offset)
        return waiting

    def _take(self, kafka: Any, consumer: Any, messages: list[Any]) -> bool:
        """Hand on the records of messages; return False if the source is to end."""
        taken, position = Taken(), dict(self.position)
        reads = self.reader.arrow if self.settings.options["format"] == "arrow" else self.reader.lines
        for message in messages:
            error, partition = message.error(), message.partition()
            if error is not None:
                if error.code() != kafka.KafkaError._PARTITION_EOF:
                    raise kafka.KafkaException(error)
                self._at_end.add(partition)
                continue
            self._at_end.discard(partition)
            offset = message.offset()
            if offset < position[str(partition)]:
                continue
            place = f"partition {partition}, offset {offset}"
            found = reads(message.value() or b"", lambda number, place=place: f"{place}, line {number + 1}")  # type: ignore[misc]
            taken.add(found)
            position[str(partition)] = offset + 1
            if taken.size >= _MOST_BYTES:
                if not self.put(taken, dict(position)):
                    return False
                taken = Taken()
        self.figures.lag[self.name] = self._waiting(kafka, consumer, position)
        self.is_idle = len(self._at_end) == len(position) and position == self.position
        return position == self.position or self.put(taken, position)
