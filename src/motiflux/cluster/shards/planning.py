"""Plans of sharded graphs: made on a sketch of the graph, for searches of parts of it."""

from __future__ import annotations

from dataclasses import replace

from motiflux.cluster.shards.search import Ranged
from motiflux.cpu.engine import CAPABILITIES
from motiflux.errors import ArgumentError, PatternError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan.bind import bind
from motiflux.request.deadline import Deadline
from motiflux.request.planning import logical_plan
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
    if pattern.comparisons or any(edge.where is not None for edge in (*pattern.edges, *pattern.negated)):
        raise PatternError("expected no conditions of edges and no comparisons: a sharded graph has no attributes")
    if any(not one.is_pair for one in pattern.negated):
        raise PatternError("expected negated edges between two vertices of the pattern, found one to any vertex")


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
    return None if plan is None else Ranged(bind(pattern, sketch), plan, replace(request, progress=None, elsewhere=None))
