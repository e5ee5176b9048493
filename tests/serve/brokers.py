"""Brokers of tests: a NATS server with JetStream, and librdkafka's mock of Kafka."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until

NATS = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
needs_nats = pytest.mark.skipif(
    NATS is None, reason="needs nats-server, which Debian's package of that name has"
)


class NatsServer:
    """A server that can be stopped and started again with what it has stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert NATS is not None
        options = ["-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder / "nats")]
        with (self.folder / "nats.log").open("ab") as log:
            self._process = subprocess.Popen([NATS, *options], stdout=log, stderr=log)

        def answers() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True
            return False

        wait_until(answers, "the NATS server answers", of=self._process)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def run(self, call: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Call a coroutine with a context of JetStream."""
        import nats

        async def connected() -> Any:
            connection = await nats.connect(self.url)
            try:
                return await call(connection.jetstream())
            finally:
                await connection.close()

        return asyncio.run(connected())

    def publish(self, subject: str, *messages: bytes) -> None:
        async def publish(context: Any) -> None:
            for message in messages:
                await context.publish(subject, message)

        self.run(publish)

    def messages(self, stream: str) -> list[tuple[str, bytes]]:
        """Return the ids and bodies of all messages of a stream."""

        async def read(context: Any) -> list[tuple[str, bytes]]:
            last = (await context.stream_info(stream)).state.last_seq
            found = [await context.get_msg(stream, seq) for seq in range(1, last + 1)]
            return [((one.headers or {}).get("Nats-Msg-Id", ""), one.data) for one in found]

        found: list[tuple[str, bytes]] = self.run(read)
        return found


@contextlib.contextmanager
def nats_server(folder: Path) -> Iterator[NatsServer]:
    server = NatsServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
