"""Delta plans: searches for the matches that use a changed edge, one for each place of the edge.

A place is an ordered pair of joined query vertices. Places that an automorphism exchanges have equally many
matches, so one search serves all of them. Plans of other places may match their first levels together
(`motiflux.plan.passes.coalesce`). An update changes the matches in which the pair gains its last missing edge
or loses its only one. If a match might use the changed edge twice (homomorphism), query edges before the pair
ignore the changed edge (the position rule). Where edges are negated, there are also plans for their places:
of the matches that they find, those vanish that were there without the changed edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Automorphisms, Permutation, automorphisms
from motiflux.pattern.queries.watched import CasePattern
from motiflux.plan.bind import BoundPattern
from motiflux.plan.ir import SharedLevels
from motiflux.plan.passes.bare import bare_plans
from motiflux.plan.passes.coalesce import coalesced
from motiflux.plan.passes.delta_groups import group_of
from motiflux.plan.passes.drafts import DeltaPlan, Draft, Drafter, begin_at_both_ends, sides
from motiflux.plan.passes.numbers import Numbers, numbers_of_graph
from motiflux.plan.passes.order import CostModel, rooted_orders
from motiflux.plan.passes.places import Place, PlaceOrbit, orbits_of, places
from motiflux.plan.passes.tallied import tallied_plans
from motiflux.types import Semantics, Symmetry

_LEAST_SAVING = 0.1
"""The share of the expected work that shared levels must save with ``coalesce="auto"``."""

_MOST_VARIANTS = 2

_ALIKE = 2.0
"""Two plans for a place are chosen alike if their expected costs have shifted by less than this factor."""


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
    pools: bool = False,
    numbers: Numbers | None = None,
    tallied: int | None = None,
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
    pools
        Whether partial matches are pooled (counting on a GPU): orders in which they can be are preferred.
    numbers
        The result of `motiflux.plan.passes.numbers.numbers_of` for a graph that has changed; None: that of
        `graph`.
    tallied
        A query vertex at whose images matches are counted too (counting only), which leaves levels unshared
        and quotients aside; None: there is none.
    """
    if isinstance(pattern, CasePattern):  # automorphisms of a case need not be those of the others
        symmetry = Symmetry.EMBEDDINGS
        merge = merge and not (bound.others or bound.ascending)
    drafter = Drafter.of(
        pattern,
        bound,
        semantics=semantics,
        symmetry=symmetry,
        counting=counting,
        merge=merge,
        tail=tail,
        mixed_tails=mixed_tails,
        reuse=reuse,
        pools=pools,
    )
    injective, breaking = drafter.injective, drafter.breaking
    group = automorphisms(pattern, directed=bound.directed)
    exchange = injective and merge
    if bound.negates:  # each vertex is looked at by itself
        either_end, coalesce, quotients = False, "off", False
    model = CostModel(bound, *(numbers_of_graph(bound, graph) if numbers is None else numbers))
    either_end = counting and either_end
    alternatives_of = partial(_alternatives, bound, model, drafter, either_end=either_end)
    once_each = symmetry is Symmetry.SUBGRAPHS
    if tallied is not None:
        return tallied_plans(graph, drafter, model, tallied, alternatives_of, once_each=once_each)
    orbits = orbits_of(places(bound), group.generators if exchange else (), bound.size)
    of_edges = len(orbits)
    orbits += orbits_of(places(bound, negated=True), group.generators if exchange else (), bound.size)
    alternatives = [alternatives_of(place) for place, _ in orbits]
    shared: dict[int, list[SharedLevels]] = {}
    if exchange and (coalesce == "on" or (coalesce == "auto" and not counting and _has_cycle(bound))):
        saving = None if coalesce == "on" else _LEAST_SAVING
        form = partial(group_of, bound, model, drafter, alternatives, counting, either_end, saving)
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
                    plan,
                    taken,
                    multiplier,
                    replaces_last=at > 0,
                    symmetries=symmetries,
                    shared=together,
                    inverse=orbit >= of_edges,
                )
            )
    if bound.bare:
        plans += bare_plans(graph, drafter, group, exchange=exchange, once_each=once_each)
    if not exchange and once_each and injective:
        return _one_of_each_orbit(plans, bound, group)
    return tuple(plans)


def same_searches(plans: Sequence[DeltaPlan], others: Sequence[DeltaPlan]) -> bool:
    """Whether plans of one pattern search in the same orders, and choose between two for a place alike."""
    if [_searched(plan) for plan in plans] != [_searched(plan) for plan in others]:
        return False
    return all(
        1 / _ALIKE < _preference(plans, at) / _preference(others, at) < _ALIKE
        for at, plan in enumerate(plans)
        if plan.replaces_last
    )


def _searched(plan: DeltaPlan) -> tuple[Any, ...]:
    return plan.order, plan.replaces_last, plan.shared


def _preference(plans: Sequence[DeltaPlan], at: int) -> float:
    """Return the expected cost of a plan over that of the one that it replaces, by vertex of a row."""
    return (plans[at].row_cost or 1.0) / (plans[at - 1].row_cost or 1.0)


def _alternatives(
    bound: BoundPattern, model: CostModel, drafter: Drafter, place: Place, *, either_end: bool
) -> list[Draft]:
    """Return the plan of a place, and a second one, if any."""
    orders = rooted_orders(bound, model, place)
    both_ends = sides(bound, place) if either_end or drafter.pools else []
    starts = both_ends if either_end else []
    for side in both_ends:
        orders += rooted_orders(bound, model, place, side)
    drafts = [drafter.draft(order) for order in {order.vertices: order for order in orders}.values()]
    chosen = [min(drafts, key=lambda one: one.cost)]
    if starts:
        chosen += _from_other_end(drafts, chosen[0].plan)
    return chosen


def _from_other_end(drafts: Iterable[Draft], best: DeltaPlan) -> list[Draft]:
    """Return the best draft whose level 2 depends on the end that `best` does not begin at, if any."""
    others = [one for one in drafts if begin_at_both_ends(one.plan, best)]
    return [min(others, key=lambda one: one.cost)] if others else []


def _has_cycle(bound: BoundPattern) -> bool:
    """Whether the set of a level can be an intersection."""
    return sum(map(len, bound.neighbors)) >= 2 * bound.size


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
    inverse: bool,
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
        inverse,
        plan.negated_before,
    )


def _one_of_each_orbit(
    plans: Iterable[DeltaPlan], bound: BoundPattern, group: Automorphisms
) -> tuple[DeltaPlan, ...]:
    """Return the plans of one place of each orbit; together they find every occurrence once."""
    firsts = {
        (place, negated)
        for negated in (False, True)
        for place, _ in orbits_of(places(bound, negated=negated), group.generators, len(group.base))
    }
    least = {min(orbit) for orbit in _vertex_orbits(bound, group)}

    def is_first(plan: DeltaPlan) -> bool:
        if plan.free_end is not None:
            return plan.place[1 - plan.free_end] in least
        return (plan.place, plan.inverse) in firsts

    return tuple(plan for plan in plans if is_first(plan))


def _vertex_orbits(bound: BoundPattern, group: Automorphisms) -> list[set[int]]:
    """Return the orbits of query vertices."""
    diagonal = [(vertex, vertex) for vertex in range(bound.size)]
    orbits = orbits_of(diagonal, group.generators, bound.size)
    return [{image[first] for image in images} for (first, _), images in orbits]
