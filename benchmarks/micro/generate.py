"""How fast graphs are drawn: ``python benchmarks/micro/generate.py [--device cuda] [--edges N] [--graph]``.

On the CPU: R-MAT edges as arrays, on one thread and on all, and with ``--graph`` built into a graph too. On a
device: R-MAT edges left in its memory, and copied to the host; whole blocks, and the beginning of every other
one, are compared with what the CPU draws. Writes ``generate-<device>-<date>.json`` into the folder that
``--output`` names.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import resolve_threads
from motiflux.bench.machine import commit, cpu_model, versions
from motiflux.bench.measure import Timing, cpu_clock, repeat, wall_clock
from motiflux.bench.results import Bar, CaseResult, Report, write_report
from motiflux.generate import Rmat

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCK = 1 << 26
SAMPLE = 1 << 16
CPU_BAR = (100_000_000, 60.0)
DEVICE_BAR = (1_000_000_000, 20.0)
"""Edges, and the seconds they may take."""


@dataclass
class Drawn:
    """What was measured and found."""

    cases: list[CaseResult]
    bars: list[Bar]
    device: str

    def add(self, case: str, engine: str, edges: int, seconds: Timing, checked: str | None = None) -> None:
        self.cases.append(CaseResult(case, engine, edges, checked, seconds))
        print(f"{case:<46} {edges:>13,} edges {seconds.min:9.3f} s  {edges / seconds.min / 1e6:9.1f} M/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--edges", type=int, help="default: 10 million, on a device a billion")
    parser.add_argument("--scale", type=int, default=27)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--gpu-memory")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "benchmarks/results")
    chosen = parser.parse_args()
    on_cpu = chosen.device == "cpu"
    edges = chosen.edges or (10_000_000 if on_cpu else DEVICE_BAR[0])
    rmat = Rmat(scale=chosen.scale, edges=edges, seed=1)
    drawn = on_host(rmat, graph=chosen.graph) if on_cpu else on_device(rmat, chosen.device, chosen.gpu_memory)
    report = Report(
        "generate",
        commit(REPOSITORY),
        date.today().isoformat(),
        drawn.device,
        versions(["motiflux", "numpy", "cuda-core", "cuda-bindings"]),
        drawn.cases,
        drawn.bars,
    )
    print(write_report(report, chosen.output))


def on_host(rmat: Rmat, *, graph: bool) -> Drawn:
    drawn = Drawn([], [], cpu_model())
    edges, threads = rmat.num_rows, resolve_threads(None)
    _, cpu = repeat(lambda: rmat.columns(threads=1), cpu_clock)
    drawn.add("R-MAT arrays, 1 thread, CPU time", "cpu", edges, cpu)
    _, wall = repeat(lambda: rmat.columns(), wall_clock)
    drawn.add(f"R-MAT arrays, wall, {threads} threads", "cpu", edges, wall)
    drawn.bars.append(bar_of(f"R-MAT arrays, {threads} threads", wall.min, edges, CPU_BAR))
    if graph:
        _, built = repeat(lambda: rmat.graph(), wall_clock, runs=1)
        drawn.add(f"R-MAT graph, wall, {threads} threads", "cpu", edges, built)
        drawn.bars.append(bar_of(f"R-MAT graph, {threads} threads", built.min, edges, CPU_BAR))
    return drawn


def on_device(rmat: Rmat, name: str, gpu_memory: str | None) -> Drawn:
    from motiflux.device import open_device

    drawn = Drawn([], [], open_device(name).model)
    first_seconds = seconds_of(lambda: draw(Rmat(scale=4, edges=1), name, gpu_memory))
    print(f"opening, compiling and the first launch: {first_seconds:.3f} s")
    checked = compare(rmat, name, gpu_memory)
    _, kept = repeat(lambda: draw(rmat, name, gpu_memory), wall_clock)
    drawn.add("R-MAT arrays left on the device, wall", name, rmat.num_rows, kept, checked)
    _, copied = repeat(lambda: draw(rmat, name, gpu_memory, copy=True), wall_clock, runs=2)
    drawn.add("R-MAT arrays copied to the host, wall", name, rmat.num_rows, copied, checked)
    drawn.bars.append(bar_of("R-MAT arrays left on the device", kept.min, rmat.num_rows, DEVICE_BAR))
    drawn.bars.append(bar_of("R-MAT arrays copied to the host", copied.min, rmat.num_rows, DEVICE_BAR))
    return drawn


def draw(rmat: Rmat, name: str, gpu_memory: str | None, *, copy: bool = False) -> None:
    """Draw all blocks, each into memory of its own; the one before goes when the next one is there."""
    last = None
    for last in rmat.device_blocks(name, rows=BLOCK, gpu_memory=gpu_memory):
        if copy:
            for ends in last:
                ends.to_numpy()
    if last is not None:
        assert last[0].stream is not None
        last[0].stream.wait()


def compare(rmat: Rmat, name: str, gpu_memory: str | None) -> str:
    """Compare the first and the last block and the beginning of the others; fail if an edge differs."""
    first, compared, blocks = 0, 0, 0
    checksum = 0
    for sources, targets in rmat.device_blocks(name, rows=BLOCK, gpu_memory=gpu_memory):
        is_last = first + len(sources) == rmat.num_rows
        size = len(sources) if first == 0 or is_last else min(SAMPLE, len(sources))
        expected = np.empty((2, size), dtype=np.uint32)
        rmat.draw_ends(first, expected[0], expected[1], resolve_threads(None))
        for side, ends in enumerate((sources, targets)):
            found: NDArray[np.uint32] = ends.to_numpy()[:size]
            assert zlib.crc32(found) == zlib.crc32(expected[side]), f"edges from {first} on differ"
            checksum = zlib.crc32(found, checksum)
        first, compared, blocks = first + len(sources), compared + size, blocks + 1
    assert first == rmat.num_rows, f"{first} edges, expected {rmat.num_rows}"
    return f"the CPU: {compared:,} edges of {blocks} blocks, checksum {checksum:08x}"


def bar_of(what: str, seconds: float, edges: int, bar: tuple[int, float]) -> Bar:
    """Return the bar, in seconds for as many edges as it is about."""
    return Bar(f"{what}: seconds for {bar[0]:,} edges", seconds * bar[0] / edges, bar[1], "lower")


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
