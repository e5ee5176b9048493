"""Estimates by sampling: how near, how sure, how fast (gSWORD, section 6).

``motiflux bench estimate``. Needs the shared graphs (``MOTIFLUX_SHARED``). Counts are from the oracle or the
CPU engine, which gets ten seconds for each. A q-error is the greater of estimate / count and
count / estimate, both at least 1. Seconds are CPU time of one thread, planning included where the case says
"first call".

* yeast: the shared queries, estimated under ten seeds each.
* tables: queries drawn from each graph, always the same; milliseconds are those of a million samples.
* ablations: of the tables' largest queries.
* trawling: queries of which hardly a sample in 100,000 is an embedding if none inherits
  (`benchmarks/queries/trawl_*`), with and without, inheritance on and off. On a machine without a GPU there
  is nothing for the searches to hide behind: the time they add is all of their CPU time.
* where a GPU is: the ablations of its kernel there too.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing, repeat, wall_clock
from motiflux.bench.queries import dense_query, read_labelled, sparse_query
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite
from motiflux.config import TUNING

QUERIES = Path(__file__).resolve().parents[1] / "queries"
SEED = 1611
GRAPHS = {
    "yeast": ("yeast", None),
    "hprd": ("hprd", None),
    "human": ("human", None),
    "enron_label20": ("enron_label20", None),
    "wordnet30": ("wordnet30_relations", None),
    "slashdot": ("soc_slashdot0902", 16),
    "uk2007": ("web_uk2007_100k", 16),
}
"""File, and number of labels to draw where it has none."""
SIZES = {4: ("any",), 8: ("sparse", "dense"), 16: ("sparse", "dense")}
ESTIMATORS = ("wanderjoin", "alley", "tree")
SAMPLES = 1_000_000
TABLE_SAMPLES = 250_000
"""Of the CPU's tables; times are given for a million, as for the ablations."""
ABLATION_SAMPLES = 50_000
QUICK_SAMPLES = 25_000
YEAST_SAMPLES = 100_000
SEEDS = 10
COUNT_SECONDS = 10.0
MILLISECONDS = 80.0
ABLATIONS: dict[str, dict[str, str]] = {
    "no inheritance (O0)": {"inheritance": "off"},
    "inheritance (O1)": {},
    "inherited from one": {"inheritance": "one"},
    "planner's order": {"sample_order": "plan"},
    "QuickSI's order": {"sample_order": "quicksi"},
    "no candidate graph": {"candidates": "off"},
}
GPU_ABLATIONS: dict[str, dict[str, str]] = {
    "no inheritance, no streaming (O0)": {"inheritance": "off", "streaming": "off"},
    "no streaming (O1)": {"streaming": "off"},
    "both (O2)": {},
    "iteration synchronisation": {"inheritance": "off", "sync": "iteration"},
    "sample synchronisation": {"inheritance": "off"},
}
TRAWL_OFF = {"trawling": "off"}
TRAWL_ON = {"trawling": "on"}
WAYS = {
    "not trawled": TRAWL_OFF,
    "trawled": TRAWL_ON,
    "trawled, never all": {"trawling": "on", "trawl_whole": "off"},
}
SWEPT = ("trawl_hprd_dense_136", "trawl_wordnet30_dense_75", "trawl_wordnet30_dense_106")
SWEEPS = {"trawl_batches": ("1", "2", "4", "6", "8", "12"), "threads": (1, 2)}
ORACLE = "benchmarks/queries/trawl_counts.json"


def q_error(estimate: float, count: int) -> float:
    """Return by which factor an estimate is off; less than one counts as one."""
    value, truth = max(estimate, 1.0), max(count, 1)
    return max(value / truth, truth / value)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


@dataclass
class Measured:
    """What the bars are about, filled by the probes."""

    errors: list[float] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cuts: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)
    """By estimator, inheritance and way: q-error not trawled over trawled, of each query."""
    slower: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)
    """The same of seconds, trawled over not."""


