"""Delta plans of given orders, with their expected costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from motiflux.conditions import Condition
from motiflux.pattern import Pattern, QueryVertex
from motiflux.pattern.automorphism import Automorphisms, automorphisms
from motiflux.plan.bind import BoundEdge, BoundPattern
from motiflux.plan.ir import SharedLevels
from motiflux.plan.passes.order import Order
from motiflux.plan.passes.places import Place
from motiflux.plan.passes.pools import LevelReads, pool_levels
from motiflux.plan.passes.reuse import share_intersections
from motiflux.plan.passes.steps import build_steps
from motiflux.plan.passes.symmetry import restrictions
from motiflux.plan.passes.tail import FIRST_START, close_tail
from motiflux.plan.shape import PlanArgs, PlanShape, Tail
from motiflux.types import Semantics, Symmetry, VertexId

_CLOSING = 0.9
"""The cost of a vertex if the number of ways to go on from it is looked up.

It takes less; but the model expects too few vertices near hubs, most of all at the end of long walks, so
these are only preferred if they are expected to be about as short as others.
"""

_POOLED = 0.25
"""The cost of a level, and of later ones, if partial matches are pooled before it, for the same reason.

On an R-MAT graph with a million vertices and 16 labels, an eighth of the walks was left of a path's fourth
vertex.
"""

_LEAST_POOLED = 3
"""The first level before which partial matches may be pooled."""


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """The search for the matches in which a changed edge has one place, and their images.

    Parameters
    ----------
    place
        Query vertices at levels 0 and 1.
    edges
        The query edges between them.
    order, shape, args, tail
        As in `motiflux.plan.ir.Plan`.
    before_change
        For each level and source, whether its query edge ignores the changed edge.
    images
        The matches that a match found yields: for each query vertex, the level of its image.
    multiplier
        Factor by which the number of matches found is multiplied.
    row_cost
        The expected cost of the search per vertex of the row that level 2 is taken from.
    replaces_last
        Whether it is an alternative to the plan before it, which has the same place.
    symmetries
        The number of automorphisms that fix the place, of whose matches the search finds one, if the matches
        may be counted as sums over quotients (`csrc/dynamic/quotients.hpp`); else 0.
    shared
        The levels that it matches together with other plans; None if there are none.
    inverse
        Whether the changed edge is a negated one: matches vanish as it comes.
    negated_before
        For each of the pattern's negated edges, whether it ignores the changed edge.
    bare_before
        The query vertices whose negated edges to any vertex ignore the changed edge.
    free_end
        The level of the pair that is no query vertex, if the changed edge is one to any vertex; else None.
    tallied
        The levels at whose vertices matches are counted, ascending, each with the number that a match found
        counts for (`motiflux.plan.passes.tallied`).
    """

    place: Place
    edges: tuple[BoundEdge, ...]
    order: tuple[int, ...]
    shape: PlanShape
    args: PlanArgs
    tail: Tail | None
    before_change: tuple[tuple[bool, ...], ...]
    images: tuple[tuple[int, ...], ...]
    multiplier: int
    row_cost: float = 0.0
    replaces_last: bool = False
    symmetries: int = 0
    shared: SharedLevels | None = None
    inverse: bool = False
    negated_before: tuple[bool, ...] = ()
    bare_before: frozenset[int] = frozenset()
    free_end: int | None = None
    tallied: tuple[tuple[int, int], ...] = ()

    @property
    def walked(self) -> int:
        """Number of levels whose vertices are matched one after another."""
        return len(self.order) - 1 if self.tail is None else self.tail.start


class Draft(NamedTuple):
    """A plan with its expected cost beyond the changed edge.

    Parameters
    ----------
    costs
        The same by level, from level 2 on.
    stabilizer
        The number of automorphisms that fix its place, and the query vertex that is tallied.
    """

    cost: float
    plan: DeltaPlan
    stabilizer: int
    costs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Drafter:
    """Makes the plans of one pattern.

    Parameters
    ----------
    pattern, bound, semantics
        As in `motiflux.plan.passes.delta.delta_plans`.
    injective
        Whether all vertices of a match differ.
    breaking
        Whether the symmetries that fix a place are broken.
    tail, mixed_tails, reuse
        Whether levels are counted in closed form, those too whose vertices might coincide, and intersections
        shared.
    pools
        Whether partial matches are pooled (counting on a GPU, `motiflux.gpu.changing.pooled_plans`).
    """

    pattern: Pattern
    bound: BoundPattern
    semantics: Semantics
    injective: bool
    breaking: bool
    tail: bool
    mixed_tails: bool
    reuse: bool
    pools: bool = False

    @classmethod
    def of(
        cls,
        pattern: Pattern,
        bound: BoundPattern,
        *,
        semantics: Semantics,
        symmetry: Symmetry,
        counting: bool,
        merge: bool,
        tail: bool,
        mixed_tails: bool,
        reuse: bool,
        pools: bool = False,
    ) -> Drafter:
        """Return the one for these arguments of `motiflux.plan.passes.delta.delta_plans`."""
        injective = semantics is Semantics.ISOMORPHISM and not bound.may_coincide
        return cls(
            pattern,
            bound,
            semantics,
            injective,
            breaking=injective and (symmetry is Symmetry.SUBGRAPHS or (counting and merge)),
            # Levels that may coincide could share a set only if both ignore the changed edge or neither.
            tail=counting and tail and not bound.may_coincide and not bound.negates,
            mixed_tails=mixed_tails,
            reuse=reuse and injective and not bound.negates,
            pools=pools and counting,
        )

    def draft(self, order: Order, tallied: int | None = None) -> Draft:
        """Return the plan of an order.

        `tallied`: a query vertex whose images are matched one after another, and that automorphisms fix.
        """
        bound = self.bound
        vertices, estimates = order.vertices, order.estimates
        base = vertices
        if tallied is not None:
            base = (*vertices[:2], tallied, *(vertex for vertex in vertices[2:] if vertex != tallied))
        fixed = 2 if tallied is None else 3
        group = _fixing(automorphisms(self.pattern, directed=bound.directed, base=base), fixed)
        first = FIRST_START if tallied is None else vertices.index(tallied) + 1
        shape, args = build_steps(
            bound, vertices, restrictions(group) if self.breaking else (), self.semantics, degrees=False
        )
        closed = None
        lists = [allowed_of(self.pattern.vertices[vertex]) for vertex in vertices]
        kinds = tuple(map(lists.index, lists))
        if self.tail:
            level_of = {vertex: level for level, vertex in enumerate(vertices)}
            coinciding = frozenset((level_of[u], level_of[v]) for u, v in bound.may_coincide)
            shape, closed = close_tail(shape, args, coinciding, kinds, first=first, mixed=self.mixed_tails)
        if self.reuse:
            shape, args = share_intersections(shape, args, kinds, closed)
        walked = (
            max(len(vertices) - 1, first if tallied is not None else 0) if closed is None else closed.start
        )
        place = vertices[0], vertices[1]
        costs = list(estimates[:walked])
        listed = [allowed is not None for allowed in lists]
        pooled = _pooled(costs, shape, listed, walked) if self.pools else None
        if pooled is not None:
            costs = pooled
        elif closed is None and _closes_at_end(shape):
            costs[-1] *= _CLOSING
        plan = DeltaPlan(
            place=place,
            edges=tuple(edge for edge in bound.incident[place[0]] if edge.other(place[0]) == place[1]),
            order=vertices,
            shape=shape,
            args=args,
            tail=closed,
            before_change=_before_change(bound, place, shape, args, injective=self.injective),
            images=(),
            multiplier=1,
            row_cost=sum(costs[2:]) / estimates[2] if walked > len(place) and estimates[2] else 0.0,
            negated_before=() if self.injective else _negated_before(bound, place),
        )
        beyond = tuple(costs[len(place) :])
        return Draft(sum(beyond), plan, group.order, beyond)


def _pooled(
    costs: Sequence[float], shape: PlanShape, listed: Sequence[bool], walked: int
) -> list[float] | None:
    """Return the costs by level where partial matches are pooled that agree in all that later levels read.

    None if none are pooled. The last number is that of counting the levels that are not walked: a look for
    each partial match.
    """
    pooled = {one.level for one in pool_levels(reads_of(shape, listed), walked)}
    if not pooled:
        return None
    found, factor = list(costs[:_LEAST_POOLED]), 1.0
    for level in range(_LEAST_POOLED, walked + 1):
        factor *= _POOLED if level in pooled else 1.0
        found.append(factor * costs[min(level, walked - 1)])
    return found


def reads_of(shape: PlanShape, listed: Sequence[bool]) -> list[LevelReads]:
    """Return what each level reads.

    Parameters
    ----------
    listed
        For each level, whether its candidates belong to a list of ids, which is a set, too.
    """
    return [
        LevelReads(
            _bits([*step.after, *step.before, *step.distinct, *(source.level for source in step.sources)]),
            step.reuse,
            len(step.sources) + (step.reuse is not None) + in_list,
        )
        for step, in_list in zip(shape.steps, listed, strict=True)
    ]


def _bits(levels: Sequence[int]) -> int:
    bits = 0
    for level in levels:
        bits |= 1 << level
    return bits


def _closes_at_end(shape: PlanShape) -> bool:
    """Whether the last level joins the level before to an end of the pair, and nothing else restricts it.

    The paths of two edges from that end are then counted once (`csrc/dynamic/common_counts.hpp`).
    """
    last = shape.steps[-1]
    levels = sorted(source.level for source in last.sources)
    free = last.reuse is None and not last.after and not last.before
    return free and len(levels) == 2 and levels[0] < 2 <= levels[1] == len(shape.steps) - 2


def _fixing(group: Automorphisms, points: int) -> Automorphisms:
    """Return the automorphisms that fix the first points of the base."""
    if group.order == 1:
        return group
    orbits = (*(frozenset((point,)) for point in group.base[:points]), *group.orbits[points:])
    order = group.order // prod(map(len, group.orbits[:points]))
    return Automorphisms(order, group.generators, group.base, orbits)


def _before_change(
    bound: BoundPattern, place: Place, shape: PlanShape, args: PlanArgs, *, injective: bool
) -> tuple[tuple[bool, ...], ...]:
    if injective:
        return tuple((False,) * len(step.sources) for step in shape.steps)
    rank = _ranks(bound)
    mine = rank[frozenset(place)]

    def before(position: int) -> bool:
        edge = bound.edges[position]
        return rank[frozenset((edge.source, edge.target))] < mine

    return tuple(tuple(before(position) for position, _ in step.edges) for step in args.steps)


def _negated_before(bound: BoundPattern, place: Place) -> tuple[bool, ...]:
    """Return whether each negated edge ignores the changed edge."""
    rank = _ranks(bound)
    mine = rank[frozenset(place)]
    return tuple(rank[frozenset((edge.source, edge.target))] < mine for edge in bound.negated)


def _ranks(bound: BoundPattern) -> dict[frozenset[int], int]:
    """Return the positions of the pairs of query vertices: of edges, then of negated edges.

    Where a match uses the changed edge as an edge and as a negated one, it is there neither with the edge nor
    without it, and in this order no plan finds it.
    """
    pairs = dict.fromkeys(frozenset((edge.source, edge.target)) for edge in (*bound.edges, *bound.negated))
    return {pair: at for at, pair in enumerate(pairs)}


def sides(bound: BoundPattern, place: Place) -> list[frozenset[int]]:
    """Return the neighbours of the first end alone, and those of the second, if paths join the two.

    Then either end may be the better one to begin at: it depends on the rows of the two vertices.
    """
    ends = frozenset(place)
    first, second = (
        bound.neighbors[one] - bound.neighbors[other] - ends for one, other in (place, place[::-1])
    )
    reached = set(bound.neighbors[place[0]] - ends)
    frontier = list(reached)
    while frontier:
        fresh = bound.neighbors[frontier.pop()] - ends - reached
        reached |= fresh
        frontier += fresh
    joined = not reached.isdisjoint(bound.neighbors[place[1]])
    return [first, second] if joined and first and second else []


def begin_at_both_ends(one: DeltaPlan, other: DeltaPlan) -> bool:
    """Whether level 2 depends on one end of the pair alone, and not on the same one in both plans."""
    sources = [plan.shape.steps[2].sources for plan in (one, other)]
    return all(len(some) == 1 for some in sources) and sources[0][0].level != sources[1][0].level


def allowed_of(vertex: QueryVertex) -> tuple[frozenset[VertexId] | None, Condition | None] | None:
    """Return what narrows the images of a query vertex beside labels; None: nothing."""
    return None if vertex.ids is None and vertex.where is None else (vertex.ids, vertex.where)
