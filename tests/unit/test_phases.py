"""Phases: what each of them finds, and how they are described."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import pytest

import motiflux as mf
from motiflux.plan.bind import BoundEdge, BoundPattern, bind
from motiflux.plan.phases.data import (
    Elimination,
    Extension,
    HandOver,
    Relation,
)
from motiflux.plan.phases.decompose import NOT_CONNECTED, decompose
from motiflux.plan.phases.describe import describe_phases
from motiflux.plan.phases.statistics import PhaseStatistics, phase_statistics
from motiflux.types import Semantics
from tests.phases_reference import Executor
from tests.unit.phase_cases import phases_of, rows_of, star, steps


class TestEachMatchingPattern:
    """Hand-made graphs, each with all that the pattern must and must not find."""

    def test_0_matches_one_vertex(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=["a", "b", "b"])
        plan = phases_of(graph, mf.Pattern.parse("(x:a)--(y:b)--(z:b)"))
        assert steps(plan) == [3]
        plan = phases_of(graph, mf.Pattern.parse("(x:a)--(y:b)"))
        assert steps(plan) == [0]
        assert rows_of(graph, plan) == [(0, 1)]

    def test_1_matches_a_pair_in_both_orders(self) -> None:
        graph = mf.Graph.from_edges(star(3), vertex_labels=["c", "l", "l", "l"])
        plan = phases_of(graph, mf.Pattern.parse("(c:c)--(x:l), (c)--(y:l)"))
        assert steps(plan) == [1]
        assert rows_of(graph, plan) == [(0, x, y) for x, y in permutations((1, 2, 3), 2)]

    def test_1_matches_a_pair_in_one_order_under_a_restriction(self) -> None:
        graph = mf.Graph.from_edges(star(4), vertex_labels=["c", "l", "l", "l", "l"])
        plan = phases_of(graph, mf.Pattern.parse("(c:c)--(x:l), (c)--(y:l)"), once_each=True)
        assert steps(plan) == [1]
        (pair,) = plan.extensions[0].pairs
        assert pair.relation is Relation.LESS
        assert {frozenset(row[1:]) for row in rows_of(graph, plan)} == {
            frozenset(pair) for pair in combinations((1, 2, 3, 4), 2)
        }
        run = Executor(graph, plan, chunk=3)
        assert len(run.rows()) == run.pairs_made == 6, "the other order is not made"

    def test_1_does_not_use_a_vertex_of_the_embedding_again(self) -> None:
        # The far end of the path is matched before the pair, and is a candidate of it.
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2), (1, 3)], vertex_labels=["a", "b", "a", "a"], edge_labels=["p", "q", "q"]
        )
        both = mf.Graph.from_edges(
            [(0, 1), (0, 1), (1, 2), (1, 3)],
            vertex_labels=["a", "b", "a", "a"],
            edge_labels=["p", "q", "q", "q"],
        )
        pattern = mf.Pattern.parse("(f:a)-[:p]-(m:b), (m)-[:q]-(x:a), (m)-[:q]-(y:a)")
        for one in (graph, both):
            plan = phases_of(one, pattern)
            assert steps(plan) == [0, 1]
            assert rows_of(one, plan) == [(0, 1, 2, 3), (0, 1, 3, 2)]

    def test_2_tests_each_pair_even_the_first(self) -> None:
        # Both sources have the neighbour 2, the first candidate of each.
        graph = mf.Graph.from_edges(
            [(0, 1), (0, 2), (1, 2), (0, 3)],
            vertex_labels=["s", "t", "l", "l"],
            edge_labels=["p", "q", "q", "q"],
        )
        plan = phases_of(graph, mf.Pattern.parse("(s:s)-[:p]-(t:t), (s)-[:q]-(x:l), (t)-[:q]-(y:l)"))
        assert steps(plan) == [0, 2]
        assert rows_of(graph, plan) == [(0, 1, 3, 2)]

    def test_3_matches_vertices_of_two_labels_from_one_source(self) -> None:
        graph = mf.Graph.from_edges(star(4), vertex_labels=["c", "l", "l", "m", "m"])
        plan = phases_of(graph, mf.Pattern.parse("(c:c)--(x:l), (c)--(y:m)"))
        assert steps(plan) == [3]
        assert plan.extensions[0].pairs == (), "vertices of different labels need no test"
        assert rows_of(graph, plan) == [(0, x, y) for x in (1, 2) for y in (3, 4)]

    def test_3_tests_pairs_whose_label_sets_overlap(self) -> None:
        graph = mf.Graph.from_edges(star(2), vertex_labels=["c", "l", "m"])
        plan = phases_of(graph, mf.Pattern.parse("(c:c)--(x), (c)--(y:m)"))
        assert steps(plan) == [3]
        assert rows_of(graph, plan) == [(0, 1, 2)]

    def test_4_matches_vertices_of_two_labels_from_two_sources(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (0, 2), (1, 3), (1, 4)],
            vertex_labels=["s", "t", "l", "m", "m"],
            edge_labels=["p", "q", "q", "q"],
        )
        plan = phases_of(graph, mf.Pattern.parse("(s:s)-[:p]-(t:t), (s)-[:q]-(x:l), (t)-[:q]-(y:m)"))
        assert steps(plan) == [0, 4]
        assert plan.extensions[1].pairs == ()
        assert rows_of(graph, plan) == [(0, 1, 2, 3), (0, 1, 2, 4)]

    @pytest.mark.parametrize("once_each", [False, True])
    def test_5_matches_many_vertices_of_one_set(self, once_each: bool) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), *((1, leaf) for leaf in range(2, 7))],
            vertex_labels=["a", "b", *"llll", "m"],
            edge_labels=["p", *"qqqqq"],
        )
        text = "(a:a)-[:p]-(b:b), (b)-[:q]-(x:l), (b)-[:q]-(y:l), (b)-[:q]-(z:l)"
        plan = phases_of(graph, mf.Pattern.parse(text), once_each=once_each)
        assert steps(plan) == [0, 5]
        found = rows_of(graph, plan)
        if once_each:
            assert sorted(tuple(sorted(row[2:])) for row in found) == list(combinations((2, 3, 4, 5), 3))
        else:
            assert found == [(0, 1, *leaves) for leaves in permutations((2, 3, 4, 5), 3)]

    def test_5_cuts_all_vertices_in_ascending_order_by_a_restriction_of_the_first(self) -> None:
        """The first phase matches a leaf and the centre; the other leaves follow in order."""
        pattern = mf.Pattern.from_edges(star(5))
        graph = mf.Graph.from_edges(star(6))
        plan = phases_of(graph, pattern, once_each=True)
        last = plan.phases[-1]
        assert isinstance(last, Extension)
        (one,) = last.sets
        assert len(one.members) == 4
        assert one.common.after == plan.order[:1]
        assert not any(checks.after for checks in one.own)
        assert len(rows_of(graph, plan)) == 6

    def test_6_matches_two_sets_from_one_source(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), *((1, leaf) for leaf in range(2, 7))],
            vertex_labels=["a", "b", *"lll", *"mm"],
            edge_labels=["p", *"qqqqq"],
        )
        text = "(a:a)-[:p]-(b:b), (b)-[:q]-(z:m), (b)-[:q]-(x:l), (b)-[:q]-(y:l)"
        plan = phases_of(graph, mf.Pattern.parse(text))
        assert steps(plan) == [0, 6]
        assert [len(one.members) for one in plan.extensions[1].sets] == [2, 1], "the larger set is first"
        assert rows_of(graph, plan) == sorted(
            (0, 1, last, *leaves) for leaves in permutations((2, 3, 4), 2) for last in (5, 6)
        )

    def test_7_matches_a_set_from_each_of_two_sources_and_tests_each_pair(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (0, 2), (0, 3), (0, 4), (1, 4), (1, 5)],
            vertex_labels=["s", "t", *"llll"],
            edge_labels=["p", *"qqqqq"],
        )
        text = "(s:s)-[:p]-(t:t), (s)-[:q]-(x:l), (s)-[:q]-(y:l), (t)-[:q]-(z:l)"
        plan = phases_of(graph, mf.Pattern.parse(text))
        assert steps(plan) == [0, 7]
        assert rows_of(graph, plan) == sorted(
            (0, 1, *leaves, last)
            for leaves in permutations((2, 3, 4), 2)
            for last in (4, 5)
            if last not in leaves
        )

    def test_homomorphisms_may_use_a_vertex_twice(self) -> None:
        graph = mf.Graph.from_edges(star(2), vertex_labels=["c", "l", "l"])
        plan = phases_of(graph, mf.Pattern.parse("(c:c)--(x:l), (c)--(y:l)"), "homomorphism")
        assert steps(plan) == [1]
        assert rows_of(graph, plan) == [(0, x, y) for x in (1, 2) for y in (1, 2)]


class TestEliminations:
    def test_all_closing_edges_of_one_label_are_one_phase(self) -> None:
        graph = mf.Graph.from_edges(list(combinations(range(6), 2)))
        plan = phases_of(graph, mf.Pattern.from_edges(list(combinations(range(5), 2))))
        assert steps(plan) == [1, "-", 1, "-"]
        last = plan.phases[-1]
        assert isinstance(last, Elimination)
        assert len(last.required) == 10 - 4 - 1

    def test_each_label_has_a_phase_the_partition_at_hand_first(self) -> None:
        ends = [(0, 1), (0, 2), (1, 2), (1, 2), (1, 2), (0, 3)]
        graph = mf.Graph.from_edges(ends, vertex_labels=[*"abcb"], edge_labels=[*"xxxyzz"])
        text = "(a:a)-[:x]-(b:b)-[:x]-(c:c)-[:x]-(a), (b)-[:y]-(c), (b)-[:z]-(c)"
        plan = phases_of(graph, mf.Pattern.parse(text))
        assert steps(plan) == [3, "-", "-", "-"]
        labels = [phase.partitions for phase in plan.phases]
        assert labels == [graph.edge_label_table.codes([label]) for label in "xxyz"]
        assert rows_of(graph, plan) == [(0, 1, 2)]

    def test_several_edges_between_two_vertices_are_one_source_and_closing_edges(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (0, 1), (0, 2)], directed=True, edge_labels=["x", "y", "x"])
        plan = phases_of(graph, mf.Pattern.parse("(a)-[:x]->(b), (a)-[:y]->(b)"))
        assert steps(plan) == [0, "-"]
        assert plan.phases[0].partitions == graph.edge_label_table.codes(["y"]), "the more selective edge"
        assert rows_of(graph, plan) == [(0, 1)]

    def test_an_edge_of_several_labels_needs_an_arc_in_one_of_their_partitions(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2), (2, 0), (1, 3), (3, 0)], directed=True, edge_labels=[*"pqxqy"]
        )
        pattern = mf.Pattern.parse("(a)-[:p]->(b)-[:q]->(c)-[:x|y]->(a)")
        plan = phases_of(graph, pattern)
        assert rows_of(graph, plan) == [(0, 1, 2), (0, 1, 3)]


class TestPartitions:
    def test_an_arc_that_several_partitions_have_gives_one_embedding(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (0, 1), (0, 2), (0, 2)], edge_labels=["x", "y", "x", "y"])
        plan = phases_of(graph, mf.Pattern.from_edges([(0, 1), (0, 2)]))
        assert plan.phases[0].partitions is None
        assert rows_of(graph, plan) == [(0, 1, 2), (0, 2, 1)]

    def test_a_phase_names_the_partitions_of_a_set_of_labels(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], directed=True, edge_labels=["x", "y", "z"])
        plan = phases_of(graph, mf.Pattern.parse("(a)-[:x|z]->(b)"))
        assert plan.phases[0].partitions == (0, 2)
        assert rows_of(graph, plan) == [(0, 1), (2, 3)]

    def test_a_label_that_does_not_occur_names_no_partition(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=["x", "y"])
        plan = phases_of(graph, mf.Pattern.parse("(a)-[:absent]-(b)-[:x]-(c)"))
        assert plan.phases[0].partitions == ()
        assert rows_of(graph, plan) == []

    def test_their_sizes_count_arcs(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], edge_labels=["x", "y", "x"])
        statistics = phase_statistics(bind(mf.Pattern.parse("(a)--(b)"), graph), graph)
        assert statistics.partitions == (4, 2)
        assert statistics.partition_arcs(None) == 6
        assert statistics.partition_arcs((1,)) == 2


class TestInducedMatching:
    def test_absent_arcs_are_checked_in_the_phase_where_there_is_one_partition(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)])
        plan = phases_of(graph, mf.Pattern.from_edges([(0, 1), (1, 2)]), "induced", once_each=True)
        assert steps(plan) == [1]
        assert {(frozenset((row[0], row[2])), row[1]) for row in rows_of(graph, plan)} == {
            (frozenset((0, 3)), 2),
            (frozenset((1, 3)), 2),
        }

    def test_other_partitions_are_checked_once_the_core_is_matched_and_at_the_end(self) -> None:
        pairs = list(combinations(range(7), 2))
        graph = mf.Graph.from_edges(pairs, edge_labels=["x" if v < 5 else "y" for _, v in pairs])
        text = "(a)-[:x]-(b)-[:x]-(c)-[:x]-(d)-[:x]-(a), (a)-[:x]-(e), (e)-[:x]-(f)"
        plan = phases_of(graph, mf.Pattern.parse(text), "induced")
        assert steps(plan) == [1, 0, "-", "-", 0, 0, "-"]
        for at in (3, 6):
            phase = plan.phases[at]
            assert isinstance(phase, Elimination)
            assert (phase.partitions, phase.required) == ((1,), ())

    def test_every_pair_without_an_edge_is_checked_in_every_partition(self) -> None:
        pairs = list(combinations(range(6), 2))
        graph = mf.Graph.from_edges(pairs, edge_labels=["xyz"[v % 3] for _, v in pairs])
        pattern = mf.Pattern.parse("(a)-[:x]-(b)-[:y]-(c)-[:x]-(d)-[:x|z]-(a), (a)-[:x]-(e), (a)--(f)")
        plan = phases_of(graph, pattern, "induced")
        checked: list[tuple[frozenset[int], int]] = []
        for phase in plan.phases:
            labels = range(3) if phase.partitions is None else phase.partitions
            if isinstance(phase, Elimination):
                found = [frozenset(pair) for pair in phase.forbidden]
            else:
                found = [frozenset((pair.first, pair.second)) for pair in phase.pairs if pair.not_out]
                for one in phase.sets:
                    for member, own in zip(one.members, one.own, strict=True):
                        found += [frozenset((u, member)) for u in (*one.common.not_out, *own.not_out)]
            checked += [(pair, label) for pair in found for label in labels]
        edges = {frozenset((edge.source, edge.target)) for edge in pattern.edges}
        absent = {frozenset(pair) for pair in combinations(range(6), 2)} - edges
        assert set(checked) == {(pair, label) for pair in absent for label in range(3)}


class TestSplitPhases:
    def test_match_the_same_vertices_in_the_same_order_one_at_a_time(self) -> None:
        graph = mf.Graph.from_edges(list(combinations(range(7), 2)))
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0), (0, 3), (0, 4), (0, 5), (1, 6)])
        whole, split = (phases_of(graph, pattern, once_each=True, pvm=way) for way in ("pv", "sv"))
        assert steps(whole) == [1, "-", 5, 0]
        assert steps(split) == [0, 0, "-", 0, 0, 0, 0]
        assert (whole.order, whole.restrictions) == (split.order, split.restrictions)
        assert rows_of(graph, whole, 1000) == rows_of(graph, split, 1000)

    def test_of_several_partitions_match_one_vertex_where_there_is_one_partition_at_a_time(self) -> None:
        ends = [(0, 1), (0, 2), (0, 2), (0, 3), (0, 4)]
        graph = mf.Graph.from_edges(ends, vertex_labels=[*"abbcc"], edge_labels=[*"xxyxx"])
        pattern = mf.Pattern.parse("(a:a)--(p:b), (a)--(q:b), (a)-[:x]-(r:c), (a)-[:x]-(s:c)")
        whole, split = (phases_of(graph, pattern, one_partition=one) for one in (False, True))
        assert steps(whole) == [1, 1]
        assert steps(split) in ([1, 0, 0], [0, 0, 1])
        assert rows_of(graph, whole) == rows_of(graph, split)
        assert len(rows_of(graph, whole)) == 4


class TestPatternsThatAreHandedOver:
    @pytest.mark.parametrize(
        "edges",
        [
            (BoundEdge(0, 1, None, True), BoundEdge(2, 3, None, True)),
            (BoundEdge(0, 1, None, True), BoundEdge(1, 2, None, True), BoundEdge(0, 2, None, True)),
            (),
        ],
        ids=["two parts", "an isolated vertex", "no edge"],
    )
    def test_those_that_are_not_connected(self, edges: tuple[BoundEdge, ...]) -> None:
        bound = BoundPattern(False, (None,) * 4, edges, None)
        statistics = PhaseStatistics((5,) * 4, (8,) * len(edges), (8,))
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)])
        handed = decompose(pattern, bound, statistics, Semantics.ISOMORPHISM)
        assert handed == HandOver(NOT_CONNECTED)


class TestChunks:
    def test_bound_the_embeddings_that_wait_between_phases(self) -> None:
        graph = mf.Graph.from_edges(list(combinations(range(7), 2)))
        plan = phases_of(graph, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0), (0, 3), (1, 4)]))
        run = Executor(graph, plan, chunk=5)
        rows = run.rows()
        assert len(rows) == len(set(rows)) == 7 * 6 * 5 * 4 * 3
        assert max(run.sizes) == len(rows)
        assert run.most_held <= 5 * len(plan.phases)


class TestAPlanOfPhases:
    def test_is_plain_data_that_serves_as_a_key(self) -> None:
        graph = mf.Graph.from_edges(list(combinations(range(5), 2)))
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0), (0, 3)])
        first, second = phases_of(graph, pattern), phases_of(graph, pattern)
        assert {first: 1}[second] == 1
        assert first != phases_of(graph, pattern, once_each=True)


class TestTheDescription:
    def test_has_a_line_for_each_phase(self) -> None:
        graph = mf.Graph.from_edges(
            list(combinations(range(7), 2)),
            vertex_labels=[*"AABBAAB"],
            edge_labels=["x" if (u + v) % 3 else "y" for u, v in combinations(range(7), 2)],
        )
        pattern = mf.Pattern.parse(
            "(a:A)-[:x]-(b:B), (b)-[:x]-(c:A), (c)-[:y]-(a), (b)-[:x]-(d:A), (b)-[:x]-(e:A), (b)-[:x]-(f:B)"
        )
        assert self.lines(graph, pattern, once_each=True) == [
            "1. match b, then a, c from b (pattern 1) in partition 'x'; a < c",
            "2. keep embeddings with a -- c in partition 'y'",
            "3. match d, e from b and f from b (pattern 6) in partition 'x'; d, e != a, c; d < e",
        ]
        assert self.lines(graph, pattern, once_each=True, pvm="sv")[3:] == [
            "4. match d from b (pattern 0) in partition 'x'; d != a, c",
            "5. match e from b (pattern 0) in partition 'x'; e > d; e != a, c",
            "6. match f from b (pattern 0) in partition 'x'",
        ]

    def test_tells_directions_conditions_and_absent_arcs(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)],
            directed=True,
            edge_labels=["x", "y", "x", "y", "z"],
            edge_attributes={"w": [1, 2, 3, 4, 5]},
        )
        pattern = mf.Pattern.parse("(a)-[e:x]->(b)-[f]->(c)-[:x|y]-(a) WHERE e.w > 0 AND f.w > 1")
        assert self.lines(graph, pattern, "induced") == [
            (
                "1. match b, then a from b by incoming arcs where w > 0 (pattern 0) in partition 'x';"
                " no arc b -> a"
            ),
            "2. match c from b by outgoing arcs where w > 1 (pattern 0) in all partitions; no arc c -> b",
            "3. keep embeddings with a -- c and without b -> a in partitions 'x', 'y'",
            "4. keep embeddings without b -> a in partition 'z'",
        ]

    def test_tells_absent_edges_and_partitions_that_do_not_occur(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)])
        assert self.lines(graph, mf.Pattern.parse("(a)--(b)--(c)--(d)"), "induced", once_each=True) == [
            "1. match b, then a, c from b (pattern 1) in the only partition; c > b; a != c; no edge a -- c",
            "2. match d from c (pattern 0) in the only partition; d != a, b; no edge a -- d; no edge b -- d",
        ]
        assert self.lines(graph, mf.Pattern.parse("(a)-[:absent]-(b)--(c)"))[0] == (
            "1. match b, then a from b (pattern 0) in no partition"
        )

    @staticmethod
    def lines(graph: mf.Graph, pattern: mf.Pattern, *semantics: str, **options: Any) -> list[str]:
        plan = phases_of(graph, pattern, *semantics, **options)
        text = describe_phases(plan, pattern, graph.edge_label_table, directed=graph.directed)
        return text.splitlines()
