"""Graphs whose edges stay on the host: the experiments of GCSM (section VI), in one run on one machine.

``motiflux bench outofcore``, on a machine with a GPU (``MOTIFLUX_DEVICE`` names it; default ``cuda``). The
graphs are drawn: R-MAT with 16 edges a vertex, of which a vertex has at most 5,000 (``MOTIFLUX_RMAT`` is its
scale), and a lattice like a road network. 98,304 updates, half of them insertions, come in batches. Times are
wall clock of `Monitor.apply`, the median of the batches after the first; ratios are those of the time without
copies (zero-copy) to that of the policy. The cache has at most a twentieth of the bytes of the edges.

``policies QUERY``       each policy but k-hop, for batches of 4,096 (figures 8 to 10, table II)
``sizes QUERY``          batches of 64 to 8,192 (figure 12)
``near QUERY``           batches of 64, and of 128, which k-hop copies need (figure 13)
``road QUERY``           the lattice (figure 11)
``carry QUERY``          copies that stay, against those of each batch alone
``walks QUERY``          walks that choose rows: on the host, weighted or as published, and on the device
``copies QUERY``         rows put together by the host, against a kernel that reads them
``lookup QUERY``         copies named by headers, bisected in the ids of copied rows, or hashed (section V-C)
``staging QUERY``        rows without copies bisected on the host, or first brought in whole lines (V-C)
``touched QUERY``        rows that a batch changes merged, or in two parts (V-B)
``processor QUERY``      the CPU Monitor on all threads against this engine, and `batch`, whose edges fit
``static PATTERN``       a count over edges on the host, by each policy, against one over edges on the device;
                         copies take a twentieth of the bytes of the edges, by one policy other shares, too
``first PATTERN``        the first count of a graph file in a process of its own, and of the same file again,
                         against the second count of the process; a figure is its memory over the file's size.
                         Before, another process has compiled the modules to bytecode

Figures: seconds for choosing and copying rows, and of the search; rows and bytes that were copied; walks on
the device, and the opened rows that these left out.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.processes import with_bytecode
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import open_device
from motiflux.generate import Rmat, rmat
from motiflux.gpu.storage.device_csr import resident
from motiflux.gpu.storage.placed_rows import PlacedRows

DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
SCALE = int(os.environ.get("MOTIFLUX_RMAT", "24"))
MAX_DEGREE, LABELS = 5000, 16
UPDATES, BATCH = 12 * 8192, 4096
SIZES = (64, 256, 1024, 4096, 8192)
MOST_BATCHES = 12
SHARE = 0.05
QUERIES = {
    "Q1": "(a:0)--(b:1)--(c:2)--(a), (c)--(d:3), (d)--(e:4)",
    "Q2": "(a:0)--(b:1)--(c:2)--(d:3)--(a), (d)--(e:4)",
    "Q3": "(a:0)--(b:1)--(c:2)--(a), (b)--(d:3)--(c), (d)--(e:4)--(f:5)",
    "Q4": "(a:0)--(b:1)--(c:2)--(d:3)--(e:4)--(f:5)--(a)",
    "Q5": "(a:0)--(b:1)--(c:2)--(a), (c)--(d:3)--(e:4)--(c), (e)--(f:5)--(g:6)",
    "Q6": "(a:0)--(b:1)--(c:2)--(d:3)--(a), (c)--(e:4)--(f:5)--(d), (f)--(g:6)",
}
ROAD = "(a)--(b)--(c)--(d)--(a), (d)--(e)"
STATIC = {
    "triangle": "(a)--(b)--(c)--(a)",
    "sparse 6": "(a:0)--(b:1)--(c:2)--(a), (c)--(d:3)--(e:4)--(f:5)",
}
RESIDENT, CACHED = "dfs", "frequency, 5 %"
PLACED = {"root_batches": "off"}
STATIC_WAYS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    RESIDENT: ("dfs", {}),
    "zero-copy": ("outofcore", {"cache": "none"}),
    CACHED: ("outofcore", {"cache": "frequency", "cache_percent": "5"}),
    "degree, 5 %": ("outofcore", {"cache": "degree", "cache_percent": "5", **PLACED}),
    "frequency, 1 %": ("outofcore", {"cache": "frequency", "cache_percent": "1", **PLACED}),
    "frequency, 20 %": ("outofcore", {"cache": "frequency", "cache_percent": "20", **PLACED}),
    "all rows": ("outofcore", {"cache": "frequency"}),
    "dfs, rows read whole": ("dfs", {"triangles": "vertices"}),
    "zero-copy, rows read whole": ("outofcore", {"cache": "none", "triangles": "vertices"}),
    "frequency, 5 %, rows read whole": ("outofcore", {"cache_percent": "5", "triangles": "vertices"}),
    "frequency, 5 %, rows in place": ("outofcore", {"cache_percent": "5", "triangles": "arcs", **PLACED}),
    **{
        f"roots in batches, {percent} %": (
            "outofcore",
            {"cache_percent": percent, "triangles": "arcs", "root_batches": "on"},
        )
        for percent in ("1", "5", "20")
    },
}
"""Ways of a count: on the device, and on the host with copies of rows on the device. Ways with the switch
``triangles`` are for triangles only."""
FIRST = {"triangle": "(a)--(b)--(c)--(a)", "4-cycle": "(a)--(b)--(c)--(d)--(a)"}
FIRST_SECONDS = {
    "triangle, never counted": 5.0,
    "triangle, counted before": 2.0,
    "4-cycle, counted before": 8.0,
}
PEAK_OVER_FILE = 2.5
CHILD = Path(__file__).resolve().parent / "outofcore_parts/child.py"
POLICIES = tuple(value for value in TUNING["cache"].values if value != "none")
OF_LARGE = tuple(policy for policy in POLICIES if policy != "khop")
"""For batches of 4,096: copying all rows that searches may come to takes 40 times as long as they do."""
OVER_ZERO_COPY, NEVER_BELOW, OVER_CPU, OVER_RESIDENT = 2.0, 0.97, 3.0, 8.0
Ends = NDArray[np.int64]


@lru_cache(maxsize=1)
def skewed() -> tuple[mf.Graph, mf.Updates]:
    """Return the R-MAT graph before the updates, and these."""
    graph = rmat(SCALE, 16 << SCALE, directed=False, duplicates="drop", max_degree=MAX_DEGREE, seed=1)
    edges = graph.to_edges()
    labels = np.random.default_rng(3).integers(0, LABELS, graph.num_vertices)
    return stream(np.asarray(edges.src), np.asarray(edges.dst), graph.num_vertices, labels)


@lru_cache(maxsize=1)
def lattice() -> tuple[mf.Graph, mf.Updates]:
    """Return a lattice of as many vertices, of which a tenth of the edges is missing, and updates."""
    side = 1 << (SCALE // 2)
    number = np.arange(side * side).reshape(side, side)
    src = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    dst = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    there = np.random.default_rng(4).random(len(src)) > 0.1
    return stream(src[there], dst[there], side * side, None)


def stream(src: Ends, dst: Ends, vertices: int, labels: Ends | None) -> tuple[mf.Graph, mf.Updates]:
    """Choose edges; leave those out that are inserted later, and delete the others later."""
    random = np.random.default_rng(5)
    chosen = random.choice(len(src), min(UPDATES, len(src) // 4), replace=False)
    inserts = random.random(len(chosen)) < 0.5
    stays = np.ones(len(src), bool)
    stays[chosen[inserts]] = False
    graph = mf.Graph.from_edges((src[stays], dst[stays]), num_vertices=vertices, vertex_labels=labels)
    return graph, mf.Updates(inserts, src[chosen], dst[chosen])


@dataclass
class Outcome:
    """Changes by batch, the median time of a batch after the first, and the mean figures of these batches."""

    changes: list[tuple[int, int]]
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)


def applied(
    world: tuple[mf.Graph, mf.Updates], query: str, size: int, engine: str, tuning: Mapping[str, str]
) -> Outcome:
    """Apply batches to a fresh monitor."""
    graph, updates = world
    device = "cpu" if engine == "cpu" else DEVICE
    changes, seconds, figures = [], [], []
    with mf.Monitor(
        graph,
        query,
        mode="batch",
        device=device,  # type: ignore[arg-type]
        engine=engine,
        tuning=private_tuning(tuning),
    ) as monitor:
        if engine == "outofcore":
            outofcore: Any = monitor._engine
            outofcore.cache.most_bytes = int(SHARE * 8 * graph.num_edges)
        for number, some in enumerate(updates.slices(size)):
            if number == MOST_BATCHES:
                break
            begun = time.perf_counter()
            delta = monitor.apply(some)
            seconds.append(time.perf_counter() - begun)
            changes.append((delta[0].positive, delta[0].negative))
            figures.append({**getattr(monitor._engine, "spent", {}), **delta.measured})
    later = figures[1:] or figures
    means = {name: statistics.fmean(one.get(name, 0.0) for one in later) for name in later[0]}
    return Outcome(changes, statistics.median(seconds[1:] or seconds), means)


@dataclass(frozen=True)
class Compared:
    """Batches of one size by several engines or switches, against the first of them."""

    title: str
    query: str
    size: int
    ways: Mapping[str, tuple[str, Mapping[str, str]]]
    road: bool = False
    quick: bool = False

    @property
    def name(self) -> str:
        """The experiment, and the size of batches."""
        return f"{self.title}, batches of {self.size}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time each way."""
        world = lattice() if self.road else skewed()
        found = {way: applied(world, self.query, self.size, *how) for way, how in self.ways.items()}
        base, first = next(iter(found.items()))
        for way, outcome in found.items():
            yield CaseResult(
                f"{self.name}, {way}",
                self.ways[way][0],
                sum(positive for positive, _ in outcome.changes),
                base,
                Timing.of([outcome.seconds]),
                BaselineTime(base, first.seconds),
                first.seconds / outcome.seconds,
                outcome.changes != first.changes,
                figures=dict(outcome.figures),
            )


