"""The phases of queries, and the time to find them; without a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import cpu_clock, repeat
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part
from motiflux.plan.bind import bind
from motiflux.plan.phases.data import Extension, MatchingPattern, PhasePlan
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.types import Semantics

HERE = Path(__file__).resolve().parent
formats, workload = (load_part(HERE / f"{name}.py") for name in ("formats", "workload"))


def plan_of(graph: mf.Graph, pattern: mf.Pattern) -> PhasePlan:
    """Return the phases of a query."""
    bound = bind(pattern, graph)
    plan = decompose(pattern, bound, phase_statistics(bound, graph), Semantics.ISOMORPHISM)
    assert isinstance(plan, PhasePlan), "a walk is connected"
    return plan


def patterns_of(plan: PhasePlan) -> list[MatchingPattern]:
    """Return the matching patterns of its extension phases, in order."""
    return [phase.pattern for phase in plan.phases if isinstance(phase, Extension)]


def several(plan: PhasePlan) -> int:
    """Return the number of phases that match several vertices beside their sources (patterns 1 to 7)."""
    return sum(pattern is not MatchingPattern.ONE_VERTEX for pattern in patterns_of(plan))


@dataclass(frozen=True)
class Phases:
    """How many phases of which matching patterns the queries of a graph get."""

    graph: formats.Labelled
    quick: bool = False

    @property
    def name(self) -> str:
        """Name of the case."""
        return f"phases {self.graph.case}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Find them. The count is that of all phases."""
        graph = workload.read(self.graph)
        for query in workload.queries(self.graph):
            plan, seconds = repeat(lambda: plan_of(graph, query.pattern), cpu_clock, settings.runs)  # noqa: B023
            patterns = patterns_of(plan)
            figures = {f"pattern_{pattern.value}": float(n) for pattern, n in Counter(patterns).items()}
            figures |= {
                "first": float(patterns[0].value),
                "eliminations": float(len(plan.phases) - len(patterns)),
                "core": float(len(plan.core)),
                "several": float(several(plan)),
            }
            name = f"{self.name}, {query.name}"
            yield CaseResult(name, "phases", len(plan.phases), None, seconds, figures=figures)
