"""Candidates are filtered as far as is sound, and the arcs between them are those of the graph."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning, resolve_tuning
from motiflux.plan import make_plan
from motiflux.plan.bind import bind
from motiflux.plan.candidates.space import KEPT_SPACES, CandidateSpace, candidate_space, space_key
from motiflux.plan.native_plan import _MOST_SEARCHES, native_problem
from motiflux.types import Semantics
from tests.backend.cases import clique

PATH = "(a:0)--(b:1)--(c:2)"


def space_of(graph: mf.Graph, pattern: str, semantics: str = "isomorphism", **tuning: str) -> CandidateSpace:
    bound = bind(mf.Pattern.parse(pattern), graph)
    key = space_key(bound, Semantics(semantics), private_tuning({"candidates": "on", **tuning}))
    assert key is not None
    space = candidate_space(graph, key, 1)
    assert space is not None
    return space


def candidates(graph: mf.Graph, space: CandidateSpace) -> list[list[Any]]:
    """The external ids of each query vertex's candidates, ascending."""
    size = len(space.sizes)
    return [sorted(graph.vertex_ids[space.native.members(vertex)].tolist()) for vertex in range(size)]


# 0(a) - 1(b) - 2(c), 3(a) - 4(b), and 5(a) on its own.
CHAINS = mf.Graph.from_edges(
    [(0, 1), (1, 2), (3, 4)], num_vertices=6, vertex_labels=["a", "b", "c", "a", "b", "a"]
)


class TestFiltering:
    def test_without_rounds_only_labels_and_degrees_filter(self) -> None:
        space = space_of(CHAINS, "(x:a)--(y:b)--(z:c)", rounds="0")
        assert candidates(CHAINS, space) == [[0, 3], [1], [2]]
        space = space_of(CHAINS, "(x:a)--(y:b)--(z:c)", rounds="0", degrees="off")
        assert candidates(CHAINS, space) == [[0, 3, 5], [1, 4], [2]]

    def test_rounds_ask_for_neighbours_that_are_candidates_too(self) -> None:
        space = space_of(CHAINS, "(x:a)--(y:b)--(z:c)", degrees="off")
        assert candidates(CHAINS, space) == [[0], [1], [2]]
        assert space.arcs == (1, 1)

    def test_a_pattern_that_cannot_match_has_an_empty_set(self) -> None:
        assert space_of(CHAINS, "(x:a)--(y:c)").empty

    def test_alike_neighbours_need_as_many_data_vertices(self) -> None:
        star = mf.Graph.from_edges([(0, 1), (0, 2), (3, 4)], vertex_labels=["b", "a", "a", "b", "a"])
        twice = "(x:a)--(y:b)--(z:a)"
        assert candidates(star, space_of(star, twice, degrees="off"))[1] == [0]
        assert candidates(star, space_of(star, twice, "homomorphism"))[1] == [0, 3]
        assert candidates(star, space_of(star, twice + " WHERE may_equal(x, z)"))[1] == [0, 3]

    def test_parallel_edges_are_one_neighbour(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (0, 1)], vertex_labels=["b", "a"], edge_labels=["wire", "cash"])
        assert space_of(graph, "(x:a)--(y:b)--(z:a)", degrees="off").empty

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("(x)-[:w]->(y)", [[0, 1], [1, 2]]),
            ("(x)<-[:w]-(y)", [[1, 2], [0, 1]]),
            ("(x)-[:w]-(y)", [[0, 1, 2], [0, 1, 2]]),
            ("(x)-[:c]->(y)", [[2], [3]]),
            ("(x)-[:w]->(y)-[:c]->(z)", [[1], [2], [3]]),
        ],
    )
    def test_directions_and_edge_labels_are_followed(self, pattern: str, expected: list[list[int]]) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], directed=True, edge_labels=["w", "w", "c"])
        assert candidates(graph, space_of(graph, pattern)) == expected

    def test_ids_and_conditions_filter(self) -> None:
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2), (2, 0)],
            vertex_attributes={"x": [1, 2, 3]},
            edge_attributes={"w": [5, 6, 7]},
        )
        assert candidates(graph, space_of(graph, "(a)--(b) WHERE id(a) = 1")) == [[1], [0, 2]]
        assert candidates(graph, space_of(graph, "(a)--(b) WHERE a.x > 2")) == [[2], [0, 1]]
        assert candidates(graph, space_of(graph, "(a)-[e]-(b) WHERE e.w = 5")) == [[0, 1], [0, 1]]

    def test_every_image_of_every_embedding_stays(self) -> None:
        generator = np.random.default_rng(5)
        for _ in range(20):
            pairs = generator.integers(0, 12, (30, 2))
            labels = generator.integers(0, 2, 12)
            graph = mf.Graph.from_edges(pairs, num_vertices=12, vertex_labels=labels, self_loops="drop")
            pattern = "(a:0)--(b:1)--(c)--(a), (c)--(d:1)"
            rows = mf.match(graph, pattern, tuning={"candidates": "off"}).to_numpy()
            kept = candidates(graph, space_of(graph, pattern, rounds="16"))
            for column, members in zip(rows.T, kept, strict=True):
                assert set(column.tolist()) <= set(members)


