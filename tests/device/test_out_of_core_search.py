"""Where edges are that stay on the host, and graphs that do not fit into the memory of a device."""

from __future__ import annotations

import gc
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import open_device
from motiflux.device.pinned import VARIABLE, PinnedMemory
from motiflux.dispatch import gpu_probe
from motiflux.dispatch.gpu_probe import CudaGpu
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.runtime.accelerator import known_accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry, droppable
from motiflux.gpu.storage.device_csr import DeviceCsr, DeviceRows, is_resident, resident
from motiflux.gpu.storage.placed_rows import PlacedRows
from motiflux.graph import Direction
from tests.fault.test_changing_faults import failing_once

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about GPUs")

Entry = TypeVar("Entry", bound=CacheEntry)
PATTERNS = ("(a)--(b)--(c)--(a)", "(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)--(e), (b)--(d)")

SUBGRAPHS = {"symmetry": "subgraphs"}
SEARCH = {"bitmaps": "off", "tables": "off"}
KERNELS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "search": ("(a)--(b)--(c)--(d)--(e)--(a)", {**SEARCH, "tail": "off"}, {}),
    "greater neighbours": ("(a)--(b)--(c)--(a)", SEARCH, SUBGRAPHS),
    "tail": ("(a)--(b)--(c)--(a), (c)--(d), (b)--(e)", SEARCH, {}),
    "stars": ("(a)--(b), (a)--(c), (a)--(d)", SEARCH, {}),
    "parts": ("(a)--(b)--(c)--(d)--(a), (a)--(e)--(f)", {**SEARCH, "parts": "on"}, {}),
    "induced": ("(a)--(b)--(c)--(d)--(a)", SEARCH, {"semantics": "induced"}),
    "one shape": ("(a)--(b)--(c)--(d)--(a)", {**SEARCH, "specialize": "on"}, {}),
    "cliques": ("(a)--(b)--(c)--(a)--(d)--(b), (c)--(d)", {}, SUBGRAPHS),
    "triangles": ("(a)--(b)--(c)--(a)", {}, SUBGRAPHS),
    "triangles by vertices": ("(a)--(b)--(c)--(a)", {"triangles": "vertices"}, SUBGRAPHS),
    "universal vertex": ("(a)--(b)--(c)--(d)--(a)--(c)", {"bitmaps": "on"}, {}),
}


def graph(vertices: int = 120) -> mf.Graph:
    rng = np.random.default_rng(3)
    edges = [pair for pair in combinations(range(vertices), 2) if rng.random() < 0.2]
    return mf.Graph.from_edges(edges)


def kept(data: mf.Graph, device: str, kind: type[Entry]) -> list[Entry]:
    return [one for one in resident(data, open_device(device))._kept.values() if isinstance(one, kind)]


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_neighbours_take_no_memory_of_the_device(device: str, pattern: str) -> None:
    data = graph()
    expected = mf.count(data, pattern, device="cpu")
    options = {"device": device, "engine": "outofcore", "tuning": {"cache": "none"}}
    assert mf.count(data, pattern, **options) == expected
    rows = kept(data, device, DeviceRows)
    assert rows
    assert not kept(data, device, PlacedRows)
    for one in rows:
        assert isinstance(one.neighbors, PinnedMemory)
        assert one.nbytes == one.offsets.nbytes == 8 * (data.num_vertices + 1)


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_reads_copies_and_rows_of_the_host(device: str, kernel: str) -> None:
    data = graph(40)
    pattern, switches, options = KERNELS[kernel]
    expected = mf.count(data, pattern, device="cpu", **options)
    for percent in ("auto", "20"):
        tuning = private_tuning({"cache_percent": percent, **switches})
        count = mf.count(data, pattern, device=device, engine="outofcore", tuning=tuning, **options)
        assert (count, count.engine) == (expected, "outofcore")
    whole, part = kept(data, device, PlacedRows)
    assert whole.nbytes_copied == 4 * sum(rows.arcs for rows in whole.host)
    only_degrees = [kind for kind in whole.kinds.values() if kind.addresses[1] == 0]
    assert len(only_degrees) == len(whole.kinds) - len(whole.host)
    assert 0 < part.nbytes_copied < whole.nbytes_copied


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.parametrize("policy", ["frequency", "degree", "khop"])
@pytest.mark.parametrize("percent", ["1", "5", "50"])
def test_copies_take_the_room_that_there_is(device: str, policy: str, percent: str) -> None:
    data = graph()
    tuning = private_tuning({"cache": policy, "cache_percent": percent, **SEARCH})
    expected = mf.count(data, PATTERNS[1], device="cpu")
    assert mf.count(data, PATTERNS[1], device=device, engine="outofcore", tuning=tuning) == expected
    (placed,) = kept(data, device, PlacedRows)
    most = 4 * len(data.forward.neighbors) * int(percent) // 100
    assert most - 4 * data.longest_row(Direction.EITHER) < placed.nbytes_copied <= most
    assert sum(one.nbytes for one in placed.memory) == placed.nbytes_copied + sum(
        16 * data.num_vertices for _ in placed.kinds
    )


