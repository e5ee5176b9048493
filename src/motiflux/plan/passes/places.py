"""The places that a changed edge may have in a pattern, and those that automorphisms exchange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from motiflux.pattern.automorphism import Permutation
from motiflux.plan.bind import BoundPattern

Place = tuple[int, int]
"""The query vertices to which the ends of a changed edge are matched."""

PlaceOrbit = tuple[Place, list[Permutation]]
"""One place of an orbit, and an automorphism from it to each place of the orbit, the identity first."""


def places(bound: BoundPattern, *, negated: bool = False) -> list[Place]:
    """Return the places of an edge of the graph, from its source to its target.

    Parameters
    ----------
    negated
        Whether the places are those of negated edges.
    """
    found: dict[Place, None] = {}
    for edge in bound.negated if negated else bound.edges:
        found[edge.source, edge.target] = None
        if edge.either:
            found[edge.target, edge.source] = None
    return list(found)


def orbits_of(all_places: Sequence[Place], generators: Iterable[Permutation], size: int) -> list[PlaceOrbit]:
    """Return the orbits of places under the automorphisms of a pattern of `size` vertices."""
    remaining = dict.fromkeys(all_places)
    orbits = []
    while remaining:
        first = next(iter(remaining))
        reached = {first: tuple(range(size))}
        frontier = [first]
        while frontier:
            u, v = frontier.pop()
            for generator in generators:
                image = generator[u], generator[v]
                if image not in reached:
                    reached[image] = tuple(generator[w] for w in reached[u, v])
                    frontier.append(image)
        for place in reached:
            del remaining[place]
        orbits.append((first, list(reached.values())))
    return orbits
