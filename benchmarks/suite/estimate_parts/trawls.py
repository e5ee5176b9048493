"""The suite ``estimate`` where samples find little: with trawling and without."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part

common = load_part(Path(__file__).resolve().parent / "common.py")

WAYS = {
    "not trawled": common.TRAWL_OFF,
    "trawled": common.TRAWL_ON,
}
SWEEPS = {"trawl_batches": ("1", "2", "4", "6", "8", "12"), "threads": (1, 2)}


@dataclass(frozen=True)
class Trawling:
    """A query that samples hardly ever answer, without trawling and with it."""

    shared: Path
    query: str
    measured: common.Measured = field(repr=False)

    @property
    def name(self) -> str:
        return self.query.replace("_", " ")

    @property
    def quick(self) -> bool:
        return list(common.trawl_counts()).index(self.query) < 2

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = common.trawl_query(self.shared, self.query)
        count = common.trawl_counts()[self.query]
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
            error = common.geometric_mean([common.q_error(one.value, count) for one in several])
            figures = common.figures_of(found, count, seconds.min) | {"q_error": error}
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
            yield CaseResult(name, f"cpu {estimator}", count, common.ORACLE, seconds, figures=figures)

    def _several(
        self,
        graph: mf.Graph,
        pattern: mf.Pattern,
        estimator: str,
        switches: dict[str, str],
        settings: Settings,
    ) -> tuple[list[mf.Estimate], Timing]:
        runs = 1 if settings.quick else 2
        samples = common.SAMPLES // 4 if settings.quick else common.SAMPLES
        found, times = [], []
        for seed in range(runs):
            one, seconds = common.estimated(graph, pattern, estimator, switches, samples, seed=seed)
            found.append(one)
            times.append(seconds.min)
        return found, Timing.of(times)


@dataclass(frozen=True)
class Sweep:
    """Wall time by the number of batches and threads."""

    shared: Path
    query: str
    quick: bool = False

    @property
    def name(self) -> str:
        return f"sweep {self.query.replace('_', ' ')}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = common.trawl_query(self.shared, self.query)
        count = common.trawl_counts()[self.query]
        for batches in SWEEPS["trawl_batches"]:
            for threads in SWEEPS["threads"]:
                tuning = WAYS["trawled"] | {"trawl_batches": str(batches)}
                start = time.perf_counter()
                found = mf.estimate(
                    graph,
                    pattern,
                    estimator="alley",
                    samples=common.SAMPLES,
                    seed=1,
                    threads=int(threads),
                    tuning=tuning,
                )
                taken = Timing.of([time.perf_counter() - start])
                assert found.trawled is not None
                figures = {
                    "q_error": common.q_error(found.trawled.value, count),
                    "searched": found.trawled.searched / found.trawled.slots,
                }
                yield CaseResult(
                    f"{self.name}, {batches} batches, wall, {threads} threads",
                    "cpu alley, trawl alone",
                    count,
                    common.ORACLE,
                    taken,
                    figures=figures,
                )
