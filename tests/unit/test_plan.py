"""Plans: orders, restrictions, shared intersections, bounds, and how they are told."""

from __future__ import annotations

import dataclasses
import random
import time
from itertools import combinations
from typing import Any, ClassVar

import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.plan import Plan, builder, make_plan, native_plan, planner
from motiflux.plan.builder import PlanOptions
from motiflux.plan.estimate.sampled import Estimate, sample
from motiflux.plan.local_counts.describe import lines_of
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS, HOST_SPEEDS
from motiflux.plan.passes.order import Order, promising_orders
from motiflux.plan.report.groups import Group, find_groups
from motiflux.types import Semantics, Symmetry

TRIANGLE = [(0, 1), (1, 2), (2, 0)]
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]
DIAMOND = [*SQUARE, (0, 2)]
GIVEN = {"order": "given"}


def clique(size: int) -> list[tuple[int, int]]:
    return list(combinations(range(size), 2))


def path(size: int) -> list[tuple[int, int]]:
    return [(v, v + 1) for v in range(size - 1)]


def plan_of(edges: list[tuple[int, int]], *, directed: bool = False, **options: Any) -> Plan:
    """Plan for a clique of eight, where every order costs much the same."""
    graph = mf.Graph.from_edges(clique(8), directed=directed)
    return make_plan(graph, mf.Pattern.from_edges(edges), **options)


