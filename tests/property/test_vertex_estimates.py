"""Estimates per vertex: unbiased, their intervals hold, what is called certain is true."""

from __future__ import annotations

from math import comb, exp, factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.statistics.shares import certainly_among, share_intervals

GRAPH = mf.generate.power_law(vertices=300, edges=1_500, seed=4)
PATTERNS = ["(a)--(b)--(c)--(a)", "(a)--(b)--(c)", "(a)--(b), (a)--(c), (a)--(d)"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
@pytest.mark.parametrize("by", [0, 1])
def test_all_intervals_hold_together(pattern: str, symmetry: Any, by: int) -> None:
    exact = mf.count_per_vertex(GRAPH, pattern, by, symmetry=symmetry).counts
    found = mf.estimate_per_vertex(
        GRAPH,
        pattern,
        by,
        symmetry=symmetry,
        samples=100_000,
        confidence=0.999999,
        simultaneous=True,
        seed=by,
    )
    assert ((found.low <= exact) & (exact <= found.high)).all()
    assert found.value.sum() == pytest.approx(exact.sum(), rel=0.1)
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


def test_single_intervals_hold_as_often_as_they_say() -> None:
    exact = mf.count_per_vertex(GRAPH, PATTERNS[0], 0).counts
    chosen = exact > 0
    hold = 0
    for seed in range(60):
        found = mf.estimate_per_vertex(GRAPH, PATTERNS[0], 0, samples=20_000, confidence=0.8, seed=seed)
        hold += int(((found.low <= exact) & (exact <= found.high))[chosen].sum())
    # Of 60 runs with many vertices each: the intervals are exact or a little too wide.
    assert hold / (60 * chosen.sum()) > 0.79


def test_labels_leave_vertices_without_any_doubt() -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)], vertex_labels=["x", "x", "y", "y", "z"], directed=False
    )
    found = mf.estimate_per_vertex(graph, "(a:x)--(b)--(c:y)", by="a", samples=10_000)
    exact = mf.count_per_vertex(graph, "(a:x)--(b)--(c:y)", by="a").counts
    assert ((found.low <= exact) & (exact <= found.high)).all()
    for vertex in (2, 3, 4):
        assert (found[vertex].low, found[vertex].value, found[vertex].high) == (0, 0, 0)


def test_threads_change_nothing_and_seeds_do() -> None:
    one, three = (mf.estimate_per_vertex(GRAPH, PATTERNS[0], 0, samples=50_000, threads=t) for t in (1, 3))
    assert (one.value == three.value).all()
    assert (one.value != mf.estimate_per_vertex(GRAPH, PATTERNS[0], 0, samples=50_000, seed=1).value).any()


@pytest.mark.turns(8)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_certainly_among_the_greatest_is(pattern: str) -> None:
    exact = mf.count_per_vertex(GRAPH, pattern, 0)
    for k in (1, 5, 20):
        found = mf.estimate_top(GRAPH, pattern, 0, k, samples=2_000_000, seed=k)
        least = sorted(exact.counts.tolist(), reverse=True)[k - 1]
        assert len(found) == k
        assert all(exact[row.id] >= least for row in found if row.certain)
        assert [row.value for row in found] == sorted((row.value for row in found), reverse=True)
    assert mf.estimate_top(GRAPH, pattern, 0, 1, samples=2_000_000).certain


def test_sampling_ends_once_all_is_certain() -> None:
    star = mf.Graph.from_edges([(0, v) for v in range(1, 30)] + [(1, 2)])
    found = mf.estimate_top(star, "(a)--(b)--(c)", by="b", k=1)
    assert (found[0].id, found.certain, found.samples) == (0, True, 65_536)


def test_nothing_matches() -> None:
    tree = mf.Graph.from_edges([(0, 1), (1, 2)])
    found = mf.estimate_per_vertex(tree, "(a)--(b)--(c)--(d)", by="a", samples=1_000)
    assert (found.value.sum(), found.complete) == (0, True)
    assert (found.high == 0).all()


def test_a_timeout_leaves_wider_intervals() -> None:
    found = mf.estimate_per_vertex(GRAPH, PATTERNS[0], 0, samples=2**38, timeout=0.5)
    assert not found.complete
    assert "incomplete" in repr(found)
    exact = mf.count_per_vertex(GRAPH, PATTERNS[0], 0).counts
    assert ((found.low <= exact) & (exact <= found.high)).mean() > 0.5
    none = mf.estimate_per_vertex(GRAPH, PATTERNS[0], 0, timeout=0)
    assert not none.complete
    assert (none.high[exact > 0] >= exact[exact > 0]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "z"}, "by: expected the name or position of a query vertex"),
        ({"by": 3}, "by"),
        ({"by": True}, "by"),
        ({"samples": 0}, "samples"),
        ({"confidence": 1}, "confidence: expected a number between 0 and 1"),
        ({"seed": -1}, "seed"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    for call in (mf.estimate_per_vertex, mf.estimate_top):
        with pytest.raises(mf.ArgumentError, match=message):
            call(GRAPH, PATTERNS[0], **{"by": 0, **arguments})
    with pytest.raises(mf.ArgumentError, match="k: expected an integer of at least 1"):
        mf.estimate_top(GRAPH, PATTERNS[0], 0, 0)


def test_they_are_a_table() -> None:
    found = mf.estimate_per_vertex(GRAPH, PATTERNS[1], 1, samples=1_000)
    assert found.to_arrow().column_names == ["id", "value", "low", "high"]
    assert found.top(3)[0].value == found.value.max()
    assert not any(row.certain for row in found.top(3))


@given(st.integers(1, 60), st.floats(0.01, 1.0), st.sampled_from((0.4, 0.1, 0.01)))
def test_intervals_hold_a_share_with_their_confidence(samples: int, share: float, error: float) -> None:
    low, high = share_intervals(np.arange(samples + 1), samples, error)
    chance = sum(
        comb(samples, hits) * share**hits * (1 - share) ** (samples - hits)
        for hits in range(samples + 1)
        if low[hits] <= share <= high[hits]
    )
    assert chance >= 1 - error - 1e-9


def test_intervals_are_those_of_a_poisson_mean() -> None:
    low, high = (float(end[0]) * 10**6 for end in share_intervals(np.array([4]), 10**6, 0.1))
    assert sum(exp(-high) * high**k / factorial(k) for k in range(5)) == pytest.approx(0.05)
    assert sum(exp(-low) * low**k / factorial(k) for k in range(4)) == pytest.approx(0.95)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8), st.integers(1, 4))
def test_certain_ones_are_among_the_greatest_of_all_values(pairs: list[tuple[int, int]], most: int) -> None:
    low = np.array([min(pair) for pair in pairs], float)
    high = np.array([max(pair) for pair in pairs], float)
    for at, sure in enumerate(certainly_among(low, high, most)):
        others = sum(high[other] > low[at] for other in range(len(pairs)) if other != at)
        assert sure == (others < most)
