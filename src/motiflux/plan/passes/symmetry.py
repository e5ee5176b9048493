"""Symmetry breaking: order restrictions that one of the automorphic images of an embedding satisfies.

After Grochow and Kellis (RECOMB 2007): fix the query vertices one after another; the image of each is the
smallest among the images of its orbit under the automorphisms that fix the vertices before. Fixing the
vertices in matching order makes every restriction compare a vertex with one that is already matched.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern
from motiflux.pattern.automorphism import Automorphisms, Permutation, automorphisms
from motiflux.types import Semantics, Symmetry

MOST_IMAGES = 720
"""Order of the largest automorphism group whose images are listed from one row: all orders of six vertices.

The next symmetric group has order 5,040: a single row found would fill many batches."""

Restriction = tuple[int, int]
"""Query vertices (u, v): the image of u is smaller than that of v."""

Transversal = tuple[int, tuple[tuple[int, Permutation], ...]]
"""A point, and its images under the automorphisms that fix the points before, each with an automorphism."""


def check_symmetry(semantics: Semantics, symmetry: Symmetry, pattern: Pattern | None = None) -> None:
    """Refuse ``symmetry="subgraphs"`` where subgraphs are not defined.

    Raises
    ------
    ArgumentError
        Symmetry is ``subgraphs`` and query vertices may share a data vertex.
    """
    if symmetry is not Symmetry.SUBGRAPHS:
        return
    if semantics is Semantics.HOMOMORPHISM:
        raise ArgumentError("symmetry", "'embeddings' with semantics='homomorphism'", symmetry.value)
    if pattern is not None and pattern.may_coincide:
        raise ArgumentError(
            "symmetry", "'embeddings' for a pattern with vertices that may coincide", symmetry.value
        )


def has_images(semantics: Semantics, symmetry: Symmetry, may_coincide: Collection[object]) -> bool:
    """Return whether all embeddings are wanted, and automorphisms map each to different ones."""
    return symmetry is Symmetry.EMBEDDINGS and semantics is not Semantics.HOMOMORPHISM and not may_coincide


def restrictions(group: Automorphisms) -> tuple[Restriction, ...]:
    """Return restrictions that exactly one of the ``group.order`` images of each embedding satisfies.

    No restriction is implied by others.
    """
    if group.order == 1:
        return ()
    pairs = {
        (point, image)
        for point, orbit in zip(group.base, group.orbits, strict=True)
        for image in orbit - {point}
    }
    middles = {u for u, _ in pairs} & {v for _, v in pairs}
    return tuple(
        sorted((u, v) for u, v in pairs if not any((u, w) in pairs and (w, v) in pairs for w in middles))
    )


def stabilizer(group: Automorphisms, points: int) -> Automorphisms:
    """Return the automorphisms that fix the first `points` vertices of the base, over the rest of it."""
    fixed = group.base[:points]
    orbits = group.orbits[points:]
    return Automorphisms(
        prod(map(len, orbits)),
        tuple(one for one in group.generators if all(one[vertex] == vertex for vertex in fixed)),
        group.base[points:],
        orbits,
    )


def closure(pairs: tuple[Restriction, ...]) -> frozenset[Restriction]:
    """Return the transitive closure of `pairs`."""
    greater: dict[int, set[int]] = {}
    for u, v in pairs:
        greater.setdefault(u, set()).add(v)
    known: set[Restriction] = set()
    for start in greater:
        frontier = [start]
        while frontier:
            fresh = {(start, v) for v in greater.get(frontier.pop(), ())} - known
            known |= fresh
            frontier += [v for _, v in fresh]
    return frozenset(known)


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
