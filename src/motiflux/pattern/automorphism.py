"""The automorphism group of a pattern, exactly, through a chain of stabilizers.

The group itself may have 32! elements; what is kept is, for a base b0, b1, ..., the orbit of each b_i under
the automorphisms that fix b0..b_(i-1) (Schreier and Sims). The order is the product of the orbit sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from motiflux.pattern.pattern import Pattern, QueryEdge

Permutation = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Automorphisms:
    """The automorphism group of a pattern.

    Parameters
    ----------
    order
        Number of automorphisms, the identity included.
    generators
        Permutations that generate the group: vertex v goes to ``generator[v]``.
    base
        All query vertices in the order the chain fixes them.
    orbits
        ``orbits[i]``: where ``base[i]`` can go while ``base[:i]`` stay fixed.
    """

    order: int
    generators: tuple[Permutation, ...]
    base: tuple[int, ...]
    orbits: tuple[frozenset[int], ...]


def automorphisms(
    pattern: Pattern, *, directed: bool = False, base: Sequence[int] | None = None
) -> Automorphisms:
    """Return the permutations of the query vertices that keep labels, edges, edge labels and directions.

    Parameters
    ----------
    pattern
        Up to 32 vertices.
    directed
        The direction of the data graph, which query edges without one of their own take.
    base
        The order in which the chain fixes vertices; default: as the pattern lists them.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> import math
    >>> automorphisms(Pattern.from_edges([(0, i) for i in range(1, 32)])).order == math.factorial(31)
    True
    """
    chosen = tuple(range(pattern.num_vertices)) if base is None else tuple(base)
    structure = _Structure(pattern, directed)
    generators: list[Permutation] = []
    orbits: list[frozenset[int]] = []
    for depth in reversed(range(len(chosen))):
        orbits.append(_stabilizer_orbit(structure, chosen, depth, generators))
    orbits.reverse()
    return Automorphisms(prod(map(len, orbits)), tuple(generators), chosen, tuple(orbits))


def _stabilizer_orbit(
    structure: _Structure, base: tuple[int, ...], depth: int, generators: list[Permutation]
) -> frozenset[int]:
    """Return the orbit of ``base[depth]`` while ``base[:depth]`` stay fixed; adds the generators it needs.

    `generators` generate, on entry, the automorphisms that fix ``base[:depth + 1]``.
    """
    point = base[depth]
    orbit = _orbit(point, generators)
    refused: set[int] = set()
    for image in base[depth + 1 :]:
        if image in orbit or image in refused:
            continue
        found = structure.extend([(v, v) for v in base[:depth]] + [(point, image)])
        if found is None:
            refused |= _orbit(image, generators)
        else:
            generators.append(found)
            orbit = _orbit(point, generators)
    return frozenset(orbit)


def _orbit(point: int, generators: Iterable[Permutation]) -> set[int]:
    reached, frontier = {point}, [point]
    while frontier:
        vertex = frontier.pop()
        for generator in generators:
            if generator[vertex] not in reached:
                reached.add(generator[vertex])
                frontier.append(generator[vertex])
    return reached


class _Structure:
    """What an automorphism must keep, as bit masks over the vertices."""

    def __init__(self, pattern: Pattern, directed: bool) -> None:
        self.size = pattern.num_vertices
        relation = _relations(pattern, directed)
        self._relation = relation
        # alike[v][r]: the vertices w with relation r to v.
        self._alike: list[dict[int, int]] = []
        for v in range(self.size):
            alike: dict[int, int] = {}
            for w in range(self.size):
                alike[relation[v][w]] = alike.get(relation[v][w], 0) | 1 << w
            self._alike.append(alike)
        self._domains = self._initial_domains(pattern)

    def _initial_domains(self, pattern: Pattern) -> list[int]:
        """Return where each vertex may go judged by its label and the relations around it."""
        kinds = [(pattern.vertices[v].labels, tuple(sorted(self._relation[v]))) for v in range(self.size)]
        return [sum(1 << w for w in range(self.size) if kinds[w] == kinds[v]) for v in range(self.size)]

    def extend(self, images: Sequence[tuple[int, int]]) -> Permutation | None:
        """Return an automorphism that sends each first to each second vertex, or None if there is none."""
        domains: list[int] | None = list(self._domains)
        for vertex, image in images:
            if domains is None or not domains[vertex] >> image & 1:
                return None
            domains = self._assign(domains, vertex, image)
        return None if domains is None else self._search(domains)

    def _search(self, domains: list[int]) -> Permutation | None:
        undecided = [v for v in range(self.size) if domains[v].bit_count() > 1]
        if not undecided:
            return tuple(domain.bit_length() - 1 for domain in domains)
        vertex = min(undecided, key=lambda v: domains[v].bit_count())
        rest = domains[vertex]
        while rest:
            image = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            narrowed = self._assign(domains, vertex, image)
            if narrowed is not None:
                found = self._search(narrowed)
                if found is not None:
                    return found
        return None

    def _assign(self, domains: list[int], vertex: int, image: int) -> list[int] | None:
        """Return the domains once `vertex` goes to `image`, or None where one is empty.

        Vertices left with one image are assigned in turn, so that a result of single images is an
        automorphism.
        """
        domains = list(domains)
        pending = [(vertex, image)]
        assigned = set()
        while pending:
            vertex, image = pending.pop()
            if vertex in assigned:
                continue
            assigned.add(vertex)
            domains[vertex] = 1 << image
            for other in range(self.size):
                if other == vertex:
                    continue
                before = domains[other]
                after = before & self._alike[image].get(self._relation[vertex][other], 0) & ~(1 << image)
                if not after:
                    return None
                domains[other] = after
                if after.bit_count() == 1 and before != after:
                    pending.append((other, after.bit_length() - 1))
        return domains


def _relations(pattern: Pattern, directed: bool) -> list[list[int]]:
    """Return a number per ordered pair of vertices; equal where the same kinds of edges join them."""
    between: dict[tuple[int, int], set[tuple[str, object]]] = {}

    def note(source: int, target: int, kind: str, edge: QueryEdge) -> None:
        between.setdefault((source, target), set()).add((kind, edge.labels))

    for edge in pattern.edges:
        arc = directed if edge.directed is None else edge.directed
        note(edge.source, edge.target, "out" if arc else "either", edge)
        note(edge.target, edge.source, "in" if arc else "either", edge)
    numbers: dict[frozenset[tuple[str, object]], int] = {}
    size = pattern.num_vertices
    return [
        [numbers.setdefault(frozenset(between.get((v, w), ())), len(numbers)) for w in range(size)]
        for v in range(size)
    ]
