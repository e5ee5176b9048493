"""Alerts as messages of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motiflux.errors import OutputError
from motiflux.packages import require
from motiflux.serve.sinks.sink import Sent, Sink

_SECONDS = 30.0


class KafkaSink(Sink):
    """Produces alerts with their ids as keys; the producer is idempotent.

    A kill between the answer of the broker and the commit of the position has messages produced twice, with
    the same key.
    """

    _producer: Any = None

    def open(self) -> None:
        """Connect."""
        options = self.settings.options
        kafka = require("confluent_kafka", f"sink {self.name}")
        self._producer = kafka.Producer(
            {
                "linger.ms": 1,
                **options["settings"],
                "bootstrap.servers": options["servers"],
                "enable.idempotence": True,
            }
        )

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Produce alerts, and wait until the broker has them."""
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
        if producer is not None:
            producer.purge()
            producer.flush(1.0)
