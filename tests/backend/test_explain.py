"""What `explain` tells of a search on each device."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.engine import CAPABILITIES
from motiflux.gpu.runtime.kernel_times import taking_times
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
def test_lists_that_leave_room_for_few_groups_are_told(device: str) -> None:
    """Each group has room for all neighbours of a hub, on two levels."""
    rim = range(1, 1001)
    graph = mf.Graph.from_edges([*((0, v) for v in rim), *((v, v % 1000 + 1) for v in rim)])
    pattern = "(h)--(a)--(b)--(h), (b)--(c)--(h), (c)--(d)--(h)"
    matched = {"tail": "off", "parts": "off", "tables": "off", "bitmaps": "off"}
    options = {"device": device, "tuning": matched}
    told = mf.explain(graph, pattern, **options).report
    assert "groups" not in told.engine.reason
    assert told.predicted is not None
    short = told.predicted.memory.device // 8
    told = mf.explain(graph, pattern, gpu_memory=short, **options).report
    few = r"; lists of 8\.25 KiB for each group of lanes leave room for \d+ of [\d,]+ groups$"
    assert re.search(few, told.engine.reason), told.engine.reason
    counted = mf.count(graph, pattern, gpu_memory=short, **options)
    assert counted == 2 * 1000


@pytest.mark.devices("emulated", "cuda", reason="it is about what kernels do not count")
@pytest.mark.parametrize("devices", [None, "all"])
@pytest.mark.parametrize("labels", [[1, 0, 0, 2, 0, 1], None], ids=["slots", "lists"])
def test_a_tail_whose_parts_can_share_vertices_is_counted_by_the_host_and_that_is_told(
    device: str, labels: list[int] | None, devices: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With labels the two paths can share their first vertices; without, each vertex."""
    # Else all but the last levels are matched.
    engine = "motiflux.gpu.engine.DfsEngine.capabilities"
    monkeypatch.setattr(engine, replace(CAPABILITIES, searchers=1))
    edges = [(0, 1), (0, 2), (2, 3), (0, 4), (4, 5)]
    pattern = mf.Pattern.from_edges(edges, vertex_labels=labels)
    graph = mf.Graph.from_edges(clique(9)[:-4], vertex_labels=[v % 3 for v in range(9)] if labels else None)
    expected = mf.count(graph, pattern, device="cpu", tuning={"parts": "off", "tail": "off"})
    tuning = {"parts": "on", "order": "given", "tables": "off"}
    with taking_times() as times:
        counted = mf.count(graph, pattern, device=device, devices=devices, tuning=tuning)
    assert (counted, counted.complete) == (expected, True)
    assert expected > 0
    assert times.host == times.total > 0
    told = mf.explain(graph, pattern, device=device, devices=devices, tuning=tuning, analyze=True).report
    assert told.engine.reason.endswith("; the CPU counts: kernels do not count this tail")
    assert told.actual is not None
    assert told.actual.count == expected
    told = mf.explain(
        graph,
        pattern,
        device=device,
        devices=devices,
        tuning=private_tuning({**tuning, "meetings": "off"}),
    ).report
    assert "the CPU" not in told.engine.reason


@pytest.mark.devices("emulated", "cuda", reason="it is about the memory of devices")
def test_a_device_has_time_and_memory_predicted(device: str) -> None:
    told = mf.explain(GRAPH, mf.Pattern.from_edges(clique(4)), device=device).report
    assert told.predicted is not None
    assert told.predicted.seconds is not None
    assert told.predicted.note is None
    assert told.predicted.memory.device is not None
    assert told.predicted.memory.device >= 4 * GRAPH.num_edges
    assert told.no_space is not None
    assert "no labels or conditions" in told.no_space


@pytest.mark.devices("emulated", "cuda", reason="it is about the memory of devices")
def test_the_candidate_space_is_told_and_part_of_the_memory(device: str) -> None:
    graph = mf.Graph.from_edges(clique(12), vertex_labels=["a", "b", "c"] * 4)
    told = mf.explain(graph, "(x:a)--(y:b)--(z:c)--(x)", device=device).report
    assert told.space is not None
    assert told.predicted is not None
    assert told.predicted.memory.device is not None
    assert told.predicted.memory.device >= 3 * 8 * graph.num_vertices
