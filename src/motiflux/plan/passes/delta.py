"""Delta plans: searches for the matches that use a changed edge, one for each place of the edge.

A place is an ordered pair of joined query vertices. Places that an automorphism exchanges have equally many
matches, so one search serves all of them. Plans of other places may match their first levels together
(`motiflux.plan.passes.coalesce`). An update changes the matches in which the pair gains its last missing edge
or loses its only one. If a match might use the changed edge twice (homomorphism), query edges before the pair
ignore the changed edge (the position rule).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Automorphisms, Permutation, automorphisms
from motiflux.plan.bind import BoundEdge, BoundPattern
from motiflux.plan.ir import SharedLevels, SharedStep
from motiflux.plan.passes.coalesce import EquivalentPlaces, coalesced
from motiflux.plan.passes.order import (
    CostModel,
    Order,
    continued_orders,
    ordered,
    orders_within,
    rooted_orders,
)
from motiflux.plan.passes.places import Place, PlaceOrbit, orbits_of, places
from motiflux.plan.passes.reuse import share_intersections
from motiflux.plan.passes.steps import build_steps
from motiflux.plan.passes.symmetry import restrictions
from motiflux.plan.passes.tail import close_tail
from motiflux.plan.shape import PlanArgs, PlanShape, StepShape, Tail
from motiflux.types import Semantics, Symmetry

_CLOSING = 0.9
"""The cost of a vertex if the number of ways to go on from it is looked up.

