"""Counts from tables of local counts are what the definitions say."""

from __future__ import annotations

import time
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from motiflux.plan import Plan, planner
from motiflux.plan.local_counts.estimate_costs import CostEstimator
from motiflux.plan.rooted import Rooted
from tests.data_paths import shared_path
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases

ON, OFF = {"tables": "on"}, {"tables": "off"}
DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    "combination", rotating([c for c in COMBINATIONS if c.semantics != "induced"]), ids=str
)
def test_they_are_the_embeddings_of_the_reference(combination: Combination, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), st.sampled_from([1, 2]))
    def holds(case: Case, threads: int) -> None:
        options = combination.options(device)
        found = mf.count(case.graph(), case.pattern(), **options, tuning=ON, threads=threads)
        embeddings = combination.symmetry == "embeddings"
        of = case.embeddings if embeddings else case.occurrences
        expected = of(combination.semantics)
        assert (found, found.complete) == (len(expected), True)

    holds()


@st.composite
def connected_patterns(draw: st.DrawFn) -> mf.Pattern:
    size = draw(st.integers(3, 7))
    edges = {(draw(st.integers(0, v - 1)), v) for v in range(1, size)}
    edges |= draw(st.sets(st.sampled_from(list(combinations(range(size), 2))), max_size=4))
    return mf.Pattern.from_edges(sorted(edges))


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
def test_on_a_complete_graph_they_are_falling_factorials(depth: str, device: str) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(9), 2)))

    @settings(settings.get_profile(depth))
    @given(connected_patterns())
    def holds(pattern: mf.Pattern) -> None:
        expected = factorial(9) // factorial(9 - pattern.num_vertices)
        assert mf.count(graph, pattern, tuning=ON, device=device) == expected

    holds()


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
def test_they_are_what_a_search_finds(depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        connected_patterns(),
        st.sets(st.sampled_from(list(combinations(range(12), 2))), min_size=12),
        st.sampled_from([1, 2]),
    )
    def holds(pattern: mf.Pattern, edges: set[tuple[int, int]], threads: int) -> None:
        graph = mf.Graph.from_edges(sorted(edges))
        found = mf.count(graph, pattern, tuning=ON, threads=threads, device=device)
        assert found == mf.count(graph, pattern, tuning=OFF)

    holds()


def cycle(size: int) -> str:
    return ", ".join(f"(v{at})--(v{(at + 1) % size})" for at in range(size))