class TestAPlanIsPlainData:
    def test_equal_inputs_give_equal_plans_that_serve_as_keys(self) -> None:
        first, second = plan_of(DIAMOND), plan_of(DIAMOND)
        assert first is not second
        assert first == second
        assert {first: 1}[second] == 1

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            plan_of(TRIANGLE).multiplier = 1  # type: ignore[misc]

    def test_what_is_asked_for_is_part_of_it(self) -> None:
        plans = {
            plan_of(SQUARE),
            plan_of(SQUARE, counting=False),
            plan_of(SQUARE, symmetry=Symmetry.SUBGRAPHS),
            plan_of(SQUARE, semantics=Semantics.INDUCED),
            plan_of(SQUARE, semantics=Semantics.HOMOMORPHISM),
            plan_of(SQUARE, tuning=private_tuning({"degrees": "off"})),
        }
        assert len(plans) == 6

    def test_it_is_remembered_with_the_graph_until_that_forgets(self) -> None:
        graph, pattern = mf.Graph.from_edges(clique(5)), mf.Pattern.from_edges(TRIANGLE)
        first = make_plan(graph, pattern)
        assert make_plan(graph, mf.Pattern.from_edges(TRIANGLE)) is first
        assert make_plan(graph, pattern, tuning={"order": "sampled"}) is first
        assert make_plan(graph, pattern, tuning=GIVEN) is not first
        assert make_plan(graph, pattern, symmetry=Symmetry.SUBGRAPHS) is not first
        graph.forget()
        assert make_plan(graph, pattern) is not first
        assert make_plan(graph, pattern) == first

    @pytest.mark.parametrize("asked", [field.name for field in dataclasses.fields(PlanOptions)])
    def test_it_is_remembered_by_all_that_it_depends_on(self, asked: str) -> None:
        other: dict[str, dict[str, Any]] = {
            "semantics": {"semantics": Semantics.INDUCED},
            "symmetry": {"symmetry": Symmetry.SUBGRAPHS},
            "counting": {"counting": False},
            "space": {"space": True},
            "images": {"images": True},
            "tail": {"tail": True},
            "parts": {"parts": True},
            "parts_cost": {"parts_cost": 2.0},
            "searchers": {"searchers": 64},
            "tables": {"tables": HOST_SPEEDS},
            "switches": {"tuning": {"reuse": "off"}},
            "beside": {"beside": [plan_of(TRIANGLE)]},
            "count_choices": {"count_choices": True},
            "copy_walks": {"copy_walks": False},
            "haste": {"deadline": time.perf_counter() + 1},
            "threads": {"threads": 2},
            "deadline": {"deadline": time.perf_counter() + 1000},
        }
        graph, pattern = mf.Graph.from_edges(clique(5)), mf.Pattern.from_edges(SQUARE)
        remembered = make_plan(graph, pattern, **other[asked]) is make_plan(graph, pattern)
        assert remembered == (asked in ("threads", "deadline"))

    def test_a_plan_serves_who_has_as_little_time_or_less(self) -> None:
        graph, pattern = mf.Graph.from_edges(clique(5)), mf.Pattern.from_edges(SQUARE)

        def made(seconds: float) -> Plan:
            return make_plan(graph, pattern, deadline=time.perf_counter() + seconds)

        brief = made(0.7)
        assert made(0.7) is brief
        assert made(0.3) is brief
        longer = made(3)
        assert longer is not brief
        assert made(0.3) is made(3) is longer
        whole = make_plan(graph, pattern)
        assert whole is not longer
        assert made(0.3) is made(100) is whole

    def test_the_order_is_remembered_by_less(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[Order] = []

        def watched(*given: Any, **more: Any) -> list[Order]:
            made.extend(found := promising_orders(*given, **more))
            return found

        monkeypatch.setattr(planner, "promising_orders", watched)
        graph, pattern = mf.Graph.from_edges(clique(5)), mf.Pattern.from_edges(SQUARE)
        make_plan(graph, pattern)
        known = len(made)
        make_plan(graph, pattern, parts=True, parts_cost=2.0, searchers=64, tables=HOST_SPEEDS)
        assert len(made) == known > 0
        make_plan(graph, pattern, tuning={"reuse": "off"})
        assert len(made) > known

    @pytest.mark.turns(8)
    def test_a_graph_remembers_a_bounded_number_of_plans(self) -> None:
        graph = mf.Graph.from_edges(clique(4))
        patterns = [mf.Pattern.from_edges([(0, 1)], name=str(number)) for number in range(1200)]
        first = make_plan(graph, patterns[0])
        for pattern in patterns:
            newest = make_plan(graph, pattern)
        assert make_plan(graph, patterns[-1]) is newest
        assert make_plan(graph, patterns[0]) is not first


class TestOrders:
    @pytest.mark.parametrize("seed", range(10))
    @pytest.mark.parametrize("order", ["sampled", "cost", "given"])
    def test_every_vertex_comes_once_and_is_joined_to_an_earlier_one(self, order: str, seed: int) -> None:
        generator = random.Random(seed)
        graph = mf.Graph.from_edges(clique(9), vertex_labels=[generator.randrange(3) for _ in range(9)])
        size = generator.randint(2, 9)
        names = list(range(size))
        generator.shuffle(names)
        tree = [(names[generator.randrange(v)], names[v]) for v in range(1, size)]
        further = [pair for pair in clique(size) if generator.random() < 0.2]
        labels = [generator.choice([None, 0, 1, 2]) for _ in range(size)]
        pattern = mf.Pattern.from_edges(tree + further, num_vertices=size, vertex_labels=labels)
        plan = make_plan(graph, pattern, tuning={"order": order})
        assert sorted(plan.order) == list(range(size))
        assert len(plan.estimates) == len(plan.shape.steps) == len(plan.args.steps) == size
        joined = {frozenset((edge.source, edge.target)) for edge in pattern.edges}
        for level in range(1, size):
            earlier = {other for other in plan.order[:level] if {other, plan.order[level]} in joined}
            assert earlier

    def test_the_given_order_is_the_patterns_where_it_is_connected(self) -> None:
        assert plan_of(path(5), tuning=GIVEN).order == (0, 1, 2, 3, 4)
        assert plan_of([(0, 3), (3, 1), (1, 2)], tuning=GIVEN).order == (0, 3, 1, 2)

    def test_the_cheapest_order_starts_where_labels_are_rare(self) -> None:
        labels = ["common"] * 29 + ["rare"]
        graph = mf.Graph.from_edges(clique(30), vertex_labels=labels)
        pattern = mf.Pattern.from_edges(path(4), vertex_labels=["common", "common", "common", "rare"])
        assert make_plan(graph, pattern).order == (3, 2, 1, 0)

    def test_a_search_of_next_to_no_work_is_not_planned_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        drawn: list[Plan] = []

        def watched(graph: mf.Graph, plan: Plan, members: int, threads: int) -> Estimate:
            drawn.append(plan)
            return sample(graph, plan, members, threads)

        for module in (planner, builder):
            monkeypatch.setattr(module, "sample", watched)
        make_plan(mf.Graph.from_edges(clique(6)), mf.Pattern.from_edges(DIAMOND))
        assert len(drawn) == 1
        make_plan(mf.Graph.from_edges(clique(20)), mf.Pattern.from_edges(DIAMOND))
        assert len(drawn) > 2

    def test_hubs_are_seen_behind_labels_of_edges(self) -> None:
        """A hub has pairs of children without number; from below there is one way up."""
        graph = mf.Graph.from_edges(
            [edge for child in range(1, 3001) for edge in ((0, child), (child, 3000 + child), (child, 6001))],
            directed=True,
            edge_labels=["is", "is", "has"] * 3000,
        )
        diamond = mf.Pattern.parse("(top)-[:is]->(a)-[:is]->(low), (top)-[:is]->(b)-[:is]->(low)")
        plan = make_plan(graph, diamond, space=True)
        assert plan.space is None
        assert plan.scanned
        assert plan.order[0] == 2
        assert not make_plan(graph, diamond).scanned

    def test_the_cheapest_order_closes_cycles_before_it_opens_branches(self) -> None:
        graph = mf.Graph.from_edges([(v, (v + step) % 60) for v in range(60) for step in (1, 2, 3)])
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 2)])
        assert set(make_plan(graph, pattern).order[:3]) == {2, 3, 4}


