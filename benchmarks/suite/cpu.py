"""The CPU engine: every known count, against what it took when the engine was first recorded.

``motiflux bench cpu``. Needs the shared graphs and oracles (``MOTIFLUX_SHARED``). Times are process CPU time
of one thread, everything known but the count; cases of over a second are timed on one and two threads by
the wall clock too. The baseline is ``benchmarks/results/skeleton-amd-epyc-2026-11-21.json``. What a case is
named for:

``limit``      the candidate space built anew and the search, up to 100,000 embeddings; the plan is known
``rows``       listing embeddings to NumPy arrays; its count is the rows
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing, repeat, wall_clock
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Case, GraphSource, Probe, Settings, Suite, load_suite

ENGINE = "cpu"
HERE = Path(__file__).resolve().parent
BASELINE = HERE.parent / "results" / "skeleton-amd-epyc-2026-11-21.json"
SECONDS = {
    "wiki_vote triangle": 0.015, "wiki_vote 4clique": 0.1, "wiki_vote 5clique": 0.26,
    "wiki_vote diamond": 0.02, "wiki_vote 4cycle": 0.02, "wiki_vote tailedtri": 0.02,
    "wiki_vote 4path": 0.02, "wiki_vote 3star": 0.005, "wiki_vote house": 0.1,
    "web_uk2007_100k 4cycle": 0.6, "web_uk2007_100k house": 3.0,
}  # fmt: skip
"""Targets for single counts."""
LONG_SECONDS = 8.0
"""Target for each yeast query without a limit."""
WORTH_SCALING = 1.0
"""Seconds from which on a count is timed on two threads too."""
SLOWER = 0.9
LEAST_COMPARED = 1e-3
"""Seconds from which on a case is held against its baseline: shorter ones are mostly the call itself."""
ROWS = 10_000_000
LISTED = ("4path", "tailedtri", "diamond", "4cycle", "4clique")


def build(shared: Path) -> Suite:
    cases = load_suite("skeleton", HERE).cases
    planner = load_suite("planner", HERE)
    probes: list[Probe] = [Counted(case) for case in cases]
    probes += [probe for probe in planner.probes if probe.name.startswith("limit ")]
    probes += [Listed(GraphSource(shared / "data/wiki_vote.npz", directed=False), name) for name in LISTED]
    return Suite("cpu", (), bars, probes=probes)


@lru_cache(maxsize=1)
def recorded() -> dict[str, float]:
    """Give the seconds of each case that was finished when the baseline was recorded."""
    cases = json.loads(BASELINE.read_text())["cases"]
    return {
        case["case"]: case["seconds"]["min"]
        for case in cases
        if case["engine"] == ENGINE and case["count"] is not None and ", wall, " not in case["case"]
    }


@lru_cache(maxsize=1)
def read(source: GraphSource) -> mf.Graph:
    return source.read()


@dataclass(frozen=True)
class Counted:
    """One count on one thread and, if it is long, on two."""

    case: Case

    @property
    def name(self) -> str:
        return self.case.name

    @property
    def quick(self) -> bool:
        return self.case.quick

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph, pattern = read(self.case.graph), self.case.pattern()
        expected = self.case.expected() if callable(self.case.expected) else self.case.expected
        count = partial(
            mf.count, graph, pattern, symmetry=self.case.symmetry, timeout=settings.timeout, progress=False
        )
        mf.explain(graph, pattern, symmetry=self.case.symmetry, threads=1)  # plans and narrows
        found, seconds = repeat(lambda: count(threads=1), runs=settings.runs)
        before = recorded().get(self.name)
        baseline = None if before is None else BaselineTime("motiflux, first recorded", before)
        yield self._result(self.name, found, seconds, baseline, expected)
        if seconds.min < WORTH_SCALING or not found.complete:
            return
        first: BaselineTime | None = None
        for threads in (1, 2):
            found, seconds = repeat(partial(count, threads=threads), wall_clock, min(settings.runs, 3))
            yield self._result(f"{self.name}, wall, {threads} threads", found, seconds, first, expected)
            first = BaselineTime("motiflux, 1 thread", seconds.min)

    def _result(
        self,
        name: str,
        found: mf.Count,
        seconds: Timing,
        baseline: BaselineTime | None,
        expected: int | None,
    ) -> CaseResult:
        checked = check_count(int(found), found.complete, expected, self.case.source)
        ratio = baseline.seconds / seconds.min if baseline is not None and found.complete else None
        count = int(found) if found.complete else None
        return CaseResult(name, ENGINE, count, checked.by, seconds, baseline, ratio, checked.disagrees)


@dataclass(frozen=True)
class Listed:
    """Embeddings of a pattern of four vertices as NumPy arrays, on one thread."""

    graph: GraphSource
    pattern: str
    quick: bool = True

    @property
    def name(self) -> str:
        return f"rows wiki_vote {self.pattern}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = read(self.graph)
        pattern = unlabelled(self.pattern)

        def listed() -> int:
            matches = mf.match(graph, pattern, threads=1, limit=ROWS, timeout=settings.timeout)
            return sum(len(batch) for batch in matches)

        listed()
        rows, seconds = repeat(listed, runs=settings.runs)
        yield CaseResult(self.name, ENGINE, rows, None, seconds)


def unlabelled(name: str) -> mf.Pattern:
    (case,) = (case for case in load_suite("skeleton", HERE).cases if case.name == f"wiki_vote {name}")
    return case.pattern()


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    counted = [one for one in results if not one.case.startswith(("limit ", "rows "))]
    single = [one for one in counted if ", wall, " not in one.case]
    yeast = [one for one in single if one.case.startswith("yeast query")]
    seconds = {one.case: one.seconds.min for one in single if one.seconds and one.count is not None}
    compared = [
        one.ratio
        for one in single
        if one.ratio is not None and one.baseline and one.baseline.seconds >= LEAST_COMPARED
    ]
    speedups = [one.ratio for one in counted if one.case.endswith(", wall, 2 threads") and one.ratio]
    rates = [
        one.count / one.seconds.min
        for one in results
        if one.case.startswith("rows ") and one.count and one.seconds
    ]
    return [
        Bar("counts that disagree with the oracle", sum(one.disagrees for one in results), 0, "lower"),
        Bar("yeast without a limit: not counted, or over 8 s", sum(map(_is_long, yeast)), 0, "lower"),
        *(
            Bar(f"yeast, {size} vertices, limit 1e5: median ms", _median_ms(results, size), target, "lower")
            for size, target in {4: 0.3, 8: 0.5, 16: 2.0, 32: 5.0}.items()
        ),
        *(Bar(f"{name}: s", seconds.get(name), target, "lower") for name, target in SECONDS.items()),
        Bar("rows per second to NumPy, slowest pattern", min(rates, default=None), 20e6, "higher"),
        Bar("2 threads over 1, counts over 1 s: least", min(speedups, default=None), 1.8, "higher"),
        Bar("against the first recording: least ratio", min(compared, default=None), SLOWER, "higher"),
    ]


def _is_long(result: CaseResult) -> bool:
    return result.count is None or (result.seconds is not None and result.seconds.min > LONG_SECONDS)


def _median_ms(results: Sequence[CaseResult], size: int) -> float | None:
    taken = [
        one.seconds.min for one in results if one.case.startswith(f"limit yeast {size} ") and one.seconds
    ]
    return statistics.median(taken) * 1e3 if taken else None
