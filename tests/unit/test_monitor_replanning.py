"""Plans follow a graph that changes: counts stay exact, and a monitor tells how often it planned anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.errors import StreamError
from motiflux.plan.passes.numbers import numbers_of
from motiflux.stream.matching import label_counts, replanning
from motiflux.stream.matching.label_counts import LabelCounts

OFF = private_tuning({"replan": "off"})
PATTERN = "(a:0)--(b:1)--(c:2)--(d:0)--(a)"


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have monitors look at their numbers after a few changes."""
    monkeypatch.setattr(label_counts, "_FEWEST", 5)
    monkeypatch.setattr(label_counts, "_SLACK", 1)


def skewed(count: int, vertices: int = 300) -> tuple[mf.Graph, np.ndarray]:
    """Return a graph without edges, and edges whose ends have frequent labels first, then rare ones."""
    rng = np.random.default_rng(5)
    labels = rng.choice(3, vertices, p=[0.7, 0.2, 0.1])
    by_label = np.argsort(labels, kind="stable")
    early = by_label[: vertices // 2]
    edges = np.concatenate(
        [rng.choice(early, (count // 2, 2)), rng.integers(0, vertices, (count - count // 2, 2))]
    )
    edges = edges[edges[:, 0] != edges[:, 1]]
    return mf.Graph.from_edges(edges[:0], num_vertices=vertices, vertex_labels=labels), edges


def rows(delta: mf.Delta) -> Counter[tuple[Any, ...]]:
    """Return the matches of the first pattern, whatever their order."""
    one = delta[0]
    return Counter(
        (sign, *row)
        for sign, part in ((1, one.appeared()), (-1, one.vanished()))
        for row in map(tuple, part.tolist())
    )


def test_a_stream_from_an_empty_graph_is_planned_anew_and_its_counts_stay_exact() -> None:
    empty, edges = skewed(20_000, 2_000)
    with mf.Monitor(empty, PATTERN) as monitor, mf.Monitor(empty, PATTERN, tuning=OFF) as kept:
        total = 0
        for first in range(0, len(edges), 1000):
            part = edges[first : first + 1000]
            found = monitor.apply(inserts=part)[0].net
            assert found == kept.apply(inserts=part)[0].net
            total += found
        assert total == mf.count(monitor.snapshot(), PATTERN) > 0
        assert monitor.replanned > 0
        assert kept.replanned == 0


def test_batches_of_a_file_are_planned_anew_between_turns(tmp_path: Path) -> None:
    empty, edges = skewed(20_000, 2_000)
    path = tmp_path / "a.stream"
    path.write_text("".join(f"e {u} {v}\n" for u, v in edges.tolist()))
    with (
        mf.Monitor(empty, PATTERN, matches=True) as monitor,
        mf.Monitor(empty, PATTERN, matches=True, tuning=OFF) as kept,
    ):
        found = monitor.run(path, lambda found: None, batch_size=10)
        expected = kept.run(path, lambda found: None, batch_size=10)
        assert [one.positive for one in found.patterns] == [one.positive for one in expected.patterns]
        assert monitor.replanned > 0


@pytest.mark.usefixtures("often")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    calls=st.lists(
        st.lists(st.tuples(st.booleans(), st.integers(0, 11), st.integers(0, 11)), max_size=14), max_size=8
    ),
    mode=st.sampled_from(["sequence", "batch"]),
    matches=st.booleans(),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
    window=st.sampled_from([None, 9]),
    threads=st.sampled_from([1, 2]),
)
def test_results_are_those_of_the_first_plans(
    calls: Any, matches: bool, directed: bool, **options: Any
) -> None:
    graph = mf.Graph.from_edges(
        np.empty((0, 2), np.int64),
        num_vertices=12,
        vertex_labels=[0] * 6 + [1] * 4 + [2] * 2,
        directed=directed,
    )
    texts = ["(a:0)--(b:1)--(c:2)--(a)", "(a:0)--(b:0)--(c:1)", "(a)--(b:1)--(c)"]
    both = [mf.Monitor(graph, texts[:2], matches=matches, tuning=tuning, **options) for tuning in (None, OFF)]
    for at, call in enumerate(calls):
        if at == 2:
            for monitor in both:
                monitor.add(texts[2])
        updates = [("+" if insert else "-", u, v) for insert, u, v in call if u != v]
        found, expected = (monitor.apply(updates) for monitor in both)
        assert [(one.positive, one.negative) for one in found] == [
            (one.positive, one.negative) for one in expected
        ]
        if matches:
            assert rows(found) == rows(expected)
    for monitor in both:
        monitor.close()


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("directed", [False, True])
def test_the_numbers_are_those_of_the_graph(directed: bool) -> None:
    rng = np.random.default_rng(1)
    labels = np.arange(40) % 3
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=labels, directed=directed, num_vertices=40)
    there = {(0, 1), (1, 2)}
    with mf.Monitor(
        graph, PATTERN if not directed else "(a:0)-->(b:1)-->(c:2)-->(a)", strict=True
    ) as monitor:
        for u, v in rng.integers(0, 38, (400, 2)).tolist():
            edge = (min(u, v), max(u, v))
            if u == v:
                continue
            gone = edge in there
            monitor.apply([("-" if gone else "+", *edge)])
            there ^= {edge}
            with pytest.raises(StreamError):  # all of the call is undone, and nothing of it counts
                monitor.apply([("+", 38, 39), ("-", *edge), ("-", *edge)])
        monitor._native.begin()
        counts = monitor._replanning._counts
        assert counts is not None
        counts.follow(monitor._native)
        bound = next(iter(monitor._watched.values())).bound
        assert numbers_of(bound, counts) == numbers_of(
            bound, LabelCounts.of(monitor._native, directed=directed)
        )


def test_graphs_with_very_many_labels_keep_their_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replanning, "MOST_TRIPLES", 3)
    empty, edges = skewed(12_000, 1_000)
    with mf.Monitor(empty, PATTERN) as monitor:
        total = sum(monitor.apply(inserts=part)[0].net for part in np.array_split(edges, 6))
        assert total == mf.count(monitor.snapshot(), PATTERN)
        assert monitor.replanned <= 1  # the first look at the numbers finds that there are too many


def test_a_saved_monitor_goes_on_after_planning_anew(tmp_path: Path) -> None:
    empty, edges = skewed(12_000, 1_000)
    with mf.Monitor(empty, PATTERN, matches=True) as monitor:
        for first in range(0, 8_000, 1000):
            monitor.apply(inserts=edges[first : first + 1000])
        assert monitor.replanned > 0
        monitor.save(tmp_path / "saved.mfc")
        with mf.Monitor.load(tmp_path / "saved.mfc") as loaded:
            for first in range(8_000, len(edges), 1000):
                part = edges[first : first + 1000]
                assert rows(monitor.apply(inserts=part)) == rows(loaded.apply(inserts=part))
            for first in range(0, 8_000, 4000):
                part = edges[first : first + 4000]
                assert rows(monitor.apply(deletes=part)) == rows(loaded.apply(deletes=part))
