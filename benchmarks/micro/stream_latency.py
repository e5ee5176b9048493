"""Latency of rows: from the writing of an update into a pipe or a socket until the sink has its matches.

    python benchmarks/micro/stream_latency.py [--rate 100000] [--seconds 5] [--shares 0.1 1]
                                              [--through pipe socket queue] [--to function csv jsonl]

A process of its own writes insertions at moments of a Poisson process. A share of them joins vertices of two
labels, which is the pattern, so each brings a row. For each way and share a line of JSON: percentiles in
microseconds of the time from before an update is written (for the queue: put) until the sink gets its row: a
function, or a process that reads lines of standard output through a pipe, of CSV or of JSON.
`behind_us` is the greatest delay of the writer: where it is not small, updates came in bursts. A line takes
ten seconds and two cores that nothing else uses. Only the installed package and NumPy are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

VERTICES = 100_000
_UPDATE = re.compile(rb'(?:-?1,|{"sign": -?1, "update": )([0-9]+)')
WARM = 0.2
"""The share of the first updates that are not measured."""


def updates(count: int, share: float) -> tuple[Any, Any]:
    """Return the ends of updates, of which a share joins the two labels."""
    rng = np.random.default_rng(7)
    half = VERTICES // 2
    sources, steps = rng.integers(0, half, count), rng.integers(1, half, count)
    targets = np.where(rng.random(count) < share, half + steps, (sources + steps) % half)
    return sources, targets


def moments(count: int, rate: float) -> Any:
    """Return nanoseconds after the start at which updates come."""
    return np.cumsum(np.random.default_rng(8).exponential(1e9 / rate, count)).astype(np.int64)


def write(descriptor: int, times: str, count: int, rate: float, share: float) -> None:
    """Write the updates of a stream when they are due, and note when each was written."""
    lines = [
        b"e %d %d\n" % ends for ends in zip(*(one.tolist() for one in updates(count, share)), strict=True)
    ]
    due, written = moments(count, rate).tolist(), np.memmap(times, dtype=np.int64, mode="r+")
    clock, at, behind = time.perf_counter_ns, 0, 0
    start = clock() + 200_000_000
    while at < count:
        now = clock() - start
        if due[at] > now:
            continue
        end = at + 1
        while end < count and due[end] <= now:
            end += 1
        behind = max(behind, now - due[at])
        written[at:end] = clock()
        os.write(descriptor, lines[at] if end == at + 1 else b"".join(lines[at:end]))
        at = end
    written[count] = behind


def put(items: Any, written: Any, count: int, rate: float, share: float) -> None:
    """Put the updates into a queue when they are due."""
    sources, targets = (one.tolist() for one in updates(count, share))
    due = moments(count, rate).tolist()
    clock, behind = time.perf_counter_ns, 0
    start = clock() + 200_000_000
    for at in range(count):
        while (now := clock() - start) < due[at]:
            time.sleep(0)
        behind = max(behind, now - due[at])
        written[at] = clock()
        items.put(("+", sources[at], targets[at]))
    written[count] = behind
    items.put(None)


def take(descriptor: int, times: str) -> None:
    """Read lines as they come, and note when each was there: pairs of update and nanoseconds."""
    os.set_blocking(descriptor, False)
    clock, chunks = time.perf_counter_ns, []
    while True:
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            continue
        if not data:
            break
        chunks.append((clock(), data))
    arrived, rows, rest = [], [], b""
    for moment, data in chunks:
        *lines, rest = (rest + data).split(b"\n")
        rows += [int(found[1]) for line in lines if (found := _UPDATE.match(line))]
        arrived += [moment] * (len(rows) - len(arrived))
    np.stack([np.array(rows, dtype=np.int64), np.array(arrived, dtype=np.int64)]).tofile(times)


class Sink:
    """Notes when rows are there."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Any]] = []

    def __call__(self, found: Any) -> None:
        """Take rows."""
        self.rows.append((time.perf_counter_ns(), found.updates))


