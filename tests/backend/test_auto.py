"""``device="auto"`` with the engine of a device behind it."""

from __future__ import annotations

import pytest

import motiflux as mf
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.request.engine import Engine
from tests.backend.cases import ODD_CYCLE, PATH, TRIANGLE, clique, cycle, path
from tests.executing import engine_on
from tests.unit.dispatch_cases import ENDLESS, FakeEngine, FakeGpu, counted

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about taking a device")

PLAIN = {"tables": "off", "parts": "off", "tail": "off"}
PATTERNS = [cycle(3), cycle(4), clique(4), path(4), [(0, 1), (0, 2), (0, 3)]]


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the engine that is tried first time enough, however slow the device is emulated."""
    monkeypatch.setattr("motiflux.dispatch.auto.LEAST_BUDGET", 60.0)


@pytest.fixture
def engine(device: str) -> Engine:
    return engine_on(open_accelerator(device))


@pytest.mark.parametrize("edges", PATTERNS)
@pytest.mark.parametrize("opened", [True, False])
def test_it_counts_what_the_cpu_counts(
    edges: list[tuple[int, int]], opened: bool, engine: Engine, device: str, small: mf.Graph
) -> None:
    pattern = mf.Pattern.from_edges(edges)
    outcome, name, _ = counted(FakeGpu(engine, 1e-9, opened), small, pattern)
    assert (outcome.value, outcome.complete) == (mf.count(small, pattern, device="cpu"), True)
    assert (name, outcome.ran and outcome.ran.device) == ("dfs", device)


def test_a_search_that_lost_gives_the_device_back(
    engine: Engine, bipartite: mf.Graph, small: mf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no odd cycle, for which the kernel would look for ever."""
    monkeypatch.setattr("motiflux.dispatch.auto.LEAST_BUDGET", 1.0)
    host = FakeEngine(0.5, answer=0)
    host.name = "cpu"
    outcome, name, why = counted(FakeGpu(engine, 1e-9), bipartite, ODD_CYCLE, host, limit=1, tuning=PLAIN)
    assert (outcome.value, outcome.complete, name, host.calls) == (0, True, "cpu", 1), why
    outcome, name, _ = counted(FakeGpu(engine, 1e-9), small, TRIANGLE)
    assert (outcome.value, name) == (24360, "dfs")


def test_a_timeout_is_kept(engine: Engine, dense: mf.Graph) -> None:
    outcome, _, _ = counted(
        FakeGpu(engine, 1e-9),
        dense,
        PATH,
        FakeEngine(ENDLESS),
        timeout=1.0,
        tuning=PLAIN,
    )
    assert not outcome.complete
