"""Counts in parts that take longer than expected: a search that matches each vertex takes its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.gpu import engine as engines
from motiflux.gpu.engine import DfsEngine
from motiflux.plan import Plan, probe_parts
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.engine import Outcome

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about kernels")

TREE = "(a)--(b)--(c)--(a), (a)--(d)--(e), (b)--(f)"
TUNING = {"tables": "off", "bitmaps": "off"}


@pytest.fixture
def graph() -> mf.Graph:
    rng = np.random.default_rng(2)
    pairs = np.argwhere(np.triu(rng.random((24, 24)) < 0.3, 1))
    return mf.Graph.from_edges(pairs, num_vertices=24)


class Turns:
    """The searches of counts: the first ones end without a result, with this number of embeddings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, found: Sequence[int] = ()) -> None:
        self.in_parts: list[bool] = []
        self.seconds: list[float] = []
        self.found = [*found]
        count = DfsEngine._count

        def counted(self_: DfsEngine, graph: mf.Graph, physical: PhysicalPlan, *given: Any) -> Outcome:
            self.in_parts.append(engines._in_parts(physical))
            self.seconds.append(given[-1].left() or 0.0)
            if len(self.in_parts) <= len(self.found):
                return Outcome(self.found[len(self.in_parts) - 1], False)
            return count(self_, graph, physical, *given)

        monkeypatch.setattr(DfsEngine, "_count", counted)


@pytest.fixture(autouse=True)
def parts_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have planning take parts, and turns be long enough for the emulator."""

    def nested(bound: object, plans: Sequence[Plan], parts_cost: float) -> Plan:
        return next(plan for plan in plans if plan.tail is not None and plan.tail.nested)

    monkeypatch.setattr(probe_parts, "WORTH_PARTS", 0.0)
    monkeypatch.setattr(probe_parts, "_best", nested)
    monkeypatch.setattr(DfsEngine, "capabilities", replace(DfsEngine.capabilities, searchers=1))
    monkeypatch.setattr(engines, "LEAST_TURN", 60.0)


def count(graph: mf.Graph, device: str, **options: Any) -> mf.Count:
    found: mf.Count = mf.count(graph, TREE, device=device, engine="dfs", tuning=TUNING, **options)
    return found


def test_a_count_that_ends_in_its_turn_is_one_search(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(monkeypatch)
    assert count(graph, device) == mf.count(graph, TREE, device="cpu")
    assert turns.in_parts == [True]


def test_the_search_that_ends_begins_the_next_time(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = mf.count(graph, TREE, device="cpu")
    turns = Turns(monkeypatch, found=[5])
    assert [count(graph, device) for _ in range(2)] == [expected] * 2
    assert turns.in_parts == [True, False, False]
    assert turns.seconds[1] > 3 * turns.seconds[0]
    graph.forget()
    assert count(graph, device) == expected
    assert turns.in_parts[3:] == [True]


@pytest.mark.turns(2, "emulated")
def test_turns_go_on_until_time_is_up(graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mf.count(graph, TREE, device="cpu")
    turns = Turns(monkeypatch, found=[5, 7, 6])
    assert count(graph, device) == expected
    assert turns.in_parts == [True, False, True, False]
    monkeypatch.setattr(engines, "LEAST_TURN", 0.0)
    graph.forget()
    turns = Turns(monkeypatch, found=[5, 7, *[6] * 10_000_000])
    found = count(graph, device, timeout=0.3)
    assert (found, found.complete) == (7, False)
    assert len(turns.in_parts) > 1


@pytest.mark.turns(2, "emulated")
def test_a_search_that_is_cut_short_counts_nothing_twice(
    graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first turn is over before its kernel begins."""
    for name in ("LEAST_TURN", "_OVER_EXPECTED", "_COMPILATION"):
        monkeypatch.setattr(engines, name, 0.0)
    monkeypatch.setattr(engines, "_GROWTH", 4.0)
    expected = mf.count(graph, TREE, device="cpu")
    monkeypatch.setattr(engines, "LEAST_TURN", 1e-6)
    told: list[float] = []
    found = count(graph, device, progress=lambda report: told.append(report.done / max(1, report.total)))
    assert (found, found.complete) == (expected, True)
    assert told == sorted(told)
