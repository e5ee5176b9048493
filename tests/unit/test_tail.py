"""Trailing levels counted in closed form: which, and how many."""

from __future__ import annotations

import math

import pytest

import motiflux as mf
from motiflux.plan import Plan, make_plan
from motiflux.plan.shape import TailComponent
from tests.backend.cases import clique

LEAVES = 70_000


def tail_plan(graph: mf.Graph, pattern: mf.Pattern, **options: object) -> Plan:
    return make_plan(graph, pattern, tail=True, tuning={"order": "given"}, **options)  # type: ignore[arg-type]


def star(leaves: int) -> mf.Pattern:
    return mf.Pattern.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])


@pytest.fixture(scope="module")
def hub() -> mf.Graph:
    return mf.Graph.from_edges([(0, leaf) for leaf in range(1, LEAVES + 1)])


class TestWhichLevels:
    def test_leaves_ordered_by_symmetry_share_a_set_and_a_divisor(self) -> None:
        tail = tail_plan(mf.Graph.from_edges(clique(6)), star(4)).tail
        assert tail is not None
        assert tail.start == 1
        assert tail.components == (TailComponent((1, 2, 3, 4), (0, 0, 0, 0), (4,)),)

    def test_leaves_of_different_labels_are_components_of_their_own(self) -> None:
        graph = mf.Graph.from_edges(clique(6), vertex_labels=[0, 1, 2, 3, 0, 1])
        pattern = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3)], vertex_labels=[0, 1, 2, 3])
        tail = tail_plan(graph, pattern).tail
        assert tail is not None
        assert [component.levels for component in tail.components] == [(1,), (2,), (3,)]

    def test_a_two_path_is_closed_around_its_middle(self) -> None:
        graph = mf.Graph.from_edges(
            [(i, (i * i + k) % 997) for i in range(997) for k in range(1, 9) if (i * i + k) % 997 != i]
        )
        for pattern in (star(2), mf.Pattern.from_edges([(0, 1), (1, 2)])):
            plan = make_plan(graph, pattern, tail=True)
            assert plan.tail is not None
            assert (plan.order[0], plan.tail.start) == (0 if pattern == star(2) else 1, 1)

    def test_neighbours_are_never_in_one_tail(self) -> None:
        assert tail_plan(mf.Graph.from_edges(clique(6)), mf.Pattern.from_edges(clique(4))).tail is None

    def test_induced_matching_has_none(self) -> None:
        graph = mf.Graph.from_edges(clique(6))
        assert tail_plan(graph, star(4), semantics=mf.types.Semantics.INDUCED).tail is None

    def test_vertices_that_may_coincide_are_not_in_one_component(self) -> None:
        graph = mf.Graph.from_edges(clique(6))
        pattern = mf.Pattern.parse("(a)--(b), (a)--(c), (a)--(d), (a)--(e) WHERE may_equal(c, d)")
        for component in tail_plan(graph, pattern).tail.components:  # type: ignore[union-attr]
            assert not {2, 3} <= set(component.levels)


class TestHowMany:
    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_a_root_whose_row_is_cut_into_pieces_counts_once(self, hub: mf.Graph, threads: int) -> None:
        both = mf.Graph.from_edges(
            [(0, leaf) for leaf in range(1, LEAVES)] + [(leaf, 0) for leaf in range(1, LEAVES, 2)],
            directed=True,
        )
        into, out = LEAVES // 2, LEAVES - 1
        through = mf.count(both, "(a)-->(b)-->(c)", threads=threads)
        assert through == into * out - into
        assert mf.count(hub, star(2), threads=threads) == LEAVES * (LEAVES - 1)

    @pytest.mark.parametrize("leaves", [2, 3, 5, 8])
    def test_stars_are_falling_factorials(self, hub: mf.Graph, leaves: int) -> None:
        assert mf.count(hub, star(leaves)) == math.perm(LEAVES, leaves)
        assert mf.count(hub, star(leaves), symmetry="subgraphs") == math.comb(LEAVES, leaves)

    @pytest.mark.parametrize("leaves", [9, 20, 25, 31])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_numbers_beyond_128_bits_are_exact(self, hub: mf.Graph, leaves: int, threads: int) -> None:
        assert mf.count(hub, star(leaves), threads=threads) == math.perm(LEAVES, leaves)
        once = mf.count(hub, star(leaves), symmetry="subgraphs", threads=threads)
        assert once == math.comb(LEAVES, leaves)
        mapped = mf.count(hub, star(leaves), semantics="homomorphism", threads=threads)
        assert mapped == LEAVES**leaves + LEAVES

    @pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
    def test_a_limit_is_reached_all_the_same(self, hub: mf.Graph, semantics: str) -> None:
        counted = mf.count(hub, star(31), limit=1000, semantics=semantics)
        assert (int(counted), counted.complete) == (1000, False)

    def test_a_set_without_vertices_makes_no_embedding_however_large_the_others(self) -> None:
        edges = [(0, leaf) for leaf in range(1, 60_001)]
        graph = mf.Graph.from_edges(edges, vertex_labels=[1] + [0] * 60_000)
        pattern = mf.Pattern.from_edges(
            [(0, leaf) for leaf in range(1, 14)], vertex_labels=[1] + [0] * 12 + [1]
        )
        assert mf.count(graph, pattern, tuning={"candidates": "off"}) == 0

    @pytest.mark.parametrize("size", [5, 6, 7])
    def test_complete_graphs_have_as_many_as_any_injection(self, size: int) -> None:
        graph = mf.Graph.from_edges(clique(8))
        for edges in ([(0, v) for v in range(1, size)], [(v, v + 1) for v in range(size - 1)]):
            assert mf.count(graph, mf.Pattern.from_edges(edges)) == math.perm(8, size)

    def test_sets_that_overlap_are_counted_by_inclusion_and_exclusion(self) -> None:
        """Two hubs joined by an edge: leaves of either, of which some belong to both."""
        graph = mf.Graph.from_edges(
            [("p", "q")] + [("p", f"x{i}") for i in range(7)] + [("q", f"x{i}") for i in range(3, 12)]
        )
        pattern = "(p)--(q), (p)--(a), (p)--(b), (q)--(c) WHERE id(p) = 'p' AND id(q) = 'q'"
        own, shared, other = 3, 4, 5
        of_p, of_q = own + shared, shared + other
        expected = of_p * (of_p - 1) * of_q - 2 * shared * (of_p - 1)  # less those where c is a or b
        for candidates in ("auto", "off"):
            assert mf.count(graph, pattern, tuning={"candidates": candidates}) == expected
            assert mf.count(graph, pattern, tuning={"candidates": candidates, "tail": "off"}) == expected
