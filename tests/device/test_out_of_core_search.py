"""Where edges are that stay on the host, and graphs that do not fit into the memory of a device."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import open_device
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.storage.device_csr import DeviceCsr, DeviceRows, HostNeighbors, resident
from tests.fault.test_changing_faults import failing_once

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about GPUs")

PATTERNS = ("(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)--(e), (b)--(d)")


def graph(vertices: int = 120) -> mf.Graph:
    rng = np.random.default_rng(3)
    edges = [pair for pair in combinations(range(vertices), 2) if rng.random() < 0.2]
    return mf.Graph.from_edges(edges)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_neighbours_take_no_memory_of_the_device(device: str, pattern: str) -> None:
    data = graph()
    expected = mf.count(data, pattern, device="cpu")
    assert mf.count(data, pattern, device=device, engine="outofcore") == expected
    rows = [one for one in resident(data, open_device(device))._kept.values() if isinstance(one, DeviceRows)]
    assert rows
    for one in rows:
        assert isinstance(one.neighbors, HostNeighbors)
        assert one.nbytes == one.offsets.nbytes == 8 * (data.num_vertices + 1)


def test_both_engines_have_rows_of_their_own(device: str) -> None:
    data = graph()
    for engine in ("dfs", "outofcore", "dfs", "outofcore"):
        counted = mf.count(data, PATTERNS[1], device=device, engine=engine)
        assert (counted, counted.engine) == (mf.count(data, PATTERNS[1], device="cpu"), engine)
    kept = resident(data, open_device(device))._kept.values()
    places = {type(one.neighbors) is HostNeighbors for one in kept if isinstance(one, DeviceRows)}
    assert places == {False, True}


def test_a_graph_that_does_not_fit_names_the_engine_that_counts_it(device: str) -> None:
    data = graph(300)
    budget = open_device(device).used_memory() + len(data.forward.neighbors)
    options = {"device": device, "gpu_memory": budget, "tuning": {"tables": "off"}}
    with pytest.raises(
        DeviceMemoryError, match=r"a copy of the graph: .*; engine='outofcore' leaves the edges"
    ):
        mf.count(data, PATTERNS[0], engine="dfs", **options)
    expected = mf.count(data, PATTERNS[0], device="cpu")
    assert mf.count(data, PATTERNS[0], engine="outofcore", **options) == expected


def test_memory_that_cannot_be_pinned_is_an_error(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    refusal = DeviceError("no pinned memory")
    monkeypatch.setattr(DeviceCsr, "_to_host", failing_once(DeviceCsr._to_host, refusal))
    with pytest.raises(DeviceError, match="no pinned memory"):
        mf.count(data, PATTERNS[0], device=device, engine="outofcore")
    expected = mf.count(data, PATTERNS[0], device="cpu")
    assert mf.count(data, PATTERNS[0], device=device, engine="outofcore") == expected


def test_explain_counts_no_neighbours_as_memory_of_the_device(device: str) -> None:
    data = graph(300)
    options = {"device": device, "tuning": {"tables": "off", "bitmaps": "off"}}
    there = mf.explain(data, PATTERNS[0], engine="dfs", **options).report
    here = mf.explain(data, PATTERNS[0], engine="outofcore", **options).report
    assert here.engine.name == "outofcore"
    assert there.predicted is not None
    assert here.predicted is not None
    assert here.predicted.memory.device < there.predicted.memory.device
