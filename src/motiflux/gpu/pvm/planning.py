"""The phases of a request, or the reason why another engine executes it."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Literal

from motiflux.codegen.pvm import MOST_MEMBERS
from motiflux.gpu.pvm.program_making import programs_of
from motiflux.gpu.pvm.programs import ExtensionProgram
from motiflux.gpu.pvm.row_tables import RowTables
from motiflux.gpu.pvm.set_up import layout_of
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.bind import bind
from motiflux.plan.phases.data import Extension, HandOver, PhasePlan, Relation
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.types import Symmetry


def phases_of(
    graph: Graph, pattern: Pattern, plan: Plan, request: Request, deadline: Deadline, *, counting: bool = True
) -> PhasePlan | HandOver:
    """Return the phases of a request whose logical plan is `plan`, or the reason why it has none.

    They are kept with the graph, so that jobs of later calls are found by them.

    With order restrictions, the phases find one of the ``plan.automorphisms`` images of each embedding: if
    subgraphs are wanted, or if the plan multiplies the count, or lists all images of a row. If embeddings are
    counted without closed forms, the last query vertex is counted by the number of its candidates, as other
    engines do it.

    Raises
    ------
    TimeoutError
        The deadline passed while labels were counted.
    """
    once_each = request.symmetry is Symmetry.SUBGRAPHS or plan.multiplier > 1 or bool(plan.images)
    pvm: Literal["pv", "sv"] = "sv" if request.tuning["pvm"] == "sv" else "pv"
    last_alone = counting and request.tuning["tail"] == "off"

    def make() -> PhasePlan | HandOver:
        bound = bind(pattern, graph)
        statistics = phase_statistics(bound, graph, deadline.at)
        decomposed = partial(
            decompose,
            pattern,
            bound,
            statistics,
            request.semantics,
            once_each=once_each,
            pvm=pvm,
            most_members=MOST_MEMBERS,
            last_alone=last_alone,
        )
        if counting:
            found = decomposed(last_bounded=False)
            if isinstance(found, HandOver) or _is_closed(found, graph, request):
                return found
        return decomposed()

    key = "phases", pattern, request.semantics, counting, once_each, pvm, last_alone
    return graph.memo.get(key, make)


def _is_closed(phases: PhasePlan, graph: Graph, request: Request) -> bool:
    """Whether a last phase of many vertices, if there is one, is counted by the numbers of candidates."""
    last = phases.phases[-1]
    if not isinstance(last, Extension) or sum(len(one.members) for one in last.sets) <= MOST_MEMBERS:
        return True
    relations = {(pair.first, pair.second): pair.relation for pair in last.pairs}
    for one in last.sets:
        pairs = {relations.get(pair, Relation.ANY) for pair in combinations(one.members, 2)}
        if len(pairs) > 1:
            return False
    layout = layout_of(graph, RowTables.of(graph, request.threads))
    program = programs_of(phases, layout, lists=False).phases[-1]
    return isinstance(program, ExtensionProgram) and program.follows_from_sizes
