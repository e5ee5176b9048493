"""Counts beside those of random graphs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.statistics.hypotheses import adjusted, mean_and_deviation, p_value
from tests.interrupts import ctrl_c_in_native_code

RING = mf.Graph.from_edges([(v, (v + d) % 30) for v in range(30) for d in (1, 2)], directed=True)


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("reciprocal", [True, False])
def test_they_are_the_censuses_of_random_graphs(size: int, directed: bool, reciprocal: bool) -> None:
    rng = np.random.default_rng(3)
    arcs = rng.integers(0, 25, (90, 2))
    graph = mf.Graph.from_edges((arcs[:, 0], arcs[:, 1]), directed=directed, self_loops="drop")
    found = mf.significance(graph, size, nulls=4, seed=9, reciprocal=reciprocal)
    assert found.observed == mf.census(graph, size, connected=True).counts
    for number in range(4):
        other = mf.null_graph(graph, number=number, seed=9, reciprocal=reciprocal)
        assert tuple(found.null_counts[number]) == mf.census(other, size, connected=True).counts
    assert (found.complete, found.mixed) == (True, True)


def test_threads_change_nothing() -> None:
    each = [mf.significance(RING, 4, nulls=20, seed=2, threads=threads) for threads in (1, 2, 5)]
    assert (each[0].null_counts == each[1].null_counts).all()
    assert (each[0].null_counts == each[2].null_counts).all()
    other = mf.significance(RING, 4, nulls=20, seed=3)
    assert (each[0].null_counts != other.null_counts).any()


@pytest.mark.parametrize("model", ["degrees", "labels"])
def test_patterns_are_counted_in_random_graphs(model: str) -> None:
    rng = np.random.default_rng(5)
    arcs = rng.integers(0, 20, (70, 2))
    graph = mf.Graph.from_edges(
        (arcs[:, 0], arcs[:, 1]),
        num_vertices=20,
        directed=True,
        vertex_labels=rng.choice(["x", "y"], 20),
        edge_labels=rng.choice(["p", "q"], 70),
        self_loops="drop",
    )
    patterns = {"fan": "(a:x)-[:p]->(b)<-[:q]-(c:y)", "path": "(a)-->(b:x)-->(c)"}
    found = mf.significance(graph, patterns, model=model, nulls=5, seed=4)
    for at, text in enumerate(patterns.values()):
        assert found.observed[at] == int(mf.count(graph, text, symmetry="subgraphs"))
        for number in range(5):
            other = mf.null_graph(graph, model, number=number, seed=4)
            assert found.null_counts[number][at] == int(mf.count(other, text, symmetry="subgraphs"))
    assert found.names == ("fan", "path")
    assert len(set(found.null_counts[:, 0])) > 1


def test_a_pattern_in_place_of_its_class() -> None:
    whole = mf.significance(RING, nulls=30, seed=1)
    one = mf.significance(RING, "(a)-->(b)-->(c), (a)-->(c)", semantics="induced", nulls=30, seed=1)
    assert one.null_counts[:, 0].tolist() == whole.null_counts[:, whole.names.index("030T")].tolist()


def test_what_is_unlike_random_graphs_is_found() -> None:
    found = mf.significance(RING, nulls=199, alternative="more")
    row = found["030T"]
    assert (row.observed, row.p) == (30, 1 / 200)
    assert row.z > 5
    assert row.adjusted <= len(found) / 200
    loops = found.null_counts[:, found.names.index("030T")]
    assert row.mean == pytest.approx(float(np.mean(loops.astype(float))))
    assert abs(np.linalg.norm(found.profile) - 1) < 1e-9 or np.isnan(found.profile).all()


def test_random_graphs_are_like_random_graphs() -> None:
    low, given = 0, mf.generate.erdos_renyi(vertices=40, edges=160, directed=True, seed=1)
    for seed in range(20):
        graph = mf.null_graph(given, seed=seed)
        found = mf.significance(graph, nulls=99, seed=seed + 100)
        low += found["030T"].p <= 0.1
    assert low <= 8  # of 20 with a chance of at most 0.1 each: one run in 4 million has more


def test_a_graph_that_nothing_can_be_swapped_in() -> None:
    star = mf.Graph.from_edges([(0, v) for v in range(1, 6)])
    found = mf.significance(star, nulls=9)
    assert (found.mixed, found["path"].z, found["path"].p) == (False, 0.0, 1.0)


@pytest.mark.turns(8)
def test_a_timeout_leaves_the_random_graphs_so_far() -> None:
    graph = mf.generate.erdos_renyi(vertices=2_000, edges=20_000, directed=True, seed=1)
    found = mf.significance(graph, 4, nulls=100_000, timeout=1.0)
    assert not found.complete
    assert len(found.null_counts) < 100_000
    assert "incomplete" in repr(found)
    none = mf.significance(graph, 4, nulls=10, timeout=0)
    assert (none.complete, len(none.null_counts)) == (False, 0)
    assert math.isnan(none.mean[0])


def test_progress_tells_of_random_graphs() -> None:
    graph = mf.generate.erdos_renyi(vertices=500, edges=3_000, directed=True, seed=1)
    reports: list[mf.ProgressReport] = []
    mf.significance(graph, 4, nulls=100, progress=reports.append)
    assert reports
    assert all(0 <= report.done <= report.total == 100 for report in reports)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"subject": 5}, "size: expected 3 or 4"),
        ({"subject": []}, "subject"),
        ({"subject": ["(a)-->(b)", "(a)-->(b)"]}, "subject: expected different patterns"),
        ({"nulls": 0}, "nulls"),
        ({"model": "labels"}, "model: expected degrees: a census ignores labels"),
        ({"alternative": "both"}, "alternative: expected one of two-sided, more, less"),
        ({"correction": "bh"}, "correction: expected one of benjamini-hochberg"),
        ({"swaps": "many"}, "swaps"),
    ],
)
def test_what_cannot_be_tested_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError, match=message):
        mf.significance(RING, **arguments)


def test_it_is_a_table_and_a_picture() -> None:
    found = mf.significance(RING, nulls=20)
    assert found.to_arrow().column_names == ["class", "observed", "mean", "deviation", "z", "p", "adjusted"]
    assert "030T" in found.to_svg()
    pattern = mf.significance(RING, "(a)-->(b)-->(c)", nulls=5)
    assert pattern.to_arrow().column_names[0] == "pattern"
    with pytest.raises(mf.ArgumentError, match="patterns"):
        pattern.to_svg()


@given(st.lists(st.integers(-(10**40), 10**40), min_size=2, max_size=20))
def test_moments_are_exact_for_numbers_of_any_size(numbers: list[int]) -> None:
    mean, deviation = mean_and_deviation(numbers)
    assert mean == sum(numbers) / len(numbers)
    scale = max(1, *map(abs, numbers))
    scaled = [number / scale for number in numbers]
    assert deviation / scale == pytest.approx(float(np.std(scaled, ddof=1)), rel=1e-6, abs=1e-12)


@given(
    st.lists(st.floats(0.001, 1), min_size=1, max_size=15),
    st.sampled_from(("benjamini-hochberg", "holm", "bonferroni")),
)
def test_adjusted_p_values_reject_what_the_procedures_do(values: list[float], correction: str) -> None:
    found, tests = adjusted(values, correction), len(values)
    for level in (0.01, 0.05, 0.2, 0.9):
        order = sorted(range(tests), key=lambda at: values[at])
        if correction == "bonferroni":
            rejected = {at for at in range(tests) if values[at] * tests <= level}
        elif correction == "holm":
            rejected = set()
            for rank, at in enumerate(order):
                if values[at] * (tests - rank) > level:
                    break
                rejected.add(at)
        else:
            small = [rank for rank, at in enumerate(order) if values[at] * tests / (rank + 1) <= level]
            last = max(small, default=-1)
            rejected = set(order[: last + 1])
        assert {at for at in range(tests) if found[at] <= level} == rejected


@given(st.integers(-5, 5), st.lists(st.integers(-5, 5), max_size=10))
def test_p_values_count_the_graph_itself(observed: int, sample: list[int]) -> None:
    whole = [observed, *sample]
    more = sum(number >= observed for number in whole) / len(whole)
    less = sum(number <= observed for number in whole) / len(whole)
    assert p_value(observed, sample, "more") == more
    assert p_value(observed, sample, "less") == less
    assert p_value(observed, sample, "two-sided") == min(1, 2 * min(more, less))


def test_ctrl_c_ends_random_graphs() -> None:
    graph = mf.generate.erdos_renyi(vertices=2_000, edges=20_000, directed=True, seed=1)
    with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
        mf.significance(graph, 4, nulls=10_000)
    with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
        mf.null_graph(graph, swaps=10_000)
    assert mf.significance(graph, 3, nulls=2).complete
