"""Changing graphs on a GPU against the CPU Monitor on all threads, in one run on one machine.

``motiflux bench changing``, on a machine with a GPU (``MOTIFLUX_DEVICE`` names it; default ``cuda``). Streams
of ``oracle/csm`` need the shared folder (``MOTIFLUX_SHARED``); the R-MAT graph is drawn. Times are wall clock
of `Monitor.apply` calls; the ratio is that of the CPU Monitor's time to the GPU's.

``PATTERN batch``        a tenth of the edges of R-MAT 20 inserted as one batch
``PATTERN sequence``     the same as a sequence
``PATTERN batches of N`` the first of these edges, N at a time; the time is that of one call (the median)
``PATTERN auto``         the same as two batches, the second by ``device="auto"`` against the better of both
``stream NAME``          a recorded stream, as one call, in both modes; figures of both signs are compared

Figures of a GPU case: what of its time went into planning and writing rows, the search, and the rest.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite, load_part
from motiflux.device import open_device
from motiflux.generate import rmat

cases = load_part(Path(__file__).resolve().parent / "monitor_parts/cases.py")
DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
SCALE = int(os.environ.get("MOTIFLUX_RMAT", "20"))
RECORDED = ("c01", "c03", "c04", "c06", "c08", "c10")
LABELS = 16
PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "sparse 6": "(a:0)--(b:1)--(c:2)--(a), (c)--(d:3)--(e:4)--(f:5)",
    "tree 6": "(a:0)--(b:1)--(c:2), (b)--(d:3), (d)--(e:4), (d)--(f:5)",
    "cycle 6": "(a:0)--(b:1)--(c:2)--(d:3)--(e:4)--(f:5)--(a)",
}
SIZES = (1, 64, 4096)
CALLS = 30
OVER_CPU, WHOLE_SECONDS, AUTO_OVER_BETTER = 3.0, 0.12, 1.1


@lru_cache(maxsize=1)
def labelled_graph() -> mf.Graph:
    """Return the R-MAT graph, with labels drawn alike."""
    graph = rmat(SCALE, 16 << SCALE, directed=False, duplicates="drop", seed=1)
    edges = graph.to_edges()
    labels = np.random.default_rng(3).integers(0, LABELS, graph.num_vertices)
    return mf.Graph.from_edges(
        (edges.src, edges.dst), num_vertices=graph.num_vertices, vertex_labels=labels, directed=False
    )


@lru_cache(maxsize=2)
def parts(labelled: bool) -> tuple[mf.Graph, mf.Updates]:
    """Return nine tenths of the graph, and the insertions of the others."""
    graph = labelled_graph()
    edges = graph.to_edges()
    late = np.random.default_rng(5).random(len(edges.src)) < 0.1
    labels = np.random.default_rng(3).integers(0, LABELS, graph.num_vertices) if labelled else None
    first = mf.Graph.from_edges(
        (edges.src[~late], edges.dst[~late]), num_vertices=graph.num_vertices, vertex_labels=labels
    )
    return first, mf.Updates(np.ones(int(late.sum()), bool), edges.src[late], edges.dst[late])


Spent = dict[str, float]


@dataclass
class Times:
    """Seconds of calls, and of the parts of the best one."""

    calls: list[float]
    spent: Spent


def applied(
    graph: mf.Graph,
    pattern: mf.Pattern | str,
    updates: Sequence[mf.Updates],
    mode: str,
    device: str,
    runs: int,
) -> tuple[list[tuple[int, int]], Times]:
    """Apply updates in calls to a fresh Monitor, `runs` times; return results and the least times by call."""
    least, found, best = [math.inf] * len(updates), [], {}
    with mf.Monitor(graph, pattern, mode=mode, device=device) as monitor:  # type: ignore[arg-type]
        monitor.apply(updates[0].rows(np.arange(min(64, len(updates[0])))))  # kernels are loaded
    for _ in range(runs):
        with mf.Monitor(graph, pattern, mode=mode, device=device) as monitor:  # type: ignore[arg-type]
            monitor.apply([])  # rows are loaded
            found = []
            for number, some in enumerate(updates):
                begun = time.perf_counter()
                delta = monitor.apply(some)[0]
                seconds = time.perf_counter() - begun
                if seconds < least[number]:
                    least[number] = seconds
                    engine = getattr(monitor, "_engine", None)
                    best = dict(getattr(engine, "spent", {}))
                found.append((delta.positive, delta.negative))
    return found, Times(least, best)


@dataclass(frozen=True)
class Inserted:
    """A tenth of the R-MAT graph, as one call or as calls of some updates."""

    pattern: str
    mode: str
    size: int | None = None
    quick: bool = False

    @property
    def name(self) -> str:
        """The pattern, and how updates come."""
        return f"{self.pattern} {self.mode}" + ("" if self.size is None else f" calls of {self.size}")

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time both monitors."""
        graph, updates = parts("6" in self.pattern)
        text = PATTERNS[self.pattern]
        if self.size is None:
            some, runs = [updates], 2
        else:
            some, runs = list(updates.slices(self.size))[:CALLS], 2
        expected, cpu = applied(graph, text, some, self.mode, "cpu", runs)
        found, gpu = applied(graph, text, some, self.mode, DEVICE, runs)
        ours, theirs = statistics.median(gpu.calls), statistics.median(cpu.calls)
        yield CaseResult(
            self.name,
            "changing",
            sum(one for one, _ in found),
            "the CPU Monitor",
            Timing.of(gpu.calls if self.size is None else [ours]),
            BaselineTime(f"CPU Monitor, {len(os.sched_getaffinity(0))} threads", theirs),
            theirs / ours,
            found != expected,
            figures=gpu.spent,
        )


