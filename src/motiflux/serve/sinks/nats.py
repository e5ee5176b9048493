"""Alerts as messages of NATS JetStream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from motiflux.errors import OutputError
from motiflux.serve.nats_client import connect
from motiflux.serve.sinks.sink import Sent, Sink

_AT_ONCE = 256
_SECONDS = 10.0
_NOBODY = "503"
"""The status of an answer by the server itself, where nobody takes a message."""


class NatsSink(Sink):
    """Publishes alerts with their ids as ``Nats-Msg-Id``, and waits until the stream has them.

    Answers come to one subscription, by the number of each message: a request of the client for each takes
    several times as long.
    """

    promise = "exactly once within the stream's window of duplicates, else at least once with the same id"
    _loop: asyncio.AbstractEventLoop | None = None
    _connection: Any = None

    def open(self) -> None:
        """Connect."""
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._connect())

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Publish alerts; each batch of them is acknowledged before the next one."""
        assert self._loop is not None
        for begin in range(0, len(alerts), _AT_ONCE):
            self._loop.run_until_complete(self._publish(alerts[begin : begin + _AT_ONCE]))

    async def _connect(self) -> None:
        self._lost = asyncio.Event()
        self._answered = asyncio.Event()
        self._open: set[int] = set()
        """Numbers of the messages whose answers are awaited."""
        self._published = 0
        self._fault = ""

        async def lost() -> None:
            self._lost.set()

        self._connection = await connect(
            self.settings.options, f"sink {self.name}", disconnected_cb=lost, closed_cb=lost
        )
        self._inbox = self._connection.new_inbox()
        await self._connection.subscribe(f"{self._inbox}.*", cb=self._take)

    async def _take(self, message: Any) -> None:
        """Take the answer to a message."""
        number = int(message.subject.rpartition(".")[2])
        if number not in self._open:  # of a batch that was given up
            return
        self._fault = self._fault or _fault_of(message)
        self._open.discard(number)
        if not self._open:
            self._answered.set()

    async def _publish(self, alerts: Sequence[Sent]) -> None:
        subject, first = self.settings.options["subject"], self._published
        self._published += len(alerts)
        self._open, self._fault = set(range(first, self._published)), ""
        self._answered.clear()
        for number, one in enumerate(alerts, first):
            reply, headers = f"{self._inbox}.{number}", {"Nats-Msg-Id": one.id}
            await self._connection.publish(subject, one.body.encode(), reply=reply, headers=headers)
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._answered, self._lost)]
        await asyncio.wait(waiting, timeout=_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for one_event in waiting:
            one_event.cancel()
        if self._fault:
            raise OutputError(f"subject {subject}: {self._fault}")
        if self._lost.is_set():
            raise ConnectionError("the connection was lost")
        if self._open:
            raise TimeoutError(f"no answer to {len(self._open)} of {len(alerts)} messages")

    def close(self) -> None:
        """Close the connection."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        try:
            if self._connection is not None:
                loop.run_until_complete(self._connection.close())
        finally:
            self._connection = None
            loop.close()


def _fault_of(message: Any) -> str:
    """Return what an answer has against a message; empty: the stream has it."""
    if (message.headers or {}).get("Status") == _NOBODY:
        return "expected a stream that takes it, found none"
    answer = json.loads(message.data)
    error = answer.get("error")
    if error is not None:
        return f"expected a stream that takes it, found an error: {error.get('description', error)}"
    return "" if "seq" in answer else f"expected the answer of a stream, found {str(answer)[:100]}"