It takes less; but the model expects too few vertices near hubs, most of all at the end of long walks, so
these are only preferred if they are expected to be about as short as others.
"""

_LEAST_SAVING = 0.1
"""The share of the expected work that shared levels must save with ``coalesce="auto"``."""

_MOST_VARIANTS = 2

Numbers = tuple[list[int], list[int]]
"""The numbers that orders are planned by: of candidates by query vertex, and of arcs by query edge."""

Transversal = tuple[int, tuple[tuple[int, Permutation], ...]]
"""A point, and its images under the automorphisms that fix the points before, each with an automorphism."""


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

    @property
    def walked(self) -> int:
        """Number of levels whose vertices are matched one after another."""
        return len(self.order) - 1 if self.tail is None else self.tail.start


def delta_plans(
    graph: Graph,
    pattern: Pattern,
    bound: BoundPattern,
    *,
    semantics: Semantics = Semantics.ISOMORPHISM,
    symmetry: Symmetry = Symmetry.EMBEDDINGS,
    counting: bool = True,
    merge: bool = True,
    tail: bool = True,
    mixed_tails: bool = True,
    reuse: bool = True,
    either_end: bool = True,
    coalesce: str = "off",
    remove: str = "leaves",
    quotients: bool = True,
    numbers: Numbers | None = None,
) -> tuple[DeltaPlan, ...]:
    """Return the searches that together find every match that a changed edge adds or removes.

    Parameters
    ----------
    graph
        The graph whose label frequencies determine the orders.
    pattern, bound
        The pattern, and the pattern in the label codes of the changing graph, which may have more labels than
        `graph`.
    counting
        Whether only numbers are needed.
    merge
        Whether one search serves all places that automorphisms exchange.
    tail, reuse
        Whether levels are counted in closed form (counting only), and intersections shared.
    mixed_tails
        Whether levels whose vertices might coincide are counted so although their sets differ.
    either_end
        Whether a place may have a second plan, which begins at the other end (counting only).
    coalesce
        Whether plans share levels: ``"on"``; ``"off"``; or ``"auto"``, where matches are listed and shared
        intersections are expected to save work (what counting searches remember serves all plans anyway).
        Only injective matches can, and only with `merge`.
    remove
        The query vertices without which equivalent places are sought: ``"leaves"``, which have one neighbour,
        or ``"any"``.
    quotients
        Whether matches may be counted as sums over quotients of the pattern (counting only).
    numbers
        The result of `numbers_of` for a graph that has changed; None: that of `graph`.
    """
    injective = semantics is Semantics.ISOMORPHISM and not bound.may_coincide
    group = automorphisms(pattern, directed=bound.directed)
    exchange = injective and merge
    orbits = orbits_of(places(bound), group.generators if exchange else (), bound.size)
    model = CostModel(bound, *(_numbers_of_graph(bound, graph) if numbers is None else numbers))
    once_each = symmetry is Symmetry.SUBGRAPHS
    breaking = injective and (once_each or (counting and merge))
    draft = partial(
        _draft,
        pattern,
        bound,
        semantics=semantics,
        breaking=breaking,
        injective=injective,
        # Levels that may coincide could share a set only if both ignore the changed edge or neither.
        tail=counting and tail and not bound.may_coincide,
        mixed_tails=mixed_tails,
        reuse=reuse and injective,
    )
    either_end = counting and either_end
    alternatives = [_alternatives(bound, model, draft, place, either_end) for place, _ in orbits]
    shared: dict[int, list[SharedLevels]] = {}
    if exchange and (coalesce == "on" or (coalesce == "auto" and not counting and _has_cycle(bound))):
        saving = None if coalesce == "on" else _LEAST_SAVING
        form = partial(_group, bound, model, draft, alternatives, counting, either_end, saving)
        groups = coalesced(pattern, bound, orbits, form, any_vertices=remove == "any")
        for number, (places_of, variants) in enumerate(groups):
            levels = [
                SharedLevels(_MOST_VARIANTS * number + at, places_of.removed, variant.steps)
                for at, variant in enumerate(variants)
            ]
            for at, member in enumerate(places_of.members):
                orbits[member.orbit] = _seen_from(orbits[member.orbit], member.place)
                alternatives[member.orbit] = [variant.drafts[at] for variant in variants]
                shared[member.orbit] = levels
    plans = []
    for orbit, (_, images) in enumerate(orbits):
        for at, (_, plan, stabilizer, _) in enumerate(alternatives[orbit]):
            taken, multiplier = images, len(images) * (stabilizer if breaking else 1)
            if once_each:
                taken, multiplier = images[:1], 1
            together = shared[orbit][at] if orbit in shared else None
            sums = counting and injective and quotients and together is None
            symmetries = (stabilizer if breaking else 1) if sums else 0
            plans.append(
                _with_images(
                    plan, taken, multiplier, replaces_last=at > 0, symmetries=symmetries, shared=together
                )
            )
    if not exchange and once_each and injective:
        return _one_of_each_orbit(plans, places(bound), group)
    return tuple(plans)


def _alternatives(
    bound: BoundPattern, model: CostModel, draft: _Drafter, place: Place, either_end: bool
) -> list[_Draft]:
    """Return the plan of a place, and a second one, if any."""
    orders = rooted_orders(bound, model, place)
    sides = _sides(bound, place) if either_end else []
    for side in sides:
        orders += rooted_orders(bound, model, place, side)
    drafts = [draft(order) for order in {order.vertices: order for order in orders}.values()]
    chosen = [min(drafts, key=lambda one: one.cost)]
    if sides:
        chosen += _from_other_end(drafts, chosen[0].plan)
    return chosen


def _sides(bound: BoundPattern, place: Place) -> list[frozenset[int]]:
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


class _Draft(NamedTuple):
    """A plan with its expected cost beyond the changed edge.

    Parameters
    ----------
    costs
        The same by level, from level 2 on.
    stabilizer
        The number of automorphisms that fix its place.
    """

    cost: float
    plan: DeltaPlan
    stabilizer: int
    costs: tuple[float, ...]


_Drafter = Callable[[Order], _Draft]


def _from_other_end(drafts: Iterable[_Draft], best: DeltaPlan) -> list[_Draft]:
    """Return the best draft whose level 2 depends on the end that `best` does not begin at, if any."""
    others = [one for one in drafts if _begin_at_both_ends(one.plan, best)]
    return [min(others, key=lambda one: one.cost)] if others else []


def _begin_at_both_ends(one: DeltaPlan, other: DeltaPlan) -> bool:
    """Whether level 2 depends on one end of the pair alone, and not on the same one in both plans."""
    sources = [plan.shape.steps[2].sources for plan in (one, other)]
    return all(len(some) == 1 for some in sources) and sources[0][0].level != sources[1][0].level


class _Variant(NamedTuple):
    """One way to search a group: its expected cost, the plan of each member, and the levels they share."""

    cost: float
    drafts: list[_Draft]
    steps: tuple[SharedStep, ...]


class _Group(NamedTuple):
    """Plans of equivalent places, with one or two variants, which begin at different ends of the edge."""

    places: EquivalentPlaces
    variants: list[_Variant]


def _group(
    bound: BoundPattern,
    model: CostModel,
    draft: _Drafter,
    alone: Sequence[Sequence[_Draft]],
    counting: bool,
    either_end: bool,
    saving: float | None,
    places_of: EquivalentPlaces,
) -> _Group | None:
    """Return plans of equivalent places that share levels; None if they can share none.

    Parameters
    ----------
    alone
        The plans of each orbit of places.
    saving
        The least share of the work beyond the changed edge that must be saved; None for any.
    """
    first = places_of.members[0].place
    kept = frozenset(range(bound.size)).difference(places_of.removed)
    starts = orders_within(bound, model, first, kept)
    for side in _sides(bound, first) if either_end else ():
        if side & kept:
            starts += orders_within(bound, model, first, kept, side & kept)
    if not counting:  # no level is counted in closed form: the estimates suffice
        starts = [min(starts, key=lambda start: sum(ordered(bound, model, start).estimates))]
    separate = sum(alone[member.orbit][0].cost for member in places_of.members)
    most = float("inf") if saving is None else (1 - saving) * separate
    variants = []
    for start in dict.fromkeys(starts):
        shared = ordered(bound, model, start).estimates[len(first) :]
        if separate - (len(places_of.members) - 1) * sum(shared) <= most:
            variants.append(_variant(bound, model, draft, places_of, start))
    variants = [variant for variant in variants if variant.steps]
    if not variants:
        return None
    best = min(variants, key=lambda variant: variant.cost)
    if saving is not None and (best.cost > most or not _has_intersection(best)):
        return None
    chosen = [best]
    if any(len(alone[member.orbit]) > 1 for member in places_of.members):
        plan = best.drafts[0].plan
        others = [one for one in variants if _begin_at_both_ends(one.drafts[0].plan, plan)]
        chosen += [min(others, key=lambda one: one.cost)] if others else []
    return _Group(places_of, chosen)


def _variant(
    bound: BoundPattern,
    model: CostModel,
    draft: _Drafter,
    places_of: EquivalentPlaces,
    start: tuple[int, ...],
) -> _Variant:
    """Return the plans that match the kept vertices in the order `start`, each as its own query vertices."""
    drafts = []
    for member in places_of.members:
        orders = continued_orders(bound, model, tuple(member.moved[vertex] for vertex in start))
        drafts.append(min((draft(order) for order in orders), key=lambda one: one.cost))
    levels = min(len(start), *(one.plan.walked for one in drafts))
    steps = tuple(
        _shared_step([one.plan.shape.steps[level] for one in drafts])
        for level in range(len(drafts[0].plan.place), levels)
    )
    saved = (len(drafts) - 1) * sum(drafts[0].costs[: len(steps)])
    row_cost = sum(one.plan.row_cost for one in drafts) / len(drafts)
    drafts = [one._replace(plan=replace(one.plan, row_cost=row_cost)) for one in drafts]
    return _Variant(sum(one.cost for one in drafts) - saved, drafts, steps)


def _has_cycle(bound: BoundPattern) -> bool:
    """Whether the set of a level can be an intersection."""
    return sum(map(len, bound.neighbors)) >= 2 * bound.size


def _has_intersection(variant: _Variant) -> bool:
    """Whether the set of a shared level is an intersection: taking a row again costs less than sharing it."""
    steps = variant.drafts[0].plan.shape.steps[: len(variant.steps) + 2]
    return any(len(step.sources) > 1 or step.reuse is not None for step in steps[2:])


def _shared_step(steps: Sequence[StepShape]) -> SharedStep:
    """Return what holds for a level in all plans; the vertices of all levels differ in each of them."""
    after, before = (
        frozenset.intersection(*(frozenset(getattr(step, name)) for step in steps))
        for name in ("after", "before")
    )
    distinct = frozenset[int]().union(*(step.distinct for step in steps))
    return SharedStep(*(tuple(sorted(levels)) for levels in (after, before, distinct - after - before)))


def _seen_from(orbit: PlaceOrbit, place: Place) -> PlaceOrbit:
    """Return an orbit with automorphisms from another of its places."""
    (u, v), images = orbit
    turn = next(image for image in images if (image[u], image[v]) == place)
    back = tuple(turn.index(vertex) for vertex in range(len(turn)))
    seen = [tuple(image[vertex] for vertex in back) for image in images]
    seen.sort(key=lambda image: image != tuple(range(len(turn))))
    return place, seen


def _with_images(
    plan: DeltaPlan,
    images: Sequence[Permutation],
    multiplier: int,
    *,
    replaces_last: bool,
    symmetries: int,
    shared: SharedLevels | None,
) -> DeltaPlan:
    """Return the plan for all places to which the automorphisms `images` map its place."""
    level_of = {vertex: level for level, vertex in enumerate(plan.order)}
    levels = tuple(tuple(level_of[image.index(q)] for q in range(len(plan.order))) for image in images)
    return DeltaPlan(  # `replace` takes 10 us
        plan.place,
        plan.edges,
        plan.order,
        plan.shape,
        plan.args,
        plan.tail,
        plan.before_change,
        levels,
        multiplier,
        plan.row_cost,
        replaces_last,
        symmetries,
        shared,
    )


def _draft(
    pattern: Pattern,
    bound: BoundPattern,
    order: Order,
    *,
    semantics: Semantics,
    breaking: bool,
    injective: bool,
    tail: bool,
    mixed_tails: bool,
    reuse: bool,
) -> _Draft:
    """Return the plan of an order."""
    vertices, estimates = order.vertices, order.estimates
    group = _fixing_two(automorphisms(pattern, directed=bound.directed, base=vertices))
    shape, args = build_steps(
        bound, vertices, restrictions(group) if breaking else (), semantics, degrees=False
    )
    closed = None
    lists = [pattern.vertices[vertex].ids for vertex in vertices]
    kinds = tuple(map(lists.index, lists))
    if tail:
        level_of = {vertex: level for level, vertex in enumerate(vertices)}
        coinciding = frozenset((level_of[u], level_of[v]) for u, v in bound.may_coincide)
        shape, closed = close_tail(shape, args, coinciding, kinds, mixed=mixed_tails)
    if reuse:
        shape, args = share_intersections(shape, args, kinds, closed)
    walked = len(vertices) - 1 if closed is None else closed.start
    place = vertices[0], vertices[1]
    costs = list(estimates[:walked])
    if closed is None and _closes_at_end(shape):
        costs[-1] *= _CLOSING
    plan = DeltaPlan(
        place=place,
        edges=tuple(edge for edge in bound.incident[place[0]] if edge.other(place[0]) == place[1]),
        order=vertices,
        shape=shape,
        args=args,
        tail=closed,
        before_change=_before_change(bound, place, shape, args, injective=injective),
        images=(),
        multiplier=1,
        row_cost=sum(costs[2:]) / estimates[2] if walked > len(place) and estimates[2] else 0.0,
    )
    beyond = tuple(costs[len(place) :])
    return _Draft(sum(beyond), plan, group.order, beyond)


def _closes_at_end(shape: PlanShape) -> bool:
    """Whether the last level joins the level before to an end of the pair, and nothing else restricts it.

    The paths of two edges from that end are then counted once (`csrc/dynamic/common_counts.hpp`).
    """
    last = shape.steps[-1]
    levels = sorted(source.level for source in last.sources)
    free = last.reuse is None and not last.after and not last.before
    return free and len(levels) == 2 and levels[0] < 2 <= levels[1] == len(shape.steps) - 2


def _fixing_two(group: Automorphisms) -> Automorphisms:
    """Return the automorphisms that fix the first two points of the base."""
    if group.order == 1:
        return group
    orbits = (*(frozenset((point,)) for point in group.base[:2]), *group.orbits[2:])
    order = group.order // (len(group.orbits[0]) * len(group.orbits[1]))
    return Automorphisms(order, group.generators, group.base, orbits)


def _before_change(
    bound: BoundPattern, place: Place, shape: PlanShape, args: PlanArgs, *, injective: bool
) -> tuple[tuple[bool, ...], ...]:
    if injective:
        return tuple((False,) * len(step.sources) for step in shape.steps)
    pairs = list(dict.fromkeys(frozenset((edge.source, edge.target)) for edge in bound.edges))
    mine = pairs.index(frozenset(place))

    def before(position: int) -> bool:
        edge = bound.edges[position]
        return pairs.index(frozenset((edge.source, edge.target))) < mine

    return tuple(tuple(before(position) for position, _ in step.edges) for step in args.steps)


def _one_of_each_orbit(
    plans: Iterable[DeltaPlan], all_places: Sequence[Place], group: Automorphisms
) -> tuple[DeltaPlan, ...]:
    """Return the plans of one place of each orbit; together they find every occurrence once."""
    size = len(group.base)
    firsts = {place for place, _ in orbits_of(all_places, group.generators, size)}
    return tuple(plan for plan in plans if plan.place in firsts)


def transversals(pattern: Pattern, *, directed: bool) -> tuple[Transversal, ...]:
    """Return transversals, by which the canonical one of the images of a match is found.

    The points are the query vertices in order. Choosing at each point the automorphism that brings the
    smallest data vertex there gives the same row for every image of a match.
    """
    group = automorphisms(pattern, directed=directed)
    identity = tuple(range(len(group.base)))
    found = []
    fixing = list(group.generators)
    for point, orbit in zip(group.base, group.orbits, strict=True):
        reached = {point: identity}
        frontier = [point]
        while frontier:
            at = frontier.pop()
            for generator in fixing:
                if generator[at] not in reached:
                    reached[generator[at]] = tuple(generator[w] for w in reached[at])
                    frontier.append(generator[at])
        if set(reached) != orbit:
            raise AssertionError("the generators that fix the points before do not generate the orbit")
        if len(reached) > 1:
            found.append((point, tuple(reached.items())))
        fixing = [generator for generator in fixing if generator[point] == point]
    return tuple(found)


class Labels(Protocol):
    """Numbers of vertices and arcs by codes of labels; None: all."""

    def vertices(self, labels: tuple[int, ...] | None) -> int:
        """Return the number of vertices with one of `labels`."""

    def arcs(
        self, sources: tuple[int, ...] | None, edges: tuple[int, ...] | None, targets: tuple[int, ...] | None
    ) -> int:
        """Return the number of arcs between vertices of such labels."""


def numbers_of(bound: BoundPattern, labels: Labels) -> Numbers:
    """Return the numbers of candidates and of arcs that orders are planned by."""
    arcs = []
    for edge in bound.edges:
        ends = bound.labels[edge.source], bound.labels[edge.target]
        number = labels.arcs(ends[0], edge.labels, ends[1])
        if edge.either and bound.directed:
            number += labels.arcs(ends[1], edge.labels, ends[0])
        arcs.append(number)
    return [labels.vertices(codes) for codes in bound.labels], arcs


class _KnownLabels:
    """The numbers of a graph, which has no code of labels that it does not have."""

    def __init__(self, graph: Graph) -> None:
        self._labels = graph.label_frequencies()
        self._sizes = len(graph.vertex_label_table), len(graph.edge_label_table)

    def vertices(self, labels: tuple[int, ...] | None) -> int:
        return self._labels.vertices(_below(labels, self._sizes[0]))

    def arcs(
        self, sources: tuple[int, ...] | None, edges: tuple[int, ...] | None, targets: tuple[int, ...] | None
    ) -> int:
        vertices, kinds = self._sizes
        return self._labels.arcs(_below(sources, vertices), _below(edges, kinds), _below(targets, vertices))


def _below(codes: tuple[int, ...] | None, size: int) -> tuple[int, ...] | None:
    return None if codes is None else tuple(code for code in codes if code < size)


def _numbers_of_graph(bound: BoundPattern, graph: Graph) -> Numbers:
    return numbers_of(bound, _KnownLabels(graph))
