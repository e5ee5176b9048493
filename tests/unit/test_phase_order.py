"""Which phases are chosen, and in which order."""

from __future__ import annotations

from itertools import combinations

import pytest

import motiflux as mf
from motiflux.plan.bind import bind
from motiflux.plan.phases.cycles import smallest_cycle
from motiflux.plan.phases.data import (
    PRIORITY,
    MatchingPattern,
    PhasePlan,
)
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.options import Options
from motiflux.plan.phases.statistics import PhaseStatistics, phase_statistics
from motiflux.types import Semantics
from tests.unit.phase_cases import phases_of, rows_of, star, steps


class TestThePriority:
    def test_is_by_the_number_of_vertices_and_then_by_efficiency(self) -> None:
        """One moment at which each matching pattern is possible: the best, the best of the others, ..."""
        pattern = mf.Pattern.parse(
            "(s:s)-[:p]-(t:t), (s)-[:q]-(a:l), (s)-[:q]-(b:l), (s)-[:q]-(c:l), (s)-[:q]-(d:m),"
            "(t)-[:q]-(e:l), (t)-[:q]-(f:n)"
        )
        graph = mf.Graph.from_edges(
            [(0, 1), (0, 2), (0, 3), (1, 4)], vertex_labels=[*"stlmn"], edge_labels=[*"pqqq"]
        )
        bound = bind(pattern, graph)
        options = Options(bound, phase_statistics(bound, graph), {0, 1}, range(bound.size))
        left, chosen = set(MatchingPattern), []
        while left:
            draft = options.best(left)
            assert draft is not None
            chosen.append(draft.pattern)
            left.remove(draft.pattern)
        assert chosen == [5, 6, 7, 1, 3, 4, 2, 0]
        assert tuple(chosen) == PRIORITY

    def test_of_one_pattern_the_phase_with_most_vertices_is_first(self) -> None:
        pattern = mf.Pattern.from_edges(
            [(0, 1), *((0, v) for v in (2, 3, 4)), *((1, v) for v in range(5, 9))]
        )
        graph = mf.Graph.from_edges(list(combinations(range(10), 2)))
        bound = bind(pattern, graph)
        best = Options(bound, phase_statistics(bound, graph), {0, 1}, range(9)).best(PRIORITY)
        assert best is not None
        assert (best.pattern, best.vertices) == (5, (5, 6, 7, 8))

    def test_of_similar_phases_the_one_that_leaves_fewest_embeddings_is_first(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1), (0, 2), (1, 3)])
        bound = bind(pattern, mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)]))
        statistics = PhaseStatistics((10, 10, 10, 10), (50, 40, 30), (120,))
        best = Options(bound, statistics, {0, 1}, range(4)).best({MatchingPattern.ONE_VERTEX})
        assert best is not None
        assert best.vertices == (3,)

    def test_the_first_phase_matches_three_vertices_at_most(self) -> None:
        graph = mf.Graph.from_edges(list(combinations(range(7), 2)))
        assert steps(phases_of(graph, mf.Pattern.from_edges(star(5)))) == [0, 5]


