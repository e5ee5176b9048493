"""Plans of sharded graphs: made on a sketch of the graph, for searches of parts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from motiflux.cluster.shards.search import Ranged
from motiflux.cpu.engine import CAPABILITIES
from motiflux.errors import ArgumentError, InternalError, PatternError
from motiflux.graph import Graph, LabelTable
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.bind import BoundPattern, bind
from motiflux.plan.builder import PlanBuilder, PlanOptions
from motiflux.plan.image_counts import Asked, ImagePlan, image_plan
from motiflux.request.deadline import Deadline
from motiflux.request.planning import logical_plan, plan_options, row_plan_options
from motiflux.request.request import Request
from motiflux.types import Symmetry

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


def ranged(
    sketch: Graph, pattern: Pattern, request: Request, deadline: Deadline, *, counting: bool = True
) -> Ranged | None:
    """Return the plan of a pattern; None if time was up before there was one.

    Parameters
    ----------
    sketch
        A graph of the same labels and direction: its other properties make plans good or bad, not right or
        wrong.
    counting
        Whether embeddings are counted, or listed.
    """
    refuse(pattern, request)
    plan = logical_plan(sketch, pattern, request, _CAPABILITIES, deadline, counting=counting)
    if plan is None:
        return None
    options = plan_options(request, deadline)
    if not counting:
        options = replace(row_plan_options(request, deadline), images=True)
    order = plan.order
    return _ranged(
        sketch, pattern, plan, request, options, lambda builder: builder.plan(builder.order(order))
    )


@dataclass(frozen=True, slots=True)
class RangedImages:
    """A search that counts by images of levels.

    Parameters
    ----------
    levels
        The levels whose images are counted, and the position of the class that each counts.
    classes
        The positions of these classes in the plan.
    listing
        Whether all levels are enumerated.
    """

    ranged: Ranged
    levels: tuple[tuple[int, int], ...]
    classes: tuple[int, ...]
    listing: bool


def image_plan_of(
    sketch: Graph, pattern: Pattern, asked: Sequence[Asked], request: Request, deadline: Deadline
) -> ImagePlan:
    """Return the plan of counts at each vertex: searches, without tables and candidate spaces.

    Raises
    ------
    TimeoutError
        Time was up before there was one.
    """
    refuse(pattern, request)
    return image_plan(sketch, pattern, asked, _image_options(request, deadline))


def ranged_images(
    sketch: Graph, pattern: Pattern, plan: ImagePlan, request: Request, deadline: Deadline
) -> list[RangedImages]:
    """Return the searches of a plan of `image_plan_of`, each with the classes that it counts."""
    if plan.impossible is not None:
        return []
    together: dict[int, list[int]] = {}
    for number, search in enumerate(plan.searches):
        first = next(at for at in range(number + 1) if plan.searches[at] is search)
        together.setdefault(first, []).append(number)
    options = replace(_image_options(request, deadline), symmetry=Symmetry.EMBEDDINGS)
    made = []
    for first, classes in together.items():
        search = plan.searches[first]
        levels = tuple((one[0], classes.index(number)) for number, one in search.levels if number in classes)
        remade = partial(_image_search, order=search.plan.order, listing=search.listing)
        ranged = _ranged(sketch, pattern, search.plan, request, options, remade)
        made.append(RangedImages(ranged, levels, tuple(classes), search.listing))
    return made


def _image_search(builder: PlanBuilder, order: tuple[int, ...], *, listing: bool) -> Plan:
    found = builder.order(order)
    plan = builder.without_tail(found) if listing else builder.rooted(found, 1)
    assert plan is not None  # only plans in parts may be missing
    return plan


def _image_options(request: Request, deadline: Deadline) -> PlanOptions:
    switches = {**request.tuning, "tables": "off"}
    return replace(plan_options(request, deadline), space=False, tables=None, switches=switches)


def _ranged(
    sketch: Graph,
    pattern: Pattern,
    plan: Plan,
    request: Request,
    options: PlanOptions,
    remade: Callable[[PlanBuilder], Plan],
) -> Ranged:
    """Return a plan with those for divided parts, which `remade` makes in the same order."""
    bound = bind(pattern, sketch)
    divided: dict[frozenset[int], Plan] = {}
    if plan.impossible is None:
        for vertices in _divisible(plan.order):
            builder = _divided_builder(sketch, pattern, bound, vertices, options)
            split = remade(builder)
            if (split.restrictions, split.multiplier) != (plan.restrictions, plan.multiplier):
                raise InternalError("expected two plans of one order with the same restrictions")
            divided[vertices] = split
    return Ranged(bound, plan, divided, replace(request, progress=None, elsewhere=None))


def _divisible(order: Sequence[int]) -> list[frozenset[int]]:
    """Return sets of query vertices that parts may have blocks of, beside roots: some, and all."""
    every = frozenset(order)
    some = [frozenset(one) for n in range(1, len(order)) for one in combinations(order[1:], n)]
    return [*some, every]


def _divided_builder(
    sketch: Graph, pattern: Pattern, bound: BoundPattern, divided: frozenset[int], options: PlanOptions
) -> PlanBuilder:
    """Return a builder of plans for parts in which some query vertices have candidates of their own.

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
    return PlanBuilder(labelled, pattern, options, replace(bound, labels=labels), None, None)
