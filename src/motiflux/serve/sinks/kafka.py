"""Alerts as messages of Kafka."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from motiflux.errors import OutputError
from motiflux.packages import require
from motiflux.serve.sinks.sink import Sent, Sink

_SECONDS = 30.0


class KafkaSink(Sink):
    """Produces alerts with their ids as keys; the producer is idempotent.

    With transactions, each batch is one, and so is the position behind it: as the offset of a group that has
    no other use, which is the log's and the sink's own. After a kill this tells what the topic has, whether
    our log knows it or not. Without, a kill between the answer of the broker and the commit of the position
    has messages produced twice, with the same key.
    """

    _producer: Any = None
    _positions: Any = None

    @property
    def promise(self) -> str:  # type: ignore[override]
        """What is promised of each alert."""
        if self.settings.options["transactions"]:
            return "exactly once for consumers that read committed messages"
        return "at least once, each alert with the same id"

    def open(self) -> None:
        """Connect; with transactions, go on behind what the topic has."""
        options = self.settings.options
        kafka = require("confluent_kafka", f"sink {self.name}")
        settings = {
            "linger.ms": 1,
            **options["settings"],
            "bootstrap.servers": options["servers"],
            "enable.idempotence": True,
        }
        if not options["transactions"]:
            self._producer = kafka.Producer(settings)
            return
        name = f"motiflux-{self._store.identity()}-{self.name}"
        self._producer = kafka.Producer({**settings, "transactional.id": name})
        self._producer.init_transactions(_SECONDS)  # ends those of an earlier process
        self._positions = kafka.Consumer(
            {**options["settings"], "bootstrap.servers": options["servers"], "group.id": name}
            | {"enable.auto.commit": False}
        )
        self._place = kafka.TopicPartition(options["topic"], 0)
        self._skip_to(self._reached())

    def _reached(self) -> int:
        """Return the number of the last alert that the topic has; 0 if it has none."""
        (found,) = self._positions.committed([self._place], _SECONDS)
        return max(0, int(found.offset) - 1)

    def _skip_to(self, reached: int) -> None:
        """Go on behind an alert.

        Raises
        ------
        OutputError
            The log has no such alert yet.
        """
        if reached > max(self.delivered, self._last):
            raise OutputError(
                f"topic {self.settings.options['topic']}: expected alerts until {self._last} of this log, "
                f"found {reached}: the state is older than the topic; another service.state begins anew"
            )
        self.delivered = max(self.delivered, reached)

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Produce alerts, and wait until the broker has them."""
        if not self.settings.options["transactions"]:
            self._produce(alerts)
            return
        producer, position = self._producer, self._place
        producer.begin_transaction()
        try:
            self._produce(alerts)
            position.offset = alerts[-1].number + 1
            producer.send_offsets_to_transaction(
                [position], self._positions.consumer_group_metadata(), _SECONDS
            )
            producer.commit_transaction(_SECONDS)
        except BaseException:
            with contextlib.suppress(Exception):  # the next start of the producer aborts it otherwise
                producer.abort_transaction(_SECONDS)
            raise

    def _produce(self, alerts: Sequence[Sent]) -> None:
        topic = self.settings.options["topic"]
        faults: list[Any] = []
        reached: list[int] = []

        def answered(error: Any, message: Any) -> None:
            if error is not None:
                faults.append(error)
            else:
                reached.append(1)

        for alert in alerts:
            self._producer.produce(topic, alert.body.encode(), alert.id.encode(), on_delivery=answered)
            self._producer.poll(0)
        self._producer.flush(_SECONDS)
        if faults or len(reached) != len(alerts):
            said = str(faults[0]) if faults else f"{len(alerts) - len(reached)} without an answer"
            raise OutputError(f"topic {topic}: expected {len(alerts)} messages to be taken, found {said}")

    def close(self) -> None:
        """Forget messages that were not sent: they are produced again."""
        producer, self._producer = self._producer, None
        positions, self._positions = self._positions, None
        if positions is not None:
            positions.close()
        if producer is not None:
            producer.purge()
            producer.flush(1.0)
