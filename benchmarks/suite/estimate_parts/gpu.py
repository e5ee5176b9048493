"""The suite ``estimate`` on a GPU: time of a million samples, ablations, the yeast queries; and its bars."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Probe, Settings, load_part
from motiflux.config import private_tuning
from motiflux.device import known_devices, open_device
from motiflux.gpu.kernels.sampler import DeviceSampler
from motiflux.request.request import make_request
from motiflux.sampling.cpu_sampler import CpuSampler
from motiflux.sampling.samplers import plan_samples
from motiflux.statistics import GROUP, UNIT_BITS

HERE = Path(__file__).resolve().parent
common = load_part(HERE / "common.py")
trawls = load_part(HERE / "gpu_trawls.py")

DEVICE = os.environ.get("MOTIFLUX_BENCH_DEVICE", "cuda")
"""The one that is measured; ``emulated`` runs all of it, and its figures say nothing."""
RUNS = 5
COMPARED, COMPARED_ROWS = 64, 8
"""Groups that the CPU draws too, over candidates and over rows of the graph."""
GPU_SECONDS = 225.0
"""For all cases together: none begins later."""
FEWER = 8
"""Of samples over rows of the graph: a part of those over candidates."""
YEAST_SEEDS = 3
ROWS = {"candidates": "off"}
OFF = {"inheritance": "off"}
PAPER = {"cycles": "0", "rounds": "0", "edge_bits": "off", "sample_order": "quicksi"}
"""What gSWORD samples: candidates by label and degree, in QuickSI's order; edges found by bisection."""
O0, O1, O2 = "no inheritance, no streaming (O0)", "no streaming (O1)", "both (O2)"
ABLATIONS: dict[str, dict[str, str]] = {
    O0: {"inheritance": "off", "streaming": "off"},
    O1: {"streaming": "off"},
    O2: {},
    "adaptive streaming": {"streaming": "adaptive"},
    "streaming as Algorithm 3": {"streaming": "leader"},
    "no edges as bits": {"edge_bits": "off"},
    "iteration synchronisation": {"inheritance": "off", "sync": "iteration"},
    "sample synchronisation": {"inheritance": "off"},
}
AS_PAPER = (O0, O1, O2, "adaptive streaming", "streaming as Algorithm 3")
STREAMED = (O1, "adaptive streaming", "streaming as Algorithm 3", "no edges as bits")
"""What is the same with WanderJoin, which refines nothing."""
OURS, PAPERS = "over our candidates", "as the paper's candidates"
ABLATION_RUNS, ABLATION_COMPARED = 2, 8
MILLISECONDS = {"wanderjoin": 10.0, "alley": 30.0}
"""Targets for a million samples of a query of 16 vertices."""
YEAST_MILLISECONDS = 40.0


def has_gpu() -> bool:
    """Return whether the device that is to be measured is here."""
    try:
        return DEVICE in known_devices() and open_device(DEVICE) is not None
    except mf.DeviceError:
        return False


def model() -> str:
    return open_device(DEVICE).model


def probes(shared: Path) -> list[Probe]:
    """Return all of them, those first whose bars matter most."""
    graphs, kinds = common.GRAPHS, common.SIZES[16]
    found: list[Probe] = [Time(shared, name, kind) for name in graphs for kind in kinds]
    found += [Yeast(shared)]
    found += [Ablation(shared, name, kind) for name in graphs for kind in kinds]
    found += [trawls.Trawling(shared, name, DEVICE) for name in common.trawl_counts()]
    found += [trawls.Sweep(shared, name, DEVICE) for name in common.SWEPT]
    begun: list[float] = []
    return [Limited(probe, begun) for probe in found]


@dataclass(frozen=True)
class Limited:
    """A probe that is left out once its turn comes too late."""

    probe: Probe
    begun: list[float]
    """When the first one began."""

    @property
    def name(self) -> str:
        return self.probe.name

    @property
    def quick(self) -> bool:
        return self.probe.quick

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        now = time.monotonic()
        if not self.begun:
            self.begun.append(now)
        if now - self.begun[0] > GPU_SECONDS:
            yield CaseResult(f"{self.name} (skipped: no time is left)", DEVICE, None, None, None)
        else:
            yield from self.probe.run(settings)


class Million(NamedTuple):
    """A million samples: seconds of the kernels and of draws with the results here, and what they came to."""

    inner: Timing
    outer: Timing
    estimate: float
    valid_share: float
    same: bool

    def figures(self, count: int | None) -> dict[str, float]:
        found = {
            "ms_per_million": 1000 * self.inner.min,
            "draw_ms_per_million": 1000 * self.outer.min,
            "valid_share": self.valid_share,
            "estimate": self.estimate,
        }
        if self.valid_share > 0:
            found["ns_per_valid"] = 1e3 * self.inner.min / self.valid_share
        if count is not None:
            found["q_error"] = common.q_error(self.estimate, count)
        return found


