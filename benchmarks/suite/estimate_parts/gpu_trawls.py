"""The suite ``estimate``: trawling on threads of the host beside samples on a GPU, by the wall clock."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part

common = load_part(Path(__file__).resolve().parent / "common.py")

RUNS = 3
WARM_SAMPLES = 2048
LONG = 32
"""Times a million samples, of which the GPU has something to do."""
NEVER_ALL = {"trawling": "on", "trawl_whole": "off"}
CLOCK = {"trawl_budget": "clock"}
WAYS: dict[str, dict[str, str]] = {
    "not trawled": {"trawling": "off"},
    "trawled": {"trawling": "on"},
    "trawled, never all": NEVER_ALL,
    "by the clock": {"trawling": "on"} | CLOCK,
    "by the clock, never all": NEVER_ALL | CLOCK,
}
BATCHES = ("1", "2", "4", "6", "8", "12")
THREADS = (1, 2, 4, 8, 16)
MOST = 1.1
"""Target for the wall time of a trawled estimate over one that is not."""


def estimated(
    graph: mf.Graph,
    pattern: mf.Pattern,
    estimator: str,
    tuning: Mapping[str, str],
    device: str,
    samples: int,
    threads: int | None = None,
) -> tuple[mf.Estimate, Timing, list[mf.Estimate]]:
    """Estimate under several seeds, planned and compiled before; by the wall clock."""

    def once(seed: int, count: int) -> mf.Estimate:
        return mf.estimate(
            graph,
            pattern,
            estimator=estimator,
            samples=count,
            seed=seed,
            threads=threads,
            device=device,
            tuning=tuning,
        )

    once(0, WARM_SAMPLES)
    taken, found = [], []
    for seed in range(RUNS):
        start = time.perf_counter()
        found.append(once(seed, samples))
        taken.append(time.perf_counter() - start)
    return found[-1], Timing.of(taken), found


@dataclass(frozen=True)
class Trawling:
    """A query that samples hardly ever answer: a million samples, and many millions."""

    shared: Path
    query: str
    device: str

    @property
    def name(self) -> str:
        return f"gpu {self.query.replace('_', ' ')}"

    @property
    def quick(self) -> bool:
        return list(common.trawl_counts()).index(self.query) < 2

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = common.trawl_query(self.shared, self.query)
        for estimator, inheritance in itertools.product(("wanderjoin", "alley"), ("off", "spread")):
            yield from self._ways(graph, pattern, estimator, inheritance, common.SAMPLES, "")
        yield from self._ways(graph, pattern, "alley", "spread", LONG * common.SAMPLES, f", {LONG} million")

    def _ways(
        self,
        graph: mf.Graph,
        pattern: mf.Pattern,
        estimator: str,
        inheritance: str,
        samples: int,
        text: str,
    ) -> Iterator[CaseResult]:
        count = common.trawl_counts()[self.query]
        alone: BaselineTime | None = None
        for way, switches in WAYS.items():
            tuning = {"inheritance": inheritance, **switches}
            found, seconds, several = estimated(graph, pattern, estimator, tuning, self.device, samples)
            yield CaseResult(
                f"{self.name}{text}, {way}, inheritance {inheritance}, call",
                f"{self.device} {estimator}",
                count,
                common.ORACLE,
                seconds,
                alone,
                None if alone is None else alone.seconds / seconds.min,
                figures=figures(found, several, count, alone, seconds),
            )
            alone = alone or BaselineTime("not trawled", seconds.min)


def figures(
    found: mf.Estimate,
    several: Sequence[mf.Estimate],
    count: int,
    alone: BaselineTime | None,
    seconds: Timing,
) -> dict[str, float]:
    """Return what a row says."""
    named = {
        "q_error": common.geometric_mean([common.q_error(one.value, count) for one in several]),
        "valid_share": found.valid_samples / max(1, found.samples),
        "exact": common.mean([one.estimator == "exact" for one in several]),
    }
    if alone is not None:
        named["slower"] = seconds.min / alone.seconds
    if found.trawled is not None:
        named |= {
            "slots": float(found.trawled.slots),
            "searched": found.trawled.searched / max(1, found.trawled.slots),
            "share": found.trawled.share,
            "trawled_q_error": common.q_error(found.trawled.value, count),
        }
    return named


@dataclass(frozen=True)
class Sweep:
    """Batches and threads, by the clock."""

    shared: Path
    query: str
    device: str
    quick: bool = False

    @property
    def name(self) -> str:
        return f"gpu sweep {self.query.replace('_', ' ')}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = common.trawl_query(self.shared, self.query)
        count, cores = common.trawl_counts()[self.query], os.cpu_count() or 1
        for threads in [one for one in THREADS if one <= max(2, cores)]:
            alone: BaselineTime | None = None
            for batches in ("none", *BATCHES):
                tuning = NEVER_ALL | CLOCK | {"trawl_batches": batches}
                if batches == "none":
                    tuning = WAYS["not trawled"]
                found, seconds, several = estimated(
                    graph, pattern, "alley", tuning, self.device, common.SAMPLES, threads
                )
                yield CaseResult(
                    f"{self.name}, {batches} batches, {threads} threads, call",
                    f"{self.device} alley",
                    count,
                    common.ORACLE,
                    seconds,
                    alone,
                    figures=figures(found, several, count, alone, seconds),
                )
                alone = alone or BaselineTime("not trawled", seconds.min)


def bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold wall times of trawled estimates against those that are not, and how far errors were cut."""
    trawled = [one for one in results if one.case.startswith("gpu trawl ") and "slower" in one.figures]
    for text, few in (("", True), (f", {LONG} million samples", False)):
        for way in list(WAYS)[1:]:
            for inheritance in ("off", "spread"):
                ratios = [
                    one.figures["slower"]
                    for one in trawled
                    if f", {way}, inheritance {inheritance}," in one.case
                    and (f"{LONG} million" not in one.case) == few
                ]
                if ratios:
                    name = f"gpu, hard queries{text}, {way}, inheritance {inheritance}: wall time over not"
                    mean = common.geometric_mean(ratios)
                    yield Bar(f"{name}, geometric mean of {len(ratios)}", mean, MOST, "lower")
                    yield Bar(f"{name}, most", max(ratios), MOST, "lower")
