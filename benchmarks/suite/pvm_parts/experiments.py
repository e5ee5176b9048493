"""The search experiments on one graph: engines, switches, and the choice of the engine, query by query."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import motiflux as mf
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part

HERE = Path(__file__).resolve().parent
formats, workload, plans, runs, trials = (
    load_part(HERE / f"{name}.py") for name in ("formats", "workload", "plans", "runs", "trials")
)

SECONDS = float(os.environ.get("MOTIFLUX_CASE_SECONDS", "3"))
"""Seconds of a case: of all calls, but those that have plans and tables made and kernels compiled."""
CPU_SECONDS = 0.5
"""Seconds that the CPU engine has for a count that is not known."""
KNOWN, BY_CPU, EACH_OTHER = "benchmarks/queries/pvm_counts.json", "the CPU engine", "each other"
ENUMERATE = trials.ENUMERATE
SV = {"pvm": "sv"}
PUBLISHED = {**SV, "pvm_rows": "hash", "pvm_filter": "on", "pvm_writes": "two_pass"}
"""Switches that make of the engine what GSI is."""
FASTER, PHASES, RESIDENT_RATIO, COPIED_RATIO = "faster", "phases", "resident_ratio", "copied_ratio"
KERNELS_RATIO = "kernels_ratio"


@dataclass(frozen=True)
class Experiment:
    """The queries of a graph, each asked in several ways.

    Parameters
    ----------
    what
        The name of the experiment.
    ways
        By name. The first one is compared with the best of the others.
    ending
        The end of the name.
    copied
        Whether each timed call copies its tables to the device; the ratio of calls that do not is a figure.
    broken_down
        Whether figures say what copies and kernels take (figure 7).
    by_device
        Whether figures say what kernels take, and their ratio.
    """

    what: str
    graph: formats.Labelled
    ways: Mapping[str, trials.Way] = field(hash=False)
    ending: str = ""
    copied: bool = False
    broken_down: bool = False
    by_device: bool = False
    quick: bool = False

    @property
    def name(self) -> str:
        """The experiment and the graph."""
        return f"{self.what} {self.graph.case}{self.ending}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Ask the queries."""
        if reason := trials.lacking(self.ways.values()):
            yield self._skipped("", reason)
            return
        graph = workload.read(self.graph)
        # Those that hardly end come last: there may be no time left for them.
        queries = sorted(workload.queries(self.graph), key=lambda one: one.count or math.inf)
        clock = runs.Clock(SECONDS, len(queries) * (1 + self.copied))
        for query in queries:
            if clock.is_over:
                yield self._skipped(f", {query.name}", "no time left")
            else:
                yield self._asked(graph, query, clock)

    def _skipped(self, query: str, reason: str) -> CaseResult:
        first = next(iter(self.ways.values()))
        return CaseResult(f"{self.name}{query} (skipped: {reason})", first.engine, None, None, None)

    def _asked(self, graph: mf.Graph, query: workload.Query, clock: runs.Clock) -> CaseResult:
        """Ask one query in all ways."""
        figures = {PHASES: float(plans.several(plans.plan_of(graph, query.pattern)))}
        if self.copied:
            figures |= self._resident(graph, query.pattern, clock)

        def before() -> None:
            if self.copied:
                trials.forget_tables(graph)

        found = trials.outcomes(graph, query.pattern, self.ways, clock, before)
        if self.broken_down:
            figures |= self._parts(graph, query.pattern, found)
        if self.by_device:
            figures |= self._kernels(graph, query.pattern, found)
        known, source = expected(graph, query, listed=any(way.listed for way in self.ways.values()))
        return self._result(query.name, found, figures, known, source)

    def _parts(
        self, graph: mf.Graph, pattern: mf.Pattern, found: Mapping[str, trials.Outcome]
    ) -> dict[str, float]:
        """Return what copies and kernels of each way take, and the ratio of calls that copy their tables."""
        parts = {
            name: trials.breakdown(graph, pattern, way)
            for name, way in self.ways.items()
            if found[name].times
        }
        figures = {f"{name}: {part}": value for name, one in parts.items() for part, value in one.items()}
        if len(parts) == len(self.ways) == 2:
            ours, theirs = (one["whole_ms"] for one in parts.values())
            figures[COPIED_RATIO] = theirs / ours
        return figures

    def _kernels(
        self, graph: mf.Graph, pattern: mf.Pattern, found: Mapping[str, trials.Outcome]
    ) -> dict[str, float]:
        """Return what the kernels of each way take, and the ratio of the second way to the first."""
        taken = {
            name: trials.device_ms(graph, pattern, way)
            for name, way in self.ways.items()
            if found[name].times
        }
        figures = {f"{name}: kernels_ms": value for name, value in taken.items()}
        if len(taken) == len(self.ways) == 2 and all(taken.values()):
            ours, theirs = taken.values()
            figures[KERNELS_RATIO] = theirs / ours
        return figures

    def _resident(self, graph: mf.Graph, pattern: mf.Pattern, clock: runs.Clock) -> dict[str, float]:
        """Return the ratio of calls whose tables are on the device."""
        ours, (_, theirs) = split(trials.outcomes(graph, pattern, self.ways, clock))
        ratio = ratio_of(ours, theirs)
        return {} if ratio is None else {RESIDENT_RATIO: ratio}

    def _result(
        self,
        query: str,
        found: Mapping[str, trials.Outcome],
        figures: dict[str, float],
        known: int | None,
        source: str,
    ) -> CaseResult:
        first, way = next(iter(self.ways.items()))
        ours, (other, theirs) = split(found)
        if ours.times or theirs.times:
            ratio = ratio_of(ours, theirs)
            figures[FASTER] = float(theirs.times is None if ratio is None else ratio > 1)
        for name, one in ((first, ours), (other, theirs)):
            spread = one.times.figures if one.times else {}
            figures |= {f"{name}: {figure}": value for figure, value in spread.items()}
        checked, disagrees = compared(found, known, source)
        return CaseResult(
            f"{self.name}, {query}",
            engine_text(way.engine, found),
            ours.answer.count,
            checked,
            ours.times.timing if ours.times else None,
            BaselineTime(other, theirs.times.median) if theirs.times else None,
            ratio_of(ours, theirs),
            disagrees,
            figures,
        )


