"""Monitors whose updates several devices match together: faults of one of them, and what they say."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.device import devices_like
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.searches import RunSearch
from motiflux.gpu.changing.several import _added
from tests.fault.test_changing_faults import FULL, PATTERNS, same, updates

pytestmark = pytest.mark.devices("emulated", "cuda", reason="there is one CPU")


@pytest.fixture(autouse=True)
def two(device: str) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")


def monitors(device: str, **options: Any) -> tuple[mf.Monitor, mf.Monitor]:
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(13)])
    there = mf.Monitor(graph, PATTERNS, device=device, devices=2, **options)
    return mf.Monitor(graph, PATTERNS, **options), there


def test_results_name_all_devices(device: str) -> None:
    _, there = monitors(device)
    names = f"{device}, {device}:1"
    delta = there.apply(updates(1))
    assert (delta.engine, delta.device, there.device) == ("changing", names, names)
    assert delta.reason == f"asked for by device='{device}' and devices=2"


def test_each_device_has_a_share_of_the_searches(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: dict[str, int] = {}
    count = RunSearch.count

    def noted(self: RunSearch, job: Any, plans: Any, roots: tuple[int, int], *rest: Any) -> Any:
        name = job.accelerator.device.name
        searched[name] = searched.get(name, 0) + roots[1]
        return count(self, job, plans, roots, *rest)

    monkeypatch.setattr(RunSearch, "count", noted)
    here, there = monitors(device)
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    assert len(searched) == 2
    assert 2 * min(searched.values()) > max(searched.values())


@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("matches", [False, True])
def test_a_device_that_fails_fails_the_call(
    device: str, mode: str, matches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = monitors(device, mode=mode, matches=matches)
    assert same(here.apply(updates(1)), there.apply(updates(1)))
    before = there.num_edges
    match = ChangingEngine.match

    def fails_on_the_second(self: ChangingEngine, run: Any, **more: Any) -> Any:
        if self.device != device:
            raise FULL
        return match(self, run, **more)

    with monkeypatch.context() as patch:
        patch.setattr(ChangingEngine, "match", fails_on_the_second)
        with pytest.raises(DeviceMemoryError, match=f"on {device}:1: "):
            there.apply(updates(2))
    assert there.num_edges == before
    assert same(here.apply(updates(3)), there.apply(updates(3)))


def test_time_that_is_up_stops_all_devices(device: str) -> None:
    here, there = monitors(device)
    assert not there.apply(updates(1), timeout=0.0).complete
    assert there.num_edges == here.num_edges
    assert same(here.apply(updates(1)), there.apply(updates(1)))


def test_ctrl_c_stops_all_devices(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = monitors(device)
    before, match = there.num_edges, ChangingEngine.match
    ended = []

    def interrupted(self: ChangingEngine, run: Any, **more: Any) -> Any:
        if self.device != device:
            raise_here.set()
            while run.keep_going():
                pass
            ended.append(self.device)
            return None
        return match(self, run, **more)

    raise_here = threading.Event()

    def wait(*args: Any) -> Any:
        raise_here.wait()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ChangingEngine, "match", interrupted)
        patch.setattr("motiflux.gpu.changing.several.wait", interrupting(wait))
        with pytest.raises(KeyboardInterrupt):
            there.apply(updates(2))
    assert ended == [f"{device}:1"]
    assert there.num_edges == before
    assert same(here.apply(updates(3)), there.apply(updates(3)))


def interrupting(first: Any) -> Any:
    """Return `concurrent.futures.wait`, but for the first call."""
    from concurrent.futures import wait

    calls = [first]
    return lambda *args: calls.pop()(*args) if calls else wait(*args)


def test_the_child_of_a_fork_refuses_calls_and_closes(device: str) -> None:
    _, there = monitors(device)
    there.apply(updates(1))
    child = os.fork()
    if child == 0:
        try:
            there.apply(updates(2))
        except DeviceError as error:
            there.close()
            os._exit(0 if "child of a fork" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert there.apply(updates(2)).complete


def test_sums_of_all_devices_are_exact_or_an_error() -> None:
    most = np.uint64(2**64 - 1)
    ones, one = np.array([[most, 5]], np.uint64), np.array([[1, 0]], np.uint64)
    assert _added([ones, one, None][:2]).tolist() == [[0, 6]]  # type: ignore[union-attr]
    assert _added([None, None]) is None
    for high in ([[0, most], [0, 1]], [[most, most], [1, 0]], [[0, 2**63], [0, 2**63]]):
        with pytest.raises(OverflowError, match="2\\^128"):
            _added([np.array([part], np.uint64) for part in high])