class TestSymmetry:
    @pytest.mark.parametrize(
        ("edges", "restrictions", "automorphisms"),
        [
            pytest.param(TRIANGLE, ((0, 1), (1, 2)), 6, id="triangle"),
            pytest.param(clique(4), ((0, 1), (1, 2), (2, 3)), 24, id="4-clique"),
            pytest.param(SQUARE, ((0, 1), (0, 2), (1, 3)), 8, id="4-cycle"),
            pytest.param(DIAMOND, ((0, 2), (1, 3)), 4, id="diamond"),
            pytest.param(path(4), ((0, 3),), 2, id="path"),
            pytest.param([(0, 1), (0, 2), (0, 3)], ((1, 2), (2, 3)), 6, id="star"),
        ],
    )
    def test_restrictions_keep_one_image_of_each_embedding(
        self, edges: list[tuple[int, int]], restrictions: tuple[tuple[int, int], ...], automorphisms: int
    ) -> None:
        plan = plan_of(edges, tuning=GIVEN)
        assert plan.restrictions == restrictions
        assert (plan.automorphisms, plan.multiplier) == (automorphisms, automorphisms)
        level_of = {vertex: level for level, vertex in enumerate(plan.order)}
        asked = set()
        for level, step in enumerate(plan.shape.steps):
            asked |= {(earlier, level) for earlier in step.after}
            asked |= {(level, earlier) for earlier in step.before}
        assert asked == {(level_of[u], level_of[v]) for u, v in restrictions}

    def test_words_and_their_texts_are_the_same(self) -> None:
        """Whichever is asked for first: the plan is remembered for both."""
        for texts_first in (True, False):
            graph, pattern = mf.Graph.from_edges(clique(6)), mf.Pattern.from_edges(SQUARE)
            texts = {
                "semantics": "induced",
                "symmetry": "subgraphs",
                "tuning": private_tuning({"multiply": "off"}),
            }
            words = texts | {"semantics": Semantics.INDUCED, "symmetry": Symmetry.SUBGRAPHS}
            first = make_plan(graph, pattern, **(texts if texts_first else words))
            assert make_plan(graph, pattern, **(words if texts_first else texts)) is first
            assert len(first.restrictions) > 0
            assert (first.semantics, first.symmetry) == (Semantics.INDUCED, Symmetry.SUBGRAPHS)
            assert isinstance(first.symmetry, Symmetry)
        for wrong in ("subgraph", None):
            with pytest.raises(mf.ArgumentError, match=r"symmetry.*one of embeddings, subgraphs"):
                plan_of(SQUARE, symmetry=wrong)
        with pytest.raises(mf.ArgumentError, match="symmetry"):
            plan_of(SQUARE, symmetry="subgraphs", semantics="homomorphism")

    def test_subgraphs_are_searched_for_once_each(self) -> None:
        plan = plan_of(SQUARE, symmetry=Symmetry.SUBGRAPHS, counting=False)
        assert plan.multiplier == 1
        assert plan.restrictions == plan_of(SQUARE).restrictions

    @pytest.mark.parametrize(
        "options",
        [
            {"counting": False},
            {"tuning": private_tuning({"multiply": "off"})},
            {"semantics": Semantics.HOMOMORPHISM},
        ],
    )
    def test_embeddings_are_searched_for_one_by_one_where_they_cannot_be_multiplied(
        self, options: dict[str, Any]
    ) -> None:
        plan = plan_of(SQUARE, **options)
        assert (plan.restrictions, plan.multiplier, plan.automorphisms) == ((), 1, 8)

    @pytest.mark.parametrize(("edges", "order"), [(SQUARE, 8), (clique(6), 720), (path(3), 2)])
    def test_an_engine_that_writes_images_searches_as_for_subgraphs(
        self, edges: list[tuple[int, int]], order: int
    ) -> None:
        plan = plan_of(edges, counting=False, images=True)
        alone = plan_of(edges, symmetry=Symmetry.SUBGRAPHS, counting=False)
        assert (plan.restrictions, plan.shape, plan.multiplier) == (alone.restrictions, alone.shape, 1)
        assert len(set(plan.images)) == len(plan.images) == plan.automorphisms == order
        assert alone.images == ()

    @pytest.mark.parametrize(
        ("edges", "options"),
        [
            (SQUARE, {"counting": True}),
            (SQUARE, {"images": False}),
            (SQUARE, {"tuning": private_tuning({"images": "off"})}),
            (SQUARE, {"semantics": Semantics.HOMOMORPHISM}),
            (SQUARE, {"symmetry": Symmetry.SUBGRAPHS}),
            (clique(7), {}),
            ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (0, 5)], {}),
        ],
        ids=["counting", "cannot", "off", "homomorphism", "subgraphs", "5,040", "no symmetry"],
    )
    def test_no_images_are_written_elsewhere(
        self, edges: list[tuple[int, int]], options: dict[str, Any]
    ) -> None:
        given = {"counting": False, "images": True, **options}
        plan = plan_of(edges, **given)
        assert plan.images == ()
        assert plan.restrictions == plan_of(edges, **{**given, "images": False}).restrictions

    def test_vertices_that_may_coincide_have_no_images(self) -> None:
        pattern = dataclasses.replace(mf.Pattern.from_edges(SQUARE), may_coincide=((0, 2),))
        graph = mf.Graph.from_edges(clique(8))
        assert make_plan(graph, pattern, counting=False, images=True).images == ()

    def test_directions_count(self) -> None:
        assert plan_of(TRIANGLE, directed=True).automorphisms == 3


