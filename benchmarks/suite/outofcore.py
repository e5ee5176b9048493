"""Graphs whose edges stay on the host: the experiments of GCSM (section VI), in one run on one machine.

``motiflux bench outofcore``, on a machine with a GPU (``MOTIFLUX_DEVICE`` names it; default ``cuda``). The
graphs are drawn: R-MAT with 16 edges a vertex, of which a vertex has at most 5,000 (``MOTIFLUX_RMAT`` is its
scale), and a lattice like a road network. 98,304 updates, half of them insertions, come in batches. Times are
wall clock of `Monitor.apply`, the median of the batches after the first; ratios are those of the time without
copies (zero-copy) to that of the policy. The cache has at most a twentieth of the bytes of the edges.
Drawing a graph takes longer than most experiments; if ``MOTIFLUX_DRAWN`` names a folder, they are kept there.

``policies QUERY``       each policy but k-hop, for batches of 4,096 (figures 8 to 10, table II)
``sizes QUERY``          batches of 64 to 8,192 (figure 12)
``near QUERY``           few batches of 64 and of 128, for k-hop copies made anew for each (figure 13)
``road``                 the lattice, one pattern
``motifs``               a lattice of 2**20 vertices, all patterns of 3 to 5 vertices at once (figure 11)
``accessed QUERY``       rows that are opened most often and have copies (figure 15b), and the bytes of rows
                         opened on the host, against those without copies: estimates of two seconds a batch
``unified QUERY``        a small graph: rows in unified memory, which the driver moves by pages
``devices QUERY``        two devices, each with copies of its own, against one, where there are two
``large``                an R-MAT graph of 500 million edges (``MOTIFLUX_LARGE``: its scale, 25) from a file:
                         time until a monitor is ready, memory of the host, batches beside the CPU Monitor
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
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.processes import with_bytecode
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite, load_part
from motiflux.codegen.access_walks import walks_source
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import devices_like, open_device
from motiflux.generate import Rmat
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.storage.device_csr import resident
from motiflux.gpu.storage.placed_rows import PlacedRows

PARTS = Path(__file__).resolve().parent / "outofcore_parts"
worlds = load_part(PARTS / "worlds.py")
judged = load_part(PARTS / "accessed.py")
DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
SCALE = int(os.environ.get("MOTIFLUX_RMAT", "24"))
SMALL = 20
"""Most scale of graphs for experiments that are for small ones."""
LARGE, LARGE_EDGES = int(os.environ.get("MOTIFLUX_LARGE", "25")), 21
MAX_DEGREE, LABELS = 5000, 16
UPDATES, BATCH = 12 * 8192, 4096
SIZES = (64, 256, 1024, 4096, 8192)
MOST_BATCHES = int(os.environ.get("MOTIFLUX_BATCHES", "24"))
NEAR_BATCHES = 6
"""With copies of all rows that searches may come to, one takes seconds."""
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
POLICIES = tuple(value for value in TUNING["cache"].values if value != "none")
OF_LARGE = tuple(policy for policy in POLICIES if policy != "khop")
"""For batches of 4,096: copying all rows that searches may come to takes 40 times as long as they do."""
OVER_ZERO_COPY, NEVER_BELOW, OVER_CPU, OVER_RESIDENT = 2.0, 0.97, 3.0, 8.0
OVER_DEGREE, OVER_KHOP, ON_ROADS, BYTES_CUT, COVERED = 1.5, 1.9, 1.6, 3.0, 0.95
MOST_SHARES = {"choose_seconds": 0.1, "copy_seconds": 0.05, "settle_seconds": 0.03}
"""Of the time of a batch: estimates, copies, and waiting for the host's rows to be put in order."""
READY_SECONDS, OVER_CSR = 60.0, 1.6
LARGE_PATTERNS = ("(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)--(c), (b)--(d)")


class Way(NamedTuple):
    """How batches are matched: an engine, switches, and how many devices."""

    engine: str
    switches: Mapping[str, str]
    devices: int = 1


def skewed() -> tuple[mf.Graph, mf.Updates]:
    """Return the R-MAT graph before the updates, and these."""
    found: tuple[mf.Graph, mf.Updates] = worlds.skewed(SCALE, 16, MAX_DEGREE, LABELS, UPDATES)
    return found


