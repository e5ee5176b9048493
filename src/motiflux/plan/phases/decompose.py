"""Decomposes a pattern into phases (GENEVA, algorithm 8)."""

from __future__ import annotations

from typing import Literal

from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import BoundPattern
from motiflux.plan.passes.symmetry import restrictions
from motiflux.plan.phases.checks import checked_phases
from motiflux.plan.phases.data import HandOver, PhasePlan
from motiflux.plan.phases.options import Draft
from motiflux.plan.phases.order import draft_phases, split_phases
from motiflux.plan.phases.statistics import PhaseStatistics
from motiflux.types import Semantics

MOST_MEMBERS = 6
"""Most vertices of one phase."""
NOT_CONNECTED = "the pattern is not connected"


def decompose(
    pattern: Pattern,
    bound: BoundPattern,
    statistics: PhaseStatistics,
    semantics: Semantics,
    *,
    once_each: bool = False,
    pvm: Literal["pv", "sv"] = "pv",
    one_partition: bool = False,
    most_members: int = MOST_MEMBERS,
    last_alone: bool = False,
    last_bounded: bool = True,
) -> PhasePlan | HandOver:
    """Return the phases that match a pattern, or the reason why there are none.

    Parameters
    ----------
    pattern, bound
        The pattern, and the same bound to a graph.
    statistics
        The sizes of the graph, by which phases of equal priority are chosen.
    once_each
        Whether order restrictions keep one of the automorphic images of each embedding. Embeddings must be
        injective then (`motiflux.plan.passes.symmetry.check_symmetry`).
    pvm
        ``"pv"``, or for ablations ``"sv"``: each extension phase is split into phases that match one vertex.
    one_partition
        Whether a phase has one partition at a time. Then extension phases of several partitions are split:
        two vertices that they match may be reached by different partitions.
    most_members
        Most vertices of one phase: each embedding is extended in up to as many orders as these have.
    last_bounded
        Whether this bound is also that of the last phase.
    last_alone
        Whether the last vertex has a phase of its own, if no edges are tested behind it.
    """
    drafts, core = draft_phases(bound, statistics)
    if pvm == "sv" or one_partition:
        drafts = split_phases(drafts, lambda labels: pvm == "sv" or statistics.has_several(labels))
    drafts = [
        part
        for at, draft in enumerate(drafts)
        for part in (
            draft.bounded(most_members)
            if isinstance(draft, Draft) and (last_bounded or at + 1 < len(drafts))
            else (draft,)
        )
    ]
    if last_alone and isinstance(last := drafts[-1], Draft):
        drafts[-1:] = last.without_last()
    order = tuple(vertex for draft in drafts if isinstance(draft, Draft) for vertex in draft.vertices)
    if len(order) < bound.size:
        return HandOver(NOT_CONNECTED)
    group = automorphisms(pattern, directed=bound.directed, base=order)
    breaking = restrictions(group) if once_each else ()
    return PhasePlan(
        phases=checked_phases(bound, drafts, core, breaking, semantics, statistics),
        order=order,
        core=tuple(vertex for vertex in order if vertex in core),
        restrictions=breaking,
        automorphisms=group.order,
        semantics=semantics,
    )
