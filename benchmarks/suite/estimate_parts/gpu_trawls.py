"""The suite ``estimate``: trawling on threads of the host beside samples on a GPU, by the wall clock."""

from __future__ import annotations

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
MILLIONS = {"wanderjoin": (1, 16, 64), "alley": (1, 16)}
"""Samples of a call. A GPU draws a million in one to ten milliseconds."""
SWEPT = 16
OFF = {"trawling": "off", "inheritance": "off"}
ON = {"trawling": "on", "inheritance": "off"}
"""Nothing is inherited: with heirs samples answer these queries by themselves."""
WAYS: dict[str, dict[str, str]] = {"not trawled": OFF, "trawled": ON}
THREADS = (1, 2, 4, 8, 16)
MOST = 1.1
"""Target for the wall time of a trawled estimate over one that is not."""
CUT = 100.0
"""Target for the q-error of an estimate that is not trawled over one that is."""
RARE = 1e-5
"""Share of samples that are valid below which errors are to be cut so much."""


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
        count = common.trawl_counts()[self.query]
        for estimator, sizes in MILLIONS.items():
            for millions in sizes:
                alone: CaseResult | None = None
                for way, tuning in WAYS.items():
                    found, seconds, several = estimated(
                        graph, pattern, estimator, tuning, self.device, millions * common.SAMPLES
                    )
                    one = CaseResult(
                        f"{self.name}, {millions} million, {way}, call",
                        f"{self.device} {estimator}",
                        count,
                        common.ORACLE,
                        seconds,
                        None if alone is None else BaselineTime("not trawled", alone.seconds.min),
                        None if alone is None else alone.seconds.min / seconds.min,
                        figures=figures(found, several, count, alone, seconds),
                    )
                    yield one
                    alone = alone or one


def figures(
    found: mf.Estimate,
    several: Sequence[mf.Estimate],
    count: int,
    alone: CaseResult | None,
    seconds: Timing,
) -> dict[str, float]:
    """Return what a row says."""
    named = {
        "q_error": common.geometric_mean([common.q_error(one.value, count) for one in several]),
        "valid_share": found.valid_samples / max(1, found.samples),
        "exact": common.mean([one.estimator == "exact" for one in several]),
    }
    named |= common.parts_of(found)
    if alone is not None:
        named["slower"] = seconds.min / alone.seconds.min
        if alone.figures["valid_share"] < RARE:
            named["cut"] = alone.figures["q_error"] / named["q_error"]
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
    """The same by the number of threads."""

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
            found, seconds, several = estimated(
                graph, pattern, "alley", ON, self.device, SWEPT * common.SAMPLES, threads
            )
            yield CaseResult(
                f"{self.name}, {SWEPT} million, {threads} threads, call",
                f"{self.device} alley",
                count,
                common.ORACLE,
                seconds,
                figures=figures(found, several, count, None, seconds),
            )


def bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    """Hold wall times of trawled estimates against those that are not, and how far errors were cut."""
    trawled = [one for one in results if one.case.startswith("gpu trawl ") and "slower" in one.figures]
    for estimator, sizes in MILLIONS.items():
        for millions in sizes:
            rows = [
                one.figures
                for one in trawled
                if f", {millions} million," in one.case and one.engine.endswith(estimator)
            ]
            if not rows:
                continue
            name = f"gpu, {estimator}, {millions} million samples of hard queries, trawled"
            slower = [row["slower"] for row in rows]
            mean = f"geometric mean of {len(slower)}"
            text = f"{name}: wall time over not trawled"
            yield Bar(f"{text}, {mean}", common.geometric_mean(slower), MOST, "lower")
            yield Bar(f"{text}, most", max(slower), MOST, "lower")
            if cuts := [row["cut"] for row in rows if "cut" in row]:
                mean = f"geometric mean of {len(cuts)} with few valid samples"
                yield Bar(f"{name}: q-error cut, {mean}", common.geometric_mean(cuts), CUT, "higher")
