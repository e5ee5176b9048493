"""Memory goes with the last reference to a graph or a monitor, without the garbage collector.

It knows nothing of the size of what waits for it, and a call that lacks the memory of a device is refused.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

import motiflux as mf
from motiflux.words import ModeName
from tests.device.test_device import settled, wait_until

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about memory of a device")

TRIANGLE = "(a)--(b)--(c)--(a)"
DIAMOND = "(a)--(b)--(c)--(a), (b)--(d)--(c)"


def new_graph() -> mf.Graph:
    pairs = np.random.default_rng(5).integers(0, 40, (160, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return mf.Graph.from_edges((pairs[:, 0], pairs[:, 1]), vertex_labels=np.arange(40) % 2)


def read_in_part(graph: mf.Graph, device: str) -> None:
    with mf.match(graph, TRIANGLE, device=device) as matches:
        next(iter(matches))


CALLS: dict[str, Callable[[mf.Graph, str], object]] = {
    "dfs": lambda graph, device: mf.count(graph, DIAMOND, device=device, engine="dfs"),
    "pvm": lambda graph, device: mf.count(graph, DIAMOND, device=device, engine="pvm"),
    "pvm by labels": lambda graph, device: mf.count(graph, "(a:0)--(b:1)", device=device, engine="pvm"),
    "outofcore": lambda graph, device: mf.count(graph, DIAMOND, device=device, engine="outofcore"),
    "several patterns": lambda graph, device: mf.count(graph, [TRIANGLE, DIAMOND], device=device),
    "rows": lambda graph, device: mf.match(graph, TRIANGLE, device=device).to_numpy(),
    "some rows": read_in_part,
    "rows of pvm": lambda graph, device: mf.match(graph, TRIANGLE, device=device, engine="pvm").to_numpy(),
    "counts at vertices": lambda graph, device: mf.count_per_vertex(graph, TRIANGLE, device=device),
    "counts at edges": lambda graph, device: mf.count_per_edge(graph, TRIANGLE, device=device),
    "estimate": lambda graph, device: mf.estimate(graph, DIAMOND, device=device, seed=3),
    "random rows": lambda graph, device: mf.sample(graph, TRIANGLE, 3, device=device, seed=3).to_numpy(),
}


def goes_at_once(make: Callable[[], object], gpu: Device) -> None:
    """Check that what `make` returns goes with its last reference, and so does its memory on the device."""
    make()  # what the device keeps for all graphs comes with the first
    gc.collect()
    before = settled(gpu)
    gc.disable()
    try:
        made = make()
        gone = weakref.ref(made)
        del made
        assert gone() is None, "a circle of references holds it"
        wait_until(lambda: settled(gpu) <= before)
    finally:
        gc.enable()


def called(call: Callable[[mf.Graph, str], object], device: str) -> mf.Graph:
    graph = new_graph()
    for _ in range(2):  # the second call is prepared by the first
        call(graph, device)
    return graph


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("name", CALLS)
def test_a_graph_goes_after_a_call(name: str, device: str, gpu: Device) -> None:
    goes_at_once(partial(called, CALLS[name], device), gpu)


def watched(device: str, mode: ModeName, *, matches: bool) -> mf.Monitor:
    monitor = mf.Monitor(new_graph(), DIAMOND, device=device, mode=mode, matches=matches)
    for first in (0, 7):
        monitor.apply([("+", first + at, first + at + 9) for at in range(20)])
    return monitor


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_monitor_goes(mode: ModeName, device: str, gpu: Device, *, matches: bool) -> None:
    goes_at_once(partial(watched, device, mode, matches=matches), gpu)
