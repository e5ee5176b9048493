"""What the loggers of motiflux say, and that they say nothing unless a program asks."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import motiflux as mf
from motiflux.device.account import MemoryAccount
from tests.unit.dispatch_cases import NO_MEMORY, FakeEngine, FakeGpu, counted

TRIANGLE = "(a)--(b)--(c)--(a)"


@pytest.fixture
def graph() -> mf.Graph:
    return mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])


def said(caplog: pytest.LogCaptureFixture, name: str, level: int) -> list[str]:
    """Return the messages of a logger and a level."""
    return [one.getMessage() for one in caplog.records if (one.name, one.levelno) == (name, level)]


def test_a_count_tells_plan_engine_and_reason(graph: mf.Graph, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "motiflux"):
        mf.count(graph, TRIANGLE, device="cpu")
        mf.count(graph, TRIANGLE, device="cpu")
    (plan,) = said(caplog, "motiflux.plan", logging.DEBUG)
    assert ": cpu: " in plan
    (first,) = said(caplog, "motiflux.engine", logging.INFO)
    assert ": 12, engine cpu, device cpu (asked for by device='cpu')" in first
    (again,) = said(caplog, "motiflux.engine", logging.DEBUG)
    assert "again: 12, by cpu: " in again


def test_each_kind_of_call_tells_its_engine(graph: mf.Graph, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "motiflux"):
        mf.match(graph, TRIANGLE, device="cpu").to_numpy()
        mf.estimate(graph, TRIANGLE, device="cpu", samples=320)
        mf.count(graph, [TRIANGLE, "(a)--(b)"], device="cpu")
    told = said(caplog, "motiflux.engine", logging.INFO)
    assert [one.partition(" of ")[0] for one in told] == ["rows", "estimate", "count", "count"]
    assert all("device cpu" in one for one in told)


def test_another_engine_that_takes_over_is_told(caplog: pytest.LogCaptureFixture) -> None:
    complete = mf.Graph.from_edges([(u, v) for u in range(30) for v in range(u)])
    with caplog.at_level(logging.INFO, "motiflux"):
        gpu = FakeGpu(FakeEngine(error=NO_MEMORY), 1e-9)
        _, engine, _ = counted(gpu, complete, mf.Pattern.parse(TRIANGLE))
    assert engine == "cpu"
    assert said(caplog, "motiflux.engine", logging.INFO) == [
        f"the CPU takes over: the GPU cannot do it: {NO_MEMORY}"
    ]


def test_a_candidate_space_tells_its_memory(caplog: pytest.LogCaptureFixture) -> None:
    labelled = mf.Graph.from_edges([(0, 1), (1, 2)], vertex_labels=["x", "y", "x"])
    with caplog.at_level(logging.DEBUG, "motiflux.memory"):
        mf.count(labelled, "(a:x)--(b:y)--(c:x)", device="cpu", tuning={"candidates": "on"})
    assert any("candidate space" in one for one in said(caplog, "motiflux.memory", logging.DEBUG))


def test_memory_that_is_released_is_told(caplog: pytest.LogCaptureFixture) -> None:
    account = MemoryAccount()
    old, new = object(), object()
    account.take(old, 600, "old", budget=1000)

    def release(missing: int) -> int:
        account.give_back(old)
        return 600

    account.add_reclaimer(release)
    with caplog.at_level(logging.DEBUG, "motiflux.memory"):
        account.take(new, 600, "new", budget=1000)
    assert said(caplog, "motiflux.memory", logging.INFO) == [
        "600 bytes of a device released, 200 were missing"
    ]


@pytest.mark.turns(8)
def test_nothing_is_printed_unless_a_program_asks() -> None:
    code = (
        "import motiflux as mf; g = mf.Graph.from_edges([(0, 1), (1, 2)]); "
        "mf.count(g, '(a)--(b)', device='cpu'); mf.match(g, '(a)--(b)').to_numpy()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_known_call_formats_no_text(graph: mf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    mf.count(graph, TRIANGLE, device="cpu")

    def shown(self: object) -> str:
        raise AssertionError

    monkeypatch.setattr("motiflux.plan.physical.PhysicalPlan.__str__", shown)
    assert mf.count(graph, TRIANGLE, device="cpu") == 12
