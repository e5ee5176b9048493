"""The suite ``estimate`` on the CPU: the shared yeast queries, tables, ablations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import repeat
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part

common = load_part(Path(__file__).resolve().parent / "common.py")

TABLE_SAMPLES = 250_000
"""Times are given for a million, as for the ablations."""
ABLATION_SAMPLES = 50_000
QUICK_SAMPLES = 25_000
YEAST_SAMPLES = 100_000
SEEDS = 10
ABLATIONS: dict[str, dict[str, str]] = {
    "no inheritance (O0)": {"inheritance": "off"},
    "inheritance (O1)": {},
    "inherited from one": {"inheritance": "one"},
    "planner's order": {"sample_order": "plan"},
    "QuickSI's order": {"sample_order": "quicksi"},
    "no candidate graph": {"candidates": "off"},
}


@dataclass(frozen=True)
class Yeast:
    """The shared queries: every one as a first call, and under several seeds."""

    shared: Path
    measured: common.Measured = field(repr=False)
    name: str = "yeast oracle"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = common.graph_of(self.shared, "yeast")
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
        errors = [common.q_error(one.value, count) for one in several]
        covered = [one.low <= count <= one.high for one in several]
        self.measured.errors.extend(errors)
        self.measured.covered.extend(covered)
        self.measured.seconds.append(seconds.min)
        figures = {
            "q_error": max(errors),
            "covered": common.mean(covered),
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
        graph = common.graph_of(self.shared, self.graph)
        pattern = common.drawn(self.shared, self.graph, self.size, self.kind)
        limit = min(settings.timeout, 1.0 if settings.quick else common.COUNT_SECONDS)
        count = common.exact(self.shared, self.graph, self.size, self.kind, limit)
        samples = QUICK_SAMPLES if settings.quick else TABLE_SAMPLES
        for estimator in common.ESTIMATORS:
            found, seconds = common.estimated(graph, pattern, estimator, common.TRAWL_OFF, samples)
            yield CaseResult(
                self.name,
                f"cpu {estimator}",
                count,
                None if count is None else "motiflux.count",
                seconds,
                figures=common.figures_of(found, count, seconds.min),
            )


@dataclass(frozen=True)
class Ablation:
    """A query of 16 vertices with parts switched off."""

    shared: Path
    graph: str
    kind: str
    quick: bool = False

    @property
    def name(self) -> str:
        return f"ablation {self.graph} {self.kind}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = common.graph_of(self.shared, self.graph)
        pattern = common.drawn(self.shared, self.graph, 16, self.kind)
        seconds = min(settings.timeout, common.COUNT_SECONDS)
        count = common.exact(self.shared, self.graph, 16, self.kind, seconds)
        for what, switches in ABLATIONS.items():
            found, taken = common.estimated(
                graph, pattern, "alley", common.TRAWL_OFF | switches, ABLATION_SAMPLES
            )
            yield CaseResult(
                f"{self.name}, {what}",
                "cpu alley",
                count,
                None if count is None else "motiflux.count",
                taken,
                figures=common.figures_of(found, count, taken.min),
            )
