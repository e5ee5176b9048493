"""Faults of rows that stay on the host, and of their copies: the next call after one that fails is right."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.config import private_tuning
from motiflux.device import devices_like, open_device
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.changing.rows import RunOfSlackRows
from motiflux.gpu.changing.searches import RunSearch
from motiflux.gpu.outofcore.cache import RowCache
from motiflux.gpu.outofcore.device_walks import _Walking
from motiflux.gpu.outofcore.engine import OutOfCoreEngine
from motiflux.gpu.outofcore.headers import HeaderWriter
from motiflux.gpu.outofcore.host_rows import HostRows
from motiflux.gpu.outofcore.own_rows import OwnRows
from motiflux.gpu.outofcore.pinned import PinnedArenas
from motiflux.gpu.outofcore.policies import LongestRows, NearRows, OftenOpened
from tests.fault.test_changing_faults import FULL, PATTERNS, failing_once, same, updates
from tests.waiting import wait_until

pytestmark = pytest.mark.devices("emulated", "cuda", reason="its monitor has no rows for a device")

STAGES: dict[str, tuple[Any, str]] = {
    "rows are chosen": (LongestRows, "wanted"),
    "copies are dropped": (RowCache, "leave"),
    "headers are moved": (RowCache, "_launch"),
    "memory is pinned": (PinnedArenas, "follow"),
    "headers are written": (HeaderWriter, "write"),
    "rows are placed": (OwnRows, "changes"),
    "the host is to write": (OutOfCoreEngine, "_before_writing"),
    "rows are written": (RunOfSlackRows, "merge"),
    "rows are copied": (_native, "copy_rows"),
    "a segment is filled": (RowCache, "_fill"),
    "updates are counted": (RunSearch, "count"),
    "rows are settled": (RunOfSlackRows, "settle"),
}

LARGE_BATCH = 6000
"""Updates of a batch whose rows are written by threads."""

WALKS: dict[str, tuple[Any, str]] = {
    "nodes are drawn": (_Walking, "_walk"),
    "rows are opened": (_Walking, "_open"),
    "rows are gathered": (_Walking, "_gather"),
    "rows are sorted": (_native, "sort_opened_rows"),
}
"""Stages of walks on the device."""


def monitors(device: str, **options: Any) -> tuple[mf.Monitor, mf.Monitor]:
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(50)])  # no update touches most of them
    there = mf.Monitor(graph, PATTERNS, device=device, engine="outofcore", **options)
    return mf.Monitor(graph, PATTERNS, mode=options.get("mode", "sequence")), there


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_call_that_fails_leaves_the_graph_and_the_next_call_is_right(
    device: str, mode: str, stage: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = monitors(device, mode=mode, tuning={"cache": "degree"})
    first = [*updates(1), ("+", 30, 33)]  # whose rows are copied by the next call
    assert same(here.apply(first), there.apply(first))
    before = there.num_edges
    place, name = STAGES[stage]
    with monkeypatch.context() as patch:
        patch.setattr(place, name, failing_once(getattr(place, name), error))
        with pytest.raises(type(error)):
            there.apply([*updates(2), ("+", 20, 22)])  # whose rows were copied
    assert there.num_edges == before
    assert same(here.apply(updates(3)), there.apply(updates(3)))
    assert here.num_edges == there.num_edges


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize(("cache", "policy"), [("frequency", OftenOpened), ("khop", NearRows)])
def test_a_call_whose_rows_cannot_be_chosen_leaves_the_graph_and_the_next_call_is_right(
    device: str, cache: str, policy: type[Any], error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = private_tuning({"cache": cache, "cache_time": "free", "access_walks": "weighted"})
    here, there = monitors(device, mode="batch", tuning=tuning)
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    before = there.num_edges
    with monkeypatch.context() as patch:
        patch.setattr(policy, "wanted", failing_once(policy.wanted, error))
        with pytest.raises(type(error)):
            there.apply(updates(2))
    assert there.num_edges == before
    assert same(here.apply(updates(3)), there.apply(updates(3)))
    assert here.num_edges == there.num_edges


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("stage", WALKS)
def test_a_call_whose_walks_fail_leaves_the_graph_and_the_next_call_is_right(
    device: str, stage: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = private_tuning({"access_walks": "device", "cache_time": "free"})
    here, there = monitors(device, mode="batch", tuning=tuning)
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    before = there.num_edges
    place, name = WALKS[stage]
    with monkeypatch.context() as patch:
        patch.setattr(place, name, failing_once(getattr(place, name), error))
        with pytest.raises(type(error)):
            there.apply(updates(2))
    assert there.num_edges == before
    assert same(here.apply(updates(3)), there.apply(updates(3)))
    engine: Any = there._engine
    assert engine._walks.last.rounds > 0


@pytest.mark.parametrize("call", range(3))
def test_memory_that_cannot_be_pinned_is_an_error_that_leaves_the_graph(
    device: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever piece it is: the first graph, rows that grow, or a row that is long by then."""
    size = 15_000
    graph = mf.Graph.from_edges((np.zeros(size, np.int64), np.arange(1, size + 1)))
    gpu = type(open_device(device))
    register, calls = gpu.register_host, itertools.count()

    def failing(self: Any, *arguments: Any) -> Any:
        if next(calls) == call:
            raise DeviceError("no memory can be pinned")
        return register(self, *arguments)

    monkeypatch.setattr(gpu, "register_host", failing)
    failed = 0
    with mf.Monitor(graph, "(a)--(b)--(c)", device=device, engine="outofcore", mode="batch") as monitor:
        for first, last in ((size, size + 2), (size + 2, size + 1500), (size + 1500, size + 1502)):
            before = monitor.num_edges
            more = [("+", 0, leaf) for leaf in range(first + 1, last + 1)]
            paths = last * (last - 1) - first * (first - 1)
            try:
                assert monitor.apply(more)[0].positive == paths
            except DeviceError:
                assert monitor.num_edges == before
                failed += 1
                assert monitor.apply(more)[0].positive == paths
        assert failed == 1