WALKED = {
    "5-cycle": cycle(5),
    "6-cycle": cycle(6),
    "7-cycle": cycle(7),
    "theta": "(a)--(x)--(b), (a)--(y)--(b), (a)--(p)--(q)--(b)",
    "5-cycle with a tail": f"{cycle(5)}, (v0)--(t)",
    "5-cycle with a triangle": f"{cycle(5)}, (v0)--(t)--(v1)",
    "5-cycle with two tails": f"{cycle(5)}, (v0)--(t), (v1)--(s)",
    "arcs in a ring": cycle(5).replace("--", "-->"),
    "arcs from one to another": "(a)-->(b)-->(c)-->(d), (a)-->(e)-->(d)",
    "labels in a ring": "(a:0)--(b:1)--(c:0)--(d)--(e)--(a)",
}


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
@pytest.mark.parametrize("name", WALKED)
def test_walks_are_what_a_search_finds(
    name: str, semantics: str, depth: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing may be searched for but what is small, or has several cycles."""
    search = CostEstimator.search

    def little(estimator: CostEstimator, pattern: Rooted) -> tuple[Plan, float] | None:
        size = len(pattern.vertices)
        return search(estimator, pattern) if size <= 4 or len(pattern.edges) > size + 1 else None

    monkeypatch.setattr(CostEstimator, "search", little)

    @settings(settings.get_profile(depth), max_examples={"default": 10, "long": 200}[depth])
    @given(
        st.sets(st.sampled_from(list(permutations(range(8), 2))), min_size=14),
        st.lists(st.integers(0, 1), min_size=8, max_size=8),
    )
    def holds(edges: set[tuple[int, int]], labels: list[int]) -> None:
        directed = "->" in WALKED[name]
        graph = mf.Graph.from_edges(sorted(edges), num_vertices=8, vertex_labels=labels, directed=directed)
        found = mf.count(graph, WALKED[name], semantics=semantics, tuning=ON, device=device)
        assert found == mf.count(graph, WALKED[name], semantics=semantics, tuning=OFF)

    holds()
    labels = [0, 1] * 4
    graph = mf.Graph.from_edges(
        list(combinations(range(8), 2)), vertex_labels=labels, directed="->" in WALKED[name]
    )
    told = mf.explain(graph, WALKED[name], tuning=ON, device=device).report
    assert any("by walks" in line for line in told.tables)


@pytest.mark.parametrize("depth", DEPTHS)
def test_five_cycles_are_those_of_the_trace_formula(depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(st.sets(st.sampled_from(list(combinations(range(12), 2))), min_size=12))
    def holds(edges: set[tuple[int, int]]) -> None:
        graph = mf.Graph.from_edges(sorted(edges), num_vertices=12)
        matrix = np.zeros((12, 12), np.int64)
        for u, v in edges:
            matrix[u, v] = matrix[v, u] = 1
        found = mf.count(graph, cycle(5), tuning=ON, device=device)
        assert found == closed_walks_without_repetition(matrix)

    holds()


def closed_walks_without_repetition(matrix: np.ndarray) -> int:
    """Of five steps: all closed walks but those that go round a triangle."""
    third = matrix @ matrix @ matrix
    at_each = np.diagonal(third)
    around = 5 * at_each.sum() + 5 * ((matrix.sum(axis=0) - 2) * at_each).sum()
    return int((third @ matrix @ matrix).trace() - around)


PATTERNS = {
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "K2,3": "(a)--(x)--(b), (a)--(y)--(b), (a)--(z)--(b)",
    "5-cycle": cycle(5),
    "path": "(a)--(b)--(c)--(d)",
    "bull": "(a)--(b)--(c)--(a), (a)--(d), (b)--(e)",
}


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", PATTERNS)
def test_numbers_beyond_64_bits_are_exact(name: str, device: str) -> None:
    """Two hubs of many common neighbours: closed forms tell how many there are."""
    leaves = 70_000 if device != "emulated" else 1500
    edges = [(hub, 2 + leaf) for hub in (0, 1) for leaf in range(leaves)]
    graph = mf.Graph.from_edges(edges)
    star = "(a)--(b), (a)--(c), (a)--(d), (a)--(e), (a)--(f)"
    assert mf.count(graph, star, tuning=ON, device=device) == 2 * factorial(5) * comb(leaves, 5)
    pattern = mf.Pattern.parse(PATTERNS[name])
    expected = {
        "4-cycle": 8 * comb(leaves, 2),
        "house": 0,
        "5-cycle": 0,
        "K2,3": 2 * factorial(3) * comb(leaves, 3),
        # Of four vertices in turn, leaf - hub - leaf - hub; read from either end.
        "path": 2 * 2 * leaves * (leaves - 1),
        "bull": 0,
    }[name]
    assert mf.count(graph, pattern, tuning=ON, device=device) == expected


def test_explain_says_how_a_count_is_put_together(device: str) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(9), 2)))
    plan = mf.explain(graph, PATTERNS["house"], tuning=ON, device=device)
    assert "4-cycles at each edge, by a histogram of wedges" in str(plan)
    assert "triangles at each edge" in str(plan)
    assert plan.report.tables[-1].startswith(f"T{len(plan.report.tables)} = sum of ")
    assert "<ul>" in plan._repr_html_()
    assert plan.to_dict()["tables"] == list(plan.report.tables)
    assert not mf.explain(graph, PATTERNS["house"], tuning=OFF, device=device).report.tables


def test_a_limit_and_a_timeout_cut_them(device: str) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(30), 2)))
    square = PATTERNS["4-cycle"]
    total = factorial(30) // factorial(26)
    for limit, complete in ((total, True), (total - 1, False), (7, False)):
        found = mf.count(graph, square, limit=limit, tuning=ON, device=device)
        assert (found, found.complete) == (min(limit, total), complete)
    late = mf.count(graph, square, timeout=0.0, tuning=ON, device=device)
    assert (late, late.complete) == (0, False)


@pytest.mark.parametrize(
    ("second", "pattern", "embeddings"),
    [
        (2, "(a:2)--(c:0)--(b), (c)--(d:1)", 3 * 2),
        (3, "(a:1)--(c:0)--(b), (c)--(d:3)", 2),  # one arc each: numpy would repeat its count for all
        (3, "(a:1)<--(c:0)-->(b), (c)-->(d:3)", 2),
    ],
)
def test_a_root_that_would_ask_for_more_has_other_arcs(
    second: int, pattern: str, embeddings: int, device: str
) -> None:
    edges = [(0, 10), (0, 11), (0, 12), (0, 13), (1, 14), (1, 15), (1, 16), (2, 17), (2, 18)]
    labels = [*[0] * 10, 1, second, *[2] * 7]
    graph = mf.Graph.from_edges(edges, num_vertices=19, vertex_labels=labels, directed=True)
    assert mf.count(graph, pattern, tuning=ON, device=device) == embeddings


@pytest.mark.turns(8)
def test_a_timeout_cuts_a_histogram_within_a_range_of_rows() -> None:
    leaves = 4_000_000  # 10**13 pairs
    graph = mf.Graph.from_edges(np.stack([np.zeros(leaves, np.int64), np.arange(1, leaves + 1)], axis=1))
    rows = (graph.forward.offsets, graph.forward.neighbors)
    assert _native.wedge_total([(rows, rows, 3)], 0, 1, 0.05) is None


def test_a_timeout_cuts_the_search_for_a_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def late(*_: object, seconds: float, **_more: object) -> None:
        asked.append(seconds)
        while time.perf_counter() < begin + 0.7:
            pass

    monkeypatch.setattr(planner, "cheapest_formula", late)
    graph = mf.Graph.from_edges(list(combinations(range(60), 2)))
    begin = time.perf_counter()
    found = mf.count(graph, PATTERNS["house"], timeout=0.5, tuning=ON)
    assert (found, found.complete) == (0, False)
    assert asked[0] <= 0.5
    monkeypatch.undo()
    assert mf.explain(graph, PATTERNS["house"], tuning=ON).report.tables, "what was cut is not remembered"


@pytest.mark.turns(8)
@pytest.mark.devices("cpu", "cuda", reason="the emulator takes too long")
@pytest.mark.parametrize(
    ("graph", "pattern", "embeddings"),
    [
        ("wiki_vote", "house", 18_977_558_222),
        ("wiki_vote", "4-cycle", 8 * 57_654_491),
        ("wiki_vote", "path", 2 * 1_903_444_290),
        ("wiki_vote", "5-cycle", 52_602_546_670),
        ("ego_facebook", "5-cycle", 156_767_006_060),
        ("web_uk2007_100k", "house", 67_002_891_227_194),
    ],
)
def test_known_counts_of_real_graphs(graph: str, pattern: str, embeddings: int, device: str) -> None:
    data = mf.read_graph(shared_path("data", f"{graph}.npz"), directed=False)
    assert mf.count(data, PATTERNS[pattern], device=device) == embeddings
    if pattern != "path":
        assert mf.explain(data, PATTERNS[pattern], device=device).report.tables
