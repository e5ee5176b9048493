"""Other delta plans for a place: candidates for a race with the plans in use.

Statistics may be wrong by a large factor where labels and degrees are correlated, so that the best order is
far down in the ranking by expected cost. The alternatives therefore differ early: in the vertices at levels 2
and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from motiflux.graph import Graph
from motiflux.plan.passes.drafts import DeltaPlan, Drafter
from motiflux.plan.passes.numbers import Numbers, numbers_of_graph
from motiflux.plan.passes.order import CostModel, Order, continued_orders

_MOST_DRAFTS = 24


def alternative_plans(
    graph: Graph,
    drafter: Drafter,
    used: Sequence[DeltaPlan],
    *,
    most: int,
    numbers: Numbers | None = None,
) -> list[DeltaPlan]:
    """Return plans that find the same matches as those of a place, in other orders.

    Parameters
    ----------
    graph, numbers
        As in `motiflux.plan.passes.delta.delta_plans`.
    used
        The plan of the place, or its two; without shared levels.
    most
        The number of plans to return; fewer if there are not so many.
    """
    bound = drafter.bound
    model = CostModel(bound, *(numbers_of_graph(bound, graph) if numbers is None else numbers))
    seen = {_walked(plan) for plan in used}
    found = []
    for order in _diverse(_orders(drafter, model, used[0].place))[:_MOST_DRAFTS]:
        plan = drafter.draft(order).plan
        if _walked(plan) in seen:
            continue
        seen.add(_walked(plan))
        found.append(_for_matches_of(used[0], plan))
        if len(found) == most:
            break
    return found


def _walked(plan: DeltaPlan) -> tuple[int, ...]:
    """Return what two orders must have in common to visit the same vertices."""
    return plan.order[: plan.walked + 1] if plan.tail is None else plan.order[: plan.walked]


def _orders(drafter: Drafter, model: CostModel, place: tuple[int, int]) -> list[Order]:
    """Return orders for each choice of the vertices at levels 2 and 3, the cheapest first."""
    bound = drafter.bound
    neighbors = bound.neighbors
    starts: list[tuple[int, ...]] = [place]
    for _ in range(min(2, bound.size - len(place))):
        starts = [
            (*start, vertex)
            for start in starts
            for vertex in sorted(frozenset().union(*(neighbors[one] for one in start)).difference(start))
        ]
    orders = chain.from_iterable(continued_orders(bound, model, start) for start in starts)
    return sorted(
        {order.vertices: order for order in orders}.values(), key=lambda order: sum(order.estimates[:-1])
    )


def _diverse(orders: Iterable[Order]) -> list[Order]:
    """Return orders by turns: the best for each vertex at level 2, then for each two at levels 2 and 3."""
    by_turn: tuple[list[Order], list[Order], list[Order]] = ([], [], [])
    seen: set[tuple[int, ...]] = set()
    for order in orders:
        firsts = order.vertices[2:3], order.vertices[2:4]
        turn = next((at for at, first in enumerate(firsts) if first not in seen), 2)
        seen.update(firsts)
        by_turn[turn].append(order)
    return [*by_turn[0], *by_turn[1], *by_turn[2]]


def _for_matches_of(used: DeltaPlan, plan: DeltaPlan) -> DeltaPlan:
    """Return `plan` for the places, and with the factor, of a plan in use."""
    level_of = {vertex: level for level, vertex in enumerate(plan.order)}
    images = tuple(tuple(level_of[used.order[level]] for level in image) for image in used.images)
    return replace(plan, images=images, multiplier=used.multiplier, symmetries=used.symmetries)