@dataclass(frozen=True)
class Static:
    """A count over edges on the host, with copies by each policy, against one over edges on the device."""

    pattern: str
    quick: bool = False

    @property
    def name(self) -> str:
        """The pattern."""
        return f"static {self.pattern}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time later calls of each way; the first one, which places rows, is a figure."""
        graph, _ = skewed()
        base: Counted | None = None
        for way, (engine, switches) in STATIC_WAYS.items():
            if "triangles" in switches and self.pattern != "triangle":
                continue
            graph.forget()
            found = counted(graph, STATIC[self.pattern], engine, switches, settings.runs)
            base = base or found
            yield CaseResult(
                f"{self.name}, {way}",
                engine,
                found.count,
                RESIDENT,
                Timing.of([found.seconds]),
                BaselineTime(RESIDENT, base.seconds),
                base.seconds / found.seconds,
                found.count != base.count,
                figures=found.figures,
            )


@dataclass(frozen=True)
class Counted:
    """A count, the least seconds of the calls after the first one, and figures."""

    count: int
    seconds: float
    figures: Mapping[str, float]


def counted(graph: mf.Graph, pattern: str, engine: str, switches: Mapping[str, str], runs: int) -> Counted:
    """Count by an engine, with copies of a share of the edges."""
    tuning = private_tuning({"tables": "off", "candidates": "off", **switches})
    options: dict[str, Any] = {"device": DEVICE, "engine": engine, "tuning": tuning, "symmetry": "subgraphs"}
    seconds, found = [], 0
    for _ in range(1 + runs):
        begun = time.perf_counter()
        found = int(mf.count(graph, pattern, **options))
        seconds.append(time.perf_counter() - begun)
    figures = {"first_seconds": seconds[0]}
    placed = [one for one in resident(graph, open_device(DEVICE)).entries() if isinstance(one, PlacedRows)]
    if placed:
        rows = 4 * sum(one.arcs for one in placed[-1].host)
        figures |= {
            "copied_bytes": float(placed[-1].nbytes_copied),
            "copied_rows": float(placed[-1].copied),
            "of_edges": placed[-1].nbytes_copied / (4 * len(graph.forward.neighbors)),
            "of_rows_read": placed[-1].nbytes_copied / max(rows, 1),
        }
    return Counted(found, min(seconds[1:]), figures)


