"""Searches are replaced by others that take less work for updates of the stream: counts stay exact."""

from __future__ import annotations

import itertools
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

PATTERN = "(x:0)--(y:1)--(r:3)--(s:4)--(y), (x)--(p:2)"
TEXTS = ("(a:0)--(b:1)--(c:2)--(a), (c)--(d)", "(a)--(b:1)--(c)--(d:0)--(a)", "(a:0)--(b:0)--(c:1)--(d)")
OFF = {"probe": "off"}
TIMES = 60
"""How often the calls are made until searches are replaced."""
EAGER = private_tuning({"probe_eager": "on"})

Call = tuple[str, np.ndarray]


def misleading(parts_of_updates: int = 10) -> tuple[mf.Graph, list[Call]]:
    """Return a graph whose numbers of edges by label mislead, and calls that insert and delete edges.

    On average a vertex of label 0 has less than one neighbour p, but the updates are at five that have very
    many. Nearly all vertices of label 1 have three neighbours r and s, which are never joined to each other.
    """
    rng = np.random.default_rng(7)
    sizes = {"hub": 5, "x": 4995, "y": 200, "p": 600, "r": 100, "s": 100}
    ends = np.cumsum([0, *sizes.values()])
    of = {name: np.arange(*pair) for name, pair in zip(sizes, itertools.pairwise(ends), strict=True)}
    labels = np.repeat([0, 0, 1, 2, 3, 4], list(sizes.values()))
    parts = [np.column_stack([np.repeat(of["hub"], 600), np.tile(of["p"], 5)])]
    early, late = slice(0, 50), slice(50, 100)
    parts.append(np.column_stack([np.repeat(of["r"][late], 50), np.tile(of["s"][late], 50)]))
    for y in of["y"]:
        # Of the few vertices with both in the later half, r and s are joined.
        half = late if y % 20 == 0 else early
        for name in ("r", "s"):
            parts.append(np.column_stack([np.full(3, y), rng.choice(of[name][half], 3, replace=False)]))
    graph = mf.Graph.from_edges(np.concatenate(parts), num_vertices=len(labels), vertex_labels=labels)
    updates = np.column_stack([rng.choice(of["hub"], 100), rng.choice(of["y"], 100, replace=False)])
    calls = [("inserts", part) for part in np.array_split(updates, parts_of_updates)]
    return graph, [*calls, *(("deletes", part) for _, part in reversed(calls))]


def rows(one: mf.PatternDelta) -> Counter[tuple[Any, ...]]:
    """Return matches, whatever their order."""
    return Counter(
        (sign, *row)
        for sign, part in ((1, one.appeared()), (-1, one.vanished()))
        for row in map(tuple, part.tolist())
    )


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
            tuning=private_tuning({"at_once": at_once, **own}),
            **options,
        )
        for own in ({"probe_eager": "on"}, OFF)
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


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_counts_are_those_of_the_graph(symmetry: str) -> None:
    graph, calls = misleading()
    for matches in (False, True):
        with mf.Monitor(graph, PATTERN, symmetry=symmetry, matches=matches, tuning=EAGER) as monitor:
            total = mf.count(graph, PATTERN, symmetry=symmetry)
            for kind, edges in calls:
                total += monitor.apply(**{kind: edges})[0].net
                assert total == monitor.count(PATTERN, symmetry=symmetry)
            assert monitor.probed > 5


@pytest.mark.turns(8)
def test_an_undone_call_changes_nothing_that_is_found_later() -> None:
    graph, calls = misleading()
    with (
        mf.Monitor(graph, PATTERN, matches=True, strict=True, tuning=EAGER) as monitor,
        mf.Monitor(graph, PATTERN, matches=True, strict=True, tuning=OFF) as kept,
    ):
        for kind, edges in calls:
            twice = np.concatenate([edges, edges])
            if kind == "deletes":
                with pytest.raises(StreamError):
                    monitor.apply(deletes=twice)
            assert rows(monitor.apply(**{kind: edges})[0]) == rows(kept.apply(**{kind: edges})[0])
        assert monitor.probed > 5


@pytest.mark.turns(8)
def test_a_saved_monitor_goes_on_with_the_same_results(tmp_path: Path) -> None:
    graph, calls = misleading()
    with mf.Monitor(graph, PATTERN, matches=True, tuning=EAGER) as monitor:
        for kind, edges in calls[: len(calls) // 2]:
            monitor.apply(**{kind: edges})
        assert monitor.probed > 0
        monitor.save(tmp_path / "saved.mfc")
        with mf.Monitor.load(tmp_path / "saved.mfc") as loaded:
            for kind, edges in calls[len(calls) // 2 :]:
                assert rows(monitor.apply(**{kind: edges})[0]) == rows(loaded.apply(**{kind: edges})[0])


@pytest.mark.turns(8)
def test_batches_of_a_file_are_probed_between_turns(tmp_path: Path) -> None:
    graph, calls = misleading()
    path = tmp_path / "a.stream"
    path.write_text(
        "".join(
            f"{'e' if kind == 'inserts' else '-e'} {u} {v}\n"
            for kind, edges in calls * 40
            for u, v in edges.tolist()
        )
    )
    with (
        mf.Monitor(graph, PATTERN, matches=True, tuning=EAGER) as monitor,
        mf.Monitor(graph, PATTERN, matches=True, tuning=OFF) as kept,
    ):
        found, expected = (one.run(path, lambda found: None, batch_size=5) for one in (monitor, kept))
        assert [one.positive for one in found.patterns] == [one.positive for one in expected.patterns]
        assert monitor.probed > 0


@pytest.mark.turns(8)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_searches_are_replaced_by_those_that_take_less(threads: int, mode: str) -> None:
    graph, calls = misleading(10 if threads == 1 else 1)
    tuning = private_tuning({"at_once": "on"})
    options: dict[str, Any] = {"matches": True, "threads": threads, "mode": mode}
    with (
        mf.Monitor(graph, PATTERN, tuning=tuning, **options) as monitor,
        mf.Monitor(graph, PATTERN, tuning=private_tuning({"at_once": "on", **OFF}), **options) as kept,
    ):
        assert "(x, y); then p, r, s" in monitor.explain()
        for kind, edges in calls * (TIMES if threads == 1 else 4 * TIMES):
            found, expected = (one.apply(**{kind: edges})[0] for one in (monitor, kept))
            assert (found.positive, found.negative) == (expected.positive, expected.negative)
        assert monitor.probed > 0
        assert kept.probed == 0
        assert "then r, s, p; took " in monitor.explain()
        assert "took " not in kept.explain()


@pytest.mark.turns(8)
def test_the_same_calls_replace_the_same_searches() -> None:
    graph, calls = misleading()
    told = set()
    for _ in range(2):
        with mf.Monitor(graph, PATTERN, matches=True, threads=1) as monitor:
            for kind, edges in calls * TIMES:
                monitor.apply(**{kind: edges})
            told.add((monitor.probed, monitor.explain()))
    assert len(told) == 1
    assert next(iter(told))[0] > 0


def test_few_updates_are_not_probed() -> None:
    graph, calls = misleading()
    with mf.Monitor(graph, PATTERN, matches=True) as monitor:
        for kind, edges in calls[:4]:
            monitor.apply(**{kind: edges})
        assert monitor.probed == 0
