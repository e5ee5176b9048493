"""The GPU engine's groundwork: right on every known count, quick to start, a fast ring.

``motiflux bench groundwork``, on a machine with a GPU. Needs the shared graphs and oracles
(``MOTIFLUX_SHARED``). Counts are those of the suite ``skeleton``; ``seconds`` is the kernel's time by the
device's own clock where the case says so, wall clock otherwise.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux._native import echo
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Case, GraphSource, Probe, Settings, Suite, load_suite
from motiflux.codegen import layout
from motiflux.codegen.kernels import ring_sources
from motiflux.device import Kernel
from motiflux.gpu.group import DeviceGroup
from motiflux.gpu.launch.prepare import prepare
from motiflux.gpu.rows.ring import MappedRing
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.kernel_times import LaunchTimer
from motiflux.gpu.strategy import counting_goal, search_kernel
from motiflux.plan import make_plan
from motiflux.plan.physical import Family, Stage
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request

DEVICE = "cuda"
ENGINE = "dfs"
MOST_SECONDS = 20.0
"""A count that takes longer is not of this suite."""
WARM_RUNS = 300
TRIANGLES = ("email_enron", "soc_slashdot0902", "web_uk2007_100k")


def build(shared: Path) -> Suite:
    counts = load_suite("skeleton", Path(__file__).parent).cases
    peers = best_peers(shared / "oracle/unlabelled/h100_peers.csv", "q_tri.graph")
    probes: list[Probe] = [KernelTime(shared, graph, peers.get(graph)) for graph in TRIANGLES]
    probes += [Warm(shared), ColdStart(shared), RingRate(), Echo(), MatchRate(shared)]
    probes += [KnownCount(case) for case in counts]
    return Suite(
        "groundwork",
        (),
        bars,
        packages=("motiflux", "numpy", "cuda-core", "cuda-bindings", "cupy-cuda13x"),
        probes=probes,
        device=lambda: accelerator().device.model,
    )


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    by_name = {result.case: result for result in results}
    counts = [result for result in results if result.case.startswith("count ")]

    def value(name: str, scale: float = 1.0, *, least: bool = False) -> float | None:
        found = by_name.get(name)
        if found is None or found.seconds is None:
            return None
        return scale * (found.seconds.min if least else found.seconds.median)

    per_row, match_row = value("ring to NumPy, per row of 16 bytes"), value("match to NumPy, per row")
    ratios = [
        by_name[f"{graph} triangle, kernel"].ratio
        for graph in TRIANGLES
        if f"{graph} triangle, kernel" in by_name
    ]
    return [
        Bar("counts that disagree with the oracle", sum(one.disagrees for one in counts), 0, "lower"),
        Bar(
            "known counts finished in 20 s, all exact",
            sum(one.checked_against is not None for one in counts),
            1,
            "higher",
        ),
        Bar("cold start: compile and first query, s", value("cold start"), 1.5, "lower"),
        Bar("known shape again, beyond its kernel, us", value("warm, beyond the kernel", 1e6), 200, "lower"),
        Bar(
            "ring to NumPy, million rows of 16 bytes a second",
            1e-6 / per_row if per_row else None,
            20,
            "higher",
        ),
        Bar(
            "matches to NumPy, million rows of 16 bytes a second",
            1e-6 / match_row if match_row else None,
            20,
            "higher",
        ),
        Bar("host-GPU-host echo, median us", value("echo", 1e6), 5, "lower"),
        *(
            Bar(f"{graph} triangle: times the best peer", 1 / ratio if ratio else None, 2, "lower")
            for graph, ratio in zip(TRIANGLES, ratios, strict=False)
        ),
    ]


def accelerator() -> Accelerator:
    return open_accelerator(DEVICE)


@lru_cache(maxsize=2)
def read(source: GraphSource) -> mf.Graph:
    return source.read()


def best_peers(path: Path, query: str) -> dict[str, BaselineTime]:
    """Give, per graph, the peer with the least total time."""
    best: dict[str, BaselineTime] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["query"] != query or row["total_ms"] == "NA":
                continue
            graph, seconds = row["graph"].removesuffix(".graph"), float(row["total_ms"]) / 1000
            if graph not in best or seconds < best[graph].seconds:
                best[graph] = BaselineTime(row["system"], seconds)
    return best


def timed_kernel(
    graph: mf.Graph, pattern: mf.Pattern, symmetry: str, runs: int, tuning: dict[str, str]
) -> tuple[int, list[float]]:
    """Give the count and the kernel's seconds in each run."""
    request = make_request(semantics="isomorphism", symmetry=symmetry, device=DEVICE, tuning=tuning)
    plan = make_plan(
        graph, pattern, semantics=request.semantics, symmetry=request.symmetry, tuning=request.tuning
    )
    kernel = search_kernel(plan, counting_goal(plan), DeviceGroup((accelerator(),)).facts, request)
    stage = Stage(Family.SEARCH, plan, kernel)
    seconds, found = [], 0
    for _ in range(runs + 1):
        search = prepare(accelerator(), graph, stage, request, None, Deadline.after(None))
        search.timer = LaunchTimer("searches")
        with search:
            search.launch()
            while not search.done():
                time.sleep(0)
            found = search.result().found * plan.multiplier
            seconds.append(search.timer.seconds())
    return found, seconds[1:]


