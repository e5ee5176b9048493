"""Rows that a kernel stores in memory: none is lost or comes twice, wherever the kernel breaks off."""

from __future__ import annotations

import gc
import sys
import time
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import Device
from motiflux.errors import ArgumentError, DeviceError, DeviceMemoryError
from motiflux.gpu.rows import stored_rows
from tests.backend.cases import PATH, TRIANGLE, clique, cycle, path
from tests.device.test_device import settled

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no memory of its own to store rows in")

PATTERNS = {
    "edge": mf.Pattern.from_edges([(0, 1)]),
    "triangle": TRIANGLE,
    "path": mf.Pattern.from_edges(path(4)),
    "square": mf.Pattern.from_edges(cycle(4)),
}


@pytest.fixture
def graph() -> mf.Graph:
    edges = np.random.default_rng(7).integers(0, 40, (160, 2))
    return mf.Graph.from_edges(edges + 1000, self_loops="drop")


@pytest.fixture(params=["short pieces", "pauses", "both"])
def breaks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the kernel break off all the time: for want of room, because it is asked to, or both."""
    if request.param != "pauses":
        monkeypatch.setattr(stored_rows, "_MOST_BYTES", 1)
    if request.param != "short pieces":
        monkeypatch.setattr(stored_rows, "HAND_OUT_SECONDS", 0.0)
        monkeypatch.setattr("motiflux.request.deadline._SPIN_SECONDS", 0.0)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("name", PATTERNS)
def test_a_kernel_that_breaks_off_finds_every_row_once(
    graph: mf.Graph, device: str, name: str, breaks: None
) -> None:
    pattern = PATTERNS[name]
    expected = mf.match(graph, pattern).to_numpy()
    matches = mf.match(graph, pattern, device=device)
    found = matches.to_numpy()
    assert sorted(found.tolist()) == sorted(expected.tolist())
    assert matches.complete is True


@pytest.mark.parametrize("limit", [0, 1, 31, 32, 33, 1000])
def test_a_limit_gives_so_many_rows(graph: mf.Graph, device: str, limit: int) -> None:
    expected = {tuple(row) for row in mf.match(graph, PATTERNS["path"]).to_numpy().tolist()}
    matches = mf.match(graph, PATTERNS["path"], device=device, limit=limit)
    found = matches.to_numpy()
    assert len(found) == min(limit, len(expected))
    assert len(set(map(tuple, found.tolist())) & expected) == len(found)
    assert matches.complete is (limit >= len(expected))


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("name", PATTERNS)
def test_rows_that_stay_on_the_device_are_the_same(
    graph: mf.Graph, device: str, name: str, breaks: None
) -> None:
    matches = mf.match(graph, PATTERNS[name], device=device)
    batches = [batch.to_numpy() for batch in matches.device_batches()]
    expected = mf.match(graph, PATTERNS[name]).to_numpy()
    assert sorted(np.concatenate(batches).tolist()) == sorted(expected.tolist())
    assert matches.rows == len(expected)
    assert matches.complete is True


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("name", PATTERNS)
def test_a_table_of_all_rows_is_made_in_few_pieces(graph: mf.Graph, device: str, name: str) -> None:
    pytest.importorskip("pyarrow")
    expected = mf.match(graph, PATTERNS[name]).to_numpy()
    table = mf.match(graph, PATTERNS[name], device=device, batch_rows=7).to_arrow()
    assert sorted(map(tuple, zip(*table.to_pydict().values(), strict=True))) == sorted(map(tuple, expected))
    assert table.column(0).num_chunks < max(2, len(expected) // 14)
    cut = mf.match(graph, PATTERNS[name], device=device, batch_rows=7, limit=20).to_arrow()
    assert len(cut) == min(20, len(expected))


@pytest.mark.parametrize("limit", [0, 5, 100])
def test_a_limit_holds_on_the_device_too(graph: mf.Graph, device: str, limit: int) -> None:
    matches = mf.match(graph, TRIANGLE, device=device, limit=limit)
    total = int(mf.count(graph, TRIANGLE))
    assert sum(len(batch) for batch in matches.device_batches()) == min(limit, total)
    assert matches.complete is (limit >= total)


@pytest.mark.turns(8, "emulated")
def test_time_is_up_for_a_consumer_that_is_slower_than_the_kernel(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_rows, "_MOST_BYTES", 1)
    dense = mf.Graph.from_edges(clique(60))
    assert len(mf.match(dense, PATH, device=device, limit=1).to_numpy()) == 1
    matches = mf.match(dense, PATH, device=device, timeout=0.5, batch_rows=32)
    source: Any = matches._source
    search = source._source._job
    until = time.monotonic() + 10.0
    for _ in matches:
        assert time.monotonic() < until, "it goes on for ever"
        while search._session is not None and not search.done():
            time.sleep(1e-4)
    assert matches.complete is False
    assert matches.rows > 0


@pytest.mark.turns(8, "cpu", "emulated")
def test_memory_of_batches_counts_and_goes_back(graph: mf.Graph, device: str, gpu: Device) -> None:
    matches = mf.match(graph, TRIANGLE, device=device)
    held = gpu.used_memory()
    batches = list(matches.device_batches())
    del batches, matches
    mf.match(graph, TRIANGLE, device=device).close()
    assert settled(gpu) <= held


def test_rows_that_find_no_memory_leave_nothing_behind(
    graph: mf.Graph, device: str, gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    monkeypatch.setattr(
        stored_rows.StoredRows, "_piece", lambda _, nbytes: gpu.allocate(nbytes, "rows", budget=1)
    )
    held = []
    for _ in range(3):  # the first one leaves what a search keeps for the next: rows of the graph, a session
        with pytest.raises(DeviceMemoryError, match="rows"):
            mf.match(graph, PATTERNS["path"], device=device)
        gc.collect()
        held.append(settled(gpu))
    assert unraisable == []
    assert held[2] == held[1] == held[0]


def test_rows_stay_on_no_device_without_one(graph: mf.Graph, device: str) -> None:
    with pytest.raises(DeviceError, match="expected rows on a GPU, found a search on 'cpu'"):
        next(mf.match(graph, TRIANGLE).device_batches())
    named = mf.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(ArgumentError, match="integer ids"):
        next(mf.match(named, TRIANGLE, device=device).device_batches())


def test_nothing_to_find_gives_no_batch(device: str) -> None:
    tree = mf.Graph.from_edges(clique(2))
    assert list(mf.match(tree, TRIANGLE, device=device).device_batches()) == []
