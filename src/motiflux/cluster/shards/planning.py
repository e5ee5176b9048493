"""Plans of sharded graphs: made on a sketch of the graph, for searches of parts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.conditions import Narrowed, narrowed
from motiflux.cluster.shards.search import Ranged
from motiflux.cpu.engine import CAPABILITIES
from motiflux.errors import InternalError
from motiflux.graph import Graph, LabelTable
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.bind import BoundPattern, bind
from motiflux.plan.builder import PlanBuilder, PlanOptions
from motiflux.plan.image_counts import Asked, ImagePlan, image_plan
from motiflux.plan.local_counts.speeds import DEVICE_IMAGE_SPEEDS
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.plan.planner import empty_plan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.planning import logical_plan, plan_options, row_plan_options
from motiflux.request.request import Request
from motiflux.types import Symmetry

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph

T = TypeVar("T")

_FEW_VERTICES = 5
"""Up to so many query vertices there is a plan for each set of them that may be divided."""
_WORTH_COMPARING = 0.5
"""Least expected seconds on a GPU for which a plan with closed forms, which CPUs count, is compared."""
_CAPABILITIES = replace(CAPABILITIES, candidate_spaces=False, tables=None, copy_walks=False)


Allowed = tuple[NDArray[np.uint8] | None, ...]
"""See `Ranged.allowed`."""


def plan_narrowed(
    graph: ShardedGraph, pattern: Pattern, deadline: Deadline, plan: Callable[[Narrowed], T | None]
) -> tuple[ShardedGraph, T | None]:
    """Return the graph as the searches of a pattern see it, and what `plan` makes of the narrowed pattern.

    None in its place if time was up before there was a plan.

    Raises
    ------
    PatternError, ArgumentError
        The pattern takes more than a sharded graph has.
    """
    view = graph
    try:
        subject = narrowed(graph, pattern, deadline)
        view = subject.graph
        return view, plan(subject)
    except OutOfTimeError:
        return view, None


def plan_search(
    graph: ShardedGraph,
    pattern: Pattern,
    request: Request,
    deadline: Deadline,
    *,
    counting: bool = True,
    on_gpu: bool = False,
    as_on_cpus: bool = False,
) -> tuple[ShardedGraph, Ranged | None]:
    """Return the graph as the search of a pattern sees it, and its plan; see `plan_narrowed` and `ranged`."""

    def plan(subject: Narrowed) -> Ranged | None:
        return ranged(
            subject.sketch,
            subject.pattern,
            request,
            deadline,
            counting=counting,
            on_gpu=on_gpu,
            as_on_cpus=as_on_cpus,
            allowed=subject.allowed,
        )

    return plan_narrowed(graph, pattern, deadline, plan)


def ranged(
    sketch: Graph,
    pattern: Pattern,
    request: Request,
    deadline: Deadline,
    *,
    counting: bool = True,
    on_gpu: bool = False,
    as_on_cpus: bool = False,
    allowed: Allowed = (),
) -> Ranged | None:
    """Return the plan of a pattern; None if time was up before there was one.

    Parameters
    ----------
    sketch
        A graph of the same labels and direction: its other properties make plans good or bad, not right or
        wrong.
    counting
        Whether embeddings are counted, or listed.
    on_gpu
        Whether kernels search: plans have no counts in parts then, unless the switch is on, which may take
        groups of lanes for ever (`motiflux.gpu.engine`).
    as_on_cpus
        Whether such a plan has the order of that of CPUs, so that each range has the same embeddings.
    allowed
        The vertices that query vertices may be, beyond what labels and `sketch` say; see `Ranged`.
    """
    check_symmetry(request.semantics, request.symmetry, pattern)
    if on_gpu and not as_on_cpus:
        request = without_parts(request)
    if (why := _why_empty(pattern, allowed)) is not None:
        bound = bind(pattern, sketch, count_choices=request.copies)
        empty = empty_plan(bound, request.semantics, request.symmetry, None, why)
        return Ranged(bound, empty, {}, replace(request, progress=None, elsewhere=None))
    plan = logical_plan(sketch, pattern, request, _CAPABILITIES, deadline, counting=counting)
    if plan is None:
        return None
    order = plan.order

    def remade(builder: PlanBuilder) -> Plan:
        return builder.plan(builder.order(order))

    if on_gpu and as_on_cpus and plan.tail is not None and plan.tail.nested:
        request = without_parts(request)
        bound = bind(pattern, sketch, count_choices=request.copies)
        flat = PlanBuilder(sketch, pattern, plan_options(request, deadline), bound, None, None)
        plan = replace(remade(flat), estimates=plan.estimates, scanned=plan.scanned)
    options = plan_options(request, deadline)
    if not counting:
        options = replace(row_plan_options(request, deadline), images=True)
    return _ranged(sketch, pattern, plan, request, options, remade, allowed)


def without_parts(request: Request) -> Request:
    """Return a request for plans without counts in parts, unless its switch asks for them."""
    if request.tuning["parts"] != "auto":
        return request
    return replace(request, tuning={**request.tuning, "parts": "off"})


def sampled(
    sketch: Graph,
    pattern: Pattern,
    request: Request,
    deadline: Deadline,
    allowed: Allowed = (),
    *,
    on_gpu: bool = False,
) -> tuple[Ranged, Ranged] | None:
    """Return a plan that counts and one that lists the same embeddings from each root arc.

    None if time was up before there were any. The first one has closed forms, if it has the other's order
    restrictions without them.
    """
    listing = ranged(sketch, pattern, request, deadline, counting=False, allowed=allowed)
    if listing is None or listing.plan.impossible is not None or listing.bound.comparisons is not None:
        return None if listing is None else (listing, listing)
    if on_gpu:
        request = without_parts(request)
    options, order = plan_options(request, deadline), listing.plan.order

    def remade(builder: PlanBuilder) -> Plan:
        return builder.plan(builder.order(order))

    plan = remade(PlanBuilder(sketch, pattern, options, listing.bound, None, None))
    if (plan.order, plan.restrictions) != (order, listing.plan.restrictions):
        return listing, listing
    return _ranged(sketch, pattern, plan, request, options, remade, allowed), listing


def _why_empty(pattern: Pattern, allowed: Allowed) -> str | None:
    """Return why there is no embedding, if a query vertex has no image; None if each has some."""
    for vertex, bits in zip(pattern.vertices, allowed, strict=False):
        if bits is not None and not bits.any():
            return f"no vertex of the graph satisfies what query vertex {vertex.name!r} asks"
    return None


@dataclass(frozen=True, slots=True)
class RangedImages:
    """A search that counts by images of levels.

    Parameters
    ----------
    levels
        The levels whose images are counted, one or the two ends of an edge, and the position of the class
        that each counts.
    classes
        The positions of these classes in the plan.
    listing
        Whether all levels are enumerated.
    """

    ranged: Ranged
    levels: tuple[tuple[tuple[int, ...], int], ...]
    classes: tuple[int, ...]
    listing: bool


def image_plan_of(
    sketch: Graph,
    pattern: Pattern,
    asked: Sequence[Asked],
    request: Request,
    deadline: Deadline,
    *,
    on_gpu: bool = False,
) -> ImagePlan:
    """Return the plan of counts at each vertex or edge: searches, without tables and candidate spaces.

    Parameters
    ----------
    on_gpu
        Whether kernels search, which count no closed forms: these are taken if they save much time.

    Raises
    ------
    TimeoutError
        Time was up before there was one.
    """
    options = _image_options(request, deadline)
    if not on_gpu:
        return image_plan(sketch, pattern, asked, options)
    plan = image_plan(sketch, pattern, asked, replace(options, tail=False, parts=False))
    seconds = DEVICE_IMAGE_SPEEDS.of_search(plan.seconds, request.threads)
    if plan.impossible is not None or seconds < _WORTH_COMPARING:
        return plan
    with_forms = image_plan(sketch, pattern, asked, options)
    return with_forms if with_forms.seconds < seconds else plan


def ranged_images(
    sketch: Graph,
    pattern: Pattern,
    plan: ImagePlan,
    request: Request,
    deadline: Deadline,
    allowed: Allowed = (),
) -> list[RangedImages]:
    """Return the searches of a plan of `image_plan_of`, each with the classes that it counts."""
    if plan.impossible is not None or _why_empty(pattern, allowed) is not None:
        return []
    together: dict[int, list[int]] = {}
    for number, search in enumerate(plan.searches):
        first = next(at for at in range(number + 1) if plan.searches[at] is search)
        together.setdefault(first, []).append(number)
    options = replace(_image_options(request, deadline), symmetry=Symmetry.EMBEDDINGS)
    made = []
    for first, classes in together.items():
        search = plan.searches[first]
        levels = tuple((one, classes.index(number)) for number, one in search.levels if number in classes)
        roots = 0 if search.listing else len(plan.classes[first].roots)
        remade = partial(_image_search, order=search.plan.order, roots=roots)
        ranged = _ranged(sketch, pattern, search.plan, request, options, remade, allowed)
        made.append(RangedImages(ranged, levels, tuple(classes), search.listing))
    return made


def _image_search(builder: PlanBuilder, order: tuple[int, ...], roots: int) -> Plan:
    """Return the search that matches some roots first, or with none lists all levels."""
    found = builder.order(order)
    plan = builder.rooted(found, roots) if roots else builder.without_tail(found)
    assert plan is not None  # only plans in parts may be missing
    return plan


def _image_options(request: Request, deadline: Deadline) -> PlanOptions:
    switches = {**request.tuning, "tables": "off"}
    return replace(
        plan_options(request, deadline), space=False, tables=None, switches=switches, copy_walks=False
    )


def _ranged(
    sketch: Graph,
    pattern: Pattern,
    plan: Plan,
    request: Request,
    options: PlanOptions,
    remade: Callable[[PlanBuilder], Plan],
    allowed: Allowed,
) -> Ranged:
    """Return a plan with those for divided parts, which `remade` makes in the same order."""
    bound = bind(pattern, sketch, count_choices=request.copies)
    divided: dict[frozenset[int], Plan] = {}
    if plan.impossible is None:
        for vertices in _divisible(plan.order):
            builder = _divided_builder(sketch, pattern, bound, vertices, options)
            split = remade(builder)
            if (split.restrictions, split.multiplier) != (plan.restrictions, plan.multiplier):
                raise InternalError("expected two plans of one order with the same restrictions")
            divided[vertices] = split
    return Ranged(bound, plan, divided, replace(request, progress=None, elsewhere=None), allowed)


def _divisible(order: Sequence[int]) -> list[frozenset[int]]:
    """Return sets of query vertices that parts may have blocks of, beside roots: some, and all."""
    most = len(order) if len(order) <= _FEW_VERTICES else 2
    some = [frozenset(one) for number in range(1, most) for one in combinations(order[1:], number)]
    return [*some, frozenset(order)]


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