@dataclass(frozen=True)
class KernelTime:
    """Triangles: the kernel's time, beside the best peer's."""

    shared: Path
    graph: str
    peer: BaselineTime | None
    quick: bool = True

    @property
    def name(self) -> str:
        return f"{self.graph} triangle, kernel"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(GraphSource(self.shared / f"data/{self.graph}.npz", directed=False))
        pattern = mf.read_pattern(self.shared / "oracle/unlabelled/queries/q_tri.graph")
        for specialize in ("on", "off"):
            for lanes in ("auto", "8", "16", "32"):
                tuning = {"specialize": specialize, "lanes": lanes}
                found, seconds = timed_kernel(graph, pattern, "embeddings", 20, tuning)
                plain = tuning == {"specialize": "on", "lanes": "auto"}
                name = self.name if plain else f"{self.name}, {specialize=!s}, {lanes=!s}"
                timing = Timing.of(seconds)
                ratio = self.peer.seconds / timing.median if self.peer else None
                yield CaseResult(name, ENGINE, found, None, timing, self.peer, ratio)


@dataclass(frozen=True)
class KnownCount:
    """A count of the oracle, by wall clock from the call to its return."""

    case: Case

    @property
    def name(self) -> str:
        return f"count {self.case.name}"

    @property
    def quick(self) -> bool:
        return self.case.quick

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        case = self.case
        graph = read(case.graph)
        expected = case.expected() if callable(case.expected) else case.expected
        timeout = min(MOST_SECONDS, settings.timeout)
        start = time.perf_counter()
        found = mf.count(graph, case.pattern(), symmetry=case.symmetry, device=DEVICE, timeout=timeout)
        timing = Timing.of([time.perf_counter() - start])
        wrong = expected is not None and (found != expected if found.complete else found > expected)
        checked = None
        if expected is not None and (found.complete or wrong):
            checked = f"{case.source}, DISAGREES: {expected}" if wrong else case.source
        count = int(found) if found.complete else None
        yield CaseResult(self.name, ENGINE, count, checked, timing, disagrees=wrong)


@dataclass(frozen=True)
class Warm:
    """A query whose shape is known: what the call costs beyond its kernel."""

    shared: Path
    name: str = "warm, beyond the kernel"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(GraphSource(self.shared / "data/yeast.npz"))
        pattern = mf.read_pattern(self.shared / "oracle/yeast/queries/query_dense_8_112.graph")
        tuning = {"specialize": "on"}
        _, kernel = timed_kernel(graph, pattern, "embeddings", 50, tuning)
        beyond = []
        for _ in range(WARM_RUNS):
            start = time.perf_counter()
            mf.count(graph, pattern, device=DEVICE, tuning=tuning)
            beyond.append(time.perf_counter() - start - float(np.median(kernel)))
        yield CaseResult("warm, kernel", ENGINE, None, None, Timing.of(kernel))
        yield CaseResult(self.name, ENGINE, None, None, Timing.of(beyond))


COLD = """
import time
import motiflux as mf
graph = mf.read_graph({graph!r}, directed=False)
pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
start = time.perf_counter()
found = mf.count(graph, pattern, device="cuda")
first = time.perf_counter() - start
start = time.perf_counter()
mf.count(graph, pattern, device="cuda")
print(first, time.perf_counter() - start)
"""


