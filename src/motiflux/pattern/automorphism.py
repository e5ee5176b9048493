"""The automorphism group of a pattern, exactly, through a chain of stabilizers.

The group itself may have 32! elements. It is stored, for a base b0, b1, ..., as the orbit of each b_i under
the automorphisms that fix b0..b_(i-1) (Schreier and Sims). The order is the product of the orbit sizes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from motiflux.pattern.comparison_points import ComparisonPoints, Elements, comparison_points
from motiflux.pattern.negated import AnyVertex, NegatedEdge
from motiflux.pattern.pattern import Pattern

Permutation = tuple[int, ...]

_NO_RELATION = 0

_MOST_STRUCTURES = 64


@dataclass(frozen=True, slots=True)
class Automorphisms:
    """The automorphism group of a pattern.

    Parameters
    ----------
    order
        Number of automorphisms, the identity included.
    generators
        Permutations that generate the group: they map vertex v to ``generator[v]``.
    base
        All query vertices in the order the chain fixes them.
    orbits
        ``orbits[i]``: where ``base[i]`` can go while ``base[:i]`` stay fixed.
    """

    order: int
    generators: tuple[Permutation, ...]
    base: tuple[int, ...]
    orbits: tuple[frozenset[int], ...]

    def elements(self) -> tuple[Permutation, ...]:
        """Return all automorphisms, the identity first: `order` of them."""
        identity = tuple(range(len(self.base)))
        found = {identity: None}
        frontier = [identity]
        while frontier:
            last = frontier.pop()
            fresh = [tuple(last[v] for v in generator) for generator in self.generators]
            frontier += [one for one in fresh if one not in found]
            found |= dict.fromkeys(fresh)
        return tuple(found)


def automorphisms(
    pattern: Pattern,
    *,
    directed: bool = False,
    base: Sequence[int] | None = None,
    every_edge: bool = False,
    colors: Sequence[Hashable] | None = None,
) -> Automorphisms:
    """Return the permutations of the query vertices that leave the pattern the same.

    They preserve the labels, ids and conditions of vertices, the set of query edges with their conditions and
    directions, the negated edges, the pairs of vertices that may coincide, and the comparisons: some
    permutation of the query edges that goes with that of the vertices turns the comparisons into themselves.

    Parameters
    ----------
    pattern
        Up to 32 vertices.
    directed
        The direction of the data graph, which query edges without one of their own take.
    base
        The order in which the chain fixes vertices; default: as the pattern lists them.
    every_edge
        Whether query edges of one kind between the same vertices count one by one, as for choices of copies:
        an automorphism then keeps their number.
    colors
        Something for each query vertex that automorphisms preserve too.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> import math
    >>> automorphisms(Pattern.from_edges([(0, i) for i in range(1, 32)])).order == math.factorial(31)
    True
    """
    chosen = tuple(range(pattern.num_vertices)) if base is None else tuple(base)
    structure = _structure(pattern, directed, every_edge, None if colors is None else tuple(colors))
    return group_of(structure, chosen)


def group_of(structure: Structure, chosen: tuple[int, ...]) -> Automorphisms:
    """Return the automorphisms of a structure, with all of its vertices as the base."""
    if structure.is_rigid:
        return Automorphisms(1, (), chosen, tuple(frozenset((point,)) for point in chosen))
    fixed = [structure.domains]
    for point in chosen[:-1]:  # points that are no vertices stay free: they follow the vertices
        fixed.append(structure.assign(fixed[-1], point, point) or fixed[-1])
    generators: list[Permutation] = []
    orbits: list[frozenset[int]] = []
    for depth in reversed(range(len(chosen))):
        orbits.append(_stabilizer_orbit(structure, fixed[depth], chosen[depth], generators))
    orbits.reverse()
    size = len(chosen)
    onto_vertices = dict.fromkeys(generator[:size] for generator in generators)
    return Automorphisms(prod(map(len, orbits)), tuple(onto_vertices), chosen, tuple(orbits))


@lru_cache(_MOST_STRUCTURES)
def _structure(
    pattern: Pattern, directed: bool, every_edge: bool, colors: tuple[Hashable, ...] | None
) -> Structure:
    """Return the structure of a pattern, for which groups with several bases are asked in turn."""
    return Structure(pattern, directed, comparison_points(pattern, directed, every_edge=every_edge), colors)


def _stabilizer_orbit(
    structure: Structure, domains: list[int], point: int, generators: list[Permutation]
) -> frozenset[int]:
    """Return the orbit of `point` under the automorphisms that `domains` leave open.

    `domains` are the possible images if the points before `point` are fixed. `generators` generate, on entry,
    the automorphisms that fix `point` too; automorphisms that move it are added.
    """
    orbit = {point}
    refused: set[int] = set()
    for image in _bits(domains[point] & ~(1 << point)):
        if image in orbit or image in refused:
            continue
        narrowed = structure.assign(domains, point, image)
        found = None if narrowed is None else structure.search(narrowed)
        if found is None:
            refused |= _orbit(image, generators)
        else:
            generators.append(found)
            orbit = _orbit(point, generators)
    return frozenset(orbit)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def _orbit(point: int, generators: Iterable[Permutation]) -> set[int]:
    reached, frontier = {point}, [point]
    while frontier:
        vertex = frontier.pop()
        for generator in generators:
            if generator[vertex] not in reached:
                reached.add(generator[vertex])
                frontier.append(generator[vertex])
    return reached


class Structure:
    """The structure that automorphisms preserve, as bit masks over its points.

    The points are the vertices; where there are comparisons, also the edges that these name, and the
    comparisons (`motiflux.pattern.comparison_points`). ``domains[v]`` holds the points that v may go to.

    Parameters
    ----------
    pattern
        The vertices and edges.
    directed
        The direction of the data graph.
    extra
        The points that are no vertices.
    colors
        A value for each vertex, which automorphisms keep; None: no such values.
    """

    def __init__(
        self,
        pattern: Elements,
        directed: bool,
        extra: ComparisonPoints,
        colors: tuple[Hashable, ...] | None = None,
    ) -> None:
        self._directed = directed
        self.size = pattern.num_vertices + len(extra.colors)
        self._relation = _relations(pattern, directed, extra)
        # alike[v][r]: the vertices w with relation r to v.
        self._alike: list[dict[int, int]] = []
        for row in self._relation:
            alike: dict[int, int] = {}
            for w, number in enumerate(row):
                alike[number] = alike.get(number, 0) | 1 << w
            self._alike.append(alike)
        self.domains = self._refined_domains(pattern, extra, colors or (None,) * pattern.num_vertices)
        self.is_rigid = all(domain.bit_count() == 1 for domain in self.domains[: pattern.num_vertices])
        """Whether there is no automorphism but the identity, as each vertex has one image."""

    def _refined_domains(
        self, pattern: Elements, extra: ComparisonPoints, given: tuple[Hashable, ...]
    ) -> list[int]:
        """Return the possible images of each point, by colour refinement from labels and conditions.

        For most labelled patterns each vertex gets a colour of its own, and no search is needed.
        """
        around = [
            [(number, w) for w, number in enumerate(row) if number != _NO_RELATION] for row in self._relation
        ]
        without = negated_alone(pattern, self._directed)
        plain = [
            (vertex.labels, vertex.ids, vertex.where, alone, color)
            for vertex, alone, color in zip(pattern.vertices, without, given, strict=True)
        ]
        colors = _numbered([*plain, *extra.colors])
        while True:
            finer = _numbered(
                [
                    (colors[v], tuple(sorted((number, colors[w]) for number, w in around[v])))
                    for v in range(self.size)
                ]
            )
            if max(finer) == max(colors):
                break
            colors = finer
        classes = [0] * self.size
        for v, color in enumerate(colors):
            classes[color] |= 1 << v
        return [classes[color] for color in colors]

    def search(self, domains: list[int]) -> Permutation | None:
        """Return an automorphism within `domains`, or None if there is none."""
        undecided = [v for v in range(self.size) if domains[v].bit_count() > 1]
        if not undecided:
            return tuple(domain.bit_length() - 1 for domain in domains)
        vertex = min(undecided, key=lambda v: domains[v].bit_count())
        for image in _bits(domains[vertex]):
            narrowed = self.assign(domains, vertex, image)
            if narrowed is not None:
                found = self.search(narrowed)
                if found is not None:
                    return found
        return None

    def assign(self, domains: list[int], vertex: int, image: int) -> list[int] | None:
        """Return the domains after vertex `vertex` is mapped to `image`, or None if one is empty.

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