def build(shared: Path) -> Suite:
    measured = Measured()
    probes: list[Probe] = [Yeast(shared, measured)]
    probes += [Table(shared, name, size, kind) for name in GRAPHS for size in SIZES for kind in SIZES[size]]
    probes += [Ablation(shared, name, kind) for name in GRAPHS for kind in SIZES[16]]
    probes += [Trawling(shared, name, measured) for name in trawl_counts()]
    probes += [Sweep(shared, name) for name in SWEPT]
    if has_gpu():
        probes += [Ablation(shared, name, kind, device="cuda") for name in GRAPHS for kind in SIZES[16]]
    return Suite("estimate", (), lambda results: bars(measured, results), probes=probes)


def has_gpu() -> bool:
    """Return whether a GPU samples here."""
    if "streaming" not in TUNING:
        return False
    from motiflux.device import known_devices, open_device

    try:
        return "cuda" in known_devices() and open_device("cuda") is not None
    except mf.DeviceError:
        return False


def bars(measured: Measured, results: Sequence[CaseResult]) -> list[Bar]:
    """Hold what was measured against the targets; what was not run has no bar."""
    found = []
    if measured.errors:
        found += [
            Bar("yeast: 95 % intervals that hold the count", mean(measured.covered), 0.93, "higher"),
            Bar("yeast: median q-error", statistics.median(measured.errors), 1.1, "lower"),
            Bar("yeast: largest q-error", max(measured.errors), 2.0, "lower"),
            Bar(
                "yeast: slowest estimate, first call, ms of CPU",
                1000 * max(measured.seconds),
                MILLISECONDS,
                "lower",
            ),
        ]
    for what, cuts in measured.cuts.items():
        estimator, inheritance, way = what
        # Where dead samples inherit, more than one in 100,000 are embeddings.
        if inheritance == "off" and way == "trawled":
            slower = measured.slower[what]
            text = f"of hard queries, {estimator}, nothing inherited, trawled over not"
            found += [
                Bar(f"{text}: cut of the geometric mean q-error", geometric_mean(cuts), 100, "higher"),
                Bar(f"{text}: CPU time, geometric mean", geometric_mean(slower), 1.1, "lower"),
                Bar(f"{text}: CPU time, worst", max(slower), 1.1, "lower"),
            ]
    return found


def mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


@cache
def graph_of(shared: Path, name: str) -> mf.Graph:
    file, labels = GRAPHS[name]
    return read_labelled(shared / f"data/{file}.npz", labels, SEED)


@cache
def drawn(shared: Path, name: str, size: int, kind: str) -> mf.Pattern:
    """Return the query of a cell of the tables."""
    randomness = random.Random(f"{SEED} {name} {size} {kind}")
    draw = dense_query if kind == "dense" else sparse_query
    return draw(graph_of(shared, name), size, randomness)


@cache
def exact(shared: Path, name: str, size: int, kind: str, seconds: float) -> int | None:
    found = mf.count(graph_of(shared, name), drawn(shared, name, size, kind), timeout=seconds, threads=1)
    return int(found) if found.complete else None


def estimated(
    graph: mf.Graph,
    pattern: mf.Pattern,
    estimator: str,
    tuning: Mapping[str, str],
    samples: int,
    *,
    seed: int = SEED,
    device: str = "cpu",
    runs: int = 1,
) -> tuple[mf.Estimate, Timing]:
    """Estimate on one thread, planned before; seconds are the least of some runs."""

    def once() -> mf.Estimate:
        return mf.estimate(
            graph,
            pattern,
            estimator=estimator,
            samples=samples,
            seed=seed,
            threads=1,
            device=device,
            tuning=tuning,
        )

    mf.estimate(graph, pattern, estimator=estimator, samples=32, threads=1, device=device, tuning=tuning)
    return repeat(once, runs=runs) if device == "cpu" else repeat(once, wall_clock, runs=runs)


def figures_of(found: mf.Estimate, count: int | None, seconds: float) -> dict[str, float]:
    """Return what a row of the tables says."""
    figures = {
        "estimate": found.value,
        "valid_share": found.valid_samples / max(1, found.samples),
        "ms_per_million": 1e9 * seconds / max(1, found.samples),
    }
    if count is not None:
        figures |= {
            "q_error": q_error(found.value, count),
            "covered": float(found.low <= count <= found.high),
        }
    return figures


