"""What `explain` tells of a search on each device."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import pytest

import motiflux as mf
from motiflux.gpu.engine import CAPABILITIES
from tests.backend.cases import TRIANGLE, clique

GRAPH = mf.Graph.from_edges(list(combinations(range(12), 2)))


def test_a_run_gives_the_count_and_the_sizes_that_the_engine_tells(device: str) -> None:
    told = mf.explain(GRAPH, TRIANGLE, device=device, analyze=True).report
    assert told.actual is not None
    assert (told.actual.count, told.actual.complete) == (12 * 11 * 10, True)
    how = "" if device == "cpu" else "; cliques in bits"
    assert told.engine.reason == f"asked for by device={device!r}{how}"
    sizes = [step.actual for step in told.steps]
    if device == "cpu":
        assert (sizes, told.actual.note) == ([12, 66, 220], None)
    else:
        assert sizes == [None] * 3
        assert told.actual.note == f"engine {told.engine.name} does not tell the sizes of steps"


@pytest.mark.devices("emulated", "cuda", reason="it is about the memory of devices")
def test_lists_that_leave_room_for_few_groups_are_told(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group has room for all middles of a hub, in two slots."""
    engine = "motiflux.gpu.engine.DfsEngine.capabilities"
    monkeypatch.setattr(engine, replace(CAPABILITIES, searchers=1))
    middles = range(1, 1001)
    graph = mf.Graph.from_edges(
        [*((0, middle) for middle in middles), *((middle, 1000 + middle) for middle in middles)],
        vertex_labels=[2, *([0] * 1000), *(3 + end % 2 for end in range(1000))],
    )
    pattern = "(h:2)--(x:0), (h)--(a:0)--(b:3), (h)--(c:0)--(d:4)"
    options = {"device": device, "tuning": {"parts": "on", "order": "given", "tables": "off"}}
    told = mf.explain(graph, pattern, **options).report
    assert "groups" not in told.engine.reason
    assert told.predicted is not None
    short = told.predicted.memory.device // 8
    told = mf.explain(graph, pattern, gpu_memory=short, **options).report
    few = r"; lists of 24 KiB for each group of lanes leave room for \d+ of [\d,]+ groups$"
    assert re.search(few, told.engine.reason), told.engine.reason
    counted = mf.count(graph, pattern, gpu_memory=short, **options)
    assert counted == 998 * 500 * 500


@pytest.mark.devices("emulated", "cuda", reason="it is about the memory of devices")
def test_a_device_has_time_and_memory_predicted(device: str) -> None:
    told = mf.explain(GRAPH, mf.Pattern.from_edges(clique(4)), device=device).report
    assert told.predicted is not None
    assert told.predicted.seconds is not None
    assert told.predicted.note is None
    assert told.predicted.memory.device is not None
    assert told.predicted.memory.device >= 4 * GRAPH.num_edges
    assert told.no_space is not None
    assert "nothing but edges" in told.no_space


@pytest.mark.devices("emulated", "cuda", reason="it is about the memory of devices")
def test_the_candidate_space_is_told_and_part_of_the_memory(device: str) -> None:
    graph = mf.Graph.from_edges(clique(12), vertex_labels=["a", "b", "c"] * 4)
    told = mf.explain(graph, "(x:a)--(y:b)--(z:c)--(x)", device=device).report
    assert told.space is not None
    assert told.predicted is not None
    assert told.predicted.memory.device is not None
    assert told.predicted.memory.device >= 3 * 8 * graph.num_vertices
