"""Monitors on a GPU whose rows cannot be pinned: copies of fewer rows, or an error that leaves the graph."""

from __future__ import annotations

import gc
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import devices_like, open_device
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import VARIABLE, held
from motiflux.gpu.changing.memory import LargePinned
from motiflux.gpu.outofcore.engine import OutOfCoreEngine
from motiflux.gpu.outofcore.host_rows import HostRows
from motiflux.gpu.outofcore.own_rows import OwnRows
from motiflux.gpu.runtime.device_cache import release_pinned
from motiflux.gpu.storage.device_csr import resident
from tests.fault.test_changing_faults import same
from tests.waiting import wait_until

pytestmark = pytest.mark.devices("emulated", "cuda", reason="its monitor has no rows for a device")

PATTERNS = ["(a:A)--(b:B)--(c:A)", "(a:A)--(b:B)--(c:A)--(d:B)--(a)"]
WARNS = r"the rows of the monitor are not pinned \(.*\); those that patterns read were copied to .* of pinned"
RARE = 40
"""Vertices with the labels of the patterns, half of them each; no pattern reads the rows of all others."""
LONG = 1 << 14
"""Entries with which a row gets memory of its own."""


@cache
def graph() -> mf.Graph:
    rng = np.random.default_rng(4)
    many = rng.integers(RARE, 3000, (200_000, 2))
    few = [(u, v) for u in range(0, RARE, 2) for v in range(1, RARE, 2) if rng.random() < 0.2]
    edges = np.concatenate([many[many[:, 0] != many[:, 1]], few])
    labels = ["A", "B"] * (RARE // 2) + ["C"] * (3000 - RARE)
    return mf.Graph.from_edges(tuple(edges.T), vertex_labels=labels)


def updates(seed: int) -> list[tuple[str, int, int]]:
    draw = np.random.default_rng(seed)
    pairs = draw.integers(0, RARE, (50, 2))
    return [("+" if draw.random() < 0.6 else "-", int(u), int(v)) for u, v in pairs if u != v]


def monitors(device: str, patterns: list[str] = PATTERNS, **options: Any) -> tuple[mf.Monitor, mf.Monitor]:
    data, options = graph(), {"duplicates": "ignore", **options}
    there = mf.Monitor(data, patterns, **{"device": device, "engine": "outofcore", **options})
    same_here = {name: options[name] for name in ("duplicates", "mode", "matches") if name in options}
    return mf.Monitor(data, patterns, **same_here), there


def engines_of(monitor: mf.Monitor) -> list[OutOfCoreEngine]:
    engine: Any = monitor._engine
    return list(getattr(engine, "_engines", [engine]))


def kinds_of(monitor: mf.Monitor) -> set[type[Any]]:
    return {type(rows) for engine in engines_of(monitor) for rows in engine._rows.values()}


def pinned_bytes(device: str, mode: str) -> int:
    """Return the bytes that the rows of the graph take in the first call."""
    with monitors(device, mode=mode)[1] as monitor:
        monitor.apply(updates(0))
        assert kinds_of(monitor) == {OwnRows}
        return engines_of(monitor)[0].pinned.nbytes


@pytest.fixture
def before() -> int:
    """Return what counts towards the budget already, and would not make room for rows of monitors."""
    gc.collect()
    release_pinned(held())
    return held()


def refuse(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def register_host(self: Any, address: int, nbytes: int, what: str, owner: object) -> Any:
        raise NotPinnedError(f"{what}: the driver refused {nbytes} bytes")

    monkeypatch.setattr(type(open_device(device)), "register_host", register_host)


@pytest.mark.parametrize("why", ["the budget", "the driver"])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_rows_that_patterns_read_are_copied_if_not_all_can_be_pinned(
    device: str, mode: str, why: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "the budget":
        monkeypatch.setenv(VARIABLE, str(before + pinned_bytes(device, mode) - 1))
    else:
        refuse(device, monkeypatch)
    here, there = monitors(device, mode=mode, matches=True)
    with pytest.warns(mf.MotifluxWarning, match=WARNS) as warned:
        first = there.apply(updates(1))
    assert [one.filename for one in warned] == [__file__]
    assert same(here.apply(updates(1)), first)
    for seed in range(2, 5):
        ours, theirs = here.apply(updates(seed)), there.apply(updates(seed))
        assert same(ours, theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert sorted(one.matches.tolist()) == sorted(other.matches.tolist())
    (engine,) = engines_of(there)
    assert kinds_of(there) == {HostRows}
    assert engine.pinned.nbytes == 0
    copies = sum(rows.host_nbytes for rows in engine._rows.values() if isinstance(rows, HostRows))
    assert held() == before + copies
    there.close()
    gc.collect()
    assert held() == before


def applied_until_right(
    here: mf.Monitor, there: mf.Monitor, more: list[tuple[str, int, int]], labels: dict[Any, Any]
) -> int:
    """Apply updates again after errors of pinned memory, each of which leaves the graph; return how many."""
    ours, edges = here.apply(more, vertex_labels=labels), there.num_edges
    for failed in range(3):
        try:
            assert same(ours, there.apply(more, vertex_labels=labels))
        except NotPinnedError:
            assert there.num_edges == edges
        else:
            return failed
    pytest.fail("the rows are never copied")


@pytest.mark.turns(4)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("devices", [1, 2])
def test_rows_that_outgrow_the_budget_are_copied_between_two_calls(
    device: str, devices: int, mode: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(devices_like(device)) < devices:
        pytest.skip(f"needs {devices} devices of kind {device!r}")
    here, there = monitors(device, PATTERNS[:1], mode=mode, devices=devices, tuning={"cache": "degree"})
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    assert kinds_of(there) == {OwnRows}
    at_first = engines_of(there)[0].pinned.nbytes
    assert held() == before + at_first
    monkeypatch.setenv(VARIABLE, str(before + at_first))
    leaves = range(3000, 3000 + LONG)
    more = [*updates(3), *(("+", 0, leaf) for leaf in leaves)]
    with pytest.warns(mf.MotifluxWarning, match=WARNS):
        failed = applied_until_right(here, there, more, dict.fromkeys(leaves, "B"))
    for seed in range(4, 6):
        assert same(here.apply(updates(seed)), there.apply(updates(seed)))
    assert failed <= devices - 1  # while another device had not given up yet what both had pinned
    assert kinds_of(there) == {HostRows}
    assert here.num_edges == there.num_edges
    there.close()
    gc.collect()
    assert held() == before


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_rows_that_cannot_be_pinned_at_all_are_an_error_that_leaves_the_graph(
    device: str, mode: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = monitors(device, mode=mode)
    registered = getattr(open_device(device), "registered", {})  # by the emulator alone
    others, edges = set(registered), there.num_edges
    words = (
        rf"^rows of the changing graph: expected at most .* found .* MiB beside .* set {VARIABLE} to more.*"
        r"use engine='batch' or device='cpu'; nor can copies be pinned: rows of the changing graph: .*"
    )
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, str(before + 1000))
        for _ in range(2):
            with pytest.raises(NotPinnedError, match=words):
                there.apply(updates(1))
            assert there.num_edges == edges
        gc.collect()
        assert held() == before
        assert not set(registered) - others
    for seed in (1, 2):
        assert same(here.apply(updates(seed)), there.apply(updates(seed)))
    assert kinds_of(there) == {OwnRows}
    with monkeypatch.context() as patch:  # what is pinned stays so
        patch.setenv(VARIABLE, str(before + 1000))
        assert same(here.apply(updates(3)), there.apply(updates(3)))
    there.close()

    def is_released() -> bool:
        open_device(device).used_memory()  # settles what no running work needs
        return not set(registered) - others

    wait_until(is_released, "memory of a closed monitor is released")


def test_copies_that_cannot_grow_are_an_error_that_leaves_the_graph(
    device: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(device, monkeypatch)
    here, there = monitors(device, mode="batch")
    with pytest.warns(mf.MotifluxWarning, match=WARNS):
        there.apply(updates(1))
    here.apply(updates(1))
    more = [("+", 1, leaf) for leaf in range(3000, 3000 + 40_000)]
    labels = dict.fromkeys(range(3000, 3000 + 40_000), "A")
    edges = there.num_edges
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.MotifluxWarning)
        patch.setenv(VARIABLE, str(held() + 1000))
        with pytest.raises(NotPinnedError, match=VARIABLE):
            there.apply(more, vertex_labels=labels)
    assert there.num_edges == edges
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.MotifluxWarning)
        assert same(here.apply(updates(3)), there.apply(updates(3)))
    there.close()
    gc.collect()
    assert held() == before


def test_copies_take_the_place_of_arenas_once_there_is_a_second_label(
    device: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row is read in the arenas then; both together exceed the budget."""
    pairs = np.random.default_rng(4).integers(0, 3000, (100_000, 2))
    data = mf.Graph.from_edges(tuple(pairs[pairs[:, 0] != pairs[:, 1]].T))
    options: dict[str, Any] = {"mode": "batch", "duplicates": "ignore"}
    here = mf.Monitor(data, "(a)--(b)--(c)", **options)
    with mf.Monitor(data, "(a)--(b)--(c)", device=device, engine="outofcore", **options) as there:
        assert same(here.apply(updates(1)), there.apply(updates(1)))
        arenas = engines_of(there)[0].pinned.nbytes
        assert arenas > 1 << 20
        monkeypatch.setenv(VARIABLE, str(before + 3 * arenas // 2))
        labelled = [(*update, 1) for update in updates(2)]
        assert same(here.apply(labelled), there.apply(labelled))
        assert kinds_of(there) == {HostRows}
        assert engines_of(there)[0].pinned.nbytes == 0
        assert same(here.apply(updates(3)), there.apply(updates(3)))


def test_rows_of_other_patterns_take_the_place_of_arenas(
    device: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = monitors(device, PATTERNS[:1], mode="batch")
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    arenas = engines_of(there)[0].pinned.nbytes
    monkeypatch.setenv(VARIABLE, str(before + 3 * arenas // 2))
    for monitor in (here, there):
        monitor.drop(0)
        monitor.add("(a)--(b)--(c)")
    for seed in (2, 3):
        assert same(here.apply(updates(seed)), there.apply(updates(seed)))
    assert kinds_of(there) == {HostRows}
    assert engines_of(there)[0].pinned.nbytes == 0
    there.close()


def test_rows_of_graphs_that_no_search_reads_make_room_for_those_of_monitors(
    device: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = graph.__wrapped__()
    options: dict[str, Any] = {"device": device, "engine": "outofcore", "tuning": {"cache": "none"}}
    assert mf.count(other, PATTERNS[0], **options) == mf.count(other, PATTERNS[0], device="cpu")
    mf.count(other, "(a)--(b)", limit=1, **options)
    kept = held() - before
    assert kept > 0
    here, there = monitors(device)
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, str(before + pinned_bytes(device, "sequence")))
        assert same(here.apply(updates(1)), there.apply(updates(1)))
    assert kinds_of(there) == {OwnRows}
    assert held() == before + engines_of(there)[0].pinned.nbytes
    assert not any(one.pinned for one in resident(other, open_device(device)).entries())
    there.close()


@pytest.mark.parametrize("engine", ["changing", "outofcore"])
def test_uploads_go_through_ordinary_memory_where_none_can_be_pinned(
    device: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, refused = type(open_device(device)), list[str]()
    allocate = gpu.allocate_host

    def allocate_host(self: Any, nbytes: int, what: str, *, clear: bool = True) -> Any:
        if "updates" in what and "totals" not in what:
            refused.append(what)
            raise NotPinnedError(f"{what}: refused")
        return allocate(self, nbytes, what, clear=clear)

    monkeypatch.setattr(gpu, "allocate_host", allocate_host)
    here, there = monitors(device, engine=engine, mode="batch")
    for seed in range(3):
        assert same(here.apply(updates(seed)), there.apply(updates(seed)))
    assert "updates on their way to the device" in refused


def test_large_memory_for_uploads_is_within_the_budget(
    device: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, gpu = LargePinned(), open_device(device)
    monkeypatch.setenv(VARIABLE, str(before + 1000))
    large.ask(gpu, 4000)
    wait_until(lambda: not large._is_pinning, "it is refused")
    assert large.take(4000) is None
    monkeypatch.setenv(VARIABLE, str(before + 10_000))
    large.ask(gpu, 6000)
    wait_until(lambda: not large._is_pinning, "it is pinned")
    memory = large.take(6000)
    assert memory is not None
    assert held() == before + len(memory.array)
    memory.close()
    assert held() == before
