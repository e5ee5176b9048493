"""Alerts as messages of NATS JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from motiflux.serve.nats_client import connect
from motiflux.serve.sinks.sink import Sent, Sink

_AT_ONCE = 256
_SECONDS = 10.0


class NatsSink(Sink):
    """Publishes alerts with their ids as ``Nats-Msg-Id``, and waits until the stream has them."""

    promise = "exactly once within the stream's window of duplicates, else at least once with the same id"
    _loop: asyncio.AbstractEventLoop | None = None
    _connection: Any = None

    def open(self) -> None:
        """Connect."""
        self._loop = asyncio.new_event_loop()
        self._lost = asyncio.Event()
        self._connection = self._loop.run_until_complete(self._connected())
        self._stream = self._connection.jetstream(timeout=_SECONDS)

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Publish alerts; each batch of them is acknowledged before the next one."""
        assert self._loop is not None
        for begin in range(0, len(alerts), _AT_ONCE):
            self._loop.run_until_complete(self._publish(alerts[begin : begin + _AT_ONCE]))

    async def _connected(self) -> Any:
        async def lost() -> None:
            self._lost.set()

        return await connect(self.settings.options, f"sink {self.name}", disconnected_cb=lost, closed_cb=lost)

    async def _publish(self, alerts: Sequence[Sent]) -> None:
        subject = self.settings.options["subject"]
        publishing: asyncio.Future[Any] = asyncio.gather(
            *(
                self._stream.publish(subject, one.body.encode(), headers={"Nats-Msg-Id": one.id})
                for one in alerts
            )
        )
        losing: asyncio.Future[Any] = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait([publishing, losing], return_when=asyncio.FIRST_COMPLETED)
            if not publishing.done():
                raise ConnectionError("the connection was lost")
            await publishing
        finally:
            losing.cancel()
            publishing.cancel()
            await asyncio.gather(publishing, losing, return_exceptions=True)

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
