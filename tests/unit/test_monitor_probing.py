"""Searches are replaced by others that take less work for updates of the stream: counts stay exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.errors import StreamError
from motiflux.stream.matching import probing

PATTERN = "(a:0)--(b:1)--(c:2)--(a), (b)--(d:3)--(e:4)--(c)"
TEXTS = ("(a:0)--(b:1)--(c:2)--(a), (c)--(d)", "(a)--(b:1)--(c)--(d:0)--(a)", "(a:0)--(b:0)--(c:1)--(d)")
OFF = {"probe": "off"}
ON = {"probe": "on"}

Call = tuple[str, np.ndarray]


def misleading(vertices: int = 400, hubs: int = 6) -> tuple[mf.Graph, list[Call]]:
    """Return a graph whose numbers of edges by label mislead, and calls that insert and delete edges.

    Few vertices of label 1 have nearly all neighbours of label 3, and updates prefer these vertices.
    """
    rng = np.random.default_rng(7)
    labels = np.arange(vertices) % 5
    of = [np.flatnonzero(labels == label) for label in range(5)]
    hub = of[1][:hubs]

    def edges(sources: np.ndarray, targets: np.ndarray, count: int) -> np.ndarray:
        return np.column_stack([rng.choice(sources, count), rng.choice(targets, count)])

    there = np.unique(
        np.concatenate(
            [
                edges(hub, of[3], 40 * hubs),
                edges(of[3], of[4], 900),
                edges(of[2], of[4], 900),
                edges(of[1], of[2], 500),
                edges(of[0], of[2], 900),
                edges(of[0], of[1], 300),
            ]
        ),
        axis=0,
    )
    graph = mf.Graph.from_edges(there, num_vertices=vertices, vertex_labels=labels)
    known = {tuple(sorted(edge)) for edge in there.tolist()}
    fresh = [edge for edge in edges(of[0], hub, 400).tolist() if tuple(sorted(edge)) not in known]
    fresh = list(dict.fromkeys(map(tuple, fresh)))
    parts = [np.array(fresh[first : first + 10]) for first in range(0, len(fresh), 10)]
    insert, delete = [("inserts", part) for part in parts], [("deletes", part) for part in reversed(parts)]
    return graph, [*insert, *delete]


def repeated(calls: list[Call], times: int) -> Iterator[Call]:
    for _ in range(times):
        yield from calls


def rows(one: mf.PatternDelta) -> Counter[tuple[Any, ...]]:
    """Return matches, whatever their order."""
    return Counter(
        (sign, *row)
        for sign, part in ((1, one.appeared()), (-1, one.vanished()))
        for row in map(tuple, part.tolist())
    )


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have monitors look at all updates, and replace searches even by worse ones."""
    monkeypatch.setattr(probing, "EAGER", True)


@pytest.mark.usefixtures("eager")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    calls=st.lists(
        st.lists(st.tuples(st.booleans(), st.integers(0, 11), st.integers(0, 11)), max_size=14), max_size=9
    ),
    mode=st.sampled_from(["sequence", "batch"]),
    matches=st.booleans(),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "homomorphism"]),
    window=st.sampled_from([None, 9]),
    threads=st.sampled_from([1, 2]),
    at_once=st.sampled_from(["auto", "on"]),
)
def test_results_do_not_depend_on_searches_that_are_replaced(
    calls: Any, matches: bool, directed: bool, at_once: str, **options: Any
) -> None:
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 12, (24, 2))
    graph = mf.Graph.from_edges(
        edges[edges[:, 0] < edges[:, 1]],
        num_vertices=12,
        vertex_labels=[0] * 6 + [1] * 4 + [2] * 2,
        directed=directed,
    )
    both = [
        mf.Monitor(
            graph,
            TEXTS[:2],
            matches=matches,
            tuning={**private_tuning({"at_once": at_once}), **own},
            **options,
        )
        for own in (ON, OFF)
    ]
    for at, call in enumerate(calls):
        for monitor in both:
            if at == 2:
                monitor.add(TEXTS[2])
            if at == 5:
                monitor.drop(TEXTS[0])
        updates = [("+" if insert else "-", u, v) for insert, u, v in call if u != v]
        found, expected = (monitor.apply(updates) for monitor in both)
        assert [(one.positive, one.negative) for one in found] == [
            (one.positive, one.negative) for one in expected
        ]
        if matches:
            assert [rows(one) for one in found] == [rows(one) for one in expected]
    for monitor in both:
        monitor.close()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_counts_are_those_of_the_graph(symmetry: str) -> None:
    graph, calls = misleading(150, 3)
    for matches in (False, True):
        with mf.Monitor(graph, PATTERN, symmetry=symmetry, matches=matches) as monitor:
            total = mf.count(graph, PATTERN, symmetry=symmetry)
            for kind, edges in calls:
                total += monitor.apply(**{kind: edges})[0].net
                assert total == monitor.count(PATTERN, symmetry=symmetry)
            assert monitor.probed > 5