def small() -> tuple[mf.Graph, mf.Updates]:
    """Return the R-MAT graph of at most the scale `SMALL`."""
    found: tuple[mf.Graph, mf.Updates] = worlds.skewed(min(SCALE, SMALL), 16, MAX_DEGREE, LABELS, UPDATES)
    return found


def lattice() -> tuple[mf.Graph, mf.Updates]:
    """Return a lattice of as many vertices, and updates."""
    found: tuple[mf.Graph, mf.Updates] = worlds.lattice(SCALE, UPDATES)
    return found


def roads() -> tuple[mf.Graph, mf.Updates]:
    """Return a lattice of at most as many vertices as the road network of Pennsylvania has, and updates."""
    found: tuple[mf.Graph, mf.Updates] = worlds.lattice(min(SCALE, SMALL), UPDATES)
    return found


@dataclass
class Outcome:
    """Changes by batch and pattern, the median time of a batch after the first, and mean figures of these."""

    changes: list[list[tuple[int, int]]]
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)


def applied(
    world: tuple[mf.Graph, mf.Updates],
    patterns: Sequence[str],
    size: int,
    way: Way,
    share: float = SHARE,
    most: int = MOST_BATCHES,
) -> Outcome:
    """Apply batches to a fresh monitor, whose cache has at most a share of the bytes of the edges."""
    graph, updates = world
    if way.engine == "outofcore":  # no call waits for these kernels
        open_accelerator(DEVICE).compiler.wait(walks_source())
    changes, seconds, figures = [], [], []
    options: dict[str, Any] = {"device": "cpu" if way.engine == "cpu" else DEVICE, "engine": way.engine}
    if way.devices > 1:
        options["devices"] = way.devices
    if len(patterns) > 1:
        options["symmetry"] = "subgraphs"
    with mf.Monitor(
        graph, list(patterns), mode="batch", tuning=private_tuning(way.switches), **options
    ) as monitor:
        engine: Any = monitor._engine
        engines = getattr(engine, "_engines", [engine])
        if way.engine == "outofcore":
            for one in engines:
                one.cache.most_bytes = int(share * 8 * graph.num_edges)
        for number, some in enumerate(updates.slices(size)):
            if number == most:
                break
            begun = time.perf_counter()
            delta = monitor.apply(some)
            seconds.append(time.perf_counter() - begun)
            changes.append([(one.positive, one.negative) for one in delta])
            figures.append(
                {**getattr(engines[0], "spent", {}), **delta.measured, "batch_seconds": seconds[-1]}
            )
    later = figures[1:] or figures
    means = {name: statistics.fmean(one.get(name, 0.0) for one in later) for name in later[0]}
    return Outcome(changes, statistics.median(seconds[1:] or seconds), means)


