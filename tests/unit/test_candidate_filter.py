"""What the filter of a monitor leaves out, and that it is not asked for where it would be wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from tests.stream_engines import PLACEMENT, registered

STAR = "(a:0)--(b:1), (a)--(c:1), (a)--(d:2)"
LABELS = np.array([0, 1, 1, 2, 0, 1])


def candidates_of(monitor: mf.Monitor) -> list[list[int]]:
    """Return the vertices with each column of the table, once plans were prepared."""
    monitor._native.prepare()
    _, _, columns, words = monitor._native.candidates()
    rows = words.reshape(monitor.num_vertices, -1)
    bits = [rows[:, column // 64] >> np.uint64(column % 64) & np.uint64(1) for column in range(columns)]
    return [sorted(monitor.names(np.flatnonzero(one).astype(np.uint32)).tolist()) for one in bits]


def watched(edges: list[tuple[int, int]], pattern: mf.Pattern | str = STAR, **options: Any) -> mf.Monitor:
    tuning = private_tuning({"filter": "nlf", **options.pop("tuning", {})})
    directed = options.pop("directed", False)
    graph = mf.Graph.from_edges(edges, num_vertices=len(LABELS), vertex_labels=LABELS, directed=directed)
    return mf.Monitor(graph, pattern, tuning=tuning, **options)


def test_a_candidate_has_as_many_neighbours_of_a_label_as_the_query_vertex() -> None:
    monitor = watched([(0, 1), (0, 3), (4, 5), (4, 3)])
    assert candidates_of(monitor) == [[]]
    monitor.apply([("+", 0, 2)])
    assert candidates_of(monitor) == [[0]]
    monitor.apply([("-", 0, 1)])
    assert candidates_of(monitor) == [[]]


def test_neighbours_are_counted_up_to_a_number() -> None:
    star = "(a:0)--(b:1), (a)--(c:1), (a)--(d:1)"
    edges = [(0, 1), (0, 2), (4, 5)]
    found = {
        bits: candidates_of(watched(edges, star, tuning={"filter_bits": bits}))
        for bits in ("1", "2", "3", "4")
    }
    assert found == {"1": [[0, 4]], "2": [[0]], "3": [[]], "4": [[]]}


def test_query_edges_that_ask_for_more_count_for_those_that_ask_for_less() -> None:
    monitor = watched([(0, 1), (0, 3), (4, 3), (4, 1), (4, 2)], "(a:0)--(b:1), (a)--(c)")
    assert candidates_of(monitor) == [[0, 4]]
    monitor.apply([("-", 0, 3)])
    assert candidates_of(monitor) == [[4]]


def test_directions_are_counted_apart() -> None:
    monitor = watched([(0, 1), (2, 0), (4, 5), (4, 1)], "(a:0)-->(b:1), (c:1)-->(a)", directed=True)
    assert candidates_of(monitor) == [[0]]


@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_vertices_that_may_coincide_count_once(semantics: str) -> None:
    pattern = mf.Pattern.parse("(a:0)--(b:1), (a)--(c:1)")
    if semantics == "isomorphism":
        pattern = replace(pattern, may_coincide=frozenset({(1, 2)}))
    monitor = watched([(0, 3)], pattern, semantics=semantics)
    monitor.apply([("+", 0, 1)])
    assert candidates_of(monitor) == [[0]]


def test_an_update_at_vertices_with_too_few_neighbours_has_no_root() -> None:
    roots: dict[str, int] = {}
    for name in ("nlf", "mask", "none"):
        with registered():
            monitor = watched([(0, 3), (4, 5), (4, 1), (4, 3)], tuning={"filter": name}, **PLACEMENT)
            engine: Any = monitor._engine
            match = engine.match

            def counted(run: Any, name: str = name, match: Any = match) -> Any:
                roots[name] = len(run.roots)
                return match(run)

            monitor._native.match_elsewhere(counted)
            assert monitor.apply([("+", 0, 1)])[STAR].positive == 0
    assert roots["nlf"] == 0 < roots["mask"] <= roots["none"]


def test_a_row_that_is_remembered_is_filtered_anew_when_a_vertex_becomes_a_candidate() -> None:
    middles, ends = range(1, 13), range(13, 39)
    labels = np.array([0, *(1 for _ in middles), *(3 for _ in ends), 4, 2, 2])
    between, first, second = range(len(labels) - 3, len(labels))
    edges = [(0, between), *((0, middle) for middle in middles)]
    edges += [(middle, ends[2 * at]) for at, middle in enumerate(middles)]
    edges += [(middle, ends[2 * at + 1]) for at, middle in enumerate(middles) if at > 0]
    pattern = "(x:2)--(y:4)--(a:0)--(c:1)--(d:3), (c)--(e:3)"
    graph = mf.Graph.from_edges(edges, num_vertices=len(labels), vertex_labels=labels)
    monitor = mf.Monitor(graph, pattern, matches=True, threads=1, tuning={"filter": "nlf"})
    assert monitor.apply([("+", between, first)])[0].positive == 2 * (len(middles) - 1)
    assert monitor.apply([("+", middles[0], ends[1])])[0].positive == 2
    assert monitor.apply([("+", between, second)])[0].positive == 2 * len(middles)


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_run_brings_no_vertices_that_were_taken_back(mode: str) -> None:
    brought: list[int] = []
    failing = [False]
    with registered():
        graph = mf.Graph.from_edges([(0, 1), (0, 3)], num_vertices=6)
        tuning = private_tuning({"filter": "nlf"})
        monitor = mf.Monitor(graph, "(a)--(b)--(c)--(d)", mode=mode, tuning=tuning, **PLACEMENT)
        engine: Any = monitor._engine

        def match(run: Any) -> Any:
            brought[:] = run.candidate_changes[2].tolist()
            found = engine.match(run)
            if failing[0]:
                raise RuntimeError("lost")
            return found

        monitor._native.match_elsewhere(match)
        monitor.apply([("+", 4, 5)])
        failing[0] = True
        with pytest.raises(RuntimeError, match="lost"):
            monitor.apply([("+", 4, 10), ("+", 10, 11), ("+", 11, 12), ("+", 10, 12)])
        failing[0] = False
        monitor.apply([("+", 3, 5)])
    assert brought
    assert max(brought) < monitor.num_vertices
