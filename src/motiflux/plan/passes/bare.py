"""Delta plans for negated edges to any vertex: searches from the end that loses or gets its last such edge.

The other end of the changed edge is in no match. It is a query vertex of the plan all the same, the *free
end*, which may coincide with all others but those whose images may be such ends: so the levels of such a plan
are those of any plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from motiflux.graph import Direction, Graph
from motiflux.pattern import Pattern, QueryEdge, QueryVertex
from motiflux.pattern.automorphism import Automorphisms
from motiflux.plan.bind import BoundEdge, BoundPattern
from motiflux.plan.passes.drafts import DeltaPlan, Draft, Drafter
from motiflux.plan.passes.numbers import numbers_of_graph
from motiflux.plan.passes.order import CostModel, rooted_orders
from motiflux.plan.passes.places import orbits_of

_FREE = frozenset({"\0free end"})
"""A label that no other query vertex has, so that automorphisms fix the free end."""


def bare_plans(
    graph: Graph, drafter: Drafter, group: Automorphisms, *, exchange: bool, once_each: bool
) -> list[DeltaPlan]:
    """Return the plans for the negated edges to any vertex.

    In such a plan, all edges ignore the changed edge. Of several vertices without such edges, those before
    the one of the plan ignore it too; where all vertices of a match differ, all do (`Matcher::admits` then
    leaves out one of the two ends).

    Parameters
    ----------
    drafter
        That of the other plans.
    group
        The automorphisms of the pattern.
    exchange
        Whether one search serves all vertices that automorphisms exchange.
    once_each
        Whether occurrences are found, not embeddings.
    """
    bound = drafter.bound
    vertices = list(dict.fromkeys(one.vertex for one in bound.bare))
    places = [(vertex, vertex) for vertex in vertices]
    plans = []
    for (vertex, _), images in orbits_of(places, group.generators if exchange else (), bound.size):
        earlier = vertices if drafter.injective else vertices[: vertices.index(vertex)]
        for outward in _ways(bound, vertex):
            drafts = list(_drafts(graph, drafter, vertex, outward=outward))
            _, plan, stabilizer, _ = min(drafts, key=lambda one: one.cost)
            level_of = {query: level for level, query in enumerate(plan.order)}
            taken, multiplier = images, len(images) * (stabilizer if drafter.breaking else 1)
            if once_each:
                taken, multiplier = images[:1], 1
            plans.append(
                replace(
                    plan,
                    edges=(),
                    images=tuple(
                        tuple(level_of[image.index(query)] for query in range(bound.size)) for image in taken
                    ),
                    multiplier=multiplier,
                    row_cost=0.0,
                    inverse=True,
                    negated_before=(True,) * len(bound.negated),
                    bare_before=frozenset(earlier),
                    free_end=1 if outward else 0,
                )
            )
    return plans


def _ways(bound: BoundPattern, vertex: int) -> list[bool]:
    """Return the ways of edges that a vertex must not have: from it, and to it."""
    directions = {one.arcs.direction for one in bound.bare if one.vertex == vertex}
    either = Direction.EITHER in directions
    return [
        outward
        for outward, one in ((True, Direction.OUT), (False, Direction.IN))
        if either or one in directions
    ]


def _drafts(graph: Graph, drafter: Drafter, vertex: int, *, outward: bool) -> Iterator[Draft]:
    """Yield the drafts of a vertex and the way of the changed edge."""
    bound = drafter.bound
    free = bound.size
    place = (vertex, free) if outward else (free, vertex)
    besides = frozenset.intersection(*(one.besides for one in bound.bare if one.vertex == vertex))
    coinciding = {
        pair for other in range(free) if other not in besides for pair in ((free, other), (other, free))
    }
    whole = BoundPattern(
        bound.directed,
        (*bound.labels, None),
        (*bound.edges, BoundEdge(*place, None, not bound.directed)),
        None,
        bound.may_coincide | frozenset(coinciding - {(vertex, free), (free, vertex)}),
        negated=bound.negated,
    )
    pattern = drafter.pattern
    with_free = Pattern(
        (*pattern.vertices, QueryVertex("\0free end", _FREE)),
        (*pattern.edges, QueryEdge(*place)),
        may_coincide=pattern.may_coincide,
        negated=pattern.negated,
    )
    own = replace(drafter, pattern=with_free, bound=whole, injective=False, tail=False, reuse=False)
    model = CostModel(whole, *numbers_of_graph(whole, graph))
    for order in rooted_orders(whole, model, place):
        yield own.draft(order)