def run(monitor: Any, through: str, times: Path, count: int, rate: float, share: float, sink: Any) -> Any:
    """Run a monitor on one stream and return its totals."""
    if through == "queue":
        items: queue.Queue[Any] = queue.Queue()
        written = np.memmap(times, dtype=np.int64, mode="r+")
        thread = threading.Thread(target=put, args=(items, written, count, rate, share))
        thread.start()
        try:
            return monitor.run(items, sink)
        finally:
            thread.join()
    ends: list[Any] = []
    if through == "socket":
        ends = list(socket.socketpair())
        reading, writing = ends[0], ends[1].fileno()
    else:
        number, writing = os.pipe()
        reading = os.fdopen(number, "rb", buffering=0)
    arguments = [str(one) for one in (writing, times, count, rate, share)]
    writer = subprocess.Popen([sys.executable, __file__, "--write", *arguments], pass_fds=[writing])
    if ends:
        ends[1].close()
    else:
        os.close(writing)
    try:
        return monitor.run(reading, sink)
    finally:
        reading.close()
        writer.wait()


def run_printing(to: str, folder: str, run: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """Run with lines printed to another process; return the totals, and of rows the updates and moments."""
    times = Path(folder, "rows")
    reading, writing = os.pipe()
    command = [sys.executable, __file__, "--take", str(reading), str(times)]
    reader = subprocess.Popen(command, pass_fds=[reading])
    os.close(reading)
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(writing, 1)
    os.close(writing)
    try:
        totals = run({"csv": "-", "jsonl": "-.jsonl"}[to])
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)
        reader.wait()
    rows, arrived = np.fromfile(times, dtype=np.int64).reshape(2, -1)
    return totals, rows, arrived


def measure(through: str, to: str, rate: float, seconds: float, share: float) -> dict[str, Any]:
    """Return the latencies of one stream."""
    import motiflux as mf

    count = int(rate * seconds)
    labels = (np.arange(VERTICES) >= VERTICES // 2).astype(np.int64)
    rng = np.random.default_rng(9)
    graph = mf.Graph.from_edges(rng.integers(0, VERTICES // 2, (VERTICES, 2)), vertex_labels=labels)
    sink = Sink()
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder, "times")
        np.memmap(times, dtype=np.int64, mode="w+", shape=count + 1).flush()
        with mf.Monitor(graph, "(a:0)--(b:1)", matches=True, symmetry="subgraphs", threads=1) as monitor:
            whole = partial(run, monitor, through, times, count, rate, share)
            if to == "function":
                totals = whole(sink)
                arrived = np.concatenate([np.full(len(rows), at) for at, rows in sink.rows])
                rows = np.concatenate([rows for _, rows in sink.rows])
            else:
                totals, rows, arrived = run_printing(to, folder, whole)
        written = np.fromfile(times, dtype=np.int64)
    kept = rows >= WARM * count
    found = (arrived - written[rows])[kept] / 1e3
    p50, p90, p99 = np.percentile(found, [50, 90, 99]).round(1).tolist()
    return {
        "through": through,
        "to": to,
        "rate": rate,
        "share": share,
        "rows": int(kept.sum()),
        "p50_us": p50,
        "p90_us": p90,
        "p99_us": p99,
        "max_us": round(float(found.max()), 1),
        "behind_us": round(float(written[count]) / 1e3, 1),
        "batches": totals.batches,
        "updates": totals.updates,
    }


def main() -> None:
    """Measure, or write as the other process."""
    if sys.argv[1:2] == ["--write"]:
        descriptor, times, count, rate, share = sys.argv[2:]
        write(int(descriptor), times, int(count), float(rate), float(share))
        return
    if sys.argv[1:2] == ["--take"]:
        take(int(sys.argv[2]), sys.argv[3])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=100_000, help="updates per second")
    parser.add_argument("--seconds", type=float, default=5, help="length of each stream")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.1, 1.0], help="of updates with rows")
    parser.add_argument("--through", nargs="+", default=["pipe", "socket"], help="pipe, socket, queue")
    parser.add_argument("--to", nargs="+", default=["function"], help="function, csv, jsonl")
    given = parser.parse_args()
    for through, to, share in product(given.through, given.to, given.shares):
        print(json.dumps(measure(through, to, given.rate, given.seconds, share)), flush=True)


if __name__ == "__main__":
    main()