class TestConditions:
    def test_only_vertices_that_nothing_separates_are_told_apart(self) -> None:
        steps = plan_of(path(4), counting=False, tuning=GIVEN).shape.steps
        assert [step.distinct for step in steps] == [(), (), (0,), (0, 1)]

    def test_restrictions_tell_vertices_apart(self) -> None:
        steps = plan_of(path(4), tuning=GIVEN).shape.steps
        assert [step.distinct for step in steps] == [(), (), (0,), (1,)]

    def test_labels_tell_vertices_apart(self) -> None:
        graph = mf.Graph.from_edges(clique(6), vertex_labels=[0, 0, 1, 1, 2, 2])
        pattern = mf.Pattern.from_edges(path(4), vertex_labels=[0, {0, 1}, 1, None])
        steps = make_plan(graph, pattern, tuning=GIVEN).shape.steps
        assert [step.distinct for step in steps] == [(), (), (), (0, 1)]

    def test_homomorphisms_tell_nothing_apart(self) -> None:
        steps = plan_of(path(4), semantics=Semantics.HOMOMORPHISM).shape.steps
        assert all(step.distinct == () for step in steps)

    def test_induced_undirected_forbids_edges_once(self) -> None:
        steps = plan_of(path(4), semantics=Semantics.INDUCED, tuning=GIVEN).shape.steps
        assert [step.not_out for step in steps] == [(), (), (0,), (0, 1)]
        assert all(step.not_in == () for step in steps)

    def test_induced_directed_forbids_each_direction_the_pattern_lacks(self) -> None:
        steps = plan_of(path(3), directed=True, semantics=Semantics.INDUCED, tuning=GIVEN).shape.steps
        assert [step.not_out for step in steps] == [(), (), (0,)]
        assert [step.not_in for step in steps] == [(), (0,), (0, 1)]

    def test_an_either_way_query_edge_allows_both_directions(self) -> None:
        graph = mf.Graph.from_edges(clique(4), directed=True)
        pattern = mf.Pattern.from_edges(path(3), directed=False)
        steps = make_plan(graph, pattern, semantics=Semantics.INDUCED, tuning=GIVEN).shape.steps
        assert [(step.not_out, step.not_in) for step in steps] == [((), ()), ((), ()), ((0,), (0,))]

    def test_other_semantics_forbid_nothing(self) -> None:
        for semantics in (Semantics.ISOMORPHISM, Semantics.HOMOMORPHISM):
            steps = plan_of(path(4), directed=True, semantics=semantics).shape.steps
            assert all(step.not_out == step.not_in == () for step in steps)

    def test_candidates_need_the_neighbours_that_are_still_to_come(self) -> None:
        plan = plan_of(DIAMOND, tuning=GIVEN)
        assert [step.min_out_degree for step in plan.args.steps] == [3, 2, 3, 0]
        assert [step.min_in_degree for step in plan.args.steps] == [0, 0, 0, 0]

    def test_directed_degrees_are_bounded_apart(self) -> None:
        plan = plan_of([(0, 1), (0, 2), (3, 0)], directed=True, tuning=GIVEN)
        assert (plan.args.steps[0].min_out_degree, plan.args.steps[0].min_in_degree) == (2, 1)

    @pytest.mark.parametrize(
        "options", [{"semantics": Semantics.HOMOMORPHISM}, {"tuning": private_tuning({"degrees": "off"})}]
    )
    def test_degrees_are_not_bounded_under_homomorphism_nor_when_switched_off(
        self, options: dict[str, Any]
    ) -> None:
        for directed in (False, True):
            plan = plan_of(DIAMOND, directed=directed, **options)
            assert all(step.min_out_degree == step.min_in_degree == 0 for step in plan.args.steps)


