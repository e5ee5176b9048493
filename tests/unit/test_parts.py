"""Counting in parts: which there are, what they are worth, and totals of any size."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import combinations

import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.plan import Plan, make_plan
from motiflux.plan.passes.parts import lists_of
from motiflux.plan.shape import TailBlock, TailComponent, TailList
from motiflux.types import Semantics, Symmetry


def parts_plan(graph: mf.Graph, pattern: mf.Pattern, **options: object) -> Plan:
    tuning = {"parts": "on", "order": "given"}
    return make_plan(graph, pattern, tail=True, parts=True, tuning=tuning, **options)  # type: ignore[arg-type]


def blocks(components: tuple[TailComponent, ...]) -> Iterator[TailBlock]:
    """Give every block that hangs from a level, however deep."""
    for component in components:
        for block in component.child_blocks:
            if block is not None:
                yield block
                yield from blocks(block.components)


def complete(size: int, **labels: object) -> mf.Graph:
    return mf.Graph.from_edges(list(combinations(range(size), 2)), num_vertices=size, **labels)  # type: ignore[arg-type]


def path(size: int, **labels: object) -> mf.Pattern:
    return mf.Pattern.from_edges([(v, v + 1) for v in range(size - 1)], **labels)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tangled() -> mf.Graph:
    rng = random.Random(7)
    edges = [pair for pair in combinations(range(60), 2) if rng.random() < 0.3]
    return mf.Graph.from_edges(edges, num_vertices=60, vertex_labels=[v % 3 for v in range(60)])


class TestWhichParts:
    def test_branches_of_different_labels_multiply(self) -> None:
        """a - b, from which c - d and e - f hang: nothing in common."""
        graph = complete(12, vertex_labels=[v % 6 for v in range(12)])
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)], vertex_labels=range(6))
        tail = parts_plan(graph, pattern).tail
        assert tail is not None
        assert [component.levels for component in tail.components] == [(2,), (4,)]
        assert all(component.child_blocks for component in tail.components)

    def test_branches_that_meet_at_their_doors_are_one_component(self) -> None:
        graph = complete(9, vertex_labels=[0, 0, 0, 0, 0, 1, 1, 2, 2])
        pattern = mf.Pattern.from_edges(
            [(0, 1), (0, 2), (2, 3), (0, 4), (4, 5)], vertex_labels=[0, 1, 0, 1, 0, 2]
        )
        tail = parts_plan(graph, pattern).tail
        assert tail is not None
        assert [component.levels for component in tail.components if component.child_blocks] != []
        assert mf.count(graph, pattern, tuning={"parts": "on"}) == mf.count(
            graph, pattern, tuning={"parts": "off", "tail": "off"}
        )

    def test_induced_matching_has_none(self) -> None:
        tail = parts_plan(complete(6), path(4), semantics=Semantics.INDUCED).tail
        assert tail is None

    def test_what_must_be_avoided_is_known_as_a_set(self) -> None:
        """A path's end must avoid all that came before it, in whatever order."""
        tail = parts_plan(complete(7, vertex_labels=[0] * 7), path(7)).tail
        assert tail is not None
        last = list(blocks(tail.components))[-2]
        assert last.kept
        assert any(len(levels) > 1 for _, levels in last.excluded)

    def test_symmetry_breaking_between_branches_keeps_them_together(self, tangled: mf.Graph) -> None:
        fork = mf.Pattern.from_edges([(0, 1), (1, 2), (0, 3), (3, 4)])
        found = mf.count(tangled, fork, tuning={"parts": "on"})
        assert found == mf.count(tangled, fork, tuning={"parts": "off"})
        once = mf.count(tangled, fork, symmetry="subgraphs", tuning={"parts": "on"})
        assert 2 * once == found


def lists(graph: mf.Graph, pattern: mf.Pattern, **options: object) -> list[TailList]:
    tail = parts_plan(graph, pattern, **options).tail
    return [] if tail is None else list(lists_of(tail.components))


def brooms(leaves: int) -> tuple[mf.Graph, mf.Pattern]:
    """Give two paths r - a - b and r - c - d within one label, and leaves of other labels at b and at d.

    The graph joins six vertices for the paths with each other and with 300 of each other label.
    """
    inner = list(combinations(range(6), 2))
    graph = mf.Graph.from_edges(
        inner + [(v, 6 + leaf) for v in range(6) for leaf in range(600)],
        vertex_labels=[0] * 6 + [1] * 300 + [2] * 300,
    )
    edges = [(0, 1), (1, 2), (0, 3), (3, 4)]
    edges += [(2, 5 + leaf) for leaf in range(leaves)] + [(4, 5 + leaves + leaf) for leaf in range(leaves)]
    return graph, mf.Pattern.from_edges(edges, vertex_labels=[0] * 5 + [1] * leaves + [2] * leaves)