@dataclass(frozen=True)
class First:
    """The first count of a graph file: one that was never counted on, and the same file again."""

    pattern: str
    quick: bool = False

    @property
    def name(self) -> str:
        """The pattern."""
        return f"first {self.pattern}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time both in processes of their own."""
        with tempfile.TemporaryDirectory() as folder:
            path, small = Path(folder, "graph.mfg"), Path(folder, "small.mfg")
            environment = with_bytecode(Path(folder, "bytecode"))
            Rmat(scale=8, edges=1 << 12, directed=False, duplicates="drop", seed=1).write(small)
            self._counted(small, {**environment, "MOTIFLUX_CACHE": str(Path(folder, "kernels"))})
            rmat_file(path)
            for number, which in enumerate(("never counted", "counted before")):
                found = self._counted(path, environment)
                again = found["again"]
                yield CaseResult(
                    f"{self.name}, {which}",
                    "dfs",
                    found["count"],
                    None,
                    Timing.of([found["first"]]),
                    BaselineTime("its second call", again),
                    again / found["first"],
                    False,
                    figures={"peak_over_file": found["peak"] / path.stat().st_size, "run": float(number)},
                )

    def _counted(self, path: Path, environment: Mapping[str, str]) -> dict[str, Any]:
        """Return what a process tells of its first count."""
        command = [sys.executable, str(CHILD), str(path), DEVICE, FIRST[self.pattern]]
        told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        found: dict[str, Any] = json.loads(told)
        return found


