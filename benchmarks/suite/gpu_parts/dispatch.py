"""What ``device="auto"`` takes, beside each engine alone, by the wall clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Case, Settings, load_part

common = load_part(Path(__file__).resolve().parent / "common.py")

MOST_SECONDS = 4.0
CPU_TIMES, CPU_LEAST = 3.0, 0.5
"""The CPU engine has so many times what the GPU took, and so many seconds at least: it has lost by then."""
RUNS, ENOUGH = 7, 0.1
DEVICES = ("cuda", "cpu", "auto")


@dataclass(frozen=True)
class Side:
    """What counting on one device took, and what it came to."""

    found: mf.Count
    new: Timing
    again: Timing


@dataclass(frozen=True)
class Auto:
    """One count on the GPU, on all threads of the CPU and where ``auto`` chooses.

    As a new query on a graph that is there (planned, its candidate space made) and as one that comes again.
    """

    case: Case
    quick: bool = False

    @property
    def name(self) -> str:
        return f"auto {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        common.tell(self.name)
        graph, pattern = common.read(self.case.graph), self.case.pattern()
        most = min(settings.timeout, MOST_SECONDS)
        common.warm(graph, pattern, most)
        sides: dict[str, Side] = {}
        for device in DEVICES:
            sides[device] = measured(graph, pattern, device, most)
            if device == "cuda" and sides[device].found.complete:
                most = min(most, max(CPU_LEAST, CPU_TIMES * sides[device].new.min))
        for ending, query in (("", "again"), (", new query", "new")):
            timings = {device: getattr(side, query) for device, side in sides.items()}
            yield from self._results(ending, sides, timings)

    def _results(
        self, ending: str, sides: dict[str, Side], timings: dict[str, Timing]
    ) -> Iterator[CaseResult]:
        ends = [device for device in DEVICES[:2] if sides[device].found.complete]
        better = min(ends or DEVICES[:2], key=lambda device: timings[device].min)
        best = BaselineTime(better, timings[better].min, timeout=not ends)
        for device in DEVICES:
            found, timing = sides[device].found, timings[device]
            checked = check_count(int(found), found.complete, self.case.expected, self.case.source)
            auto = device == "auto"
            yield CaseResult(
                f"{self.name}{ending}" if auto else f"{self.name}{ending}, {device}",
                found.engine,
                int(found) if found.complete else None,
                checked.by,
                timing,
                best if auto else None,
                best.seconds / timing.min if auto else None,
                checked.disagrees,
            )


def measured(graph: mf.Graph, pattern: mf.Pattern, device: str, most: float) -> Side:
    """Count a new query, then the same again, several times each."""
    found: list[mf.Count] = []

    def call() -> bool:
        found[:] = [mf.count(graph, pattern, device=device, timeout=most)]
        return found[0].complete

    def forget() -> None:
        graph.memo.forget_queries()
        common.forget_spaces(graph)

    new = common.several(call, RUNS, ENOUGH, before=forget)
    again = common.several(call, RUNS, ENOUGH) if found[0].complete else new
    return Side(found[0], new, again)
