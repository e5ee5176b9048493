"""Plans of projections: rows of the images of some query vertices, each once.

The search matches the returned vertices first, then those that thresholds count, then the others, of which
one witness is enough (`csrc/search/projection.hpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from motiflux.conditions import Operator
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Automorphisms, automorphisms
from motiflux.pattern.projection import Projection, Threshold, threshold_text
from motiflux.plan.bind import bind
from motiflux.plan.builder import PlanBuilder, PlanOptions
from motiflux.plan.candidates.space import candidate_space, space_key
from motiflux.plan.estimate.sampled import MANY_MEMBERS, sample
from motiflux.plan.ir import Plan
from motiflux.plan.passes.order import given_order, projected_orders, promising_orders
from motiflux.plan.passes.symmetry import Restriction, check_symmetry, restrictions
from motiflux.plan.planner import empty_plan, why_empty
from motiflux.plan.report.data import RowsReport
from motiflux.types import Semantics, Symmetry

_FEW_MEMBERS = 64
"""Random partial embeddings that compare orders."""

_KEEPING = 3.0
"""Ratio of the times of a search that keeps rows, and of one that meets each once."""

NativeThreshold = tuple[list[int], int, int | None, int | None]
"""Counted levels; the least number, the greatest, and one that does not do."""


@dataclass(frozen=True, slots=True)
class ProjectedPlan:
    """A search for the rows of a projection.

    Parameters
    ----------
    plan
        The search, without a tail.
    projection
        The projection.
    """

    plan: Plan
    projection: Projection

    nbytes = 1
    """The limit on kept plans is their number."""

    @property
    def returned_levels(self) -> list[int]:
        """The level of each column."""
        return [self.plan.order.index(vertex) for vertex in self.projection.returned]

    @property
    def group_levels(self) -> int:
        """Number of levels at the start that are all returned: rows of different such prefixes differ."""
        returned = set(self.returned_levels)
        return next((level for level in range(len(self.plan.order)) if level not in returned), len(returned))

    @property
    def deciding_level(self) -> int:
        """The last level that is returned or counted; -1 if there is none."""
        levels = [self.plan.order.index(vertex) for vertex in self.projection.counted]
        return max([*levels, *self.returned_levels], default=-1)

    @property
    def meets_rows_once(self) -> bool:
        """Whether no level comes between returned ones: then no rows have to be kept."""
        return self.group_levels == len(self.projection.returned)

    @property
    def native(self) -> tuple[list[int], list[NativeThreshold]]:
        """The arguments of the native code."""
        thresholds = [
            ([self.plan.order.index(vertex) for vertex in one.counted], *_bounds(one))
            for one in self.projection.thresholds
        ]
        return self.returned_levels, thresholds


def projected_plan(
    graph: Graph, pattern: Pattern, projection: Projection, options: PlanOptions, *, grouped: bool = False
) -> ProjectedPlan:
    """Return the plan of a projection, kept with the graph.

    Parameters
    ----------
    options
        Of a listing.
    grouped
        Whether the first level is returned in any case, so that parts of the search have different rows.

    Raises
    ------
    ArgumentError
        Symmetry is ``subgraphs`` and query vertices may share a data vertex.
    PatternError
        The pattern does not fit the graph.
    TimeoutError
        The deadline passed while candidates were filtered.
    """
    check_symmetry(options.semantics, options.symmetry, pattern)
    key = ("projected plan", pattern, projection, options, grouped)
    return graph.memo.get(key, lambda: _projected_plan(graph, pattern, projection, options, grouped))


def _projected_plan(
    graph: Graph, pattern: Pattern, projection: Projection, options: PlanOptions, grouped: bool
) -> ProjectedPlan:
    bound = bind(pattern, graph)
    key = space = None
    if bound.comparisons is None:
        key = space_key(bound, options.semantics, options.switches)
        space = None if key is None else candidate_space(graph, key, options.threads, options.deadline)
    if (why := why_empty(bound, space)) is not None:
        kept = None if space is None else key
        empty = empty_plan(bound, options.semantics, options.symmetry, kept, why)
        return ProjectedPlan(replace(empty, asked=pattern), projection)
    builder = PlanBuilder(graph, pattern, options, bound, key, space)
    breaking = row_restrictions(pattern, projection, options, directed=graph.directed)
    given = given_order(bound, builder.model) if options.switches["order"] == "given" else None
    returned = frozenset(projection.returned)
    if given is not None and not (grouped and given.vertices[0] not in returned):
        orders = [given]
    elif returned:
        orders = projected_orders(bound, builder.model, returned, frozenset(projection.counted))
        if grouped:
            orders = [order for order in orders if order.vertices[0] in returned]
    else:
        orders = promising_orders(bound, builder.model, tails=False)
    plans = [ProjectedPlan(builder.projected(order, breaking), projection) for order in orders]
    chosen = _cheapest(builder, plans)
    return replace(chosen, plan=replace(chosen.plan, asked=pattern))


def row_restrictions(
    pattern: Pattern, projection: Projection, options: PlanOptions, *, directed: bool
) -> tuple[Restriction, ...]:
    """Return restrictions that leave each row an embedding, and of ``subgraphs`` one row of equivalent ones.

    Rows are equivalent if an automorphism that maps the returned vertices to each other, and thresholds to
    thresholds, maps one to the other. Automorphisms that fix the returned and the counted vertices keep the
    row of an embedding, and what it counts: they are broken in any case.
    """
    if options.semantics is Semantics.HOMOMORPHISM or pattern.may_coincide:
        return ()  # an automorphism may map an embedding to itself
    returned, counted = projection.returned, projection.counted
    rest = [vertex for vertex in range(pattern.num_vertices) if vertex not in {*returned, *counted}]
    group = automorphisms(
        pattern,
        directed=directed,
        base=(*returned, *counted, *rest),
        colors=projection.colors(pattern.num_vertices),
    )
    of_rows = len(returned) if options.symmetry is Symmetry.SUBGRAPHS else 0
    kept = len(returned) + len(counted)
    orbits = tuple(
        orbit if at < of_rows or at >= kept else frozenset((point,))
        for at, (point, orbit) in enumerate(zip(group.base, group.orbits, strict=True))
    )
    return restrictions(Automorphisms(prod(map(len, orbits)), group.generators, group.base, orbits))


def describe_rows(plan: ProjectedPlan, pattern: Pattern) -> RowsReport:
    """Return the report on the rows of a plan."""
    names = [vertex.name for vertex in pattern.vertices]
    order, told = plan.plan.order, {*plan.projection.returned, *plan.projection.counted}
    return RowsReport(
        returned=tuple(names[vertex] for vertex in plan.projection.returned),
        thresholds=tuple(threshold_text(names, one) for one in plan.projection.thresholds),
        existential=tuple(names[vertex] for vertex in order if vertex not in told),
        group=tuple(names[vertex] for vertex in order[: plan.group_levels]),
        kept=not plan.meets_rows_once,
    )


def _cheapest(builder: PlanBuilder, plans: Sequence[ProjectedPlan]) -> ProjectedPlan:
    """Return the plan of the least expected work up to the deciding level."""
    work = partial(_work, threads=builder.options.threads)
    if builder.options.switches["order"] in ("sampled", "adaptive") and builder.cheap_to_sample:
        if len(plans) > 1:
            plans = [min((_sampled(builder, one, _FEW_MEMBERS) for one in plans), key=work)]
        return _sampled(builder, plans[0], MANY_MEMBERS)
    return min(plans, key=work)


def _sampled(builder: PlanBuilder, plan: ProjectedPlan, members: int) -> ProjectedPlan:
    estimate = sample(builder.graph, plan.plan, members, builder.options.threads)
    return replace(plan, plan=replace(plan.plan, estimates=estimate.sizes, scanned=estimate.read))


def _work(plan: ProjectedPlan, threads: int) -> float:
    """Return the expected work: all partial embeddings up to the deciding level, then a witness of each.

    Where rows are met once, no more images of a row are searched than a threshold needs.
    """
    sizes, scanned = plan.plan.estimates, plan.plan.scanned or plan.plan.estimates
    levels, deciding = plan.returned_levels, plan.deciding_level
    rows_level = max(levels, default=-1)
    rows = sizes[rows_level] if levels else 1.0
    needed = max((_bounds(one)[0] for one in plan.projection.thresholds), default=1)
    ends = all(_bounds(one)[1:] == (None, None) for one in plan.projection.thresholds)
    work, reached = 0.0, 1.0
    for level, (size, read) in enumerate(zip(sizes, scanned, strict=True)):
        partial_embeddings = size
        if level > deciding:
            partial_embeddings = min(size, reached)
        elif level > rows_level and ends and plan.meets_rows_once:
            partial_embeddings = min(size, rows * max(needed, 1))
        share = partial_embeddings / size if size else 1.0
        work += partial_embeddings + read * min(1.0, share)
        reached = partial_embeddings
    work *= 1 if plan.meets_rows_once else _KEEPING
    # Where the first level is not returned, all rows are one group, which one thread searches.
    return work * (threads if levels and not plan.group_levels else 1)


def _bounds(threshold: Threshold) -> tuple[int, int | None, int | None]:
    """Return the least number, the greatest, and one that does not do."""
    number = threshold.number
    match threshold.operator:
        case Operator.AT_LEAST:
            return number, None, None
        case Operator.GREATER:
            return number + 1, None, None
        case Operator.AT_MOST:
            return 0, number, None
        case Operator.LESS:
            return (0, number - 1, None) if number else (1, 0, None)
        case Operator.EQUAL:
            return number, number, None
        case _:
            return 0, None, number