class TestSharedIntersections:
    def test_a_clique_extends_the_set_of_the_level_before(self) -> None:
        steps = plan_of(clique(6)).shape.steps
        assert [step.reuse for step in steps] == [None, None, None, 2, 3, 4]
        levels = [[source.level for source in step.sources] for step in steps]
        assert levels == [[], [0], [0, 1], [2], [3], [4]]

    def test_the_two_tips_of_a_diamond_share_one_set(self) -> None:
        steps = plan_of(DIAMOND).shape.steps
        assert steps[3].reuse == 2
        assert steps[3].sources == ()
        assert steps[3].anchor == steps[2].anchor == 1

    def test_switched_off_every_level_starts_from_scratch(self) -> None:
        steps = plan_of(clique(5), tuning={"reuse": "off"}).shape.steps
        assert [step.reuse for step in steps] == [None] * 5
        assert [len(step.sources) for step in steps] == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("edges", [clique(5), DIAMOND, path(5), SQUARE])
    def test_a_set_hangs_on_no_level_after_its_anchor(self, edges: list[tuple[int, int]]) -> None:
        steps = plan_of(edges).shape.steps
        for level, step in enumerate(steps[1:], start=1):
            assert step.anchor < level
            assert all(source.level <= step.anchor for source in step.sources)
            assert step.reuse is None or steps[step.reuse].anchor <= step.anchor


class TestImpossible:
    GRAPH = mf.Graph.from_edges(clique(4), vertex_labels=["a", "a", "b", "b"], edge_labels=[1] * 6)

    @pytest.mark.parametrize(
        ("pattern", "reason"),
        [
            (
                mf.Pattern.from_edges([(0, 1)], vertex_labels=["a", {"z", "y"}]),
                "query vertex '1' asks for the label 'y', 'z', which does not occur in the graph",
            ),
            (
                mf.Pattern.from_edges([(0, 1)], edge_labels=[2]),
                "query edge '0' - '1' asks for the label 2, which does not occur in the graph",
            ),
            (
                mf.Pattern.from_edges([(0, 1)], vertex_labels=[1, None]),
                "query vertex '0' asks for the label 1, which does not occur in the graph",
            ),
        ],
    )
    def test_a_label_the_graph_lacks_is_told_instead_of_searched_for(
        self, pattern: mf.Pattern, reason: str
    ) -> None:
        assert make_plan(self.GRAPH, pattern).impossible == reason
        assert str(mf.explain(self.GRAPH, pattern)).splitlines()[-1] == f"result    none: {reason}"
        found = mf.count(self.GRAPH, pattern, timeout=0)
        assert (found, found.complete) == (0, True)
        matches = mf.match(self.GRAPH, pattern)
        assert matches.to_numpy().shape == (0, 2)
        assert matches.complete

    @pytest.mark.parametrize(
        ("labels", "asked", "hint"),
        [
            (["Person", "Bank"], "Persn", "; did you mean 'Person'?"),
            (["Person", "Bank"], "PERSON", "; did you mean 'Person'?"),
            (["Person", "Bank"], {"q", "bnak"}, "; did you mean 'Bank'?"),
            (["Person", "Bank"], "zebra", ""),
            (["Person", "Bank"], 3, ""),
            (["3", "4"], 3, "; did you mean '3'?"),
            ([3, 4], "3", "; did you mean 3?"),
            ([30, 40], "31", ""),
            ([30, 40], 31, ""),
        ],
    )
    def test_a_label_that_may_have_been_meant_is_named(
        self, labels: list[Any], asked: Any, hint: str
    ) -> None:
        graph = mf.Graph.from_edges([(0, 1)], vertex_labels=labels)
        reason = make_plan(graph, mf.Pattern.from_edges([(0, 1)], vertex_labels=[asked, None])).impossible
        assert reason is not None
        assert reason.partition("does not occur in the graph")[2] == hint

    def test_many_labels_are_not_compared(self) -> None:
        size = 10_001
        graph = mf.Graph.from_edges([(0, 1)], num_vertices=size, vertex_labels=[f"l{v}" for v in range(size)])
        reason = make_plan(graph, mf.Pattern.from_edges([(0, 1)], vertex_labels=["L1", None])).impossible
        assert reason is not None
        assert reason.endswith("does not occur in the graph")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "(a {x: 1})--(b)",
                "vertex attribute 'x': expected one of the graph's vertex attributes",
            ),
            (
                "(a)-[{x: 1}]-(b)",
                "edge attribute 'x': expected one of the graph's edge attributes",
            ),
        ],
    )
    def test_a_condition_on_what_the_graph_lacks_is_refused(self, text: str, message: str) -> None:
        for search in (mf.count, mf.match, mf.explain):
            with pytest.raises(mf.PatternError) as caught:
                search(self.GRAPH, text)
            assert str(caught.value).startswith(message)

    def test_an_id_that_the_graph_lacks_is_told(self) -> None:
        text = "(a)--(b) WHERE id(b) = 77"
        assert mf.count(self.GRAPH, text) == 0
        reason = make_plan(self.GRAPH, mf.Pattern.parse(text)).impossible
        assert reason == "query vertex 'b' asks for the id 77, which does not occur in the graph"

    def test_an_id_of_the_wrong_kind_is_refused(self) -> None:
        with pytest.raises(mf.ArgumentError):
            mf.count(self.GRAPH, "(a)--(b) WHERE id(b) = 'ann'")

    def test_a_set_with_one_known_label_is_searched_for(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1)], vertex_labels=[{"a", "z"}, "b"])
        assert make_plan(self.GRAPH, pattern).impossible is None
        assert mf.count(self.GRAPH, pattern) == 4

    @pytest.mark.parametrize("labels", [["b", "b", "b"], ["z", None, None]])
    def test_no_order_is_looked_for(self, labels: list[str | None], monkeypatch: pytest.MonkeyPatch) -> None:
        """Three joined b's do not occur, and z does not at all: planning would be most of the call."""
        for name in ("promising_orders", "sample"):
            monkeypatch.delattr(planner, name)
        pattern = mf.Pattern.from_edges(TRIANGLE, vertex_labels=labels)
        assert mf.count(self.GRAPH, pattern) == 0
        assert mf.match(self.GRAPH, pattern).to_numpy().shape == (0, 3)
        assert mf.estimate(self.GRAPH, pattern).value == 0

    def test_such_a_plan_is_not_searched(self) -> None:
        plan = make_plan(self.GRAPH, mf.Pattern.from_edges(TRIANGLE, vertex_labels=["b"] * 3), space=True)
        assert (plan.shape.steps, plan.args.steps, plan.order) == ((), (), (0, 1, 2))
        with pytest.raises(mf.InternalError):
            native_plan.native_problem(self.GRAPH, plan, intersect="auto", threads=1)

    def test_how_many_automorphisms_there_are_is_told_all_the_same(self) -> None:
        pattern = mf.Pattern.from_edges(TRIANGLE, vertex_labels=["b", "b", "b"])
        report = mf.explain(self.GRAPH, pattern).report
        assert (report.automorphisms, report.multiplier, report.restrictions) == (6, 1, ())

    def test_an_arc_in_an_undirected_graph_is_refused(self) -> None:
        with pytest.raises(mf.PatternError) as caught:
            mf.count(self.GRAPH, mf.Pattern.from_edges([(0, 1)], directed=True))
        assert str(caught.value) == (
            "query edge '0' -> '1': expected an undirected query edge on an undirected graph, "
            "found a directed one; write --, or read the graph as directed"
        )


