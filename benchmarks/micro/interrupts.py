"""How long Ctrl-C takes to be answered: ``python benchmarks/micro/interrupts.py [CASE ...] [--tries N]``.

Each case is interrupted at several moments, each `tries` times. Printed is, by the wall clock, the slowest
moment, of each moment the least of its tries, since other programs may hold up any; and the slowest of all.
The promise is 100 ms. A moment after the end of the work is left out, and so is a case whose packages are not
installed. CASE is part of a name.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import queue
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux import _native
from motiflux.io import write_matches

PROMISE = 100.0
"""Milliseconds."""

Call = Callable[[], object]


def main(chosen: list[str], tries: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'case':<28} {'moments':>8} {'answered':>10} {'slowest of all':>16}")
        for name, (moments, make) in cases(Path(folder)).items():
            if any(part in name for part in chosen or [""]):
                print_row(name, [[answer(make(), after) for _ in range(tries)] for after in moments])


def print_row(name: str, found: list[list[float | None]]) -> None:
    answered = [[1000 * one for one in moment if one is not None] for moment in found]
    answered = [moment for moment in answered if moment]
    if not answered:
        print(f"{name:<28} {'-':>8}")
        return
    usual, slowest = max(min(moment) for moment in answered), max(max(moment) for moment in answered)
    late = "  over the promise" if usual > PROMISE else ""
    print(f"{name:<28} {len(answered):>8} {usual:>7.0f} ms {slowest:>13.0f} ms{late}", flush=True)


def answer(call: Call, after: float) -> float | None:
    """Return the seconds from Ctrl-C to its answer; None where the work had ended before."""
    sent: list[float] = []

    def press() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, press)
    gc.collect()
    try:
        timer.start()
        call()
        ended = time.perf_counter()  # a Monitor ends its run and returns
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        ended = time.perf_counter()
    return ended - sent[0] if sent and ended > sent[0] else None


def cases(folder: Path) -> dict[str, tuple[list[float], Callable[[], Call]]]:
    """Return moments, in seconds, and what makes the work afresh."""
    early, late = [0.05, 0.2, 0.5], [0.1, 0.3, 0.5, 0.8, 1.2, 1.7, 2.4, 3.2]
    dense = mf.Graph.from_edges([(u, v) for v in range(300) for u in range(v)])
    path = mf.Pattern.from_edges([(v, v + 1) for v in range(7)])
    pairs = np.random.default_rng(7).integers(0, 1000, (60_000, 2))
    bipartite = mf.Graph.from_edges(pairs + np.array([0, 1000]))
    odd = mf.Pattern.from_edges([(v, (v + 1) % 9) for v in range(9)])
    rmat = mf.generate.Rmat(scale=24, edges=200_000_000)
    uniform = mf.generate.UniformEdges(vertices=10**6, edges=200_000_000)
    skipping = mf.generate.UniformGraph(vertices=10**6, probability=4e-4)
    return {
        "names: numbering": (late, numbering),
        "names: sorting": (late, sorting),
        "CSV: integers": (late, csv_of(folder / "integers.csv", "{},{}\n")),
        "CSV: names": (late, csv_of(folder / "names.csv", "name{:07},other{:07}\n")),
        "count: found": (early, lambda: lambda: mf.count(dense, path)),
        "count: never found": (early, lambda: lambda: mf.count(bipartite, odd)),
        "count: two threads": (early, lambda: lambda: mf.count(dense, path, threads=2)),
        "rows: in memory": (early, lambda: lambda: [None for _ in mf.match(dense, path)]),
        "rows: never found": (early, lambda: lambda: [None for _ in mf.match(bipartite, odd)]),
        "rows: into CSV": (early, lambda: lambda: write_matches(mf.match(dense, path), folder / "o.csv")),
        "NVRTC": ([0.2, 0.5, 1.0, 2.0], nvrtc),
        "generator: R-MAT": (early, lambda: rmat.columns),
        "generator: G(n, m)": (
            early,
            lambda: uniform.columns,
        ),
        "generator: G(n, p)": (
            early,
            lambda: skipping.columns,
        ),
        "generator: flows": (early, lambda: mf.generate.Flows(flows=200_000_000).columns),
        "generator: duplicates": (late, duplicates),
        "Monitor: a large batch": (late, lambda: monitored(1_000_000)),
        "Monitor: many matches": (early, many_matches),
        "Monitor: an idle queue": (early, waiting),
    }


def strings() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return 8 million strings of 8 bytes, nearly all different."""
    text = np.random.default_rng(1).integers(0, 256, 64_000_000, dtype=np.uint8)
    return text, np.arange(0, len(text) + 1, 8)


def numbering() -> Call:
    text, offsets = strings()
    names = _native.Names()
    return lambda: names.codes(text, offsets)


def sorting() -> Call:
    names = _native.Names()
    names.codes(*strings())
    return names.finish


def csv_of(path: Path, row: str) -> Callable[[], Call]:
    def make() -> Call:
        if not path.exists():
            ends = np.random.default_rng(2).integers(0, 10_000_000, (3_000_000, 2)).tolist()
            path.write_text("src,dst\n" + "".join(row.format(u, v) for u, v in ends))
        return lambda: mf.read_graph(path, directed=True)

    return make


def nvrtc() -> Call:
    from motiflux.jit import Compiler, KernelCache, NvrtcToolchain, Source

    functions = "".join(
        f'extern "C" __global__ void k{number}(int* p) {{ '
        + " ".join(f"if (p[{at}] > {at}) p[{at + 1}] += p[p[{at}]] * {number};" for at in range(300))
        + " }\n"
        for number in range(40)
    )
    compiler = Compiler(NvrtcToolchain("sm_90"), KernelCache(None))

    def wait() -> None:
        with contextlib.suppress(mf.DeviceError):
            compiler.wait(Source("large", functions))

    return wait


def duplicates() -> Call:
    ends = np.random.default_rng(1).integers(0, 2**24, (2, 30_000_000), dtype=np.uint32)
    return lambda: _native.keep_distinct(ends[0], ends[1], 2)


def monitored(updates: int) -> Call:
    drawn = mf.generate.Rmat(scale=17, edges=updates, seed=3).columns()
    monitor = mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)--(c)--(a)")
    rows = mf.Updates(np.ones(updates, bool), drawn.sources, drawn.targets)
    return lambda: monitor.apply(rows)


def many_matches() -> Call:
    """Return the insertion of edges each of which completes many millions of matches."""
    pairs = [(u, v) for v in range(2, 200) for u in range(v)]
    monitor = mf.Monitor(mf.Graph.from_edges(pairs), mf.Pattern.from_edges([(v, v + 1) for v in range(6)]))
    return lambda: monitor.run([("+", 0, 1)] * 1000)


def waiting() -> Call:
    from motiflux.stream import Nowhere

    items: queue.Queue[Any] = queue.Queue()
    monitor = mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)--(c)--(a)")
    return lambda: monitor.run(items, Nowhere())


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Have Ctrl-C raise, also where the shell started this with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="*")
    parser.add_argument("--tries", type=int, default=3)
    said = parser.parse_args()
    warnings.simplefilter("ignore", mf.MotifluxWarning)
    with interruptible():
        main(said.case, said.tries)
