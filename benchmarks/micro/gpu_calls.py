"""What a known shape takes on a GPU beyond its kernels: ``python benchmarks/micro/gpu_calls.py [KIND ...]``.

For each way in which the GPU counts: wall time of a warm `mf.count`, time of its kernels by the device's own
clock, and the difference, in microseconds: the least, the median, and what nine of ten are below. Each kind
is called for a while first, so that clocks are up; kernels are timed among the calls, not before them.
``--free`` measures the host's part alone, on any machine, as processor time over a GPU that does nothing (the
least of many short series: others may be at work), with the number of calls to the driver; ``--profile``
shows where it goes; ``--tuning rest=off`` compares. Counts are checked against the CPU's.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.runtime.kernel_times import taking_times

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
SEARCH = {"tables": "off", "tail": "off", "parts": "off"}
TAIL = {"tables": "off", "parts": "off"}
LONGEST = 0.05
WARM_SECONDS = 0.3
"""Calls before any is timed: the GPU raises its clocks, the host its own."""
TIMED_EVERY = 8
"""One of so many calls takes the time of its kernels, which costs it more."""
SERIES = 20
"""Calls whose processor time is taken together."""
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


def spread(times: list[float]) -> tuple[float, float, float]:
    """Return the least, the median and the 90th percentile, in microseconds."""
    ordered = sorted(times)
    return 1e6 * ordered[0], 1e6 * statistics.median(ordered), 1e6 * ordered[int(0.9 * len(ordered))]


def warm_up(call: Callable[[], object]) -> None:
    """Call for `WARM_SECONDS`."""
    end = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < end:
        call()


def free(name: str, runs: int, more: dict[str, str], driver: Any, *, profile: bool) -> None:
    """Say what processor time the host's part of a kind takes."""
    graph, pattern, tuning = subject(name)
    switches = private_tuning({**tuning, **more}) if more else tuning

    def call() -> None:
        mf.count(graph, pattern, device="cuda", tuning=switches)

    warm_up(call)
    before = driver.calls
    call()
    calls = driver.calls - before
    series = []
    for _ in range(max(5, runs // SERIES)):
        start = time.process_time()
        for _ in range(SERIES):
            call()
        series.append((time.process_time() - start) / SERIES)
    least, median, _ = spread(series)
    print(
        f"{name:18s} {least:7.1f} us of the processor (median {median:7.1f}), {calls:3d} calls to the driver",
        flush=True,
    )
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
    # By the CPU alone: ``auto`` would leave kernels of its own being compiled beside what is measured.
    expected = mf.count(graph, pattern, device="cpu")
    tuning = private_tuning({"specialize": "on", **tuning, **more})

    def call() -> tuple[float, float]:
        start = time.perf_counter()
        found = mf.count(graph, pattern, device="cuda", tuning=tuning)
        took = time.perf_counter() - start
        assert found == expected, (name, found, expected)
        return took, found.plan_seconds

    call()
    if (took := call()[0]) > LONGEST:
        print(f"{name:18s} takes {took:.3f} s, too long for a difference", flush=True)
        return
    warm_up(call)
    inner, walls, plans = [], [], []
    for at in range(runs):
        if at % TIMED_EVERY == 0:
            with taking_times() as times:
                call()
            inner.append(times.total)
            call()  # a call that is timed makes marks; the next one is as all others are
        took, planned = call()
        walls.append(took)
        plans.append(planned)
    kernels = statistics.median(inner)
    wall, beyond = spread(walls), spread([one - kernels for one in walls])
    print(
        f"{name:18s} wall {wall[0]:7.1f}, {wall[1]:7.1f} (90 %: {wall[2]:7.1f})  kernels {1e6 * kernels:7.1f}"
        f"  beyond {beyond[0]:6.1f}, {beyond[1]:6.1f} (90 %: {beyond[2]:6.1f}), of which plan"
        f" {spread(plans)[1]:5.1f}  {expected:,}",
        flush=True,
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND")
    parser.add_argument("--runs", type=int, default=400)
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
