"""Delta plans for negated edges to any vertex: searches from the end that loses or gets its last such edge.

The other end of the changed edge is in no match. It is a query vertex of the plan all the same, the *free
end*, which may coincide with all others but those whose images may be such ends: so the levels of such a plan
are those of any plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from motiflux.graph import Direction, Graph
from motiflux.pattern import Pattern, QueryEdge, QueryVertex
from motiflux.pattern.automorphism import Automorphisms, Permutation
from motiflux.plan.bind import BoundEdge, BoundPattern
from motiflux.plan.passes.drafts import DeltaPlan, Drafter
from motiflux.plan.passes.numbers import numbers_of_graph
from motiflux.plan.passes.order import CostModel, rooted_orders
from motiflux.plan.passes.places import Place, orbits_of

_FREE = frozenset({"\0free end"})
"""A label that no other query vertex has, so that automorphisms fix the free end."""


@dataclass(frozen=True, slots=True, repr=False)
class _WithFreeEnd(Pattern):
    """A pattern with a free end; those of monitors may have several parts."""

    must_connect: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class BarePlace:
    """A place of a changed edge from or to any vertex.

    Parameters
    ----------
    vertex, place
        The query vertex, and the pair with the free end, a vertex more than the pattern has.
    images
        An automorphism to each vertex that this place stands for.
    earlier
        The vertices whose negated edges to any vertex ignore the changed edge.
    free_end
        The level of the free end.
    drafter, model
        What makes plans, of the pattern with the free end.
    """

    vertex: int
    place: Place
    images: list[Permutation]
    earlier: frozenset[int]
    free_end: int
    drafter: Drafter
    model: CostModel

    def finished(self, plan: DeltaPlan) -> DeltaPlan:
        """Return the plan of a draft as one for this place."""
        return replace(
            plan,
            edges=(),
            row_cost=0.0,
            inverse=True,
            negated_before=(True,) * len(self.drafter.bound.negated),
            bare_before=self.earlier,
            free_end=self.free_end,
        )


def bare_plans(
    graph: Graph, drafter: Drafter, group: Automorphisms, *, exchange: bool, once_each: bool
) -> list[DeltaPlan]:
    """Return the plans for the negated edges to any vertex.

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
    plans = []
    for one in bare_places(graph, drafter, group.generators if exchange else ()):
        orders = rooted_orders(one.drafter.bound, one.model, one.place)
        _, plan, stabilizer, _ = min(
            (one.drafter.draft(order) for order in orders), key=lambda made: made.cost
        )
        level_of = {query: level for level, query in enumerate(plan.order)}
        taken, multiplier = one.images, len(one.images) * (stabilizer if drafter.breaking else 1)
        if once_each:
            taken, multiplier = one.images[:1], 1
        images = tuple(
            tuple(level_of[image.index(query)] for query in range(drafter.bound.size)) for image in taken
        )
        plans.append(replace(one.finished(plan), images=images, multiplier=multiplier))
    return plans


def bare_places(graph: Graph, drafter: Drafter, generators: Iterable[Permutation]) -> Iterator[BarePlace]:
    """Yield the places of changed edges to any vertex; one for those that automorphisms exchange.

    All edges of such a plan ignore the changed edge. Of several vertices without such edges, those before the
    one of the plan ignore it too; where all vertices of a match differ, all do (`Matcher::admits` then leaves
    out one of the two ends).
    """
    bound = drafter.bound
    vertices = list(dict.fromkeys(one.vertex for one in bound.bare))
    places = [(vertex, vertex) for vertex in vertices]
    for (vertex, _), images in orbits_of(places, tuple(generators), bound.size):
        earlier = vertices if drafter.injective else vertices[: vertices.index(vertex)]
        for outward in _ways(bound, vertex):
            place = (vertex, bound.size) if outward else (bound.size, vertex)
            own = _with_free_end(drafter, vertex, place)
            model = CostModel(own.bound, *numbers_of_graph(own.bound, graph))
            yield BarePlace(vertex, place, images, frozenset(earlier), int(outward), own, model)


def _ways(bound: BoundPattern, vertex: int) -> list[bool]:
    """Return the ways of edges that a vertex must not have: from it, and to it."""
    directions = {one.arcs.direction for one in bound.bare if one.vertex == vertex}
    either = Direction.EITHER in directions
    return [
        outward
        for outward, one in ((True, Direction.OUT), (False, Direction.IN))
        if either or one in directions
    ]


def _with_free_end(drafter: Drafter, vertex: int, place: Place) -> Drafter:
    """Return what makes the plans of a vertex and the way of the changed edge."""
    bound = drafter.bound
    free = bound.size
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
    with_free = _WithFreeEnd(
        (*pattern.vertices, QueryVertex("\0free end", _FREE)),
        (*pattern.edges, QueryEdge(*place)),
        may_coincide=pattern.may_coincide,
        negated=pattern.negated,
    )
    return replace(drafter, pattern=with_free, bound=whole, injective=False, tail=False, reuse=False)