@pytest.mark.parametrize("held", [True, False], ids=["with its traceback", "without"])
@pytest.mark.parametrize("call", range(2))
def test_an_interrupt_before_pinned_memory_is_noted_leaves_nothing_in_the_way(
    device: str, call: int, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next call pins the same memory, whether its registration still exists or not."""
    gc.collect()
    registered = getattr(open_device(device), "registered", {})  # by the emulator alone
    others = set(registered)
    here, there = monitors(device)
    gpu = type(open_device(device))
    register, calls, kept = gpu.register_host, itertools.count(), list[object]()

    def interrupted(self: Any, *arguments: Any) -> Any:
        found = register(self, *arguments)
        if next(calls) != call:
            return found
        if held:
            kept.append(found)
        del found
        raise KeyboardInterrupt

    monkeypatch.setattr(gpu, "register_host", interrupted)
    failed = 0
    for seed in range(3):
        many = [("+", 0, 100 + 1000 * seed + leaf) for leaf in range(30)]  # the rows get more memory
        ours = here.apply([*updates(seed), *many])
        before = there.num_edges
        try:
            theirs = there.apply([*updates(seed), *many])
        except KeyboardInterrupt:
            failed += 1
            assert there.num_edges == before
            theirs = there.apply([*updates(seed), *many])
        assert same(ours, theirs)
    assert failed == 1
    kept.clear()
    there.close()

    def is_released() -> bool:
        open_device(device).used_memory()  # settles what no running work needs
        return not set(registered) - others

    wait_until(is_released, "memory of a closed monitor is released")


@pytest.mark.parametrize("error", [DeviceError("no pinned memory"), KeyboardInterrupt()])
def test_rows_of_several_classes_are_copied_or_the_call_fails(
    device: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are when there is a second label: the monitor keeps rows by labels."""
    here, there = monitors(device)
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    labelled = [(*update, 1) for update in updates(2)]
    before = there.num_edges
    with monkeypatch.context() as patch:
        patch.setattr(HostRows, "_allocate", failing_once(HostRows._allocate, error))
        with pytest.raises(type(error)):
            there.apply(labelled)
    assert there.num_edges == before
    for more in (labelled, updates(3)):
        assert same(here.apply(more), there.apply(more))
    engine: Any = there._engine
    assert {type(rows) for rows in engine._rows.values()} == {HostRows}


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_several_devices_copy_rows_of_several_classes(device: str, mode: str) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    here, there = monitors(device, mode=mode, devices=2, tuning={"cache": "degree"})
    for more in (updates(1), [(*update, 1) for update in updates(2)], updates(3)):
        assert same(here.apply(more), there.apply(more))
    several: Any = there._engine
    for engine in several._engines:
        assert {type(rows) for rows in engine._rows.values()} == {HostRows}


def test_too_little_memory_for_headers_is_an_error_that_leaves_the_graph(device: str) -> None:
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(300)])
    with mf.Monitor(graph, PATTERNS, device=device, engine="outofcore", gpu_memory=4096) as monitor:
        with pytest.raises(DeviceMemoryError, match="gpu_memory"):
            monitor.apply(updates(1))
        assert monitor.num_edges == graph.num_edges


