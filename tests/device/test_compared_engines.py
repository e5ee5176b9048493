"""``engine="auto"`` finds out whether phases count a query faster than ``dfs``."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.errors import DeviceMemoryError, InternalError
from motiflux.gpu.pvm import comparison
from motiflux.gpu.pvm.engine import PvmEngine
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.request.engine import Outcome

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about engines of GPUs")

PATH = "(a:0)--(b:1)--(c:0)--(d:1)"
SEARCH = {"tables": "off", "tail": "off", "parts": "off"}


class Counting:
    """Counts by phases, which may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.error, self.more = 0, None, 0  # type: tuple[int, Exception | None, int]
        count = PvmEngine.count

        self.left: list[float] = []  # seconds that calls with a time limit had

        def counting(*given: Any) -> Outcome:
            self.calls += 1
            left = given[-1].left()
            self.left += [] if left is None else [left]
            if self.error is not None:
                raise self.error
            found = count(*given)
            return replace(found, value=found.value + self.more)

        monkeypatch.setattr(PvmEngine, "count", counting)


@pytest.fixture
def phases(engines_are_not_compared: None, monkeypatch: pytest.MonkeyPatch, device: str) -> Counting:
    """Have each query be tried in its second call, and phases be taken however long they take."""
    for name in ("LEAST_SECONDS", "_START", "_EACH", "_TABLES"):
        monkeypatch.setattr(comparison, name, 0.0)
    for name in ("_TAKEN", "_LONGEST"):
        monkeypatch.setattr(comparison, name, 1e6)
    compiled = PvmEngine.is_compiled

    def when_compiled(*given: Any) -> bool:
        compiled(*given)
        open_accelerator(device).compiler.settle()
        return compiled(*given)

    monkeypatch.setattr(PvmEngine, "is_compiled", when_compiled)
    return Counting(monkeypatch)


@pytest.fixture
def graph() -> mf.Graph:
    rng = np.random.default_rng(4)
    pairs = [pair for pair in combinations(range(40), 2) if rng.random() < 0.25]
    return mf.Graph.from_edges(pairs, directed=False, vertex_labels=rng.integers(0, 2, 40))


def count(graph: mf.Graph, device: str, **options: Any) -> mf.Count:
    found: mf.Count = mf.count(graph, PATH, device=device, tuning=SEARCH, **options)
    return found


def test_phases_that_were_faster_count_from_then_on(phases: Counting, graph: mf.Graph, device: str) -> None:
    expected = mf.count(graph, PATH, device="cpu")
    found = [count(graph, device) for _ in range(4)]
    assert found == [expected] * 4
    assert [one.engine for one in found] == ["dfs", "dfs", "pvm", "pvm"]
    assert "in an earlier call" in found[2].reason
    assert phases.calls == 5
    assert "pvm" in str(mf.explain(graph, PATH, device=device, tuning=SEARCH))
    limited = count(graph, device, limit=expected - 1)
    assert (limited, limited.engine) == (expected - 1, "dfs")
    with mf.match(graph, PATH, device=device, tuning=SEARCH) as rows:
        assert len(rows.to_numpy()) == expected
        assert rows.engine == "dfs"
    graph.forget()
    assert count(graph, device).engine == "dfs"


@pytest.mark.turns(4, "emulated")
def test_phases_that_were_slower_are_not_tried_again(
    phases: Counting, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "_TAKEN", 0.0)
    assert {count(graph, device).engine for _ in range(4)} == {"dfs"}
    assert phases.calls == 3


@pytest.mark.turns(4, "emulated")
def test_an_error_of_phases_leaves_the_answer(phases: Counting, graph: mf.Graph, device: str) -> None:
    expected = mf.count(graph, PATH, device="cpu")
    phases.error = DeviceMemoryError("tables", 8, 0, "raise gpu_memory")
    assert [count(graph, device) for _ in range(4)] == [expected] * 4
    assert phases.calls == 1


@pytest.mark.turns(4, "emulated")
def test_dfs_counts_again_where_phases_lack_memory(phases: Counting, graph: mf.Graph, device: str) -> None:
    expected = mf.count(graph, PATH, device="cpu")
    assert [count(graph, device).engine for _ in range(3)][-1] == "pvm"
    phases.error = DeviceMemoryError("tables", 8, 0, "raise gpu_memory")
    found = [count(graph, device) for _ in range(3)]
    assert found == [expected] * 3
    assert {one.engine for one in found} == {"dfs"}


@pytest.mark.turns(4, "emulated")
def test_counts_that_differ_are_an_error(phases: Counting, graph: mf.Graph, device: str) -> None:
    phases.more = 1
    expected = mf.count(graph, PATH, device="cpu")
    assert count(graph, device) == expected
    with pytest.raises(InternalError, match=f"expected {expected} in phases .* found {expected + 1}"):
        count(graph, device)


def test_a_try_ends_with_the_time_of_its_call(
    phases: Counting, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "_ROOM", 0.0)
    monkeypatch.setattr(comparison, "_COPIES", 0.0)
    assert count(graph, device, timeout=60.0).complete
    assert count(graph, device, timeout=60.0).complete
    assert phases.left, "phases were tried"
    assert max(phases.left) < 60


def test_nothing_is_tried_where_it_may_gain_nothing(
    phases: Counting, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:  # time is short
        patched.setattr(comparison, "_ROOM", 1e9)
        assert all(count(graph, device, timeout=60.0).complete for _ in range(3))
    assert phases.calls == 0
    for name in ("LEAST_SECONDS", "_START", "_TABLES"):
        monkeypatch.setattr(comparison, name, 1e9)
        assert {count(graph, device).engine for _ in range(3)} == {"dfs"}
        assert phases.calls == 0
        monkeypatch.setattr(comparison, name, 0.0)
    assert [count(graph, device).engine for _ in range(2)] == ["dfs", "pvm"]