class TestLists:
    """Pieces that meet others in several vertices."""

    def fork(self) -> mf.Pattern:
        """Give paths of two and of three from one end of an edge: any of their vertices might be the same."""
        return mf.Pattern.from_edges([(0, 1), (0, 2), (2, 3), (0, 4), (4, 5), (5, 6)])

    def test_paths_that_meet_anywhere_are_lists(self, tangled: mf.Graph) -> None:
        found = lists(tangled, self.fork())
        assert [(len(one.levels), one.separators, one.kept) for one in found] == [(2, 2, True), (3, 3, True)]

    def test_they_are_off_where_asked(self, tangled: mf.Graph) -> None:
        tuning = private_tuning({"parts": "on", "order": "given", "lists": "off"})
        plan = make_plan(tangled, self.fork(), tail=True, parts=True, tuning=tuning)
        assert plan.tail is not None
        assert not list(lists_of(plan.tail.components))

    @pytest.mark.turns(8)
    def test_paths_that_symmetry_breaking_orders_are_none(self, tangled: mf.Graph) -> None:
        both = mf.Pattern.from_edges([(0, 1), (0, 2), (2, 3), (0, 4), (4, 5), (1, 6), (6, 7), (7, 1)])
        found = lists(tangled, both, symmetry=Symmetry.SUBGRAPHS)
        assert not any({2, 4} <= set(one.levels) for one in found)
        assert mf.count(tangled, both, tuning={"parts": "on"}) == mf.count(
            tangled, both, tuning={"parts": "off"}
        )

    @pytest.mark.turns(8)
    def test_lists_too_long_to_be_held_at_once_are_met_piece_by_piece(self) -> None:
        """Paths of three from a vertex of 25: 10,626 of them."""
        graph = complete(25)
        assert [one.separators for one in lists(graph, self.fork())] == [2, 3]
        for candidates in ("on", "off"):
            tuning = {"parts": "on", "order": "given", "candidates": candidates}
            assert mf.count(graph, self.fork(), tuning=tuning) == math.perm(25, 7)

    @pytest.mark.parametrize("leaves", [1, 6, 12])
    def test_entries_weigh_as_much_as_what_hangs_from_them(self, leaves: int) -> None:
        """Weights of one word, products of two, and weights of two words."""
        graph, pattern = brooms(leaves)
        assert len(lists(graph, pattern)) == 2
        found = mf.count(graph, pattern, tuning={"parts": "on", "order": "given"})
        assert found == math.perm(6, 5) * math.perm(300, leaves) ** 2
        assert (found > 2**128) == (leaves == 12)

    def test_explain_names_the_doors(self, tangled: mf.Graph) -> None:
        told = str(mf.explain(tangled, self.fork(), tuning={"parts": "on", "order": "given"}))
        assert "a list of the choices for each of (2, 3) and (4, 5, 6), with the number of ways" in told

    def test_a_timeout_ends_the_count_of_long_lists(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1), (0, 2), (2, 3), (3, 4), (0, 5), (5, 6), (6, 7), (2, 4)])
        graph = complete(220)
        assert len(lists(graph, pattern)) == 2
        counted = mf.count(graph, pattern, timeout=0.2, tuning={"parts": "on", "order": "given"})
        assert not counted.complete


