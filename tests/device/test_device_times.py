"""What counts tell of the time they take by a device's clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.kernels import table_run
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.kernel_times import DeviceTimes, taking_times, times_taken
from motiflux.gpu.runtime.launches import Result
from motiflux.gpu.storage.candidate_space import DeviceSpace
from motiflux.gpu.storage.device_csr import resident
from tests.backend.cases import clique

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no clock of a device")

LABELLED = "(a:0)--(b:1)--(c:2)--(a), (c)--(d:1)"
CYCLE = "(a)--(b)--(c)--(d)--(a)"
TAILED = "(a)--(b)--(c)--(a), (a)--(d)"


@pytest.fixture
def graph() -> mf.Graph:
    return mf.Graph.from_edges(clique(9), vertex_labels=[0, 1, 2] * 3)


def taken(graph: mf.Graph, pattern: str, device: str, **tuning: str) -> DeviceTimes:
    with taking_times() as times:
        found = mf.count(graph, pattern, device=device, tuning=tuning)
    assert found == mf.count(graph, pattern)
    return times


def parts(times: DeviceTimes) -> set[str]:
    """Return which parts took time."""
    return {name for name in ("spaces", "tables", "searches", "host") if getattr(times, name) > 0}


def test_a_search_tells_of_its_space_where_it_made_it(graph: mf.Graph, device: str) -> None:
    first = taken(graph, LABELLED, device)
    assert parts(first) == {"spaces", "searches"}
    assert first.total == first.spaces + first.searches
    assert parts(taken(graph, LABELLED, device)) == {"searches"}


def test_a_space_that_is_forgotten_is_made_anew(graph: mf.Graph, device: str) -> None:
    taken(graph, LABELLED, device)
    copies = resident(graph, open_accelerator(device).device)
    copies.forget(DeviceSpace)
    assert parts(taken(graph, LABELLED, device)) == {"spaces", "searches"}


def test_a_space_that_a_search_reads_is_not_forgotten(graph: mf.Graph, device: str) -> None:
    with mf.match(graph, LABELLED, device=device) as matches:
        resident(graph, open_accelerator(device).device).forget(DeviceSpace)
        assert parts(taken(graph, LABELLED, device)) == {"searches"}
        assert len(matches.to_numpy()) == mf.count(graph, LABELLED)


def test_tables_and_cliques_tell_of_their_kernels(device: str) -> None:
    unlabelled = mf.Graph.from_edges(clique(12))
    assert parts(taken(unlabelled, CYCLE, device, tables="on")) == {"tables"}
    assert parts(taken(unlabelled, TAILED, device, tables="off")) == {"searches"}
    assert parts(taken(unlabelled, "(a)--(b)--(c)--(a)", device)) == {"searches"}


def test_what_the_host_counts_is_told_apart(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_wide(*_: object) -> Result:
        return Result(0, overflow=True)

    monkeypatch.setattr(table_run.TableReader, "result", too_wide)
    unlabelled = mf.Graph.from_edges(clique(12))
    assert parts(taken(unlabelled, CYCLE, device, tables="on")) == {"tables", "host"}


@pytest.mark.turns(8, "emulated")
def test_what_is_stopped_tells_of_its_time_until_then(device: str) -> None:
    graph = mf.Graph.from_edges(clique(200))
    path = ", ".join(f"(v{at})--(v{at + 1})" for at in range(9))
    tuning = private_tuning({"tables": "off", "tail": "off", "parts": "off", "multiply": "off"})
    mf.count(graph, path, device=device, tuning=tuning, timeout=0.5)
    with taking_times() as times:
        found = mf.count(graph, path, device=device, tuning=tuning, timeout=1.0)
    assert not found.complete
    assert 0 < times.searches < 10


def test_nobody_measures_afterwards_nor_in_another_call(graph: mf.Graph, device: str) -> None:
    with taking_times() as outer:
        with taking_times() as inner:
            mf.count(graph, LABELLED, device=device)
        assert outer.total == 0 < inner.total
    assert times_taken() is None
    before = replace(inner)
    mf.count(graph, LABELLED, device=device)
    assert inner == before
