"""Monitors choose an order for each update, and count the last levels of cycles at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.stream.matching import watching

CYCLES = (
    "(a)--(b)--(c)--(d)--(a)",
    "(a:0)--(b:1)--(c:0)--(d:1)--(a)",
    "(a)--(b)--(c)--(d)--(e)--(a)",
    "(a:0)--(b)--(c:1)--(d)--(e:1)--(f)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(c), (d)--(e)",
)
ARROWS = (
    "(a)-->(b)-->(c)-->(d)-->(a)",
    "(a)-->(b)<--(c)--(d)-->(e)-->(a)",
    "(a)-[:0]->(b)-[:1]->(c:1)<--(d)-->(a)",
)


def made_plans(monkeypatch: pytest.MonkeyPatch, pattern: str, **options: Any) -> list[Any]:
    """Return the plans that a monitor makes."""
    made: list[Any] = []
    plans = watching.delta_plans

    def keep(*args: Any, **given: Any) -> Any:
        made.extend(plans(*args, **given))
        return tuple(made)

    monkeypatch.setattr(watching, "delta_plans", keep)
    mf.Monitor(mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)]), pattern, **options)
    return made


def test_a_cycle_can_be_searched_from_either_end_of_an_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = made_plans(monkeypatch, CYCLES[0])
    assert (first.replaces_last, second.replaces_last) == (False, True)
    assert first.place == second.place
    ends = [plan.shape.steps[2].sources[0].level for plan in (first, second)]
    assert sorted(ends) == [0, 1]


@pytest.mark.parametrize("pattern", ["(a)--(b)--(c)--(d)", "(a)--(b)--(c)--(a)", "(a)--(b)"])
def test_trees_and_triangles_have_one_plan_for_a_place(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    assert not any(plan.replaces_last for plan in made_plans(monkeypatch, pattern))


def test_listed_matches_keep_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(plan.replaces_last for plan in made_plans(monkeypatch, CYCLES[0], matches=True))


def hubs(seed: int, vertices: int, edges: int, *, directed: bool) -> tuple[np.random.Generator, Any]:
    """Return edges that meet at few vertices, whose numbers are anywhere."""
    random = np.random.default_rng(seed)
    shuffled = random.permutation(vertices)
    ends = shuffled[(vertices * random.random((edges, 2)) ** 3).astype(int)]
    ends = ends[ends[:, 0] != ends[:, 1]]
    return random, np.unique(ends if directed else np.sort(ends, axis=1), axis=0)


@pytest.mark.turns(8)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    directed=st.booleans(),
    terms=st.sampled_from([{}, {"symmetry": "subgraphs"}, {"semantics": "homomorphism"}]),
    threads=st.sampled_from([1, 2]),
)
def test_cycles_at_hubs_are_counted_as_by_recounting(
    seed: int, directed: bool, terms: dict[str, Any], threads: int
) -> None:
    random, edges = hubs(seed, 24, 130, directed=directed)
    labels = random.integers(0, 2, 24)
    names = random.integers(0, 2, len(edges))
    base = len(edges) // 2
    graph = mf.Graph.from_edges(
        edges[:base], num_vertices=24, vertex_labels=labels, edge_labels=names[:base], directed=directed
    )
    patterns = [mf.Pattern.parse(text) for text in (ARROWS if directed else CYCLES)]
    tuning = private_tuning({"at_once": "on"})
    with mf.Monitor(graph, patterns, threads=threads, tuning=tuning, **terms) as monitor:
        before = [int(mf.count(graph, pattern, **terms)) for pattern in patterns]
        columns = (edges[base:, 0], edges[base:, 1], names[base:])
        gone = random.permutation(base)[:10]
        deleted = (edges[gone, 0], edges[gone, 1], names[gone])
        for changes in ({"inserts": columns}, {"deletes": deleted}, {"inserts": deleted}):
            delta = monitor.apply(**changes)
            now = monitor.snapshot()
            for at, pattern in enumerate(patterns):
                after = int(mf.count(now, pattern, **terms))
                assert delta[pattern].net == after - before[at]
                before[at] = after
