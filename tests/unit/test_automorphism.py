"""Automorphism groups against what is known of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product

import pytest

from motiflux import Pattern, PatternBuilder
from motiflux.conditions import Comparison, Operator
from motiflux.pattern.automorphism import Automorphisms, automorphisms

Pairs = list[tuple[int, int]]


MOST_WRITTEN = 200
"""Order of the largest group whose elements are all looked at."""


def order_of(edges: Iterable[tuple[int, int]], *, directed: bool = False) -> int:
    return checked(Pattern.from_edges(edges), directed=directed).order


def checked(pattern: Pattern, *, directed: bool = False, base: Sequence[int] | None = None) -> Automorphisms:
    """Return the group, after looking whether its parts agree."""
    group = automorphisms(pattern, directed=directed, base=base)
    assert group.order == math.prod(len(orbit) for orbit in group.orbits)
    assert sorted(group.base) == list(range(pattern.num_vertices))
    for fixed, point, orbit in zip(range(len(group.base)), group.base, group.orbits, strict=True):
        assert point in orbit
        assert orbit.isdisjoint(group.base[:fixed])
    for generator in group.generators:
        assert_keeps(pattern, generator, directed=directed)
    if group.order <= MOST_WRITTEN:
        elements = group.elements()
        assert elements[0] == tuple(range(pattern.num_vertices))
        assert len(set(elements)) == len(elements) == group.order
        for element in elements:
            assert_keeps(pattern, element, directed=directed)
    return group


def assert_keeps(pattern: Pattern, to: Sequence[int], *, directed: bool) -> None:
    def seen(source: int, target: int, kind: object, arc: bool) -> object:
        return (source, target, kind) if arc else (frozenset((source, target)), kind)

    def written(image: Sequence[int]) -> set[object]:
        return {
            seen(
                image[edge.source],
                image[edge.target],
                (edge.labels, edge.where),
                directed if edge.directed is None else edge.directed,
            )
            for edge in pattern.edges
        }

    assert written(to) == written(range(pattern.num_vertices))
    for v, vertex in enumerate(pattern.vertices):
        assert replace(pattern.vertices[to[v]], name="") == replace(vertex, name="")
    pairs = {frozenset(pair) for pair in pattern.may_coincide}
    assert {frozenset(to[v] for v in pair) for pair in pairs} == pairs


def clique(size: int) -> Pairs:
    return list(combinations(range(size), 2))


def cycle(size: int) -> Pairs:
    return [(v, (v + 1) % size) for v in range(size)]


def path(size: int) -> Pairs:
    return [(v, v + 1) for v in range(size - 1)]


def star(leaves: int) -> Pairs:
    return [(0, leaf) for leaf in range(1, leaves + 1)]


def where(size: int, joined: Callable[[int, int], bool]) -> Pairs:
    return [(u, v) for u, v in combinations(range(size), 2) if joined(u, v)]


def cube(dimensions: int) -> Pairs:
    return where(2**dimensions, lambda u, v: (u ^ v).bit_count() == 1)


def grid(rows: int, columns: int, *, torus: bool) -> Pairs:
    def joined(u: int, v: int) -> bool:
        apart = abs(u // columns - v // columns), abs(u % columns - v % columns)
        if torus:
            apart = min(apart[0], rows - apart[0]), min(apart[1], columns - apart[1])
        return sum(apart) == 1

    return where(rows * columns, joined)


def petersen() -> Pairs:
    return kneser(5)


def kneser(size: int) -> Pairs:
    """Pairs out of `size`, joined where they are disjoint."""
    pairs = list(combinations(range(size), 2))
    return where(len(pairs), lambda a, b: not set(pairs[a]) & set(pairs[b]))


def triangular(size: int) -> Pairs:
    """Pairs out of `size`, joined where they meet."""
    pairs = list(combinations(range(size), 2))
    return where(len(pairs), lambda a, b: bool(set(pairs[a]) & set(pairs[b])))


def switched_triangular(edges: Pairs) -> Pairs:
    """T(8) with the adjacency between `edges` and the other pairs turned round: the Chang graphs."""
    pairs = list(combinations(range(8), 2))
    turned = {pairs.index((min(edge), max(edge))) for edge in edges}
    joined = set(triangular(8))
    return where(28, lambda a, b: ((a, b) in joined) != ((a in turned) != (b in turned)))


def rook() -> Pairs:
    return where(16, lambda u, v: u // 4 == v // 4 or u % 4 == v % 4)


def shrikhande() -> Pairs:
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    return where(16, lambda u, v: ((v // 4 - u // 4) % 4, (v - u) % 4) in steps)


def clebsch() -> Pairs:
    return where(16, lambda u, v: (u ^ v).bit_count() in (1, 4))


def paley(prime: int) -> Pairs:
    squares = {x * x % prime for x in range(1, prime)}
    return where(prime, lambda u, v: (v - u) % prime in squares)


def paley_tournament(prime: int) -> Pairs:
    squares = {x * x % prime for x in range(1, prime)}
    return [(u, v) for u, v in permutations(range(prime), 2) if (v - u) % prime in squares]


def bipartite(left: int, right: int) -> Pairs:
    return [(u, left + v) for u, v in product(range(left), range(right))]


class TestKnownGroups:
    @pytest.mark.parametrize("size", [2, 3, 4, 5, 13, 31, 32])
    def test_a_clique_has_every_permutation(self, size: int) -> None:
        assert order_of(clique(size)) == math.factorial(size)

    @pytest.mark.parametrize("size", [3, 4, 5, 6, 17, 31, 32])
    def test_a_cycle_turns_and_flips(self, size: int) -> None:
        assert order_of(cycle(size)) == 2 * size

    @pytest.mark.parametrize("size", [2, 3, 4, 31, 32])
    def test_a_path_flips(self, size: int) -> None:
        assert order_of(path(size)) == 2

    @pytest.mark.parametrize("leaves", [2, 3, 25, 31])
    def test_the_leaves_of_a_star_are_alike(self, leaves: int) -> None:
        assert order_of(star(leaves)) == math.factorial(leaves)

    @pytest.mark.parametrize(
        ("edges", "order"),
        [
            pytest.param(petersen(), 120, id="Petersen"),
            pytest.param(cube(3), 48, id="cube"),
            pytest.param(cube(4), 384, id="4-cube"),
            pytest.param(cube(5), 3840, id="5-cube"),
            pytest.param(bipartite(3, 5), 6 * 120, id="K3,5"),
            pytest.param(bipartite(16, 16), 2 * math.factorial(16) ** 2, id="K16,16"),
            pytest.param(clique(32)[1:], 2 * math.factorial(30), id="clique less an edge"),
            pytest.param(grid(4, 8, torus=False), 4, id="grid 4x8"),
            pytest.param(grid(5, 5, torus=False), 8, id="grid 5x5"),
            pytest.param(grid(4, 8, torus=True), 8 * 16, id="torus 4x8"),
            pytest.param(grid(5, 6, torus=True), 10 * 12, id="torus 5x6"),
            pytest.param(grid(5, 5, torus=True), 2 * 10 * 10, id="torus 5x5"),
            pytest.param([(0, 1), (1, 2), (2, 0), (2, 3)], 2, id="triangle with a tail"),
            pytest.param([(0, 1), (0, 2), (0, 3), (3, 4), (4, 5)], 2, id="spider with legs 1, 1 and 3"),
            pytest.param([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (2, 6)], 1, id="asymmetric tree"),
            pytest.param(
                [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 2), (2, 3), (3, 5), (5, 1)],
                2,
                id="six vertices and nine edges",
            ),
        ],
    )
    def test_a_well_known_graph_has_its_group(self, edges: Pairs, order: int) -> None:
        assert order_of(edges) == order

    def test_equal_branches_of_a_tree_change_places(self) -> None:
        """Three stars of three leaves hang on one vertex: each permutes its leaves, and they their places."""
        branches = [(0, centre) for centre in (1, 5, 9)]
        leaves = [(centre, centre + leaf) for centre in (1, 5, 9) for leaf in (1, 2, 3)]
        assert order_of(branches + leaves) == math.factorial(3) ** 3 * math.factorial(3)

    def test_a_full_binary_tree_swaps_below_every_inner_vertex(self) -> None:
        assert order_of([((child - 1) // 2, child) for child in range(1, 31)]) == 2**15

    def test_equal_cliques_on_one_vertex_change_places(self) -> None:
        """A windmill of ten triangles."""
        blades = [(2 * blade + 1, 2 * blade + 2) for blade in range(10)]
        spokes = [(0, vertex) for vertex in range(1, 21)]
        assert order_of(blades + spokes) == 2**10 * math.factorial(10)


class TestHardPatternsAreFast:
    """Strongly regular graphs look alike from every vertex: a search without propagation would not end."""

    @pytest.mark.timeout(60)
    @pytest.mark.parametrize(
        ("edges", "order"),
        [
            pytest.param(shrikhande(), 192, id="Shrikhande"),
            pytest.param(rook(), 1152, id="rook 4x4"),
            pytest.param(clebsch(), 1920, id="Clebsch"),
            pytest.param(paley(13), 13 * 6, id="Paley 13"),
            pytest.param(paley(29), 29 * 14, id="Paley 29"),
            pytest.param(triangular(8), math.factorial(8), id="T(8)"),
            pytest.param(kneser(8), math.factorial(8), id="Kneser 8"),
            pytest.param(switched_triangular([(0, 1), (2, 3), (4, 5), (6, 7)]), 384, id="Chang, matching"),
            pytest.param(switched_triangular(cycle(8)), 96, id="Chang, cycle"),
            pytest.param(
                switched_triangular([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6), (6, 7), (7, 3)]),
                360,
                id="Chang, triangle and pentagon",
            ),
        ],
    )
    def test_a_strongly_regular_pattern_has_its_group(self, edges: Pairs, order: int) -> None:
        assert order_of(edges) == order

    @pytest.mark.timeout(60)
    def test_a_regular_tournament_has_its_group(self) -> None:
        assert order_of(paley_tournament(31), directed=True) == 31 * 15

    @pytest.mark.timeout(60)
    def test_random_regular_patterns_are_done_at_once(self) -> None:
        generator = random.Random(1)
        for _ in range(20):
            order = list(range(32))
            generator.shuffle(order)
            edges = cycle(32) + [(order[i], order[i + 1]) for i in range(0, 32, 2)]
            assert order_of([edge for edge in edges if edge[0] != edge[1]]) >= 1


class TestDirections:
    @pytest.mark.parametrize("size", [3, 4, 7, 32])
    def test_a_directed_cycle_only_turns(self, size: int) -> None:
        assert order_of(cycle(size), directed=True) == size

    @pytest.mark.parametrize("size", [2, 5, 32])
    def test_a_directed_path_stays(self, size: int) -> None:
        assert order_of(path(size), directed=True) == 1

    def test_a_transitive_tournament_stays(self) -> None:
        assert order_of(clique(32), directed=True) == 1

    def test_arcs_both_ways_are_as_good_as_an_edge(self) -> None:
        both = [arc for u, v in cycle(6) for arc in ((u, v), (v, u))]
        assert order_of(both, directed=True) == 12

    def test_the_pattern_overrides_the_graph(self) -> None:
        for directed in (False, True):
            assert automorphisms(Pattern.from_edges(cycle(5), directed=True), directed=directed).order == 5
            assert automorphisms(Pattern.from_edges(cycle(5), directed=False), directed=directed).order == 10

    def test_an_arc_and_an_either_way_edge_are_different(self) -> None:
        builder = PatternBuilder().vertex("a").vertex("b").vertex("c")
        mixed = builder.edge("a", "b", directed=True).edge("a", "c", directed=False).build()
        assert checked(mixed, directed=True).order == 1

    def test_out_stars_keep_their_leaves_alike(self) -> None:
        out, into = [(0, 1), (0, 2), (0, 3)], [(4, 0), (5, 0)]
        assert order_of(out + into, directed=True) == 6 * 2


class TestLabels:
    def test_vertex_labels_split_orbits(self) -> None:
        labels = [0, 0, 0, 1, 1]
        assert checked(Pattern.from_edges(clique(5), vertex_labels=labels)).order == 6 * 2

    def test_alternating_labels_halve_a_cycles_group(self) -> None:
        assert checked(Pattern.from_edges(cycle(8), vertex_labels=["a", "b"] * 4)).order == 8

    def test_one_marked_vertex_leaves_a_cycle_its_flip(self) -> None:
        assert checked(Pattern.from_edges(cycle(7), vertex_labels=[1] + [None] * 6)).order == 2

    def test_a_wildcard_is_not_a_label_nor_a_set_its_members(self) -> None:
        for labels in ([None, 0], [{0, 1}, 0], [{0, 1}, {0, 2}], [0, "0"]):
            assert checked(Pattern.from_edges([(0, 1)], vertex_labels=labels)).order == 1
        assert checked(Pattern.from_edges([(0, 1)], vertex_labels=[{0, 1}, (1, 0)])).order == 2

    def test_edge_labels_split_orbits(self) -> None:
        assert checked(Pattern.from_edges(star(4), edge_labels=[1, 1, 2, 2])).order == 2 * 2
        assert checked(Pattern.from_edges(cycle(6), edge_labels=[1, 2] * 3)).order == 6
        assert checked(Pattern.from_edges(path(3), edge_labels=[1, None])).order == 1

    def test_parallel_query_edges_count_as_the_set_they_are(self) -> None:
        both = Pattern.from_edges([(0, 1), (0, 1), (1, 2), (1, 2)], edge_labels=[1, 2, 2, 1])
        assert checked(both).order == 2
        one = Pattern.from_edges([(0, 1), (0, 1), (1, 2)], edge_labels=[1, 2, 1])
        assert checked(one).order == 1

    def test_labels_all_different_leave_the_identity(self) -> None:
        group = checked(Pattern.from_edges(clique(32), vertex_labels=list(range(32))))
        assert group.order == 1
        assert group.generators == ()


class TestWhatElementsAsk:
    def test_ids_split_orbits(self) -> None:
        ids = [1, 1, 2, None]
        assert checked(Pattern.from_edges(clique(4), vertex_ids=ids)).order == 2

    def test_conditions_split_orbits(self) -> None:
        young, old = Comparison("age", Operator.LESS, 30), Comparison("age", Operator.GREATER, 60)
        assert checked(Pattern.from_edges(clique(4), vertex_where=[young, old, young, None])).order == 2
        assert checked(Pattern.from_edges(star(4), edge_where=[young, young, old, old])).order == 4
        assert checked(Pattern.from_edges(star(3), edge_where=[young, None, old])).order == 1

    def test_names_split_nothing(self) -> None:
        builder = PatternBuilder().vertex("a").vertex("b").vertex("c")
        assert checked(builder.edge("a", "b", name="x").edge("a", "c", name="y").build()).order == 2

    def test_pairs_that_may_coincide_go_to_pairs_that_may(self) -> None:
        assert checked(Pattern.from_edges(cycle(4), may_coincide=[(0, 2)])).order == 4
        assert checked(Pattern.from_edges(cycle(4), may_coincide=[(0, 2), (1, 3)])).order == 8
        assert checked(Pattern.from_edges(star(4), may_coincide=[(1, 2), (3, 4)])).order == 8
        assert checked(Pattern.from_edges(path(4), may_coincide=[(0, 2)])).order == 1


class TestTheChain:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("edges", [petersen(), cube(3), path(6), cycle(9), bipartite(2, 4)])
    def test_the_order_does_not_depend_on_the_base(self, edges: Pairs, seed: int) -> None:
        pattern = Pattern.from_edges(edges)
        base = list(range(pattern.num_vertices))
        random.Random(seed).shuffle(base)
        group = checked(pattern, base=base)
        assert group.base == tuple(base)
        assert group.order == automorphisms(pattern).order

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("seed", range(8))
    def test_orbits_are_those_of_trying_every_permutation(self, seed: int) -> None:
        generator = random.Random(seed)
        edges = path(6) + [pair for pair in clique(6) if generator.random() < 0.3]
        labels = [generator.choice([None, None, 1]) for _ in range(6)]
        directed = seed % 2 == 1
        pattern = Pattern.from_edges(edges, vertex_labels=labels)
        keeping = []
        for to in permutations(range(6)):
            try:
                assert_keeps(pattern, to, directed=directed)
            except AssertionError:
                continue
            keeping.append(to)
        group = checked(pattern, directed=directed)
        assert group.order == len(keeping)
        for depth, (point, orbit) in enumerate(zip(group.base, group.orbits, strict=True)):
            fixing = [to for to in keeping if all(to[b] == b for b in group.base[:depth])]
            assert orbit == {to[point] for to in fixing}