@dataclass(frozen=True)
class Chosen:
    """The second half of a tenth of the R-MAT graph, by ``device="auto"``; the first half came before."""

    pattern: str
    quick: bool = False

    @property
    def name(self) -> str:
        """The pattern."""
        return f"{self.pattern} auto"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time all three monitors."""
        graph, updates = parts("6" in self.pattern)
        halves = list(updates.slices(-(-len(updates) // 2)))
        found = {
            device: applied(graph, PATTERNS[self.pattern], halves, "batch", device, 1)
            for device in ("cpu", DEVICE, "auto")
        }
        seconds = {device: times.calls[1] for device, (_, times) in found.items()}
        better = min(seconds["cpu"], seconds[DEVICE])
        counts = found["auto"][0]
        yield CaseResult(
            self.name,
            "auto",
            sum(one for one, _ in counts),
            "the CPU Monitor",
            Timing.of([seconds["auto"]]),
            BaselineTime("the better of CPU and GPU", better),
            better / seconds["auto"],
            counts != found["cpu"][0],
        )


@dataclass(frozen=True)
class Streamed:
    """A recorded stream, as one call in both modes."""

    case: cases.Recorded
    quick: bool = True

    @property
    def name(self) -> str:
        """The stream's name."""
        return f"stream {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time both monitors."""
        loaded = self.case.load()
        for mode in ("sequence", "batch"):
            stream = loaded.graph, loaded.pattern, [loaded.updates], mode
            expected, cpu = applied(*stream, "cpu", settings.runs)
            found, gpu = applied(*stream, DEVICE, settings.runs)
            yield CaseResult(
                f"{self.name} {mode}",
                "changing",
                found[0][0],
                "the CPU Monitor",
                Timing.of(gpu.calls),
                BaselineTime("CPU Monitor", cpu.calls[0]),
                cpu.calls[0] / gpu.calls[0],
                found != expected,
                figures=gpu.spent,
            )


def build(shared: Path) -> Suite:
    """Return the suite."""
    folder = shared / "oracle/csm"
    probes: list[Probe] = []
    for pattern in PATTERNS:
        probes.append(Inserted(pattern, "batch"))
        probes += [Inserted(pattern, "batch", size) for size in SIZES]
    probes += [Chosen(pattern) for pattern in PATTERNS]
    probes += [Inserted("triangle", "sequence"), *(Inserted("triangle", "sequence", size) for size in SIZES)]
    if (folder / "expected.json").exists():
        expected = json.loads((folder / "expected.json").read_text())
        probes += [
            Streamed(cases.Recorded(folder / name, expected[name]["positive"], expected[name]["negative"]))
            for name in RECORDED
        ]
    return Suite("changing", (), bars, probes=probes, device=model)


def model() -> str:
    """Return the name of the device, which this process need not have opened yet."""
    return open_device(DEVICE).model


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Return the bars that we set ourselves."""
    by_name = {one.case: one for one in results}

    def of(name: str, value: Callable[[CaseResult], float | None]) -> float | None:
        return None if name not in by_name else value(by_name[name])

    found = [Bar("cases that differ from the CPU Monitor", sum(one.disagrees for one in results), 0, "lower")]
    for pattern in PATTERNS:
        text = f"a tenth of R-MAT {SCALE} as one batch, {pattern}: over the CPU Monitor on all threads"
        found.append(Bar(text, of(f"{pattern} batch", lambda one: one.ratio), OVER_CPU, "higher"))
    whole = of("triangle batch", lambda one: None if one.seconds is None else one.seconds.min)
    found.append(Bar(f"that batch, triangles: s of `apply`, R-MAT {SCALE}", whole, WHOLE_SECONDS, "lower"))
    for pattern in PATTERNS:
        over = of(f"{pattern} auto", lambda one: None if one.ratio is None else 1 / one.ratio)
        found.append(
            Bar(f"{pattern}, second batch by auto: over the better engine", over, AUTO_OVER_BETTER, "lower")
        )
    return found
