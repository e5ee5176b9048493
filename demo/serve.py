"""Transfers by NATS JetStream to rings in order of time on a page, on this machine: `make demo-serve`.

Without nats-server (Debian's package of that name) the transfers are sent to the service by HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import motiflux as mf

ACCOUNTS = 2000
RING_EVERY = 97
"""Of so many transfers, one begins a ring."""
RING = "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time AND y.time < z.time"
LONG_RING = (
    "(a)-[x]->(b)-[y]->(c)-[z]->(d)-[w]->(a) WHERE x.time < y.time AND y.time < z.time AND z.time < w.time"
)
STEP = 0.05
STREAMS = {"TRANSFERS": "transfers", "ALERTS": "alerts"}


def transfers(seed: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield transfers, each with the number of planted rings that are closed by then."""
    draw = random.Random(seed)
    closed, number = 0, 0
    while True:
        number += 1
        names = [f"acct{one}" for one in draw.sample(range(ACCOUNTS), 4)]
        size = draw.choice([3, 4]) if number % RING_EVERY == 0 else 0
        ends = (
            list(zip(names[:size], [*names[1:size], names[0]], strict=True)) if size else [tuple(names[:2])]
        )
        amount = round(draw.lognormvariate(6, 1), 2)
        for at, (payer, payee) in enumerate(ends):
            closed += size > 0 and at == size - 1
            sent = {"payer": payer, "payee": payee, "amount": amount, "at": time.time()}
            yield sent, closed
            amount = round(amount * 0.99, 2)


@contextlib.contextmanager
def nats_server(folder: Path) -> Iterator[str | None]:
    """Run a server with JetStream; give its address, or None where there is none."""
    program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
    if program is None:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "nats")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(500):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.01)
            yield f"nats://127.0.0.1:{port}"
        finally:
            process.terminate()


def configuration(folder: Path, listen: str, nats: str | None) -> dict[str, Any]:
    """Return the configuration, as a file in TOML would have it."""
    source: dict[str, Any] = {"name": "bank", "type": "http"}
    sinks: list[dict[str, Any]] = [{"name": "file", "type": "jsonl", "path": str(folder / "alerts.jsonl")}]
    if nats is not None:
        source = {"name": "bank", "type": "nats", "url": nats, "stream": "TRANSFERS", "subject": "transfers"}
        sinks.append({"name": "stream", "type": "nats", "url": nats, "subject": "alerts"})
    return {
        "service": {"name": "bank transfers", "state": str(folder / "state"), "listen": listen},
        "stream": {
            "columns": {"src": "payer", "dst": "payee", "time": "at"},
            "attributes": {"amount": "float"},
        },
        "sources": [source],
        "monitors": [{"name": "hour", "window": "1h"}],
        "patterns": [{"name": "ring3", "pattern": RING}, {"name": "ring4", "pattern": LONG_RING}],
        "sinks": sinks,
    }


class ByNats:
    """Publishes transfers to a stream."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._connect())

    async def _connect(self) -> None:
        import nats

        self._connection = await nats.connect(self._url)
        self._context = self._connection.jetstream()
        for stream, subject in STREAMS.items():
            await self._context.add_stream(name=stream, subjects=[subject])

    def send(self, made: list[dict[str, Any]]) -> None:
        """Send transfers, and wait until the stream has them."""
        lines = "\n".join(map(json.dumps, made)).encode()
        self._loop.run_until_complete(self._context.publish("transfers", lines))

    def close(self) -> None:
        """Close the connection."""
        self._loop.run_until_complete(self._connection.close())
        self._loop.close()


class ByHttp:
    """Sends transfers to the service itself."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def send(self, made: list[dict[str, Any]]) -> None:
        """Send transfers, and wait until they are on disk."""
        lines = "\n".join(map(json.dumps, made)).encode()
        kind = {"Content-Type": "application/x-ndjson"}
        self._connection.request("POST", "/sources/bank/records", lines, kind)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise ConnectionError(f"expected the answer 200, found {answer.status}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def main() -> int:
    """Run the demo until Ctrl-C, or for some seconds; 0 if all planted rings were found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--listen", default="127.0.0.1:8765", help="address of the page")
    parser.add_argument("--rate", type=int, default=200, help="transfers per second")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to end")
    parser.add_argument("--seed", type=int, default=7, help="seed of the transfers")
    parser.add_argument("--http", action="store_true", help="send by HTTP though there is a nats-server")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        nats = None if options.http else stack.enter_context(nats_server(folder))
        sender: ByNats | ByHttp | None = None if nats is None else ByNats(nats)
        service = stack.enter_context(mf.Service(configuration(folder, options.listen, nats)))
        assert service.url is not None
        sender = ByHttp(service.url) if sender is None else sender
        stack.callback(sender.close)
        print(f"the page: {service.url}  (Ctrl-C ends the demo)", flush=True)
        closed = 0
        with contextlib.suppress(KeyboardInterrupt):
            closed = send_all(sender, options.seed, options.rate, options.seconds)
        found = wait_for(service, closed)
        print(f"{closed} rings were planted, {found} were found, those that chance made among them")
        return 0 if found >= closed else 1


def send_all(sender: ByNats | ByHttp, seed: int, rate: int, seconds: float) -> int:
    """Send transfers until the time is over; return how many rings were closed."""
    begin, sent, closed = time.monotonic(), 0, 0
    drawn = transfers(seed)
    try:
        while (now := time.monotonic() - begin) < seconds:
            made = [next(drawn) for _ in range(int(now * rate) - sent)]
            if made:
                sender.send([transfer for transfer, _ in made])
                sent, closed = sent + len(made), made[-1][1]
            time.sleep(STEP)
    except KeyboardInterrupt:
        print()
    return closed


def wait_for(service: mf.Service, closed: int, seconds: float = 30.0) -> int:
    """Wait until so many rings were found; return how many were."""
    end = time.monotonic() + seconds
    while (found := sum(row.positive for row in service.patterns())) < closed and time.monotonic() < end:
        time.sleep(STEP)
    return found


if __name__ == "__main__":
    sys.exit(main())