def test_rows_that_are_opened_often_are_preferred(device: str) -> None:
    rng = np.random.default_rng(2)
    hubs = [(u, v) for u in range(4) for v in range(4, 200)]
    others = {tuple(sorted(rng.choice(196, 2, replace=False) + 4)) for _ in range(600)}
    data = mf.Graph.from_edges([*hubs, *others])
    tuning = private_tuning({"cache_percent": "20", "bitmaps": "off", "tables": "off"})
    options = {"device": device, "engine": "outofcore", "symmetry": "subgraphs", "tuning": tuning}
    expected = mf.count(data, PATTERNS[0], device="cpu", symmetry="subgraphs")
    assert mf.count(data, PATTERNS[0], **options) == expected
    (placed,) = kept(data, device, PlacedRows)
    rows = placed.host[0]
    table = np.empty((data.num_vertices, 2), np.uint64)
    stream = open_device(device).stream()
    stream.download(placed.memory[0], table)
    stream.wait()
    copied = np.flatnonzero(table[:, 0] != rows.offsets[:-1])
    greater = np.diff(rows.offsets)
    lesser = np.diff(data.forward.offsets) - greater
    left_out = np.setdiff1d(np.flatnonzero(greater), copied)
    assert len(copied) == placed.copied
    # A copied row saves 32 bytes for each of the lesser neighbours at least, whatever its length.
    saved = (lesser + 1) * np.ceil(greater / 8) / np.maximum(greater, 1)
    assert saved[copied].min() >= 0.9 * saved[left_out].max()


@pytest.mark.turns(8, "cpu", "emulated")
def test_a_second_search_finds_the_copies(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = graph()
    options = {"device": device, "engine": "outofcore", "tuning": private_tuning({"rest": "off"})}
    expected = mf.count(data, PATTERNS[1], **options)
    first = kept(data, device, PlacedRows)
    assert mf.count(data, PATTERNS[1], **options) == expected
    assert kept(data, device, PlacedRows) == first


@pytest.mark.turns(8, "emulated")
def test_both_engines_have_rows_of_their_own(device: str) -> None:
    data = graph()
    for engine in ("dfs", "outofcore", "dfs", "outofcore"):
        counted = mf.count(data, PATTERNS[1], device=device, engine=engine)
        assert (counted, counted.engine) == (mf.count(data, PATTERNS[1], device="cpu"), engine)
    places = {type(one.neighbors) is PinnedMemory for one in kept(data, device, DeviceRows)}
    assert places == {False, True}


def test_a_graph_that_does_not_fit_names_the_engine_that_counts_it(device: str) -> None:
    data = graph(300)
    options = too_little(device, data)
    with pytest.raises(
        DeviceMemoryError, match=r"a copy of the graph: .*; engine='outofcore' leaves the edges"
    ):
        mf.count(data, PATTERNS[0], engine="dfs", **options)
    expected = mf.count(data, PATTERNS[0], device="cpu")
    assert mf.count(data, PATTERNS[0], engine="outofcore", **options) == expected


@pytest.mark.turns(8, "cpu", "emulated")
def test_a_graph_with_rows_on_the_host_is_not_resident(device: str) -> None:
    data = graph()
    for engine, there in (("outofcore", False), ("dfs", True)):
        mf.count(data, PATTERNS[1], device=device, engine=engine)
        assert is_resident(data, open_device(device)) is there


def too_little(device: str, data: mf.Graph) -> dict[str, Any]:
    """Return options with which no copy of the graph fits, whatever earlier tests have left."""
    gc.collect()
    open_device(device)._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    budget = open_device(device).used_memory() + 9 * len(data.forward.neighbors) // 5
    return {"device": device, "gpu_memory": budget, "tuning": {"tables": "off"}}


def test_auto_leaves_edges_on_the_host_where_they_do_not_fit(device: str) -> None:
    data = graph(300)
    options = too_little(device, data)
    expected = mf.count(data, PATTERNS[0], device="cpu")
    assert "stay on the host" not in mf.explain(data, PATTERNS[0], **options)
    for _ in range(2):
        count = mf.count(data, PATTERNS[0], **options)
        assert (count, count.complete, count.engine, count.device) == (expected, True, "outofcore", device)
        assert "do not fit into the memory of the device: edges stay on the host" in count.reason
    told = mf.explain(data, PATTERNS[0], **options)
    assert told.report.engine.name == "outofcore"
    assert "edges stay on the host" in told
    matches = mf.match(data, PATTERNS[0], symmetry="subgraphs", limit=10, **options)
    assert (len(matches.to_numpy()), matches.engine) == (10, "outofcore")
    data.forget()
    fitting = mf.count(data, PATTERNS[0], device=device)
    assert (fitting, fitting.engine) == (expected, "dfs")


def test_auto_takes_the_error_of_the_host_where_that_lacks_memory_too(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = graph(300)
    options = too_little(device, data)
    monkeypatch.setenv(VARIABLE, "1000")
    with pytest.raises(DeviceError, match=f"pinned memory of the host.*set {VARIABLE}"):
        mf.count(data, PATTERNS[0], **options)
    monkeypatch.delenv(VARIABLE)
    assert mf.count(data, PATTERNS[0], **options) == mf.count(data, PATTERNS[0], device="cpu")


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


def test_copies_of_other_graphs_do_not_keep_edges_on_the_host(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``device="auto"`` expects searches over the bus only of graphs that do not fit without these copies."""
    gc.collect()
    open_device(device)._account.reclaim(1 << 40)  # type: ignore[attr-defined]
    other, data = graph(200), graph(100)
    mf.count(other, PATTERNS[0], device=device, engine="dfs")
    accelerator, gpu = known_accelerator(device), CudaGpu()
    monkeypatch.setattr(gpu_probe, "_opened", lambda: accelerator)
    assert not gpu.stays_on_host(data, None)
    assert gpu.stays_on_host(data, 100)
    monkeypatch.setattr(type(open_device(device)), "free_memory", lambda _: 0)
    assert not gpu.stays_on_host(data, None)
    assert gpu.stays_on_host(graph(500), None)
    other.forget()
    gc.collect()
    assert droppable(open_device(device)) < 2 * len(data.forward.neighbors)
    assert gpu.stays_on_host(data, None)
