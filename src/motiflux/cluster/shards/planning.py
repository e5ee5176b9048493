"""Plans of sharded graphs: made on a sketch of the graph, for searches of parts of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motiflux.cluster.shards.search import Ranged
from motiflux.cpu.engine import CAPABILITIES
from motiflux.errors import ArgumentError, InternalError, PatternError
from motiflux.graph import Graph, LabelTable
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.bind import BoundPattern, bind
from motiflux.plan.builder import PlanBuilder
from motiflux.request.deadline import Deadline
from motiflux.request.planning import logical_plan, plan_options
from motiflux.request.request import Request

_CAPABILITIES = replace(CAPABILITIES, candidate_spaces=False, tables=None, copy_walks=False)


def refuse(pattern: Pattern, request: Request) -> None:
    """Refuse patterns and options that take more than labels, directions and arcs.

    Raises
    ------
    PatternError, ArgumentError
        Names what a sharded graph does not have.
    """
    if request.copies:
        raise ArgumentError("copies", "False for a sharded graph, which has each edge once", True)
    for vertex in pattern.vertices:
        if vertex.where is not None or vertex.ids is not None:
            raise PatternError(
                f"query vertex {vertex.name!r}: expected no condition or id, found one: "
                "a sharded graph has no attributes"
            )
    conditions = [*(edge.where for edge in pattern.edges), *(edge.where for edge in pattern.negated)]
    if pattern.comparisons or any(where is not None for where in conditions):
        raise PatternError(
            "expected no conditions of edges and no comparisons: a sharded graph has no attributes"
        )
    if any(not one.is_pair for one in pattern.negated):
        raise PatternError(
            "expected negated edges between two vertices of the pattern, found one to any vertex"
        )


def ranged(sketch: Graph, pattern: Pattern, request: Request, deadline: Deadline) -> Ranged | None:
    """Return the plan of a pattern; None if time was up before there was one.

    Parameters
    ----------
    sketch
        A graph of the same labels and direction: its other properties make plans good or bad, not right or
        wrong.
    """
    refuse(pattern, request)
    plan = logical_plan(sketch, pattern, request, _CAPABILITIES, deadline)
    if plan is None:
        return None
    bound = bind(pattern, sketch)
    divided: dict[frozenset[int], Plan] = {}
    if plan.impossible is None:
        every = frozenset(range(bound.size))
        for vertices in (*map(frozenset, zip(every)), every):
            divided[vertices] = _divided_plan(sketch, pattern, bound, plan, vertices, request, deadline)
    return Ranged(bound, plan, divided, replace(request, progress=None, elsewhere=None))


def _divided_plan(
    sketch: Graph,
    pattern: Pattern,
    bound: BoundPattern,
    plan: Plan,
    divided: frozenset[int],
    request: Request,
    deadline: Deadline,
) -> Plan:
    """Return the plan for parts in which some query vertices have candidates of their own.

    To the planner these have a label that no other query vertex has, and others a label for those with the
    same labels in the pattern. All vertices of the sketch have one more, which all query vertices allow.
    Restrictions are those of the pattern without such labels: each embedding that satisfies them is in one
    part, however the candidates of query vertices are divided.
    """
    groups: dict[object, int] = {}
    own = [
        groups.setdefault(vertex if vertex in divided else ("labels", bound.labels[vertex]), len(groups))
        for vertex in range(bound.size)
    ]
    every = len(groups)
    labels = tuple((group, every) for group in own)
    labelled = replace(
        sketch,
        vertex_labels=np.full(sketch.num_vertices, every, np.uint32),
        vertex_label_table=LabelTable(tuple(range(every + 1))),
    )
    options = plan_options(request, deadline)
    builder = PlanBuilder(labelled, pattern, options, replace(bound, labels=labels), None, None)
    split = builder.plan(builder.order(plan.order))
    if (split.restrictions, split.multiplier) != (plan.restrictions, plan.multiplier):
        raise InternalError("expected two plans of one order with the same restrictions")
    return split