EXPLAINED = """\
pattern   deal: 3 vertices, 3 edges
graph     Graph(5 vertices, 5 edges, directed)
search    induced, embeddings
engine    cpu: asked for by device='cpu'
symmetry  1 automorphism
space     candidates a: 1, b: 1, c: 1; 3 rounds, 72 B
predicted about 1 embedding
time      about 35 us on 1 thread
memory    candidate space 72 B, search at most 24 B

level  vertex  candidates                       conditions                    estimated
0      a       vertices labelled person         out-degree >= 1               1
1      b       out[wire](a) labelled bank|shop  no arc to a, out-degree >= 1  1
2      c       either(a) & out[cash](b)         no arc to b                   1"""


class TestExplain:
    def test_a_directed_labelled_pattern_is_told_line_by_line(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)],
            directed=True,
            vertex_labels=["person", "shop", "person", "bank", "person"],
            edge_labels=["wire", "cash", "wire", "wire", "cash"],
        )
        pattern = (
            mf.PatternBuilder()
            .vertex("a", "person")
            .vertex("b", {"shop", "bank"})
            .vertex("c")
            .edge("a", "b", "wire", directed=True)
            .edge("b", "c", "cash")
            .edge("a", "c", directed=False)
            .build("deal")
        )
        told = mf.explain(graph, pattern, semantics="induced", device="cpu", threads=1)
        assert told == EXPLAINED
        assert repr(told) == EXPLAINED

    def test_many_labels_are_not_all_listed(self) -> None:
        graph = mf.Graph.from_edges(clique(8), vertex_labels=list(range(8)))
        pattern = mf.Pattern.from_edges([(0, 1)], vertex_labels=[range(6), range(2, 8)])
        assert "labelled 0|1|2|3|... (6)" in mf.explain(graph, pattern)

    def test_the_set_of_another_level_is_told(self) -> None:
        told = mf.explain(mf.Graph.from_edges(clique(6)), mf.Pattern.from_edges(clique(4)))
        assert "set of level 2 & neighbours(2)" in told
        assert "24 automorphisms; one image of each embedding: 0 < 1, 1 < 2, 2 < 3" in told
        assert told.splitlines()[4].endswith(
            "; the count is multiplied by 24; a listing has 24 rows for each embedding found"
        )
        assert "images" not in mf.explain(
            mf.Graph.from_edges(clique(6)), "(a)--(b)", tuning=private_tuning({"images": "off"})
        )