class TestCycles:
    """Arcs between candidates stay where the pattern's triangles and squares can close over them."""

    # A triangle 0-1-2, a square 3-4-5-6, and 7 between the two.
    GRAPH = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6), (6, 3), (2, 7), (7, 3)])

    def space(self, pattern: str, cycles: int, semantics: str = "isomorphism") -> CandidateSpace:
        bound = bind(mf.Pattern.parse(pattern), self.GRAPH)
        key = space_key(bound, Semantics(semantics), resolve_tuning({"candidates": "on"}))
        assert key is not None
        space = candidate_space(self.GRAPH, replace(key, cycles=cycles), 1)
        assert space is not None
        return space

    def test_triangles_leave_what_they_close_over(self) -> None:
        triangle = "(a)--(b)--(c)--(a)"
        assert candidates(self.GRAPH, self.space(triangle, 0))[0] == list(range(8))
        narrow = self.space(triangle, 3)
        assert candidates(self.GRAPH, narrow) == [[0, 1, 2]] * 3
        assert narrow.arcs == (6, 6, 6)

    def test_what_hangs_from_a_triangle_is_narrowed_with_it(self) -> None:
        narrow = self.space("(a)--(b)--(c)--(a), (c)--(d)--(e)", 3)
        assert candidates(self.GRAPH, narrow)[2:] == [[2], [0, 1, 7], [0, 1, 2, 3]]

    def test_squares_have_four_corners(self) -> None:
        square = "(a)--(b)--(c)--(d)--(a)"
        assert candidates(self.GRAPH, self.space(square, 3))[0] == list(range(8))
        assert candidates(self.GRAPH, self.space(square, 4)) == [[3, 4, 5, 6]] * 4
        # Vertices may come again under homomorphism: there and back is a square.
        assert candidates(self.GRAPH, self.space(square, 4, "homomorphism"))[0] == list(range(8))

    def test_edges_side_by_side_join_the_same(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 0), (1, 2), (2, 3), (3, 0)], directed=True)
        bound = bind(mf.Pattern.parse("(a)-->(b), (b)-->(a)"), graph)
        key = space_key(bound, Semantics.ISOMORPHISM, resolve_tuning({"candidates": "on"}))
        assert key is not None
        narrow = candidate_space(graph, replace(key, rounds=0, cycles=3), 1)
        assert narrow is not None
        assert narrow.arcs == (2, 2)
        assert candidates(graph, narrow) == [[0, 1], [0, 1]]

    def test_a_cycle_that_closes_nowhere_leaves_nothing(self) -> None:
        path = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
        bound = bind(mf.Pattern.parse("(a)--(b)--(c)--(d)--(a)"), path)
        key = space_key(bound, Semantics.ISOMORPHISM, resolve_tuning({"candidates": "on"}))
        assert key is not None
        space = candidate_space(path, replace(key, cycles=4), 1)
        assert space is not None
        assert space.empty
        assert mf.estimate(path, "(a)--(b)--(c)--(d)--(a)", tuning={"candidates": "on"}).estimator == "exact"

    def test_work_is_bounded(self) -> None:
        """Where nothing goes, little is tried; what was not tried stays."""
        graph = mf.Graph.from_edges(clique(200))
        pattern = mf.Pattern.from_edges(clique(8))
        key = space_key(bind(pattern, graph), Semantics.ISOMORPHISM, resolve_tuning({"candidates": "on"}))
        assert key is not None
        space = candidate_space(graph, replace(key, cycles=4), 1)
        assert space is not None
        assert space.arcs == (200 * 199,) * 28