class TestTheCore:
    def test_is_what_remains_without_vertices_of_degree_one(self) -> None:
        # Two triangles, a path between them, and a tree.
        edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (0, 7), (7, 8), (7, 9)]
        plan = phases_of(mf.Graph.from_edges(list(combinations(range(10), 2))), mf.Pattern.from_edges(edges))
        assert set(plan.core) == set(range(7))
        assert plan.order[:7] == plan.core

    def test_uses_the_patterns_0_to_4_only(self) -> None:
        # Six vertices between the same two: the pattern 5 would match them all, with one of their edges.
        edges = [(end, middle) for middle in range(2, 8) for end in (0, 1)]
        plan = phases_of(mf.Graph.from_edges(list(combinations(range(9), 2))), mf.Pattern.from_edges(edges))
        assert plan.core == plan.order
        assert steps(plan) == [1, 0, "-", 1, "-", 1, "-"]

    def test_begins_with_its_smallest_cycle(self) -> None:
        edges = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 3)]
        plan = phases_of(mf.Graph.from_edges(list(combinations(range(7), 2))), mf.Pattern.from_edges(edges))
        assert set(plan.order[:3]) == {3, 4, 5}
        assert steps(plan)[:2] == [1, "-"]

    def test_of_cycles_of_one_length_begins_with_the_most_selective(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)])
        bound = bind(pattern, mf.Graph.from_edges([(0, 1), (1, 2)]))
        arcs = {edge: 100 if max(edge.source, edge.target) < 3 else 50 for edge in bound.edges}
        statistics = PhaseStatistics((10,) * 5, tuple(arcs[edge] for edge in bound.edges), (100,))
        plan = decompose(pattern, bound, statistics, Semantics.ISOMORPHISM)
        assert isinstance(plan, PhasePlan)
        assert set(plan.order[:3]) == {2, 3, 4}

    def test_a_cycle_is_found_without_shortcuts_through_its_own_edge(self) -> None:
        edges = [(v, (v + 1) % 7) for v in range(7)]
        bound = bind(mf.Pattern.from_edges(edges), mf.Graph.from_edges([(0, 1)]))
        weights = {way: 1.0 for edge in edges for way in (edge, edge[::-1])}
        assert smallest_cycle(bound, frozenset(range(7)), weights) == set(range(7))

    def test_a_cycle_is_matched_from_both_ends_and_then_closed(self) -> None:
        edges = [(v, (v + 1) % 7) for v in range(7)]
        plan = phases_of(mf.Graph.from_edges(list(combinations(range(8), 2))), mf.Pattern.from_edges(edges))
        assert steps(plan) == [1, 2, 2, "-"]

    def test_a_tree_begins_at_its_most_selective_edge(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], edge_labels=["x", "x", "x", "y", "x"]
        )
        plan = phases_of(graph, mf.Pattern.parse("(a)-[:x]-(b), (b)-[:x]-(c), (c)-[:y]-(d)"))
        assert plan.core == ()
        assert set(plan.order[:2]) == {2, 3}
        assert plan.phases[0].partitions == graph.edge_label_table.codes(["y"])

    @pytest.mark.parametrize(("arcs", "phases"), [(15, [1, 0, 0]), (20, [0, 0, 0, 0])])
    def test_a_tree_begins_where_its_phases_leave_fewest_embeddings(
        self, arcs: int, phases: list[int]
    ) -> None:
        # A path, whose rarest edge is the first. Embeddings that all phases but the last leave:
        # from there 10 + 15 + 22.5 or 10 + 20 + 40; by a pair around its middle 22.5 + 22.5 or 40 + 40.
        pattern = mf.Pattern.parse("(a)-[:y]-(b), (b)-[:x]-(c), (c)-[:x]-(d), (d)-[:x]-(e)")
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=["x", "y"])
        bound = bind(pattern, graph)
        plan = decompose(
            pattern, bound, PhaseStatistics((10,) * 5, (10, *(arcs,) * 3), (100, 100)), Semantics.ISOMORPHISM
        )
        assert isinstance(plan, PhasePlan)
        assert steps(plan) == phases
        assert plan.order[0] in ((2,) if arcs == 15 else (0, 1))


def test_the_example_of_the_paper_as_far_as_its_text_tells_it() -> None:
    """The core of u0 to u3 needs the patterns 1 and 0, the tree of u4 to u6 the pattern 6.

    The pattern 6 from u2 would match u0, u1 and u3 at once (section 6), but not in the core.
    """
    text = (
        "(u0:A)-[:a]-(u2:B), (u1:A)-[:a]-(u2), (u2)-[:a]-(u3:C), (u0)-[:b]-(u1), (u1)-[:b]-(u3),"
        "(u3)-[:b]-(u4:A), (u3)-[:b]-(u5:A), (u3)-[:b]-(u6:B)"
    )
    pattern = mf.Pattern.parse(text)
    names = [vertex.name for vertex in pattern.vertices]
    edges = [(int(names[edge.source][1]), int(names[edge.target][1])) for edge in pattern.edges]
    kinds = [next(iter(edge.labels or ())) for edge in pattern.edges]
    graph = mf.Graph.from_edges(edges, vertex_labels=[*"AABCAAB"], edge_labels=kinds)
    bound = bind(pattern, graph)
    # The cycle of u0, u1 and u2 has fewer embeddings than that of u1, u2 and u3.
    cheap = {frozenset((0, 2)), frozenset((0, 1)), frozenset((1, 2))}
    ends = [frozenset(int(names[v][1]) for v in (edge.source, edge.target)) for edge in bound.edges]
    statistics = PhaseStatistics((10,) * 7, tuple(20 if pair in cheap else 40 for pair in ends), (100, 100))
    plan = decompose(pattern, bound, statistics, Semantics.ISOMORPHISM)
    assert isinstance(plan, PhasePlan)
    assert steps(plan) == [1, "-", 0, "-", 6]
    assert [names[vertex] for vertex in plan.order] == ["u2", "u0", "u1", "u3", "u4", "u5", "u6"]
    (row,) = {tuple(sorted(row)) for row in rows_of(graph, plan)}
    assert row == (0, 1, 2, 3, 4, 5, 6)