@dataclass(frozen=True)
class Compared:
    """Batches of one size by several engines or switches, against the first of them."""

    title: str
    patterns: Sequence[str]
    size: int
    ways: Mapping[str, Way]
    world: Callable[[], tuple[mf.Graph, mf.Updates]] = skewed
    share: float = SHARE
    most: int | None = None
    quick: bool = False

    @property
    def name(self) -> str:
        """The experiment, and the size of batches."""
        return f"{self.title}, batches of {self.size}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time each way, if there are as many devices."""
        if max(way.devices for way in self.ways.values()) > len(devices_like(DEVICE)):
            return
        world = self.world()
        base, first = next(iter(self.ways)), None
        for way, how in self.ways.items():
            outcome = applied(world, self.patterns, self.size, how, self.share, self.most or MOST_BATCHES)
            first = first or outcome
            yield CaseResult(
                f"{self.name}, {way}",
                how.engine,
                sum(positive for batch in outcome.changes for positive, _ in batch),
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
            small = Path(folder, "small.mfg")
            environment = with_bytecode(Path(folder, "bytecode"))
            Rmat(scale=8, edges=1 << 12, directed=False, duplicates="drop", seed=1).write(small)
            self._counted(small, {**environment, "MOTIFLUX_CACHE": str(Path(folder, "kernels"))})
            path = worlds.rmat_file(SCALE, Path(folder, "graph.mfg"))
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
        command = [sys.executable, str(PARTS / "child.py"), str(path), DEVICE, FIRST[self.pattern]]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if ended.returncode:
            raise RuntimeError(f"{shlex.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
        found: dict[str, Any] = json.loads(ended.stdout)
        return found


@dataclass(frozen=True)
class Accessed:
    """Rows that batches open: the part with copies, of those that are opened most often and of all bytes."""

    query: str
    quick: bool = False

    @property
    def name(self) -> str:
        """The query."""
        return f"accessed {self.query}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Judge the copies of the default policy by long estimates."""
        graph, updates = skewed()
        room = int(SHARE * 8 * graph.num_edges)
        for policy in OF_LARGE:
            found = judged.accessed(
                graph, list(updates.slices(BATCH)), QUERIES[self.query], DEVICE, {"cache": policy}, room
            )
            yield CaseResult(
                f"{self.name}, {policy}",
                "outofcore",
                found["rows"],
                None,
                None,
                None,
                None,
                False,
                figures={name: value for name, value in found.items() if name != "rows"},
            )


@dataclass(frozen=True)
class Large:
    """A monitor of a graph file of 500 million edges, in a process of its own."""

    name: str = "large"
    quick: bool = False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Draw the file, and tell what a monitor took and found in another process."""
        with tempfile.TemporaryDirectory() as folder:
            path = worlds.rmat_file(
                LARGE, Path(folder, "graph.mfg"), edges=LARGE_EDGES, max_degree=MAX_DEGREE
            )
            command = [
                sys.executable,
                str(PARTS / "large.py"),
                str(path),
                str(UPDATES),
                str(BATCH),
                str(SHARE),
            ]
            command += [DEVICE, *LARGE_PATTERNS]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = json.loads(told.splitlines()[-1])
        for way in ("outofcore", "CPU Monitor"):
            yield CaseResult(
                f"{self.name}, {way}",
                "outofcore" if way == "outofcore" else "cpu",
                found["count"],
                "CPU Monitor",
                Timing.of([found[way]]),
                BaselineTime("CPU Monitor", found["CPU Monitor"]),
                found["CPU Monitor"] / found[way],
                found["differs"],
                figures=found["figures"] if way == "outofcore" else {},
            )


def ways(*policies: str, **switches: str) -> dict[str, Way]:
    """Return zero-copy and policies, with switches."""
    found = {"zero-copy": Way("outofcore", {"cache": "none"})}
    found |= {policy: Way("outofcore", {"cache": policy, **switches}) for policy in policies}
    return found


def by_switch(switch: str, *values: str) -> dict[str, Way]:
    """Return the default policy with each value of a switch."""
    return {value: Way("outofcore", {switch: value}) for value in values}


def opened(switch: str) -> dict[str, Way]:
    """Return zero-copy and the default policy, with each value of a switch of how rows are opened."""
    return {
        f"{name}, {value}": Way("outofcore", {"cache": policy, switch: value})
        for name, policy in (("zero-copy", "none"), ("frequency", "frequency"))
        for value in PRIVATE[switch].values
    }


ACCESS = {"lookup": "cache_lookup", "staging": "row_staging", "touched": "touched_rows"}
"""Switches of how rows are opened, by their experiments."""
ELSEWHERE = {"CPU Monitor": Way("cpu", {}), "outofcore": Way("outofcore", {}), "batch": Way("batch", {})}
NEAR = {**ways(*OF_LARGE), "khop": Way("outofcore", {"cache": "khop", "carry": "off"})}
UNIFIED = {
    **ways("frequency"),
    "unified": Way("outofcore", {"cache": "none", "host_memory": "unified"}),
}
SEVERAL = {f"{number} device{'s' * (number > 1)}": Way("outofcore", {}, number) for number in (1, 2)}


def build(shared: Path) -> Suite:
    """Return the suite."""
    probes: list[Probe] = []
    for query, text in QUERIES.items():
        probes.append(Compared(f"policies {query}", [text], BATCH, ways(*OF_LARGE), quick=query == "Q1"))
    for query in ("Q5", "Q6"):
        own = [QUERIES[query]]
        probes += [Compared(f"sizes {query}", own, size, ways(*OF_LARGE)) for size in SIZES]
        probes += [Compared(f"near {query}", own, size, NEAR, most=NEAR_BATCHES) for size in (64, 128)]
    for query, text in QUERIES.items():
        own = [text]
        probes.append(Compared(f"carry {query}", own, BATCH, by_switch("carry", "off", "on")))
        walks = by_switch("access_walks", *PRIVATE["access_walks"].values)
        probes.append(Compared(f"walks {query}", own, BATCH, walks, quick=query == "Q1"))
        probes.append(Compared(f"copies {query}", own, BATCH, by_switch("cache_copies", "host", "device")))
        probes.append(Compared(f"processor {query}", own, BATCH, ELSEWHERE))
        probes.append(Compared(f"devices {query}", own, BATCH, SEVERAL))
        probes.append(Accessed(query))
    for query in (query for query in ("Q1", "Q3", "Q4") if query in QUERIES):
        for title, switch in ACCESS.items():
            probes.append(Compared(f"{title} {query}", [QUERIES[query]], BATCH, opened(switch)))
    probes += [Static(pattern) for pattern in STATIC]
    probes += [First(pattern) for pattern in FIRST]
    probes.append(Compared("road", [ROAD], BATCH, ways(*POLICIES), lattice))
    probes.append(Compared("motifs", worlds.motifs(3, 5), BATCH, ways(*POLICIES), roads))
    for query in (query for query in ("Q1", "Q3") if query in QUERIES):
        probes.append(Compared(f"unified {query}", [QUERIES[query]], BATCH, UNIFIED, small))
    probes.append(Large())
    return Suite("outofcore", (), bars, probes=probes, device=lambda: open_device(DEVICE).model)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Return the bars that we set ourselves."""
    found = [Bar("cases that differ", sum(one.disagrees for one in results), 0, "lower")]

    def named(begin: str, end: str) -> dict[str, CaseResult]:
        return {
            one.case.removesuffix(end): one
            for one in results
            if one.case.startswith(begin) and one.case.endswith(end)
        }

    def ratios(begin: str, end: str) -> list[float]:
        return [one.ratio for one in named(begin, end).values() if one.ratio is not None]

    def over(begin: str, policy: str, other: str) -> list[float]:
        """Return how many times faster a policy is than another, case by case."""
        ours, theirs = named(begin, f", {policy}"), named(begin, f", {other}")
        return [
            ours[case].ratio / theirs[case].ratio  # type: ignore[operator]
            for case in ours.keys() & theirs.keys()
        ]

    for policy in POLICIES:
        values = ratios("policies" if policy in OF_LARGE else "near", f", {policy}")
        found.append(Bar(f"{policy}: over zero-copy, geometric mean", mean(values), OVER_ZERO_COPY, "higher"))
        least = min(values, default=None)
        found.append(Bar(f"{policy}: over zero-copy, least", least, NEVER_BELOW, "higher"))
    for begin, other, target in (("policies", "degree", OVER_DEGREE), ("near", "khop", OVER_KHOP)):
        value = mean(over(begin, "frequency", other))
        found.append(Bar(f"frequency: over {other}, geometric mean", value, target, "higher"))
    found.append(
        Bar("motifs on roads: over zero-copy", mean(ratios("motifs", ", frequency")), ON_ROADS, "higher")
    )
    batches = [one.figures for one in named("policies", ", frequency").values()]
    for name, most in MOST_SHARES.items():
        value = statistics.median(one[name] / one["batch_seconds"] for one in batches) if batches else None
        found.append(Bar(f"{name} of a batch, the median of the queries", value, most, "lower"))
    opens = [one.figures for one in named("accessed", ", frequency").values()]
    covered = [one["covered_1"] for one in opens]
    middle, least = (statistics.median(covered), min(covered)) if covered else (None, None)
    for which, value in (("median", middle), ("least", least)):
        title = f"of the hundredth of rows opened most, on the device, {which} of the queries"
        found.append(Bar(title, value, COVERED, "higher"))
    value = mean([one["bytes_cut"] for one in opens])
    found.append(
        Bar("bytes of rows opened on the host, zero-copy over frequency", value, BYTES_CUT, "higher")
    )
    values = ratios("processor", ", outofcore")
    found.append(Bar("over the CPU Monitor on all threads", mean(values), OVER_CPU, "higher"))
    for one in (one for one in results if one.case == "large, outofcore"):
        found.append(
            Bar("large: ready from its file, s", one.figures["ready_seconds"], READY_SECONDS, "lower")
        )
        found.append(Bar("large: memory of the host over CSR", one.figures["over_csr"], OVER_CSR, "lower"))
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


def mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean; None of nothing."""
    return statistics.geometric_mean(values) if values else None