BAD_OPTIONS = {
    "semantics": (
        {"semantics": "isomorphic"},
        "semantics: expected one of isomorphism, induced, homomorphism, found 'isomorphic'",
    ),
    "no semantics": (
        {"semantics": None},
        "semantics: expected one of isomorphism, induced, homomorphism, found None",
    ),
    "symmetry": (
        {"symmetry": "none"},
        "symmetry: expected one of embeddings, subgraphs, found 'none'",
    ),
    "both": (
        {"semantics": "homomorphism", "symmetry": "subgraphs"},
        "symmetry: expected 'embeddings' with semantics='homomorphism', found 'subgraphs'",
    ),
    "device": ({"device": "gpu"}, "device: expected one of auto, cpu, cuda, found 'gpu'"),
    "engine": ({"engine": "fast"}, "engine: expected one of auto, cpu, dfs, outofcore, pvm, found 'fast'"),
    "tuning name": (
        {"tuning": {"speed": "on"}},
        (
            "tuning: expected one of order, reuse, simd, candidates, rounds, tail, parts, backjump, tables,"
            " negation, sample_order, cycles, inheritance, streaming, sync, count_first, trawling,"
            " trawl_batches, trawl_samples, trawl_nodes, lanes, specialize, stealing, bitmaps, pooling,"
            " orbits, container, cache, pvm, filter, coalesce, probe, stream_batches, stream_updaters, found"
            " 'speed'"
        ),
    ),
    "tuning value": (
        {"tuning": {"parts": "some"}},
        "tuning['parts']: expected one of auto, on, off, found 'some'",
    ),
}
BAD_SEARCH_OPTIONS = {
    "negative limit": ({"limit": -1}, "limit: expected an integer of at least 0, or None, found -1"),
    "fraction of a limit": ({"limit": 1.5}, "limit: expected an integer of at least 0, or None, found 1.5"),
    "boolean limit": ({"limit": True}, "limit: expected an integer of at least 0, or None, found True"),
    "negative timeout": ({"timeout": -0.5}, "timeout: expected seconds of at least 0, or None, found -0.5"),
    "timeout is no number": (
        {"timeout": float("nan")},
        "timeout: expected seconds of at least 0, or None, found nan",
    ),
    "timeout in words": ({"timeout": "1s"}, "timeout: expected seconds of at least 0, or None, found '1s'"),
    "no threads": ({"threads": 0}, "threads: expected an integer from 1 to 1024, found 0"),
    "too many threads": ({"threads": 1025}, "threads: expected an integer from 1 to 1024, found 1025"),
    "threads in words": ({"threads": "all"}, "threads: expected an integer from 1 to 1024, found 'all'"),
}


