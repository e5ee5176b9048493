"""A service between two streams of JetStream: from the sending of an update to the receipt of its alert.

``motiflux bench serve``. Rings of three and four among transfers at a rate; one transfer in fifty closes a
ring. It takes nats-server, which Debian's package of that name has. All is on one machine: server, service,
the process that publishes and the one that receives. Latencies are wall clock times, from the moment before
a message is published until its alert is received; the first two seconds are left out. The number of alerts
is compared with that of a monitor without a service. ``cpu_us_per_update`` is processor time of the service,
and ``queue_us_per_update`` the time that its threads were ready and had no processor: the machine had other
work.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Suite, load_part

PARTS = Path(__file__).resolve().parent / "serve_parts"
probes = load_part(PARTS / "probes.py")

MOST_P99 = 15.0
"""Milliseconds at 10,000 updates per second on two cores."""
CORES, MOST_P50_AT_100K, MOST_P99_AT_100K = 16, 10.0, 40.0
"""Milliseconds at 100,000 updates per second, which as many cores have to reach."""


def build(shared: Path) -> Suite:
    found = [
        probes.Through(10_000, 10, 10, quick=True),
        probes.Through(10_000, 20, 1),
        probes.Through(50_000, 10, 50),
        probes.Through(100_000, 10, 100),
    ]
    packages = ("motiflux", "numpy", "nats-py")
    return Suite("serve", (), bars, packages, found)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Hold the results against the targets."""
    held = [
        Bar(f"p99 in ms: {one.case}", one.figures["p99_ms"], MOST_P99, "lower")
        for one in results
        if one.case.startswith("jetstream 10,000/s")
    ]
    if len(os.sched_getaffinity(0)) >= CORES:
        for one in results:
            if one.case.startswith("jetstream 100,000/s"):
                held.append(Bar(f"p50 in ms: {one.case}", one.figures["p50_ms"], MOST_P50_AT_100K, "lower"))
                held.append(Bar(f"p99 in ms: {one.case}", one.figures["p99_ms"], MOST_P99_AT_100K, "lower"))
    return held
