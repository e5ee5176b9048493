"""Delta plans that count matches at the images of a query vertex, the *tallied* one.

Let c be that vertex, P a place of the changed edge, and F(P, c, v) the embeddings that map P to the edge and
c to v. The count at v changes by the sum of F(P, c, v) over all places. An automorphism s gives
F(s(P), s(c), v) = F(P, c, v), so one place stands for its orbit, where each vertex x of the orbit of c is
tallied:

* If x is in P, its image is an end of the changed edge, so the number of matches is all that is needed.
* Otherwise x is matched as early as possible after P; for each of its images, the number of ways to match all
  later levels is counted as in other counting plans, and added there. Of vertices x that automorphisms fixing
  P exchange, one is tallied.

Symmetries are broken that fix P and x. A match found then counts for as many embeddings as automorphisms fix
c, wherever x is, and for one occurrence. (Of n automorphisms, n / |orbit of c| fix c; of the places of an
orbit, those that take c to the orbit of x under the automorphisms that fix P are as many as these numbers
leave.)

The number of all matches is that of one of the plans of a place. Where occurrences are counted and
automorphisms that fix P move x, none of them finds each occurrence equally often as it should: there is a
plan without x then, which tallies only ends of the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from motiflux.graph import Graph
from motiflux.pattern.automorphism import Automorphisms, Permutation, automorphisms
from motiflux.plan.passes.bare import BarePlace, bare_places
from motiflux.plan.passes.drafts import DeltaPlan, Draft, Drafter
from motiflux.plan.passes.order import CostModel, orders_to, rooted_orders
from motiflux.plan.passes.places import Place, orbits_of, places
from motiflux.plan.passes.symmetry import stabilizer


def tallied_plans(
    graph: Graph,
    drafter: Drafter,
    model: CostModel,
    counted: int,
    alternatives: Callable[[Place], Sequence[Draft]],
    *,
    once_each: bool,
) -> tuple[DeltaPlan, ...]:
    """Return the searches for the matches that a changed edge adds or removes, and their images.

    Parameters
    ----------
    graph, drafter, model
        As for plans without a tallied vertex.
    counted
        The tallied query vertex.
    alternatives
        Returns the plan of a place, and a second one, if any, where nothing but its ends is tallied.
    once_each
        Whether occurrences are counted, not embeddings.
    """
    bound = drafter.bound
    group = automorphisms(drafter.pattern, directed=bound.directed)
    exchanges = drafter.breaking
    generators = group.generators if exchanges else ()
    orbit = _orbits([counted], generators, bound.size)[0][1]
    fixing = group.order // len(orbit) if exchanges else 1
    tallying = _Tallying(drafter, sorted(orbit), fixing, exchanges, once_each)
    plans: list[DeltaPlan] = []
    for negated in (False, True):
        for place, images in orbits_of(places(bound, negated=negated), generators, bound.size):
            drafts = _Drafts(drafter, model, place, alternatives)
            plans += [
                replace(plan, inverse=negated) for plan in tallying.of_place(place, len(images), drafts)
            ]
    for bare in bare_places(graph, drafter, generators):
        plans += map(bare.finished, tallying.of_place(bare.place, len(bare.images), _bare_drafts(bare)))
    return tuple(plans)


@dataclass(frozen=True, slots=True)
class _Drafts:
    """Makes the plans of a place."""

    drafter: Drafter
    model: CostModel
    place: Place
    plain: Callable[[Place], Sequence[Draft]]

    def to(self, tallied: int) -> Draft:
        """Return the best plan that matches a tallied vertex.

        A second one from the other end did not pay: its vertices are more than those of a count.
        """
        bound = self.drafter.bound
        orders = [
            *orders_to(bound, self.model, self.place, tallied),
            *rooted_orders(bound, self.model, self.place),
        ]
        drafts = [self.drafter.draft(one, tallied) for one in {one.vertices: one for one in orders}.values()]
        return min(drafts, key=lambda one: one.cost)


def _bare_drafts(bare: BarePlace) -> _Drafts:
    def plain(place: Place) -> Sequence[Draft]:
        orders = rooted_orders(bare.drafter.bound, bare.model, place)
        return [min(map(bare.drafter.draft, orders), key=lambda one: one.cost)]

    return _Drafts(bare.drafter, bare.model, bare.place, plain)


@dataclass(frozen=True, slots=True)
class _Tallying:
    """Tallies one query vertex in the plans of each place.

    Parameters
    ----------
    orbit
        The vertices that automorphisms exchange with it.
    fixing
        The number of automorphisms that fix it.
    exchanges
        Whether one place stands for its orbit; else automorphisms are left aside.
    """

    drafter: Drafter
    orbit: list[int]
    fixing: int
    exchanges: bool
    once_each: bool

    def of_place(self, place: Place, size: int, drafts: _Drafts) -> list[DeltaPlan]:
        """Return the plans of a place that stands for `size` places."""
        ends = [level for level, vertex in enumerate(place) if vertex in self.orbit]
        free = [vertex for vertex in self.orbit if vertex not in place]
        weight = 1 if self.once_each else self.fixing
        apart = _orbits(free, self._fixing(place), self.drafter.bound.size)
        plans: list[DeltaPlan] = []
        carriers = [one for one in apart if len(one[1]) == 1 or not self.once_each]
        if not carriers:
            of_ends = tuple((level, weight) for level in ends)
            for at, draft in enumerate(drafts.plain(place)):
                made = _whole(draft.plan, self._multiplier(size, draft), of_ends)
                plans.append(replace(made, replaces_last=at > 0))
        for one in apart:
            vertex, exchanged = one
            draft = drafts.to(vertex)
            tallied: tuple[tuple[int, int], ...] = ((draft.plan.order.index(vertex), weight),)
            multiplier = 0
            if one in carriers[:1]:
                multiplier = self._multiplier(size, draft)
                tallied = (*((level, weight // len(exchanged)) for level in ends), *tallied)
            plans.append(_whole(draft.plan, multiplier, tallied))
        return plans

    def _multiplier(self, size: int, draft: Draft) -> int:
        return 1 if self.once_each or not self.exchanges else size * draft.stabilizer

    def _fixing(self, place: Place) -> Iterable[Permutation]:
        """Return generators of the automorphisms that fix a place."""
        if not self.exchanges:
            return ()
        vertices = [vertex for vertex in place if vertex < self.drafter.bound.size]
        base = (*vertices, *(vertex for vertex in range(self.drafter.bound.size) if vertex not in vertices))
        group: Automorphisms = automorphisms(
            self.drafter.pattern, directed=self.drafter.bound.directed, base=base
        )
        return stabilizer(group, len(vertices)).generators


def _whole(plan: DeltaPlan, multiplier: int, tallied: tuple[tuple[int, int], ...]) -> DeltaPlan:
    return replace(plan, multiplier=multiplier, tallied=tallied)


def _orbits(
    vertices: Sequence[int], generators: Iterable[Permutation], size: int
) -> list[tuple[int, set[int]]]:
    """Return one vertex of each orbit that some of `vertices` are in, and the orbit."""
    diagonal = [(vertex, vertex) for vertex in range(size)]
    orbits = orbits_of(diagonal, tuple(generators), size)
    found = [(first, {image[first] for image in images}) for (first, _), images in orbits]
    return [
        (min(orbit.intersection(vertices)), orbit) for _, orbit in found if not orbit.isdisjoint(vertices)
    ]