def test_without_memory_for_copies_all_rows_are_read_from_the_host(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = monitors(device, tuning={"cache": "degree"})
    gpu = type(open_device(device))
    allocate = gpu.allocate

    def without_copies(self: Any, nbytes: int, what: str, *, budget: int | None = None) -> Any:
        if "in a cache" in what and "leave" not in what:
            raise DeviceMemoryError(what, nbytes, 0, "wait")
        return allocate(self, nbytes, what, budget=budget)

    monkeypatch.setattr(gpu, "allocate", without_copies)
    for seed in range(3):
        assert same(here.apply(updates(seed)), there.apply(updates(seed)))
    engine: Any = there._engine
    assert engine.cache.brought.copied == engine.cache.room == 0


def test_a_hub_that_doubles_in_a_call_stays_right(device: str) -> None:
    graph = mf.Graph.from_edges([(0, 1)], num_vertices=2)
    patterns = "(a)--(b)--(c)"
    here = mf.Monitor(graph, patterns, mode="batch")
    with mf.Monitor(
        graph, patterns, device=device, engine="outofcore", mode="batch", tuning={"cache": "degree"}
    ) as there:
        first, size = 1, 3
        while size < 400:
            hub = [("+", 0, leaf) for leaf in range(first + 1, first + size + 1)]
            assert same(here.apply(hub), there.apply(hub))
            first, size = first + size, 2 * size
        gone = [("-", 0, leaf) for leaf in np.arange(1, first, 2).tolist()]
        assert same(here.apply(gone), there.apply(gone))
        assert here.num_edges == there.num_edges


@pytest.mark.parametrize("cache", ["frequency", "degree", "khop"])
def test_a_hub_whose_row_is_longer_than_the_cache_is_read_from_the_host(
    device: str, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaves, room = 3000, 1200
    spokes = [(0, leaf) for leaf in range(1, leaves + 1)]
    rim = [(leaf, leaf + 1) for leaf in range(1, leaves)]
    graph = mf.Graph.from_edges(spokes + rim)
    patterns = "(a)--(b)--(c)--(a), (c)--(d)"
    monkeypatch.setattr(RowCache, "_most", lambda cache: room)
    here = mf.Monitor(graph, patterns, mode="batch")
    tuning = private_tuning({"cache": cache, **({"cache_time": "free"} if cache == "frequency" else {})})
    with mf.Monitor(graph, patterns, device=device, engine="outofcore", mode="batch", tuning=tuning) as there:
        for first in range(10, 50, 10):
            across = [("+", leaf, leaf + 3) for leaf in range(first, first + 5)]
            assert same(here.apply(across), there.apply(across))
            engine: Any = there._engine
            (kind,) = engine.cache._kinds
            assert len(kind.held) > 0
            assert 0 not in kind.held
            assert 0 not in engine._touched


@pytest.mark.parametrize("cache", ["none", "frequency", "degree"])
def test_vertices_whose_rows_the_host_still_writes_are_updated_again(device: str, cache: str) -> None:
    """Threads of the host write the rows of large batches after the call; the next call is at once."""
    vertices, rng = 600, np.random.default_rng(7)
    graph = mf.Graph.from_edges([(0, other) for other in range(1, vertices)])
    patterns = "(a)--(b)--(c)--(a)"
    here = mf.Monitor(graph, patterns, mode="batch", duplicates="ignore")
    with mf.Monitor(
        graph,
        patterns,
        device=device,
        engine="outofcore",
        mode="batch",
        duplicates="ignore",
        tuning={"cache": cache},
        threads=2,
    ) as there:
        calls = []
        for _ in range(4):
            ends = rng.integers(0, vertices, (LARGE_BATCH, 2))
            ends[: LARGE_BATCH // 8, 0] = 0  # the hub each time
            inserts = rng.random(LARGE_BATCH) < 0.6
            keep = ends[:, 0] != ends[:, 1]
            calls.append(mf.Updates(inserts[keep], ends[keep, 0], ends[keep, 1]))
        found = [there.apply(call) for call in calls]
        assert all(same(here.apply(call), delta) for call, delta in zip(calls, found, strict=True))
        assert here.num_edges == there.num_edges
