"""Places of a changed edge that are equivalent in a part of the pattern: coalesced search (GAMMA, V-B).

Automorphisms of the pattern exchange some places; `orbits_of` finds these, and one plan serves an orbit (the
paper's k = 0). Without k *removed* vertices, the rest of the pattern, its *kept* vertices, may have more
automorphisms, which exchange places of different orbits. Searches from these places visit the same data
vertices until they come to the removed ones, each time as other query vertices. So they are done together: a
level is matched once, and each plan takes the vertex as the query vertex that it has at that level.

Rules of the paper. Rule 1, an edge belongs to the group with the fewest removed vertices: groups are formed
by ascending k, and an orbit of the pattern enters a group as a whole, by one of its places. Rule 2, of groups
with equal k, the one with more edges is formed first; of these, the one whose removed vertices come first in
the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TypeVar

from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Permutation, automorphisms
from motiflux.plan.bind import BoundPattern
from motiflux.plan.passes.drafts import allowed_of
from motiflux.plan.passes.places import Place, PlaceOrbit, orbits_of

T = TypeVar("T")

# An edge alone has no level to share.
_LEAST_KEPT = 3

# Sets of removed vertices that are tried, the smallest first: planning must stay short.
_MOST_REMOVALS = 64


@dataclass(frozen=True, slots=True)
class Member:
    """A place of a group, on behalf of its orbit.

    Parameters
    ----------
    orbit
        The position of its orbit.
    place
        The place.
    moved
        The kept query vertex that takes the part of each kept query vertex of the first place of the group;
        removed query vertices are themselves.
    """

    orbit: int
    place: Place
    moved: Permutation


@dataclass(frozen=True, slots=True)
class EquivalentPlaces:
    """Places of different orbits that are equivalent without the removed vertices.

    Parameters
    ----------
    removed
        Query vertices, ascending.
    members
        One for each orbit. The first dominates the others as far as one can: the ends of its edge have the
        most removed neighbours, which restrict them.
    """

    removed: tuple[int, ...]
    members: tuple[Member, ...]


def coalesced(
    pattern: Pattern,
    bound: BoundPattern,
    orbits: Sequence[PlaceOrbit],
    form: Callable[[EquivalentPlaces], T | None],
    *,
    any_vertices: bool = False,
) -> list[T]:
    """Return the groups that `form` makes of equivalent places; each orbit is in one group at most.

    Parameters
    ----------
    orbits
        Of the places of the pattern.
    form
        Returns a group, or None if it does not pay; it is called in the order of the rules.
    any_vertices
        Whether any vertices may be removed, not only those with one neighbour (remark of section V-B).
    """
    kinds = _kinds(pattern, bound, orbits)
    alike = {kind for kind in kinds if len({orbit for orbit, _ in kinds[kind]}) > 1}
    free = {orbit for kind in alike for orbit, _ in kinds[kind]}
    formed: list[T] = []
    for same_size in _removals(bound, any_vertices):
        found = [
            group
            for removed in same_size
            for group in _equivalent(pattern, bound, orbits, frozenset(removed), free)
        ]
        while found:
            found = [left for group in found if (left := _within(group, free)) is not None]
            if not found:
                break
            best = min(found, key=lambda group: (-len(group.members), group.removed))
            found.remove(best)
            made = form(best)
            if made is not None:
                formed.append(made)
                free -= {member.orbit for member in best.members}
    return formed


def _kinds(
    pattern: Pattern, bound: BoundPattern, orbits: Sequence[PlaceOrbit]
) -> dict[object, list[tuple[int, Place]]]:
    """Return the places by the labels and ids of their ends and the edges between; equivalent ones agree."""
    kinds: dict[object, list[tuple[int, Place]]] = {}
    for orbit, (first, images) in enumerate(orbits):
        for image in images:
            place = image[first[0]], image[first[1]]
            ends = [(bound.labels[end], allowed_of(pattern.vertices[end])) for end in place]
            edges = frozenset(
                (edge.either, edge.labels, not edge.either and edge.source == place[0])
                for edge in bound.incident[place[0]]
                if edge.other(place[0]) == place[1]
            )
            kinds.setdefault((*ends, edges), []).append((orbit, place))
    return kinds


def _removals(bound: BoundPattern, any_vertices: bool) -> Iterator[list[tuple[int, ...]]]:
    """Yield sets of vertices to remove, those of one size together; the others stay connected."""
    removable = [vertex for vertex in range(bound.size) if any_vertices or len(bound.neighbors[vertex]) == 1]
    left = _MOST_REMOVALS
    for size in range(1, min(len(removable), bound.size - _LEAST_KEPT) + 1):
        some = list(islice(combinations(removable, size), left))
        left -= len(some)
        yield [removed for removed in some if not any_vertices or _is_connected_without(bound, removed)]
        if left == 0:
            return


def _is_connected_without(bound: BoundPattern, removed: Sequence[int]) -> bool:
    kept = set(range(bound.size)).difference(removed)
    frontier = [min(kept)]
    reached = set(frontier)
    while frontier:
        fresh = (bound.neighbors[frontier.pop()] & kept) - reached
        reached |= fresh
        frontier += fresh
    return reached == kept


def _equivalent(
    pattern: Pattern,
    bound: BoundPattern,
    orbits: Sequence[PlaceOrbit],
    removed: frozenset[int],
    free: set[int],
) -> list[EquivalentPlaces]:
    """Return the groups of places that the automorphisms of the kept vertices exchange."""
    kept = [vertex for vertex in range(bound.size) if vertex not in removed]
    inside: dict[Place, int] = {}
    for orbit, (first, images) in enumerate(orbits):
        for image in images:
            place = image[first[0]], image[first[1]]
            if removed.isdisjoint(place):
                inside[place] = orbit
    if len(free.intersection(inside.values())) <= 1:
        return []
    group = automorphisms(_induced(pattern, kept), directed=bound.directed)
    generators = [_on_all(bound.size, kept, generator) for generator in group.generators]
    found = []
    for first, images in orbits_of(list(inside), generators, bound.size) if generators else ():
        reached: dict[int, tuple[Place, Permutation]] = {}
        for image in images:
            place = image[first[0]], image[first[1]]
            if inside[place] in free:
                reached.setdefault(inside[place], (place, image))
        if len(reached) > 1:
            found.append(_group(bound, removed, reached))
    return found


def _group(
    bound: BoundPattern, removed: frozenset[int], reached: dict[int, tuple[Place, Permutation]]
) -> EquivalentPlaces:
    def restricted(orbit: int) -> tuple[int, int]:
        return -sum(len(bound.neighbors[end] & removed) for end in reached[orbit][0]), orbit

    by_dominance = sorted(reached, key=restricted)
    _, to_first = reached[by_dominance[0]]
    members = []
    for orbit in by_dominance:
        place, image = reached[orbit]
        moved = list(range(bound.size))
        for vertex in range(bound.size):
            moved[to_first[vertex]] = image[vertex]
        members.append(Member(orbit, place, tuple(moved)))
    return EquivalentPlaces(tuple(sorted(removed)), tuple(members))


def _within(group: EquivalentPlaces, free: set[int]) -> EquivalentPlaces | None:
    """Return the group of the members whose orbits are free; None if they are too few."""
    members = [member for member in group.members if member.orbit in free]
    if len(members) <= 1:
        return None
    if len(members) == len(group.members):
        return group
    first = members[0].moved
    moved = [tuple(member.moved[first.index(vertex)] for vertex in range(len(first))) for member in members]
    return EquivalentPlaces(
        group.removed,
        tuple(Member(one.orbit, one.place, how) for one, how in zip(members, moved, strict=True)),
    )


def _induced(pattern: Pattern, kept: Sequence[int]) -> Pattern:
    """Return the pattern of the kept vertices and the query edges between them."""
    number = {vertex: at for at, vertex in enumerate(kept)}
    edges = tuple(
        replace(edge, source=number[edge.source], target=number[edge.target])
        for edge in pattern.edges
        if edge.source in number and edge.target in number
    )
    return Pattern(tuple(pattern.vertices[vertex] for vertex in kept), edges)


def _on_all(size: int, kept: Sequence[int], permutation: Permutation) -> Permutation:
    """Return a permutation of the kept vertices as one of all vertices that leaves the removed ones."""
    moved = list(range(size))
    for at, vertex in enumerate(kept):
        moved[vertex] = kept[permutation[at]]
    return tuple(moved)