@dataclass(frozen=True)
class ColdStart:
    """The first query of a process with nothing compiled: imports, driver, upload, compilation, search."""

    shared: Path
    name: str = "cold start"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        script = COLD.format(graph=str(self.shared / "data/email_enron.npz"))
        cold = [self._first(script, tmp) for tmp in self._folders(3)]
        with tempfile.TemporaryDirectory() as folder:
            self._first(script, folder)
            cached = [self._first(script, folder) for _ in range(3)]
        yield CaseResult(self.name, ENGINE, None, None, Timing.of(cold))
        yield CaseResult("first query of a process, kernels cached", ENGINE, None, None, Timing.of(cached))

    def _folders(self, number: int) -> Iterator[str]:
        for _ in range(number):
            with tempfile.TemporaryDirectory() as folder:
                yield folder

    def _first(self, script: str, cache: str) -> float:
        environment = {**os.environ, "MOTIFLUX_CACHE": cache, "CUDA_CACHE_DISABLE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
        return float(done.stdout.split()[0])


@dataclass(frozen=True)
class RingRate:
    """Rows of 16 bytes from all groups of a kernel into NumPy arrays, each row checked."""

    name: str = "ring to NumPy, per row of 16 bytes"
    quick: bool = True
    rows: int = 20_000_000

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        seconds = [self._once() / self.rows for _ in range(5)]
        yield CaseResult(self.name, "ring", self.rows, "each row's words", Timing.of(seconds))

    def _once(self) -> float:
        device = accelerator().device
        device.use()
        kernel = ring_kernel("motiflux_flood")
        ring = MappedRing(device, 8192, 4)
        words = device.allocate(64, "the flood's words")
        stream = device.stream()
        stream.clear(words)
        args = layout.FloodArgs(
            ring.view(words.address), words.address + 32, words.address + 40, self.rows, ring.record_words
        )
        rows = np.zeros((self.rows, 4), np.uint32)
        reader = ring.reader()
        start = time.perf_counter()
        stream.launch(kernel, 2 * device.multiprocessors, 256, 0, args)
        filled = 0
        while filled < self.rows:
            filled += reader.read(rows[filled:], 1.0)
        taken = time.perf_counter() - start
        stream.wait()
        rows = rows[np.argsort(rows[:, 0])]
        expected = np.arange(self.rows, dtype=np.uint32)
        for word in range(4):
            step = np.uint32(word * 0x9E3779B9 & 0xFFFFFFFF)
            assert np.array_equal(rows[:, word], expected + step), "rows were lost or spoilt"
        stream.close()
        return taken


@dataclass(frozen=True)
class Echo:
    """A packet from the host to a resident warp and back."""

    name: str = "echo"
    quick: bool = True
    rounds: int = 20_000

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        device = accelerator().device
        device.use()
        kernel = ring_kernel("motiflux_echo")
        there, back = MappedRing(device, 64, 4), MappedRing(device, 64, 4)
        words = device.allocate(64, "the echo's words")
        stream = device.stream()
        stream.clear(words)
        args = layout.EchoArgs(there.view(0), back.view(words.address), words.address + 32, 4)
        stream.launch(kernel, 1, 32, 0, args)
        writer, reader = there.writer(), back.reader()
        echo(reader, writer, 1000)
        nanoseconds = echo(reader, writer, self.rounds)
        assert writer.try_write(np.full((1, 4), 0xFFFFFFFF, np.uint32))
        stream.wait()
        stream.close()
        yield CaseResult(self.name, "ring", None, None, Timing.of((nanoseconds / 1e9).tolist()))
        worst = [float(np.percentile(nanoseconds, 99)) / 1e9]
        yield CaseResult("echo, 99th percentile", "ring", None, None, Timing.of(worst))


def ring_kernel(name: str) -> Kernel:
    code = accelerator().compiler.wait(ring_sources()[0])
    return accelerator().device.load(code.image, "ring").kernel(name)


@dataclass(frozen=True)
class MatchRate:
    """Embeddings of a pattern of four vertices, through `match`, into NumPy arrays of external ids."""

    shared: Path
    name: str = "match to NumPy, per row"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(GraphSource(self.shared / "data/email_enron.npz", directed=False))
        pattern = mf.read_pattern(self.shared / "oracle/unlabelled/queries/q_k4.graph")
        seconds, rows = [], 0
        for _ in range(3):
            start = time.perf_counter()
            matches = mf.match(graph, pattern, device=DEVICE, batch_rows=1 << 20)
            rows = sum(len(batch) for batch in matches)
            seconds.append((time.perf_counter() - start) / max(1, rows))
        expected = 56_199_336
        checked = "oracle/unlabelled/h100_peers.csv" + (
            "" if rows == expected else f", DISAGREES: {expected}"
        )
        yield CaseResult(self.name, ENGINE, rows, checked, Timing.of(seconds), disagrees=rows != expected)