def million(
    graph: mf.Graph,
    pattern: mf.Pattern,
    estimator: str,
    tuning: Mapping[str, str],
    samples: int,
    runs: int = RUNS,
    compared: int = COMPARED,
) -> Million | None:
    """Return what samples take; times are scaled to a million. None where nothing can match."""
    request = make_request(
        semantics="isomorphism",
        symmetry="embeddings",
        device=DEVICE,
        tuning=private_tuning(tuning),
        threads=1,
    )
    plan = plan_samples(graph, pattern, request, None)
    if plan.impossible is not None:
        return None
    groups = max(1, samples // GROUP)
    compared = min(COMPARED_ROWS if "candidates" in tuning else compared, groups)
    ours = CpuSampler(graph, plan, request).draw(estimator, common.SEED, 0, compared)
    sampler = DeviceSampler(graph, plan, request)
    sampler.timed = True
    try:
        found = sampler.draw(estimator, common.SEED, 0, groups)  # compiles, copies
        same = all(np.array_equal(mine[:compared], own) for mine, own in zip(found, ours, strict=True))
        inner, outer = [], []
        for run in range(runs):
            sampler.kernel_seconds = 0.0
            start = time.perf_counter()
            sampler.draw(estimator, run, 0, groups)
            outer.append((time.perf_counter() - start) * common.SAMPLES / (groups * GROUP))
            inner.append(sampler.kernel_seconds * common.SAMPLES / (groups * GROUP))
    finally:
        sampler.close()
    mean = float(np.ldexp(found.weights, UNIT_BITS).mean()) / GROUP
    share = float(found.valid.mean()) / GROUP
    return Million(Timing.of(inner), Timing.of(outer), mean, share, same)


@dataclass(frozen=True)
class Time:
    """A query of 16 vertices, each estimator: over candidates and over rows of the graph."""

    shared: Path
    graph: str
    kind: str
    quick: bool = True

    @property
    def name(self) -> str:
        return f"gpu time {self.graph} {self.kind}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern, count = drawn(self.shared, self.graph, self.kind)
        for estimator in common.ESTIMATORS:
            for what, tuning in (("", {}), (", no candidate graph", ROWS)):
                if what and estimator == "tree":
                    continue
                samples = common.SAMPLES // (FEWER if what else 1)
                found = million(graph, pattern, estimator, tuning, samples)
                yield result(f"{self.name}{what}", estimator, found, count)


@dataclass(frozen=True)
class Ablation:
    """The same with parts switched off: over our candidates, and as the paper builds them."""

    shared: Path
    graph: str
    kind: str
    quick: bool = False

    @property
    def name(self) -> str:
        return f"gpu ablation {self.graph} {self.kind}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern, count = drawn(self.shared, self.graph, self.kind)
        for estimator in ("wanderjoin", "alley"):
            for candidates, base, kinds_of in ((OURS, {}, ABLATIONS), (PAPERS, PAPER, AS_PAPER)):
                for what in kinds_of:
                    if estimator == "wanderjoin" and what in STREAMED:
                        continue
                    tuning = base | ABLATIONS[what]
                    found = million(
                        graph,
                        pattern,
                        estimator,
                        tuning,
                        common.SAMPLES,
                        runs=ABLATION_RUNS,
                        compared=ABLATION_COMPARED,
                    )
                    yield result(f"{self.name}, {candidates}, {what}", estimator, found, count)


def drawn(shared: Path, name: str, kind: str) -> tuple[mf.Graph, mf.Pattern, int | None]:
    count = common.drawn_counts().get(f"{name} 16 {kind}")
    return common.graph_of(shared, name), common.drawn(shared, name, 16, kind), count


def result(name: str, estimator: str, found: Million | None, count: int | None) -> CaseResult:
    engine = f"{DEVICE} {estimator}"
    if found is None:
        return CaseResult(f"{name} (skipped: nothing matches)", engine, None, None, None)
    return CaseResult(
        name,
        engine,
        count,
        "groups of the CPU" if found.same else "groups of the CPU, DISAGREES",
        found.inner,
        disagrees=not found.same,
        figures=found.figures(count),
    )


@dataclass(frozen=True)
class Yeast:
    """The shared queries: calls whose queries are new, planning included, a million samples each."""

    shared: Path
    name: str = "gpu yeast"
    quick: bool = True

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = common.graph_of(self.shared, "yeast")
        graph.label_frequencies()
        counts = json.loads((self.shared / "oracle/yeast/embeddings.json").read_text())
        for file, text in sorted(counts.items()):
            pattern = mf.read_pattern(self.shared / "oracle/yeast/queries" / file)
            name = file.removesuffix(".graph").removeprefix("query_")
            yield self._query(graph, pattern, name, None if text is None else int(text))

    def _query(self, graph: mf.Graph, pattern: mf.Pattern, name: str, count: int | None) -> CaseResult:
        taken, found = [], []
        for seed in range(YEAST_SEEDS + 1):
            graph.forget()
            graph.label_frequencies()
            start = time.perf_counter()
            found.append(mf.estimate(graph, pattern, samples=common.SAMPLES, device=DEVICE, seed=seed))
            taken.append(time.perf_counter() - start)
        last = found[-1]
        figures = {"valid_share": last.valid_samples / max(1, last.samples), "estimate": last.value}
        figures |= common.parts_of(last)
        if count is not None:
            figures["q_error"] = max(common.q_error(one.value, count) for one in found)
            figures["covered"] = common.mean([one.low <= count <= one.high for one in found])
        oracle = None if count is None else "oracle/yeast/embeddings.json"
        # The first one compiles and is not timed.
        return CaseResult(
            f"{self.name} {name}, first call",
            f"{DEVICE} {last.estimator}",
            count,
            oracle,
            Timing.of(taken[1:]),
            figures=figures,
        )


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Hold what was measured against the targets; what was not run has no bar."""
    ours = [one for one in results if one.case.startswith("gpu ") and one.seconds is not None]
    found = [*time_bars(ours), *ablation_bars(ours), *yeast_bars(ours), *trawls.bars(ours)]
    if ours:
        found.append(Bar("gpu: cases whose groups differ", sum(one.disagrees for one in ours), 0, "lower"))
    return found


def time_bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    for estimator, target in MILLISECONDS.items():
        times = [
            one.figures["ms_per_million"]
            for one in results
            if one.case.startswith("gpu time ") and "," not in one.case and one.engine.endswith(estimator)
        ]
        if times:
            yield Bar(f"gpu, {estimator}: ms for a million samples, most", max(times), target, "lower")


GAINS = (
    # estimator, what, without it, with it, figure, target over our candidates, as the paper's
    ("wanderjoin", "inheritance", O0, O2, "ns_per_valid", 2.5, 2.5),
    ("alley", "inheritance", O0, O1, "ns_per_valid", 2.5, 2.5),
    ("alley", "streaming", O1, O2, "ns_per_valid", 3.0, 3.0),
    ("alley", "adaptive streaming", O1, "adaptive streaming", "ns_per_valid", 3.0, 3.0),
    ("alley", "streaming, Algorithm 3", O1, "streaming as Algorithm 3", "ns_per_valid", 3.0, 3.0),
    ("alley", "edges as bits", "no edges as bits", O2, "ms_per_million", 1.0, None),
    *(
        (
            one,
            "sample over iteration synchronisation",
            "iteration synchronisation",
            "sample synchronisation",
            "ms_per_million",
            1.0,
            None,
        )
        for one in ("wanderjoin", "alley")
    ),
)
"""The same over both, though over ours rows are one to five long, and many samples live anyway."""


def ablation_bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    table: dict[tuple[str, str, str], dict[str, CaseResult]] = {}
    for one in results:
        if one.case.startswith("gpu ablation ") and "skipped" not in one.case:
            query, candidates, what = one.case.split(", ", 2)
            table.setdefault((query, candidates, one.engine), {})[what] = one
    for estimator, name, slow, fast, figure, *targets in GAINS:
        for candidates, target in zip((OURS, PAPERS), targets, strict=True):
            ratios = [
                rows[slow].figures[figure] / rows[fast].figures[figure]
                for (_, over, engine), rows in table.items()
                if over == candidates
                and engine.endswith(estimator)
                and slow in rows
                and fast in rows
                and figure in rows[slow].figures
                and rows[fast].figures.get(figure, 0) > 0
            ]
            if ratios and target is not None:
                per = "per valid sample" if figure == "ns_per_valid" else "time"
                text = f"gpu, {estimator}, {name}, {candidates}: gain {per}, geometric mean of {len(ratios)}"
                yield Bar(text, common.geometric_mean(ratios), target, "higher")


def yeast_bars(results: Sequence[CaseResult]) -> Iterator[Bar]:
    calls = [one for one in results if one.case.startswith("gpu yeast ")]
    errors = [one.figures["q_error"] for one in calls if "q_error" in one.figures]
    if not calls or not errors:
        return
    slowest = max(one.seconds.median for one in calls if one.seconds is not None)
    yield Bar("gpu, yeast: slowest estimate, first call, ms", 1000 * slowest, YEAST_MILLISECONDS, "lower")
    yield Bar("gpu, yeast: median q-error", statistics.median(errors), 1.1, "lower")
    yield Bar("gpu, yeast: largest q-error", max(errors), 2.0, "lower")