def split(found: Mapping[str, trials.Outcome]) -> tuple[trials.Outcome, tuple[str, trials.Outcome]]:
    """Return the outcome of the first way, and the best of the others with its name."""
    ours, *others = found.items()
    ended = [one for one in others if one[1].times is not None]
    return ours[1], min(ended, key=lambda one: one[1].times.median) if ended else others[0]


def ratio_of(ours: trials.Outcome, theirs: trials.Outcome) -> float | None:
    """Return how many times longer they take; None if one of both did not end."""
    if ours.times is None or theirs.times is None:
        return None
    ratio: float = theirs.times.median / ours.times.median
    return ratio


def engine_text(engine: str, found: Mapping[str, trials.Outcome]) -> str:
    """Name the engine, and what did not go as it should: ``pvm (dfs not ended)``."""
    notes = []
    for name, outcome in found.items():
        answer = outcome.answer
        if answer.failure:
            notes.append(f"{name} {trials.FAILED}: {answer.failure}")
        elif answer.count is None:
            notes.append(f"{name} not ended")
    ran = next(iter(found.values())).answer.engine
    asked = trials.STAND_INS.get(engine, engine)
    if ran != asked and "auto" not in (asked, engine):
        notes.append(f"searched by {ran}")
    return f"{engine} ({'; '.join(notes)})" if notes else engine


def expected(graph: mf.Graph, query: workload.Query, *, listed: bool) -> tuple[int | None, str]:
    """Return the count of a query, or the rows of its listing, None if not known, and whose count it is."""
    count, source = query.count, KNOWN
    if count is None:
        found = mf.count(graph, query.pattern, device="cpu", timeout=CPU_SECONDS)
        count, source = (int(found) if found.complete else None), BY_CPU
    return (min(count, trials.ROWS) if listed and count is not None else count), source


def compared(found: Mapping[str, trials.Outcome], known: int | None, source: str) -> tuple[str | None, bool]:
    """Return what the counts were checked against, and whether one of them is wrong."""
    counts = {name: one.answer.count for name, one in found.items() if one.answer.count is not None}
    if known is None:
        if len(counts) < 2:
            return None, False
        known, source = next(iter(counts.values())), EACH_OTHER
    wrong = [f"{name} has {count}" for name, count in counts.items() if count != known]
    if wrong:
        return f"{source}, DISAGREES: {known}, {', '.join(wrong)}", True
    return source if counts else None, False


def experiments(graph: formats.Labelled, *, quick: bool = False) -> list[Experiment]:
    """Return all experiments on a graph."""
    way = trials.Way
    pvm, pvm_sv = way("pvm", ENUMERATE), way("pvm", {**ENUMERATE, **SV})
    published = way("pvm", {**ENUMERATE, **PUBLISHED})
    modes = {
        "counting": (pvm, way("dfs", ENUMERATE)),
        "listing": (way("pvm", listed=True), way("dfs", listed=True)),
        "closed forms": (way("pvm"), way("dfs")),
    }
    both = {mode: {"pvm": ours, "dfs": theirs} for mode, (ours, theirs) in modes.items()}
    overall = [
        Experiment("overall", graph, ways, f", {mode}", broken_down=mode == "counting", quick=quick)
        for mode, ways in both.items()
    ]
    return [
        *overall,
        Experiment("pv_sv", graph, {"pv": pvm, "sv": pvm_sv}, by_device=True, quick=quick),
        Experiment("published", graph, {"pvm": pvm, "published": published}, copied=True, quick=quick),
        Experiment("auto", graph, {"auto": way("auto"), **both["closed forms"]}, quick=quick),
    ]