class TestBadOptions:
    GRAPH = mf.Graph.from_edges(TRIANGLE)
    PATTERN = mf.Pattern.from_edges(TRIANGLE)

    @pytest.mark.parametrize("call", [mf.count, mf.match, mf.explain], ids=lambda call: call.__name__)
    @pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
    def test_every_call_names_the_option(self, call: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(mf.ArgumentError) as caught:
            call(self.GRAPH, self.PATTERN, **options)
        assert str(caught.value) == message

    @pytest.mark.parametrize("call", [mf.count, mf.match], ids=lambda call: call.__name__)
    @pytest.mark.parametrize(
        ("options", "message"), BAD_SEARCH_OPTIONS.values(), ids=BAD_SEARCH_OPTIONS.keys()
    )
    def test_searches_name_theirs(self, call: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(mf.ArgumentError) as caught:
            call(self.GRAPH, self.PATTERN, **options)
        assert str(caught.value) == message
        assert caught.value.argument == message.partition(":")[0]

    @pytest.mark.parametrize("batch_rows", [0, -1, 2.0, True, None, 2**30 + 1, 10**30])
    def test_match_wants_a_sensible_number_of_rows_in_a_batch(self, batch_rows: Any) -> None:
        with pytest.raises(mf.ArgumentError, match=r"^batch_rows: expected ") as caught:
            mf.match(self.GRAPH, self.PATTERN, batch_rows=batch_rows)
        assert str(caught.value).endswith(f"found {batch_rows!r}")

    def test_a_device_that_is_not_there_is_a_device_error(self) -> None:
        for options in ({"device": "cpu", "engine": "dfs"}, {"device": "cuda", "engine": "cpu"}):
            with pytest.raises(mf.DeviceError, match="runs on"):
                mf.count(self.GRAPH, self.PATTERN, **options)

    @pytest.mark.parametrize("timeout", [1e12, float("inf"), 10**400], ids=["1e12", "inf", "10**400"])
    def test_a_timeout_may_be_as_long_as_you_like(self, timeout: float) -> None:
        assert mf.count(self.GRAPH, self.PATTERN, timeout=timeout) == 6
        assert len(mf.match(self.GRAPH, self.PATTERN, timeout=timeout).to_numpy()) == 6

    @pytest.mark.parametrize("limit", [2**64 - 1, 2**64, 10**30])
    def test_a_limit_may_be_as_large_as_you_like(self, limit: int) -> None:
        found = mf.count(self.GRAPH, self.PATTERN, limit=limit)
        assert (found, found.complete) == (6, True)
        assert len(mf.match(self.GRAPH, self.PATTERN, limit=limit).to_numpy()) == 6

    def test_instructions_that_this_processor_lacks_are_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(native_plan, "simd_here", lambda: ("scalar",))
        with pytest.raises(mf.ArgumentError) as caught:
            mf.count(self.GRAPH, self.PATTERN, device="cpu", tuning={"simd": "avx2"})
        assert str(caught.value) == (
            "tuning['simd']: expected auto, or what this processor has: scalar, found 'avx2'"
        )
        assert mf.count(self.GRAPH, self.PATTERN, device="cpu") == 6


def test_the_shape_of_a_plan_does_not_depend_on_which_labels_coincide() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    graph = mf.Graph.from_edges(edges, num_vertices=4, vertex_labels=[0, 1, 2, 3])
    paw = [(0, 1), (1, 2), (2, 0), (2, 3)]
    shapes = {
        make_plan(graph, mf.Pattern.from_edges(paw, vertex_labels=labels), tuning={"order": "given"}).shape
        for labels in ([0, 1, 2, 3], [0, 3, 1, 2])
    }
    assert len(shapes) == 1


class TestGroups:
    def test_leaves_of_one_vertex_are_matched_together_from_one_set(self) -> None:
        plan = plan_of([(0, 1), (0, 2), (0, 3)], tuning=GIVEN)
        assert find_groups(plan) == (Group((1, 2, 3), one_set=True),)

    def test_vertices_between_the_same_two_are(self) -> None:
        plan = plan_of([(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4)], tuning=GIVEN)
        assert find_groups(plan) == (Group((2, 3, 4), one_set=True),)

    def test_a_clique_has_none(self) -> None:
        assert find_groups(plan_of(clique(5))) == ()

    def test_two_sets_of_labels_make_one_group_and_a_third_one_ends_it(self) -> None:
        graph = mf.Graph.from_edges(clique(6), vertex_labels=[0, 1, 2, 3, 3, 3])
        pattern = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3), (0, 4)], vertex_labels=[3, 0, 0, 1, 2])
        plan = make_plan(graph, pattern, tuning=GIVEN)
        assert find_groups(plan) == (Group((1, 2, 3), one_set=False),)


class TestPlansOfTwoEngines:
    """What engines have in common is planned once, and each plan is what it would be without the other."""

    # Looks for formulas that time never cuts short: what they find does not depend on the machine's load.
    GPU: ClassVar[dict[str, Any]] = {
        "parts_cost": 2.0,
        "searchers": 20_000,
        "tables": dataclasses.replace(DEVICE_SPEEDS, planning=60.0),
    }
    HOST: ClassVar[dict[str, Any]] = {"tables": dataclasses.replace(HOST_SPEEDS, planning=60.0)}

    @pytest.mark.parametrize(
        "text", ["(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a), (d)--(e)", "(a:0)--(b:1)--(c)"]
    )
    def test_the_order_of_asking_makes_no_difference(self, text: str) -> None:
        drawn = random.Random(3)
        pairs = {tuple(sorted(drawn.sample(range(300), 2))) for _ in range(9000)}
        pattern = mf.Pattern.parse(text)
        plans = []
        for first, second in ((self.GPU, self.HOST), (self.HOST, self.GPU)):
            graph = mf.Graph.from_edges(sorted(pairs), vertex_labels=[vertex % 3 for vertex in range(300)])
            made = [
                make_plan(graph, pattern, space=True, tail=True, parts=True, **flags)
                for flags in (first, second)
            ]
            assert made[0].asked == made[1].asked == pattern
            plans.append(made if first is self.GPU else made[::-1])
        # Formulas that search are compared by what they say: their tables are objects of their own.
        assert [dataclasses.replace(plan, formula=None) for plan in plans[0]] == [
            dataclasses.replace(plan, formula=None) for plan in plans[1]
        ]
        assert [described(plan) for plan in plans[0]] == [described(plan) for plan in plans[1]]

    @pytest.mark.parametrize("text", ["(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a), (d)--(e)", "(a)--(b)"])
    def test_a_draft_whose_search_is_enough_is_the_whole_plan(self, text: str) -> None:
        graph = mf.Graph.from_edges(clique(20))
        pattern = mf.Pattern.parse(text)
        draft = make_plan(graph, pattern, space=True, tail=True)
        assert make_plan(graph, pattern, space=True, tail=True, parts=True, **self.HOST) == draft


def described(plan: Plan) -> tuple[str, ...]:
    return () if plan.formula is None else lines_of(plan.formula)