@dataclass(frozen=True)
class Yeast:
    """The shared queries: every one as a first call, and under several seeds."""

    shared: Path
    measured: Measured = field(repr=False)
    name: str = "yeast oracle"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = graph_of(self.shared, "yeast")
        graph.label_frequencies()
        counts = json.loads((self.shared / "oracle/yeast/embeddings.json").read_text())
        for file, text in sorted(counts.items()):
            if text is None:
                continue
            pattern = mf.read_pattern(self.shared / "oracle/yeast/queries" / file)
            yield self._query(graph, pattern, file.removesuffix(".graph"), int(text), settings)

    def _query(
        self, graph: mf.Graph, pattern: mf.Pattern, name: str, count: int, settings: Settings
    ) -> CaseResult:
        def once(seed: int = 0) -> mf.Estimate:
            return mf.estimate(graph, pattern, samples=YEAST_SAMPLES, threads=1, seed=seed)

        def forget() -> None:
            graph.forget()
            graph.label_frequencies()

        found, seconds = repeat(once, runs=settings.runs, before=forget)
        several = [found, *(once(seed) for seed in range(1, 2 if settings.quick else SEEDS))]
        errors = [q_error(one.value, count) for one in several]
        covered = [one.low <= count <= one.high for one in several]
        self.measured.errors.extend(errors)
        self.measured.covered.extend(covered)
        self.measured.seconds.append(seconds.min)
        figures = {
            "q_error": max(errors),
            "covered": mean(covered),
            "valid_share": found.valid_samples / max(1, found.samples),
        }
        return CaseResult(
            f"yeast {name.removeprefix('query_')}, first call",
            f"cpu {found.estimator}",
            count,
            "oracle/yeast/embeddings.json",
            seconds,
            figures=figures,
        )


@dataclass(frozen=True)
class Table:
    """A cell of the tables: one query, every estimator."""

    shared: Path
    graph: str
    size: int
    kind: str

    @property
    def name(self) -> str:
        return f"{self.graph} {self.size} {self.kind}"

    @property
    def quick(self) -> bool:
        return self.graph in ("hprd", "wordnet30")

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = graph_of(self.shared, self.graph)
        pattern = drawn(self.shared, self.graph, self.size, self.kind)
        limit = min(settings.timeout, 1.0 if settings.quick else COUNT_SECONDS)
        count = exact(self.shared, self.graph, self.size, self.kind, limit)
        samples = QUICK_SAMPLES if settings.quick else TABLE_SAMPLES
        for estimator in ESTIMATORS:
            found, seconds = estimated(graph, pattern, estimator, TRAWL_OFF, samples)
            yield CaseResult(
                self.name,
                f"cpu {estimator}",
                count,
                None if count is None else "motiflux.count",
                seconds,
                figures=figures_of(found, count, seconds.min),
            )


@dataclass(frozen=True)
class Ablation:
    """A query of 16 vertices with parts switched off."""

    shared: Path
    graph: str
    kind: str
    device: str = "cpu"
    quick: bool = False

    @property
    def name(self) -> str:
        return f"ablation {self.graph} {self.kind}{'' if self.device == 'cpu' else ' ' + self.device}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = graph_of(self.shared, self.graph)
        pattern = drawn(self.shared, self.graph, 16, self.kind)
        count = exact(self.shared, self.graph, 16, self.kind, min(settings.timeout, COUNT_SECONDS))
        on_cpu = self.device == "cpu"
        for what, switches in (ABLATIONS if on_cpu else GPU_ABLATIONS).items():
            samples = ABLATION_SAMPLES if on_cpu else SAMPLES
            found, seconds = estimated(
                graph,
                pattern,
                "alley",
                TRAWL_OFF | switches,
                samples,
                device=self.device,
                runs=1 if on_cpu else 5,
            )
            yield CaseResult(
                f"{self.name}, {what}",
                f"{self.device} alley",
                count,
                None if count is None else "motiflux.count",
                seconds,
                figures=figures_of(found, count, seconds.min),
            )