@pytest.mark.usefixtures("eager")
def test_an_undone_call_changes_nothing_that_is_found_later() -> None:
    graph, calls = misleading(150, 3)
    with (
        mf.Monitor(graph, PATTERN, matches=True, strict=True) as monitor,
        mf.Monitor(graph, PATTERN, matches=True, strict=True, tuning=OFF) as kept,
    ):
        for kind, edges in calls:
            twice = np.concatenate([edges, edges])
            if kind == "deletes":
                with pytest.raises(StreamError):
                    monitor.apply(deletes=twice)
            assert rows(monitor.apply(**{kind: edges})[0]) == rows(kept.apply(**{kind: edges})[0])
        assert monitor.probed > 5


@pytest.mark.usefixtures("eager")
def test_a_saved_monitor_goes_on_with_the_same_results(tmp_path: Path) -> None:
    graph, calls = misleading(150, 3)
    with mf.Monitor(graph, PATTERN, matches=True) as monitor:
        for kind, edges in calls[: len(calls) // 2]:
            monitor.apply(**{kind: edges})
        assert monitor.probed > 0
        monitor.save(tmp_path / "saved.mfc")
        with mf.Monitor.load(tmp_path / "saved.mfc") as loaded:
            for kind, edges in calls[len(calls) // 2 :]:
                assert rows(monitor.apply(**{kind: edges})[0]) == rows(loaded.apply(**{kind: edges})[0])


@pytest.mark.usefixtures("eager")
def test_batches_of_a_file_are_probed_between_turns(tmp_path: Path) -> None:
    graph, calls = misleading(150, 3)
    path = tmp_path / "a.stream"
    path.write_text(
        "".join(
            f"{'e' if kind == 'inserts' else '-e'} {u} {v}\n"
            for kind, edges in calls * 4
            for u, v in edges.tolist()
        )
    )
    with (
        mf.Monitor(graph, PATTERN, matches=True) as monitor,
        mf.Monitor(graph, PATTERN, matches=True, tuning=OFF) as kept,
    ):
        found, expected = (one.run(path, lambda found: None, batch_size=5) for one in (monitor, kept))
        assert [one.positive for one in found.patterns] == [one.positive for one in expected.patterns]
        assert monitor.probed > 0


@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_searches_are_replaced_and_results_stay_the_same(matches: bool, threads: int, mode: str) -> None:
    graph, calls = misleading()
    options: dict[str, Any] = {"matches": matches, "threads": threads, "mode": mode}
    with (
        mf.Monitor(graph, PATTERN, tuning=ON, **options) as monitor,
        mf.Monitor(graph, PATTERN, tuning=OFF, **options) as kept,
    ):
        for kind, edges in repeated(calls, 40):
            found, expected = (one.apply(**{kind: edges}) for one in (monitor, kept))
            assert (found[0].positive, found[0].negative) == (expected[0].positive, expected[0].negative)
            if matches:
                assert rows(found[0]) == rows(expected[0])
        assert monitor.probed > 0
        assert kept.probed == 0
        assert "of the work of the search before it" in monitor.explain()
        assert "of the work of the search before it" not in kept.explain()


def test_the_same_calls_replace_the_same_searches() -> None:
    graph, calls = misleading()
    told = set()
    for _ in range(2):
        with mf.Monitor(graph, PATTERN, tuning=ON) as monitor:
            for kind, edges in repeated(calls, 10):
                monitor.apply(**{kind: edges})
            told.add((monitor.probed, monitor.explain()))
    assert len(told) == 1
    assert next(iter(told))[0] > 0