def negated_alone(pattern: Elements, directed: bool) -> list[frozenset[Hashable]]:
    """Return for each vertex the kinds of edges that it must not have to any vertex."""
    found: list[set[Hashable]] = [set() for _ in pattern.vertices]
    for one in pattern.negated:
        if one.is_pair:
            continue
        found[one.ends[0]].add(bare_kind(one, directed))
    return [frozenset(kinds) for kinds in found]


def bare_kind(one: NegatedEdge, directed: bool) -> Hashable:
    """Return the kind of a negated edge to any vertex."""
    arc = directed if one.directed is None else one.directed
    out = isinstance(one.target, AnyVertex)
    other = one.target if out else one.source
    return ("out" if out else "in") if arc else "either", one.labels, one.where, other, len(one.besides)


def _numbered(kinds: Sequence[Hashable]) -> list[int]:
    """Return a number per kind, the same for equal kinds, from 0 without gaps."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(kind, len(numbers)) for kind in kinds]


def _relations(pattern: Elements, directed: bool, extra: ComparisonPoints) -> list[list[int]]:
    """Return a number per ordered pair of points; equal where the same kinds of edges join them.

    That two vertices may coincide counts as one more kind, and so do the ways in which comparisons name
    points.
    """
    between: dict[tuple[int, int], set[Hashable]] = {}
    for edge in pattern.edges:
        arc = directed if edge.directed is None else edge.directed
        ends, accepted = (edge.source, edge.target), (edge.labels, edge.where)
        between.setdefault(ends, set()).add(("out" if arc else "either", accepted))
        between.setdefault(ends[::-1], set()).add(("in" if arc else "either", accepted))
    for one in pattern.negated_pairs:
        arc = directed if one.directed is None else one.directed
        pair, accepted = (one.ends[0], one.ends[1]), (one.labels, one.where)
        between.setdefault(pair, set()).add(("no out" if arc else "no either", accepted))
        between.setdefault(pair[::-1], set()).add(("no in" if arc else "no either", accepted))
    for one in pattern.negated:
        kind = bare_kind(one, directed) if one.besides else None
        for vertex in one.besides:
            between.setdefault((one.ends[0], vertex), set()).add(("besides", kind))
            between.setdefault((vertex, one.ends[0]), set()).add(("besides of", kind))
    for pair in pattern.may_coincide:
        for ends in (pair, pair[::-1]):
            between.setdefault(ends, set()).add("may coincide")
    for first, second, kind in extra.links:
        between.setdefault((first, second), set()).add((kind, "from"))
        between.setdefault((second, first), set()).add((kind, "to"))
    numbers: dict[frozenset[Hashable], int] = {}
    size = pattern.num_vertices + len(extra.colors)
    relation = [[_NO_RELATION] * size for _ in range(size)]
    for (source, target), kinds in between.items():
        relation[source][target] = numbers.setdefault(frozenset(kinds), _NO_RELATION + 1 + len(numbers))
    return relation