@cache
def trawl_counts() -> dict[str, int]:
    """Return the committed queries that samples hardly ever answer, and their counts."""
    counts: dict[str, int] = json.loads((QUERIES / "trawl_counts.json").read_text())
    return counts


def trawl_query(shared: Path, name: str) -> tuple[mf.Graph, mf.Pattern]:
    """Return the graph and the pattern of ``trawl_GRAPH_...``."""
    return graph_of(shared, name.split("_")[1]), mf.read_pattern(QUERIES / f"{name}.graph")


@dataclass(frozen=True)
class Trawling:
    """A query that samples hardly ever answer, without trawling and with it."""

    shared: Path
    query: str
    measured: Measured = field(repr=False)

    @property
    def name(self) -> str:
        return self.query.replace("_", " ")

    @property
    def quick(self) -> bool:
        return list(trawl_counts()).index(self.query) < 2

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = trawl_query(self.shared, self.query)
        count = trawl_counts()[self.query]
        for estimator in ("wanderjoin", "alley"):
            for inheritance in ("off", "spread"):
                yield from self._ways(graph, pattern, count, estimator, inheritance, settings)

    def _ways(
        self,
        graph: mf.Graph,
        pattern: mf.Pattern,
        count: int,
        estimator: str,
        inheritance: str,
        settings: Settings,
    ) -> Iterator[CaseResult]:
        first: tuple[float, float] | None = None
        for way, switches in WAYS.items():
            several, seconds = self._several(
                graph, pattern, estimator, {"inheritance": inheritance, **switches}, settings
            )
            found = several[-1]
            error = geometric_mean([q_error(one.value, count) for one in several])
            figures = figures_of(found, count, seconds.min) | {"q_error": error}
            if first is None:
                first = (error, seconds.min)
            else:
                key = (estimator, inheritance, way)
                cut, slower = first[0] / error, seconds.min / first[1]
                self.measured.cuts.setdefault(key, []).append(cut)
                self.measured.slower.setdefault(key, []).append(slower)
                figures |= {"cut": cut, "slower": slower, "exact": float(found.estimator == "exact")}
            if found.trawled is not None:
                figures |= {
                    "trawled": found.trawled.value,
                    "share": found.trawled.share,
                    "searched": found.trawled.searched / found.trawled.slots,
                }
            name = f"{self.name}, {way}, inheritance {inheritance}"
            yield CaseResult(name, f"cpu {estimator}", count, ORACLE, seconds, figures=figures)

    def _several(
        self,
        graph: mf.Graph,
        pattern: mf.Pattern,
        estimator: str,
        switches: dict[str, str],
        settings: Settings,
    ) -> tuple[list[mf.Estimate], Timing]:
        runs = 1 if settings.quick else 2
        samples = SAMPLES // 4 if settings.quick else SAMPLES
        found, times = [], []
        for seed in range(runs):
            one, seconds = estimated(graph, pattern, estimator, switches, samples, seed=seed)
            found.append(one)
            times.append(seconds.min)
        return found, Timing.of(times)


@dataclass(frozen=True)
class Sweep:
    """Batches and threads, by the clock."""

    shared: Path
    query: str
    quick: bool = False

    @property
    def name(self) -> str:
        return f"sweep {self.query.replace('_', ' ')}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = trawl_query(self.shared, self.query)
        count = trawl_counts()[self.query]
        for batches in SWEEPS["trawl_batches"]:
            for threads in SWEEPS["threads"]:
                tuning = WAYS["trawled, never all"] | {
                    "trawl_budget": "clock",
                    "trawl_batches": str(batches),
                }
                start = time.perf_counter()
                found = mf.estimate(
                    graph,
                    pattern,
                    estimator="alley",
                    samples=SAMPLES,
                    seed=1,
                    threads=int(threads),
                    tuning=tuning,
                )
                taken = Timing.of([time.perf_counter() - start])
                assert found.trawled is not None
                figures = {
                    "q_error": q_error(found.trawled.value, count),
                    "searched": found.trawled.searched / found.trawled.slots,
                }
                yield CaseResult(
                    f"{self.name}, {batches} batches, wall, {threads} threads",
                    "cpu alley, trawl alone",
                    count,
                    ORACLE,
                    taken,
                    figures=figures,
                )
