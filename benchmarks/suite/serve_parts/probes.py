"""Probes of `serve`: from JetStream through a service to JetStream."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings

PATTERNS = {"ring3": "(a)-->(b)-->(c)-->(a)", "ring4": "(a)-->(b)-->(c)-->(d)-->(a)"}
_TICKS = os.sysconf("SC_CLK_TCK")
_WAIT_SECONDS = 120.0
_WARM_SECONDS = 2.0
_FSYNCS = 100


def transfers(count: int, accounts: int, seed: int) -> list[tuple[str, str]]:
    """Return transfers: one in fifty closes a ring of three that the two before it began."""
    draw = random.Random(seed)
    made: list[tuple[str, str]] = []
    while len(made) < count:
        ends = [f"acct{draw.randrange(accounts)}" for _ in range(3)]
        if len(made) % 50 == 0:
            made += [(ends[0], ends[1]), (ends[1], ends[2]), (ends[2], ends[0])]
        else:
            made.append((ends[0], ends[1]))
    return made[:count]


def alerts_of(made: list[tuple[str, str]]) -> int:
    """Return how many matches appear, by a monitor without a service."""
    empty = mf.Graph.from_edges([], directed=True)
    with mf.Monitor(empty, list(PATTERNS.values()), symmetry="subgraphs") as monitor:
        delta = monitor.apply([("+", src, dst) for src, dst in made])
        return sum(one.positive for one in delta)


def fsync_seconds(folder: Path) -> float:
    """Return the median time of writing and syncing one page."""
    times = []
    with (folder / "page").open("wb") as file:
        for _ in range(_FSYNCS):
            file.write(bytes(4096))
            file.flush()
            begin = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begin)
    return float(np.median(times))


@contextlib.contextmanager
def nats_server(folder: Path) -> Iterator[str]:
    """Run a server with JetStream on disk; give its address."""
    program = shutil.which("nats-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        raise FileNotFoundError("nats-server: Debian's package of that name has it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder / "nats")]
    with subprocess.Popen([program, *options], stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(500):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.01)
            yield f"nats://127.0.0.1:{port}"
        finally:
            process.terminate()


def cpu_seconds(process: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def queue_seconds(process: int) -> float:
    """Return how long the threads of a process were ready and had no processor; 0 where it is not known."""
    waited = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):
            waited += int((thread / "schedstat").read_text().split()[1])
    return waited / 1e9


@dataclass(frozen=True)
class Through:
    """Transfers at a rate from one stream, alerts to another one.

    Parameters
    ----------
    rate, seconds
        Updates per second, for how long.
    per_message
        Updates of one message.
    """

    rate: int
    seconds: int
    per_message: int
    quick: bool = False

    @property
    def name(self) -> str:
        """Unique in its suite."""
        return f"jetstream {self.rate:,}/s, {self.per_message} in a message"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Measure it."""
        with tempfile.TemporaryDirectory() as name, nats_server(Path(name)) as url:
            yield asyncio.run(self._measure(Path(name), url))

    async def _measure(self, folder: Path, url: str) -> CaseResult:
        import nats

        made = transfers(self.rate * self.seconds, accounts=200_000, seed=1)
        expected = alerts_of(made)
        lines = (json.dumps({"src": src, "dst": dst})[:-1] for src, dst in made)
        (folder / "transfers").write_text("\n".join(lines) + "\n")
        connection = await nats.connect(url)
        context = connection.jetstream()
        await context.add_stream(name="IN", subjects=["in"])
        await context.add_stream(name="OUT", subjects=["out"])
        latencies: list[tuple[float, float]] = []

        async def receive(message: Any) -> None:
            now = time.time()
            sent = json.loads(message.data)["update"]["sent"]
            latencies.append((sent, now - sent))

        await context.subscribe("out", cb=receive, ordered_consumer=True)
        fsync = fsync_seconds(folder)
        service = self._begin(folder, url)
        try:
            await self._until_ready(context)
            used, queued = cpu_seconds(service.pid), queue_seconds(service.pid)
            publish = [sys.executable, str(Path(__file__).with_name("publish.py")), url, "in"]
            process = await asyncio.create_subprocess_exec(
                *publish, str(folder / "transfers"), str(self.rate), str(self.per_message), stdout=-1
            )
            late = float((await process.communicate())[0])
            end = time.monotonic() + _WAIT_SECONDS
            while len(latencies) < expected and time.monotonic() < end:
                await asyncio.sleep(0.05)
            used, queued = cpu_seconds(service.pid) - used, queue_seconds(service.pid) - queued
        finally:
            service.terminate()
            service.wait(60)
            await connection.close()
        begin = min(sent for sent, _ in latencies) + _WARM_SECONDS
        steady = np.array([latency for sent, latency in latencies if sent >= begin])
        p50, p90, p99 = np.quantile(steady, [0.5, 0.9, 0.99])
        figures = {
            "p50_ms": p50 * 1e3,
            "p90_ms": p90 * 1e3,
            "p99_ms": p99 * 1e3,
            "max_ms": steady.max() * 1e3,
            "cpu_us_per_update": used / len(made) * 1e6,
            "queue_us_per_update": queued / len(made) * 1e6,
            "fsync_ms": fsync * 1e3,
            "publisher_late_ms": late * 1e3,
            "load": os.getloadavg()[0],
        }
        figures = {key: round(float(value), 3) for key, value in figures.items()}
        checked = (
            f"a monitor ({expected})" if len(latencies) == expected else f"a monitor ({expected}, differs)"
        )
        timing = Timing(used, used, 1)
        return CaseResult(
            self.name,
            "cpu",
            len(latencies),
            checked,
            timing,
            disagrees=len(latencies) != expected,
            figures=figures,
        )

    def _begin(self, folder: Path, url: str) -> subprocess.Popen[bytes]:
        patterns = [f'[[patterns]]\nname = "{name}"\npattern = "{text}"' for name, text in PATTERNS.items()]
        ends = [
            f'[[sources]]\nname = "in"\ntype = "nats"\nurl = "{url}"\nstream = "IN"\nsubject = "in"',
            f'[[sinks]]\nname = "out"\ntype = "nats"\nurl = "{url}"\nsubject = "out"',
        ]
        general = (
            '[service]\nlisten = "off"\n[stream.attributes]\nsent = "float"\n[log]\ncommit_every = "5ms"'
        )
        monitors = '[[monitors]]\nname = "main"\nattributes = false'
        (folder / "service.toml").write_text("\n".join([general, monitors, *patterns, *ends]))
        command = [sys.executable, "-m", "motiflux", "serve", str(folder / "service.toml")]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)

    async def _until_ready(self, context: Any) -> None:
        """Wait until the service reads the stream."""
        end = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < end:
            if (await context.stream_info("IN")).state.consumer_count:
                return
            await asyncio.sleep(0.05)
        raise TimeoutError("the service does not read the stream")
