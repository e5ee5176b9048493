"""What a known shape takes on a GPU beyond its kernels: ``python benchmarks/micro/gpu_calls.py [KIND ...]``.

For each way in which the GPU counts: wall time of a warm `mf.count`, time of its kernels by the device's own
clock, and the difference, in microseconds: median, and nine of ten are below. ``--free`` measures the
host's part alone, on any machine, as processor time over a GPU that does nothing, with the number of calls
to the driver; ``--profile`` shows where it goes; ``--tuning rest=off`` compares. Counts are checked against
the CPU's.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
import time
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.engine.device_times import taking_times

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
SEARCH = {"tables": "off", "tail": "off", "parts": "off"}
TAIL = {"tables": "off", "parts": "off"}
LONGEST = 0.05
KINDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "search": ("ca_condmat", "(a)--(b)--(c)--(a), (b)--(d)--(c)", SEARCH),
    "triangle": ("email_enron", "(a)--(b)--(c)--(a)", {"tables": "off"}),
    "4-clique": ("email_enron", "(a)--(b)--(c)--(a), (d)--(a), (d)--(b), (d)--(c)", {"tables": "off"}),
    "tail": ("email_enron", "(a)--(b)--(c)--(a), (a)--(d)", TAIL),
    "star": ("email_enron", "(a)--(b), (a)--(c), (a)--(d)", TAIL),
    "parts": ("ca_condmat", "(a)--(b)--(c)--(a), (a)--(d)--(e)--(a)", {"tables": "off", "parts": "on"}),
    "diamond": ("email_enron", "(a)--(b)--(c)--(a), (b)--(d)--(c)", {"tables": "on"}),
    "4-cycle": ("email_enron", "(a)--(b)--(c)--(d)--(a)", {"tables": "on"}),
    "house": ("email_enron", "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)", {"tables": "on"}),
    "labelled": ("enron_label20", "q_enron_L20_6_d0", {}),
    "labelled, no tail": ("enron_label20", "q_enron_L20_6_d0", {"tail": "off", "parts": "off"}),
}


def subject(name: str) -> tuple[mf.Graph, mf.Pattern, dict[str, str]]:
    """Return graph, pattern and switches of a kind."""
    graph, text, tuning = KINDS[name]
    read = mf.read_graph(SHARED / f"data/{graph}.npz", directed=False)
    if text.startswith("q_"):
        return read, mf.read_pattern(SHARED / f"oracle/labelled/queries/{text}.graph"), tuning
    return read, mf.Pattern.parse(text), tuning


def percentiles(times: list[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile, in microseconds."""
    return 1e6 * statistics.median(times), 1e6 * sorted(times)[int(0.9 * len(times))]


def free(name: str, runs: int, more: dict[str, str], driver: Any, *, profile: bool) -> None:
    """Say what processor time the host's part of a kind takes."""
    graph, pattern, tuning = subject(name)

    def call() -> None:
        mf.count(graph, pattern, device="cuda", tuning={**tuning, **more})

    for _ in range(5):
        call()
    before = driver.calls
    call()
    calls = driver.calls - before
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(runs):
            call()
        best = min(best, (time.process_time() - start) / runs)
    print(f"{name:18s} {1e6 * best:8.1f} us of the processor, {calls:3d} calls to the driver", flush=True)
    if profile:
        profiler = cProfile.Profile()
        profiler.enable()
        for _ in range(runs):
            call()
        profiler.disable()
        pstats.Stats(profiler).sort_stats("tottime").print_stats(32)


def measured(name: str, runs: int, more: dict[str, str]) -> None:
    """Say what a kind takes beyond its kernels."""
    graph, pattern, tuning = subject(name)
    expected = mf.count(graph, pattern)
    tuning = {"specialize": "on", **tuning, **more}

    def call() -> float:
        start = time.perf_counter()
        found = mf.count(graph, pattern, device="cuda", tuning=tuning)
        took = time.perf_counter() - start
        assert found == expected, (name, found, expected)
        return took

    for _ in range(4):
        took = call()
    if took > LONGEST:
        print(f"{name:18s} takes {took:.3f} s, too long for a difference", flush=True)
        return
    inner = []
    for _ in range(25):
        with taking_times() as times:
            call()
        inner.append(times.total)
    kernels = statistics.median(inner)
    walls, plans = [], []
    for _ in range(runs):
        walls.append(call())
        plans.append(mf.count(graph, pattern, device="cuda", tuning=tuning).plan_seconds)
    wall, beyond = percentiles(walls), percentiles([one - kernels for one in walls])
    print(
        f"{name:18s} wall {wall[0]:8.1f} (90 %: {wall[1]:8.1f})  kernels {1e6 * kernels:8.1f}"
        f"  beyond {beyond[0]:7.1f} (90 %: {beyond[1]:7.1f}), of which plan {percentiles(plans)[0]:5.1f}"
        f"  {expected:,}",
        flush=True,
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--tuning", default="")
    options = parser.parse_args()
    more = dict(one.split("=") for one in options.tuning.split(",") if one)
    driver = None
    if options.free:
        from free_gpu import install

        driver = install()
    for name in options.kinds:
        if driver is not None:
            free(name, options.runs, more, driver, profile=options.profile)
        else:
            measured(name, options.runs, more)


if __name__ == "__main__":
    main()