def rmat_file(path: Path) -> None:
    """Write the R-MAT graph, without a bound of its degrees."""
    Rmat(scale=SCALE, edges=16 << SCALE, directed=False, duplicates="drop", seed=1).write(path)


def ways(*policies: str, **switches: str) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return zero-copy and policies, with switches."""
    found = {"zero-copy": ("outofcore", {"cache": "none"})}
    found |= {policy: ("outofcore", {"cache": policy, **switches}) for policy in policies}
    return found


def by_switch(switch: str, *values: str) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return the default policy with each value of a switch."""
    return {value: ("outofcore", {switch: value}) for value in values}


def opened(switch: str) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return zero-copy and the default policy, with each value of a switch of how rows are opened."""
    return {
        f"{name}, {value}": ("outofcore", {"cache": policy, switch: value})
        for name, policy in (("zero-copy", "none"), ("frequency", "frequency"))
        for value in PRIVATE[switch].values
    }


ACCESS = {"lookup": "cache_lookup", "staging": "row_staging", "touched": "touched_rows"}
"""Switches of how rows are opened, by their experiments."""
ELSEWHERE = {"CPU Monitor": ("cpu", {}), "outofcore": ("outofcore", {}), "batch": ("batch", {})}


def build(shared: Path) -> Suite:
    """Return the suite."""
    probes: list[Probe] = []
    for query, text in QUERIES.items():
        probes.append(Compared(f"policies {query}", text, BATCH, ways(*OF_LARGE), quick=query == "Q1"))
    for query in ("Q5", "Q6"):
        probes += [Compared(f"sizes {query}", QUERIES[query], size, ways(*OF_LARGE)) for size in SIZES]
        probes += [
            Compared(f"near {query}", QUERIES[query], size, ways(*POLICIES, carry="off"))
            for size in (64, 128)
        ]
    probes.append(Compared("road", ROAD, BATCH, ways(*POLICIES), road=True))
    for query, text in QUERIES.items():
        probes.append(Compared(f"carry {query}", text, BATCH, by_switch("carry", "off", "on")))
        walks = by_switch("access_walks", *PRIVATE["access_walks"].values)
        probes.append(Compared(f"walks {query}", text, BATCH, walks, quick=query == "Q1"))
        probes.append(Compared(f"copies {query}", text, BATCH, by_switch("cache_copies", "host", "device")))
        probes.append(Compared(f"processor {query}", text, BATCH, ELSEWHERE))
    for query in (query for query in ("Q1", "Q3", "Q4") if query in QUERIES):
        for title, switch in ACCESS.items():
            probes.append(Compared(f"{title} {query}", QUERIES[query], BATCH, opened(switch)))
    probes += [Static(pattern) for pattern in STATIC]
    probes += [First(pattern) for pattern in FIRST]
    return Suite("outofcore", (), bars, probes=probes, device=lambda: open_device(DEVICE).model)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Return the bars that we set ourselves."""
    found = [Bar("cases that differ", sum(one.disagrees for one in results), 0, "lower")]

    def ratios(begin: str, end: str) -> list[float]:
        named = [one for one in results if one.case.startswith(begin) and one.case.endswith(end)]
        return [one.ratio for one in named if one.ratio is not None]

    for policy in POLICIES:
        values = ratios("policies" if policy in OF_LARGE else "near", policy)
        mean = statistics.geometric_mean(values) if values else None
        found.append(Bar(f"{policy}: over zero-copy, geometric mean", mean, OVER_ZERO_COPY, "higher"))
        least = min(values, default=None)
        found.append(Bar(f"{policy}: over zero-copy, least", least, NEVER_BELOW, "higher"))
    values = ratios("processor", "outofcore")
    mean = statistics.geometric_mean(values) if values else None
    found.append(Bar("over the CPU Monitor on all threads", mean, OVER_CPU, "higher"))
    for pattern in STATIC:
        value = next((1 / one for one in ratios(f"static {pattern}", CACHED)), None)
        found.append(Bar(f"static {pattern}: over the resident graph", value, OVER_RESIDENT, "lower"))
    firsts = {one.case.removeprefix("first "): one for one in results if one.case.startswith("first ")}
    for case, target in FIRST_SECONDS.items():
        seconds = None if case not in firsts or firsts[case].seconds is None else firsts[case].seconds.min
        found.append(Bar(f"first count of R-MAT {SCALE} from a file, {case}: s", seconds, target, "lower"))
    peak = max((one.figures["peak_over_file"] for one in firsts.values()), default=None)
    found.append(Bar("memory of the host at its peak, times the file", peak, PEAK_OVER_FILE, "lower"))
    return found
