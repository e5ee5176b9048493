"""The phases of a request, or the reason why another engine executes it."""

from __future__ import annotations

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.bind import bind
from motiflux.plan.phases.checks import absent_arcs
from motiflux.plan.phases.data import HandOver, PhasePlan
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.types import Semantics, Symmetry

INDUCED = "its kernels do not check that edges are absent, as induced matching requires"


def phases_of(
    graph: Graph, pattern: Pattern, plan: Plan, request: Request, deadline: Deadline, *, counting: bool = True
) -> PhasePlan | HandOver:
    """Return the phases of a request whose logical plan is `plan`, or the reason why it has none.

    With order restrictions, the phases find one of the ``plan.automorphisms`` images of each embedding: if
    subgraphs are wanted, or if the plan multiplies the count, or lists all images of a row. If embeddings are counted
    without closed forms, the last query vertex is counted by the number of its candidates, as other engines do it.

    Raises
    ------
    TimeoutError
        The deadline passed while labels were counted.
    """
    bound = bind(pattern, graph)
    if request.semantics is Semantics.INDUCED and absent_arcs(bound):
        return HandOver(INDUCED)
    return decompose(
        pattern,
        bound,
        phase_statistics(bound, graph, deadline.at),
        request.semantics,
        once_each=request.symmetry is Symmetry.SUBGRAPHS or plan.multiplier > 1 or bool(plan.images),
        pvm="sv" if request.tuning["pvm"] == "sv" else "pv",
        last_alone=counting and request.tuning["tail"] == "off",
    )
