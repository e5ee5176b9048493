"""Continuous matching on the CPU: recorded streams, streams that concern no pattern, memory.

``motiflux bench monitor``. Needs the shared graphs and oracles (``MOTIFLUX_SHARED``). Times are process CPU
time of the update loop on one thread, the updates being there as arrays; with more threads, wall clock. What
a case is named for:

``count``, ``list``  a recorded stream, its matches counted or listed; the baseline is another system's time
``pass``             updates that touch no labels of the pattern; its count is the updates
``stream``           a random stream on an R-MAT graph, triangles counted; its count is those gained
``bytes``            what the changing graph holds; its count is the bytes
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing, repeat, wall_clock
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite
from motiflux.generate import rmat

ENGINE = "cpu"
RAPIDFLOW = {"c01": 0.0055, "c03": 0.0012, "c04": 0.036, "c06": 0.030, "c08": 0.124, "c10": 0.081}
"""Seconds of RapidFlow, which counts, on the machine where it was measured."""
GRAPHFLOW = {"c01": 1.34, "c03": 0.082, "c04": 0.707, "c06": 0.162, "c08": 3.31, "c10": 0.306}
"""Seconds of Graphflow, which lists."""
COUNT_SECONDS = {"c01": 0.006, "c03": 0.0012, "c04": 0.035, "c06": 0.030, "c08": 0.12, "c10": 0.08}
LIST_TIMES_FASTER = 5.0
PASSED = 1_000_000
SCALE = 20
LABELLED = "(a:1000001)--(b:1000002)--(c:1000003)--(a)"
"""A pattern whose labels no vertex of the graphs has."""
EDGE_BYTES, VERTEX_BYTES = 24, 32


def build(shared: Path) -> Suite:
    folder = shared / "oracle" / "csm"
    expected = json.loads((folder / "expected.json").read_text())
    probes: list[Probe] = [
        Recorded(folder / name, name, expected[name]["positive"], expected[name]["negative"], listed)
        for name in COUNT_SECONDS
        for listed in (False, True)
    ]
    probes += [Recorded(folder / "c08", "c08", 10_438_416, 0, True, threads) for threads in (1, 2)]
    probes += [Passed("c04 graph", lambda: mf.read_graph(folder / "c04" / "data.graph.gz"))]
    probes += [Passed(f"R-MAT {SCALE}", random_graph)]
    probes += [Streamed(threads) for threads in (1, 2)]
    probes += [Held()]
    return Suite("monitor", (), bars, probes=probes)


@lru_cache(maxsize=1)
def random_graph() -> mf.Graph:
    return rmat(SCALE, 16 << (SCALE - 1), directed=False, duplicates="drop", seed=1)


@lru_cache(maxsize=1)
def read_case(folder: Path) -> tuple[mf.Graph, mf.Pattern, mf.Updates]:
    columns: list[tuple[bool, int, int, int]] = []
    with gzip.open(folder / "updates.stream.gz", "rt") as lines:
        for line in lines:
            op, *numbers = line.split()
            if op != "v":
                source, target, *label = map(int, numbers)
                columns.append((op == "e", source, target, label[0] if label else 0))
    inserts, sources, targets, labels = (np.array(column) for column in zip(*columns, strict=True))
    graph = mf.read_graph(folder / "data.graph.gz")
    updates = mf.Updates(inserts.astype(bool), sources, targets, labels)
    return graph, mf.read_pattern(folder / "query.graph"), updates


def random_updates(graph: mf.Graph, size: int) -> mf.Updates:
    """Return insertions and deletions between vertices drawn by degree, or alike where there are labels."""
    draw = np.random.default_rng(7)
    edges = graph.to_edges()
    ids = graph.vertex_ids if len(graph.vertex_label_table) > 1 else np.concatenate([edges.src, edges.dst])
    sources, targets = draw.choice(ids, size), draw.choice(ids, size)
    kept = sources != targets
    return mf.Updates(draw.random(size)[kept] < 0.7, sources[kept], targets[kept])


def applied(
    graph: mf.Graph,
    pattern: mf.Pattern | str,
    updates: mf.Updates,
    runs: int,
    *,
    threads: int = 1,
    listed: bool = False,
) -> tuple[mf.Delta, Timing]:
    """Apply updates to a fresh monitor, each time."""
    fresh: list[mf.Monitor] = []

    def before() -> None:
        fresh[:] = [mf.Monitor(graph, pattern, matches=listed, threads=threads)]

    clock: dict[str, Any] = {} if threads == 1 else {"clock": wall_clock}
    return repeat(lambda: fresh[0].apply(updates), runs=runs, before=before, **clock)


@dataclass(frozen=True)
class Recorded:
    """A recorded stream; with a number of threads, by the wall clock."""

    folder: Path
    case: str
    positive: int
    negative: int
    listed: bool
    threads: int | None = None

    @property
    def name(self) -> str:
        name = f"{'list' if self.listed else 'count'} {self.case}"
        return name if self.threads is None else f"{name}, wall, {self.threads} threads"

    @property
    def quick(self) -> bool:
        return True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern, updates = read_case(self.folder)
        delta, seconds = applied(
            graph, pattern, updates, settings.runs, threads=self.threads or 1, listed=self.listed
        )
        found = delta[pattern]
        disagrees = (found.positive, found.negative) != (self.positive, self.negative)
        known = f"{self.positive} gained, {self.negative} lost (several systems)"
        baseline = None
        if self.threads is None:
            name, times = ("Graphflow", GRAPHFLOW) if self.listed else ("RapidFlow", RAPIDFLOW)
            baseline = BaselineTime(name, times[self.case])
        yield CaseResult(
            self.name,
            ENGINE,
            found.positive + found.negative,
            known,
            seconds,
            baseline,
            None if baseline is None else baseline.seconds / seconds.min,
            disagrees,
        )


@dataclass(frozen=True)
class Passed:
    """Updates that no pattern is concerned by."""

    graph: str
    read: Callable[[], mf.Graph]

    @property
    def name(self) -> str:
        return f"pass {self.graph}"

    @property
    def quick(self) -> bool:
        return False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = self.read()
        updates = random_updates(graph, PASSED)
        delta, seconds = applied(graph, LABELLED, updates, settings.runs)
        yield CaseResult(self.name, ENGINE, delta.updates, None, seconds)


@dataclass(frozen=True)
class Streamed:
    """Triangles of a random stream on the R-MAT graph, by the wall clock."""

    threads: int

    @property
    def name(self) -> str:
        return f"stream R-MAT {SCALE} triangle, wall, {self.threads} threads"

    @property
    def quick(self) -> bool:
        return False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = random_graph()
        fresh = mf.Monitor(graph, "(a)--(b)--(c)--(a)", threads=self.threads)
        updates = random_updates(graph, PASSED)
        delta, seconds = repeat(lambda: fresh.apply(updates), wall_clock, 1)
        yield CaseResult(self.name, ENGINE, delta[0].positive, None, seconds)


@dataclass(frozen=True)
class Held:
    """What the changing R-MAT graph takes."""

    name: str = f"bytes R-MAT {SCALE}"
    quick: bool = False

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = random_graph()
        yield CaseResult(self.name, ENGINE, mf.Monitor(graph).nbytes, None, None)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    seconds = {one.case: one.seconds.min for one in results if one.seconds is not None}
    counts = {one.case: one.count for one in results}
    listed = [one.ratio for one in results if one.case.startswith("list ") and one.ratio is not None]
    return [
        Bar("streams that disagree with the oracle", sum(one.disagrees for one in results), 0, "lower"),
        *(
            Bar(f"{name}, counted: s", seconds.get(f"count {name}"), target, "lower")
            for name, target in COUNT_SECONDS.items()
        ),
        Bar("listed, against Graphflow: least ratio", min(listed, default=None), LIST_TIMES_FASTER, "higher"),
        *(
            Bar(
                f"updates of no concern, {graph}: per second",
                _rate(counts, seconds, f"pass {graph}"),
                least,
                "higher",
            )
            for graph, least in (("c04 graph", 8e6), (f"R-MAT {SCALE}", 2e6))
        ),
        *(
            Bar(f"2 threads over 1, {case}", _speedup(seconds, case), 1.7, "higher")
            for case in ("list c08", f"stream R-MAT {SCALE} triangle")
        ),
        Bar("bytes over 24 an edge and 32 a vertex", _share(counts), 1.0, "lower"),
    ]


def _rate(counts: dict[str, int | None], seconds: dict[str, float], case: str) -> float | None:
    count = counts.get(case)
    return None if count is None or case not in seconds else count / seconds[case]


def _speedup(seconds: dict[str, float], case: str) -> float | None:
    one, two = (seconds.get(f"{case}, wall, {threads} threads") for threads in (1, 2))
    return None if one is None or two is None else one / two


def _share(counts: dict[str, int | None]) -> float | None:
    count = counts.get(f"bytes R-MAT {SCALE}")
    if count is None:
        return None
    graph = random_graph()
    return count / (EDGE_BYTES * graph.num_edges + VERTEX_BYTES * graph.num_vertices)