class TestHowMany:
    @pytest.mark.turns(8)
    @pytest.mark.parametrize("size", [20, 32])
    def test_walks_on_complete_graphs_pass_128_bits(self, size: int) -> None:
        """A homomorphism of a path is a walk: each step goes to any other vertex."""
        graph = complete(200)
        found = mf.count(graph, path(size), semantics="homomorphism", tuning={"parts": "on"})
        assert found == 200 * 199 ** (size - 1)
        assert found > 2**128

    def test_labelled_paths_on_complete_graphs_pass_128_bits(self) -> None:
        """Each label is that of two neighbours, which differ anyway: falling factorials multiply."""
        count, kinds = 40, 16
        graph = complete(count * kinds, vertex_labels=[v % kinds for v in range(count * kinds)])
        pattern = path(32, vertex_labels=[v // 2 for v in range(32)])
        found = mf.count(graph, pattern, tuning={"parts": "on", "order": "given"})
        assert found == math.perm(count, 2) ** kinds
        assert found > 2**128

    def test_two_stars_joined_pass_128_bits(self) -> None:
        """Leaves of two hubs of different labels: neither limits the other."""
        leaves = 15
        size = 5000
        edges = [(0, 1)] + [(0, 2 + v) for v in range(size)] + [(1, 2 + size + v) for v in range(size)]
        graph = mf.Graph.from_edges(edges, vertex_labels=[0, 1] + [2] * size + [3] * size)
        pattern = mf.Pattern.from_edges(
            [(0, 1)] + [(0, 2 + v) for v in range(leaves)] + [(1, 2 + leaves + v) for v in range(leaves)],
            vertex_labels=[0, 1] + [2] * leaves + [3] * leaves,
        )
        for parts in ("auto", "on", "off"):
            assert mf.count(graph, pattern, tuning={"parts": parts}) == math.perm(size, leaves) ** 2
        once = mf.count(graph, pattern, symmetry="subgraphs", tuning={"parts": "on"})
        assert once == math.comb(size, leaves) ** 2

    def test_a_limit_below_is_reached(self) -> None:
        counted = mf.count(
            complete(100), path(30), semantics="homomorphism", limit=10**10, tuning={"parts": "on"}
        )
        assert (int(counted), counted.complete) == (10**10, False)

    def test_vertices_that_may_coincide(self, tangled: mf.Graph) -> None:
        pattern = "(a)--(b), (b)--(c), (a)--(d), (d)--(e) WHERE may_equal(c, e) AND may_equal(b, d)"
        expected = mf.count(tangled, pattern, tuning={"parts": "off", "tail": "off"})
        for candidates in ("on", "off"):
            tuning = {"parts": "on", "candidates": candidates}
            assert mf.count(tangled, pattern, tuning=tuning) == expected

    def test_conditions_and_ids(self, tangled: mf.Graph) -> None:
        pattern = "(a)--(b), (b)--(c), (c)--(d), (a)--(e), (e)--(f) WHERE id(a) IN [1, 2, 3]"
        expected = mf.count(tangled, pattern, tuning={"parts": "off", "tail": "off"})
        assert mf.count(tangled, pattern, tuning={"parts": "on"}) == expected
        assert expected > 0

    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_timeout_ends_the_count_of_a_part(self, threads: int) -> None:
        graph = complete(60, vertex_labels=[0] * 60)
        counted = mf.count(graph, path(16), timeout=0.2, threads=threads, tuning={"parts": "on"})
        assert not counted.complete
        assert counted <= math.perm(60, 16)


class TestWhatIsTold:
    def test_explain_shows_what_hangs_from_what(self) -> None:
        graph = complete(12, vertex_labels=[v % 6 for v in range(12)])
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)], vertex_labels=range(6))
        told = mf.explain(graph, pattern, tuning={"parts": "on", "order": "given"})
        lines = str(told).splitlines()
        assert "  2: a sum over its candidates, of the product of the parts under it" in lines
        assert any(line.startswith("    3: the size of the set; under 2") for line in lines)
        assert "mermaid" not in told.to_mermaid()
        assert told.report.predicted is not None

    def test_parts_are_off_where_asked(self) -> None:
        plan = make_plan(complete(8), path(5), tail=True, parts=True, tuning={"parts": "off"})
        assert plan.tail is None or not plan.tail.nested

    def test_subgraphs_are_counted_once_each(self, tangled: mf.Graph) -> None:
        plan = parts_plan(tangled, path(5), symmetry=Symmetry.SUBGRAPHS)
        assert plan.multiplier == 1
        assert 2 * mf.count(tangled, path(5), symmetry="subgraphs", tuning={"parts": "on"}) == mf.count(
            tangled, path(5), tuning={"parts": "off"}
        )


def test_what_groups_must_avoid_is_not_taken_for_each_other() -> None:
    """Once, the numbers of vertices in a key stood after them, and two keys of small vertices were one."""
    edges = [pair for pair in combinations(range(10), 2) if pair not in {(2, 3), (2, 9), (3, 7)}]
    graph = mf.Graph.from_edges(
        edges,
        vertex_labels=[0, 0, 1, 0, 0, 1, 0, 1, 1, 1],
        edge_labels=[int(label) for label in "100010010001000111101011111111101101111110"],
    )
    pattern = mf.Pattern.from_edges(
        [(0, 1), (0, 2), (0, 4), (2, 3), (3, 4), (4, 5), (5, 6)],
        vertex_labels=[None, None, 0, 1, 1, None, 0],
        edge_labels=[None, 1, 1, None, None, 1, 0],
    )
    for parts in ("on", "off"):
        assert mf.count(graph, pattern, tuning={"parts": parts}) == 3104
