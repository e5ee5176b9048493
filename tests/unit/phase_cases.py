"""The phases of small patterns, and what they find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import motiflux as mf
from motiflux.plan.bind import bind
from motiflux.plan.phases.data import Extension, PhasePlan
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.types import Semantics
from tests.phases_reference import Executor

Pairs = Sequence[tuple[int, int]]


def phases_of(
    graph: mf.Graph, pattern: mf.Pattern, semantics: str = "isomorphism", **options: Any
) -> PhasePlan:
    bound = bind(pattern, graph)
    plan = decompose(pattern, bound, phase_statistics(bound, graph), Semantics(semantics), **options)
    assert isinstance(plan, PhasePlan)
    return plan


def rows_of(graph: mf.Graph, plan: PhasePlan, chunk: int = 3) -> list[tuple[int, ...]]:
    """Return the rows that the phases find, sorted; `graph` has the ids 0, 1, ... by construction."""
    ids = graph.vertex_ids.tolist()
    return sorted(tuple(ids[v] for v in row) for row in Executor(graph, plan, chunk=chunk).rows())


def steps(plan: PhasePlan) -> list[int | str]:
    """Return the matching pattern of each extension phase, and ``"-"`` for each elimination phase."""
    return [phase.pattern.value if isinstance(phase, Extension) else "-" for phase in plan.phases]


def star(leaves: int) -> Pairs:
    return [(0, leaf) for leaf in range(1, leaves + 1)]