class TestMemory:
    def test_a_space_that_would_not_fit_is_none_and_the_count_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        graph = mf.Graph.from_edges(clique(9), vertex_labels=[0, 1, 2] * 3)
        pattern = "(a:0)--(b:1)--(c:2)--(a)"
        expected = mf.count(graph, pattern)
        graph.forget()
        monkeypatch.setattr("motiflux.plan.candidates.space._MIN_BYTES", 40)
        monkeypatch.setattr("motiflux.plan.candidates.space._MAX_RATIO", 0)
        assert mf.count(graph, pattern) == expected == 27
        assert "memory" in str(mf.explain(graph, pattern).report.no_space)

    def test_spaces_beyond_a_bound_are_made_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        graph = mf.Graph.from_edges(clique(9), vertex_labels=[0, 1, 2] * 3)
        monkeypatch.setattr("motiflux.plan.candidates.space._MIN_BYTES", 400)
        monkeypatch.setattr("motiflux.plan.candidates.space._MAX_RATIO", 0)
        patterns = [f"(a:{x})--(b:{y})--(c:{z})--(a)" for x, y, z in permutations(range(3))]
        for _ in range(2):
            assert [int(mf.count(graph, pattern)) for pattern in patterns] == [27] * 6

    def test_there_is_an_end_of_what_is_known_of_spaces_that_do_not_fit(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        graph = mf.Graph.from_edges(clique(9), vertex_labels=[0, 1, 2] * 3)
        monkeypatch.setattr("motiflux.plan.candidates.space._MIN_BYTES", 40)
        monkeypatch.setattr("motiflux.plan.candidates.space._MAX_RATIO", 0)
        for x, y, z in permutations(range(3)):
            assert mf.count(graph, f"(a:{x})--(b:{y})--(c:{z})--(a)") == 27
        assert len(graph.memo._pools[KEPT_SPACES]) == 1

    def test_repeated_calls_share_a_search_which_goes_with_its_space(self) -> None:
        graph = mf.Graph.from_edges(clique(9), vertex_labels=[0, 1, 2] * 3)
        pattern = "(a:0)--(b:1)--(c:2)--(a)"
        made: dict[int, Any] = {}
        for backjump in ("on", "off", "on", "off"):
            tuning = {"backjump": backjump, "tail": "off"}
            assert mf.count(graph, pattern, tuning=tuning, device="cpu") == 27
            (space,) = graph.memo._pools[KEPT_SPACES].values()
            made |= {id(kept.native): kept for kept in space.searches.values()}
        assert len(made) == 2
        graph.forget()
        assert mf.count(graph, pattern, tuning={"tail": "off"}, device="cpu") == 27
        (again,) = graph.memo._pools[KEPT_SPACES].values()
        assert again is not space
        assert not {id(kept.native) for kept in again.searches.values()} & set(made)

    def test_few_searches_are_kept_with_a_space(self) -> None:
        graph = mf.Graph.from_edges(clique(9), vertex_labels=[0, 1, 2] * 3)
        key = space_key(bind(mf.Pattern.parse(PATH), graph), Semantics("isomorphism"), resolve_tuning({}))
        assert key is not None
        for position in range(3 * _MOST_SEARCHES):
            assert mf.count(graph, PATH, limit=position + 1, device="cpu") == min(position + 1, 27)
        space = candidate_space(graph, key, 1)
        assert space is not None
        assert 1 <= len(space.searches) <= _MOST_SEARCHES

    def test_searches_for_what_must_be_absent_are_not_kept(self) -> None:
        graph = mf.Graph.from_edges(clique(9)[1:], vertex_labels=[0, 1, 2] * 3)
        for _ in range(2):
            assert mf.count(graph, PATH, semantics="induced", device="cpu") == len(
                mf.match(graph, PATH, semantics="induced", device="cpu").to_numpy()
            )
        assert not any(space.searches for space in graph.memo._pools[KEPT_SPACES].values())

    def test_time_can_run_out_while_candidates_are_filtered(self) -> None:
        pairs = np.random.default_rng(1).integers(0, 50_000, (600_000, 2))
        labels = np.arange(50_000) % 2
        graph = mf.Graph.from_edges(pairs, num_vertices=50_000, vertex_labels=labels, self_loops="drop")
        counted = mf.count(graph, "(a:0)--(b:1)--(c:0)", timeout=0.0)
        assert (int(counted), counted.complete) == (0, False)
        assert mf.count(graph, "(a:0)--(b:1)--(c:0)") > 0


class TestEqualCandidates:
    def test_the_sets_are_the_same_on_any_number_of_threads(self) -> None:
        rng = np.random.default_rng(1)
        size = 60_000
        edges = rng.integers(0, size, (200_000, 2))
        labels = rng.integers(0, 3, size)
        graph = mf.Graph.from_edges(
            edges[edges[:, 0] != edges[:, 1]], num_vertices=size, vertex_labels=labels
        )
        ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)]
        bound = bind(mf.Pattern.from_edges(ring, vertex_labels=[0, 1, 2, 0, None, 2]), graph)
        for rounds in "1", "4":
            switches = resolve_tuning({"candidates": "on", "rounds": rounds})
            key = space_key(bound, Semantics.ISOMORPHISM, switches)
            assert key is not None
            found = set()
            for threads in (1, 2, 3, 8, 8):
                graph.memo.drop(KEPT_SPACES)
                space = candidate_space(graph, key, threads)
                assert space is not None
                found.add(tuple(space.native.members(vertex).tobytes() for vertex in range(6)))
            assert len(found) == 1

    def test_query_vertices_that_require_different_labels_are_of_different_classes(self) -> None:
        path = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=["a", "b", "a"])
        space = space_of(path, "(x:a)--(y:b)--(z)")
        assert candidates(path, space) == [[0, 2], [1], [0, 2]]
        assert space.classes == (0, 1, 2)
        assert space_of(path, "(x:a)--(y:b)--(z:a)").classes == (0, 1, 0)

    def test_a_plan_that_reuses_the_set_of_another_class_is_refused(self) -> None:
        graph = mf.Graph.from_edges(clique(8), vertex_labels=[0, 0, 1, 1, 2, 2, 3, 3])
        pattern = mf.Pattern.from_edges(clique(4), vertex_labels=[0, 1, 2, 3])
        plan = make_plan(graph, pattern, space=True, tuning={"tail": "off", "parts": "off"})
        assert len(set(plan.classes)) == 4
        for reuse, message in ((2, "other candidates"), (100_000, "reuse out of range")):
            last = replace(plan.shape.steps[3], reuse=reuse, anchor=2)
            shape = replace(plan.shape, steps=(*plan.shape.steps[:3], last))
            with pytest.raises(ValueError, match=message):
                native_problem(
                    graph, replace(plan, shape=shape, adaptive_order=None), intersect="auto", threads=1
                )
