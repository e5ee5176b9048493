"""Searches from pair to pair of vertices with all choices of copies, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import Tuning, private_tuning
from motiflux.graph.arrays import GraphArrays
from motiflux.plan import make_plan
from tests.compared_cases import ComparedCase, compared_cases, long_row_cases

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
WALKS = ["on", "matched"]


def walking(walk: str = "on") -> Tuning:
    """Return switches by which a count goes from pair to pair wherever it can."""
    return private_tuning({"pair_walk": walk})


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_embeddings_and_choices_are_those_of_the_reference(semantics: str, walk: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(compared_cases(all_edges=True, most_copies=9), st.sampled_from((1, 3)))
    def holds(case: ComparedCase, threads: int) -> None:
        graph, pattern, tuning = case.graph(), case.pattern(), walking(walk)
        plan = make_plan(graph, pattern, semantics=semantics, tuning=tuning)
        assume(plan.copy_walk is not None)
        assert plan.copy_walk.order
        options = {"semantics": semantics, "device": "cpu", "threads": threads, "tuning": tuning}
        choices = case.choices(semantics)
        assert mf.count(graph, pattern, **options) == len(choices)
        assert mf.count(graph, pattern, copies=True, **options) == sum(map(len, choices.values()))

    holds()


@given(case=compared_cases(all_edges=True))
def test_each_occurrence_is_counted_once(case: ComparedCase) -> None:
    options = {"symmetry": "subgraphs", "device": "cpu", "tuning": walking()}
    assert mf.count(case.graph(), case.pattern(), **options) == len(case.occurrences())


def test_edge_written_twice_in_a_span_is_one_edge() -> None:
    graph = mf.Graph.from_edges([(0, 1), (0, 2)], edge_attributes={"time": [0, 0]})
    text = "(a)-[x]-(b), (a)-[y]-(c), (a)-[z]-(b) WITHIN 0"
    for walk in ("on", "off"):
        options = {"device": "cpu", "tuning": walking(walk)}
        assert mf.count(graph, text, **options) == 2
        assert mf.count(graph, text, symmetry="subgraphs", **options) == 1


def test_a_vertex_that_one_choice_does_not_lead_to_is_counted_for_another() -> None:
    # Whether bounds are exact depends on the choice: the first one is judged, and the second one is not.
    ends = [(3, 8), (8, 2), (4, 8), (8, 1), (2, 8), (4, 8), (6, 8), (6, 8), (8, 2)]
    times = [10.5, 20.5, 18.5, 18.0, 18.5, 20.0, 12.5, 22.0, -23.5]
    amounts = [4.0, 1.5, 4.0, 3.0, 0.5, 0.5, 1.5, 0.5, 2.0]
    graph = mf.Graph.from_edges(ends, edge_attributes={"time": times, "amount": amounts})
    text = "(a)-[x]-(b), (c)-[y]-(b) WHERE x.amount <= 0.9 * y.amount WITHIN 12"
    others = [u + v - 8 for u, v in ends]
    expected = {
        (others[x], others[y])
        for x in range(len(ends))
        for y in range(len(ends))
        if abs(times[x] - times[y]) <= 12 and 10 * amounts[x] <= 9 * amounts[y] and others[x] != others[y]
    }
    for walk in (*WALKS, "off"):
        assert mf.count(graph, text, device="cpu", tuning=walking(walk)) == len(expected) == 14


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
def test_windows_of_long_rows_leave_nothing_out(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(long_row_cases(), st.sampled_from((1, 3)))
    def holds(case: ComparedCase, threads: int) -> None:
        options = {"device": "cpu", "threads": threads, "tuning": walking()}
        assert mf.count(case.graph(), case.pattern(), **options) == len(case.embeddings())

    holds()


HUB_PATTERNS = [
    "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time",
    "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time WITHIN 60",
    "(a)-[x]->(b)-[y]->(c) WHERE x.time - y.time < 3",
    "(a)-[x]->(b)<-[y]-(c) WHERE x.amount <> y.amount AND x.time <= y.time",
    "(a)-[x]->(b)-[y]->(a) WHERE x.time < y.time AND y.amount >= 0.9 * x.amount",
    "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time < z.time WITHIN 150",
    "(a)-[x]->(b)-[y]->(c)-[z]->(d) WHERE x.time < y.time < z.time AND z.time - x.time < 90",
    "(a)-[x]->(b)-[y]->(c)-[z]->(d) WHERE x.time < y.time < z.time",
    "(p)-[x]->(h)-[z]->(s), (q)-[y]->(h) WHERE x.time < z.time AND y.time < z.time AND y.amount > z.amount",
    "(p)-[x]->(h)-[z]->(s), (q)-[y]->(h) WHERE x.time < y.time < z.time WITHIN 25",
]


@pytest.mark.turns(8)
@pytest.mark.parametrize("pattern", HUB_PATTERNS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32), threads=st.sampled_from((1, 3)))
def test_hubs_are_counted_as_by_levels(pattern: str, seed: int, threads: int) -> None:
    random = np.random.default_rng(seed)
    size = 900  # rows of hundreds of copies: bisections read samples of them first
    ends = np.minimum(random.integers(0, 40, (size, 2)), random.integers(0, 40, (size, 2)))
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(
        ends,
        directed=True,
        edge_attributes={
            "time": random.integers(0, 2000, len(ends)),
            "amount": random.integers(1, 200, len(ends)) / 4,
        },
    )
    by_levels = {"device": "cpu", "tuning": private_tuning({"copy_walk": "off", "pair_walk": "off"})}
    for copies in (False, True):
        expected = mf.count(graph, pattern, copies=copies, **by_levels)
        for walk in WALKS:
            options = {"device": "cpu", "threads": threads, "tuning": walking(walk)}
            assert mf.count(graph, pattern, copies=copies, **options) == expected


@pytest.mark.parametrize("walk", [{"pair_walk": "on"}, {"copy_walk": "on", "pair_walk": "off"}])
def test_copies_that_a_graph_has_no_room_to_keep(
    monkeypatch: pytest.MonkeyPatch, walk: dict[str, str]
) -> None:
    # Each lookup drops the one before it, as happens after many patterns over large graphs.
    monkeypatch.setattr(GraphArrays, "cache_bytes", lambda _: 0)
    random = np.random.default_rng(7)
    columns = {name: random.integers(0, 50, 400) for name in ("time", "amount", "cents")}
    ends = random.integers(0, 12, (400, 2))
    ends[:, 1] = np.where(ends[:, 0] == ends[:, 1], 12, ends[:, 1])
    graph = mf.Graph.from_edges(ends, directed=True, edge_attributes=columns)
    order = "x.time < y.time AND y.amount < z.amount AND z.cents < 2 * x.cents"
    text = f"(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE {order}"
    plan = make_plan(graph, mf.Pattern.parse(text), tuning=private_tuning(walk))
    assert plan.copy_walk is not None
    by_levels = private_tuning({"copy_walk": "off", "pair_walk": "off"})
    expected = mf.count(graph, text, device="cpu", tuning=by_levels)
    assert expected > 0
    assert mf.count(graph, text, device="cpu", tuning=private_tuning(walk)) == expected


LABELLED_ENDS = [
    "(a:0)-[x]->(b)-[y]->(c)-[z]->(d:1) WHERE x.time < y.time < z.time",
    "(a:0)-[x]->(b)-[y]->(c:1) WHERE x.time < y.time",
    "(a:0)-[x]->(b)-[y]->(c)-[z]->(d:0) WHERE x.time < y.time < z.time",
    "(a:0)-[x]->(b)<-[y]-(c:1), (b)-[z]->(d) WHERE x.time <= z.time AND y.time < z.time",
    "(a:0)-[x]-(b)-[y]-(c)-[z]-(d:1) WHERE x.time < y.time < z.time",
    "(a:0)-[x]->(b)-[y]->(c)-[z]->(d:1) WHERE x.time < y.time AND z.time > y.time AND d.kind = 2",
    "(a:0)-[x]->(b)-[y]->(a), (b)-[z]->(d:1) WHERE x.time < y.time < z.time",
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("pattern", LABELLED_ENDS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), threads=st.sampled_from((1, 3)))
def test_edges_to_labelled_ends_are_counted_as_by_levels(pattern: str, seed: int, threads: int) -> None:
    random = np.random.default_rng(seed)
    ends = random.integers(0, 60, (900, 2))  # rows are read often enough to find where pairs begin and end
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(
        ends,
        directed=True,
        num_vertices=60,
        vertex_labels=random.integers(0, 3, 60),
        vertex_attributes={"kind": random.integers(0, 4, 60)},
        edge_attributes={"time": random.integers(0, 200, len(ends))},
    )
    for copies in (False, True):
        options = {"device": "cpu", "threads": threads, "copies": copies}
        by_levels = mf.count(
            graph, pattern, tuning=private_tuning({"copy_walk": "off", "pair_walk": "off"}), **options
        )
        assert by_levels > 0
        for walk in WALKS:
            assert mf.count(graph, pattern, tuning=walking(walk), **options) == by_levels
    plan = make_plan(graph, mf.Pattern.parse(pattern), semantics="isomorphism", tuning=walking())
    assert plan.copy_walk is not None
    assert plan.copy_walk.narrowed
