"""Planning while a device is opened: what it leaves with the graph is what the engine's plan needs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest

import motiflux as mf
from motiflux.device import open_device, register, registry
from motiflux.gpu.runtime import accelerator
from motiflux.gpu.runtime.accelerator import open_accelerator, register_accelerator
from motiflux.plan import planner
from motiflux.request.deadline import Deadline
from motiflux.request.registry import AUTO_ON_GPU, ENGINES
from motiflux.request.request import Request, make_request
from tests.device.test_job_pool import HOUSE, random_graph

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the engine of the CPU has nothing to wait for")

CLIQUE = "(a)--(b)--(c)--(a)"
CYCLE = "(a)--(b)--(c)--(d)--(a)"
WHEEL = "(a)--(b)--(c)--(d)--(a), (h)--(a), (h)--(b), (h)--(c), (h)--(d)"


def asking(device: str, engine: str) -> Request:
    return make_request(semantics="isomorphism", symmetry="embeddings", device=device, engine=engine)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the patterns whose plans are made, not found."""
    plans, make = [], planner._make_plan

    def noting(graph: mf.Graph, pattern: mf.Pattern, *rest: Any) -> Any:
        plans.append(str(pattern))
        return make(graph, pattern, *rest)

    monkeypatch.setattr(planner, "_make_plan", noting)
    return plans


@pytest.mark.parametrize("engine", ["auto", "dfs", "outofcore"])
@pytest.mark.parametrize("counting", [True, False], ids=["count", "rows"])
@pytest.mark.parametrize("text", [CLIQUE, CYCLE, HOUSE, "(a)--(b)"], ids=["clique", "cycle", "house", "edge"])
def test_the_engine_finds_the_plan_that_was_made_ahead(
    text: str, counting: bool, engine: str, device: str, made: list[str]
) -> None:
    graph, pattern = random_graph(7), mf.Pattern.parse(text)
    request, deadline = asking(device, engine), Deadline.after(None)
    module = import_module(AUTO_ON_GPU if engine == "auto" else ENGINES[engine].module)
    module.plan_ahead(graph, pattern, request, deadline, counting=counting)
    assert made
    made.clear()
    on = module.open_engine([device])
    plan = on.plan(graph, pattern, request, deadline, counting=counting)
    assert not made
    graph.forget()
    assert str(on.plan(graph, pattern, request, deadline, counting=counting)) == str(plan)


def test_no_parts_are_looked_for_ahead_where_bitmaps_may_be_faster(device: str, made: list[str]) -> None:
    graph, pattern = random_graph(7), mf.Pattern.parse(WHEEL)
    request, deadline = asking(device, "dfs"), Deadline.after(None)
    module = import_module(ENGINES["dfs"].module)
    module.plan_ahead(graph, pattern, request, deadline)
    ahead = len(made)
    module.open_engine([device]).plan(graph, pattern, request, deadline)
    assert (ahead, made.count(str(pattern)) >= ahead) == (1, True)


@dataclass
class Slow:
    """A device that opens, and then its compiler, when something holds; and whether it ever held."""

    device: str
    holds: Callable[[], object] = bool
    held: list[bool] = field(default_factory=list)

    def opened(self) -> Any:
        return open_device(self.device)

    def compiler(self) -> Any:
        until = time.monotonic() + 30
        while not (found := bool(self.holds())) and time.monotonic() < until:
            time.sleep(0.005)
        self.held.append(found)
        return open_accelerator(self.device)


@pytest.fixture
def slow(device: str) -> Iterator[Slow]:
    """Return the device ``slow``, which is gone after the test."""
    open_accelerator(device)  # that of ``slow`` is this one: opening takes a lock
    there = Slow(device)
    register("slow", there.opened)
    register_accelerator("slow", there.compiler)
    yield there
    registry._registry.factories.pop("slow")
    registry._registry.opened.pop(("slow", os.getpid()), None)
    accelerator._makers.pop("slow")
    accelerator._open.pop("slow", None)


@pytest.mark.parametrize("engine", ["auto", "dfs", "outofcore"])
@pytest.mark.parametrize("text", [CLIQUE, CYCLE, HOUSE], ids=["clique", "cycle", "house"])
def test_a_count_is_planned_while_the_compiler_is_loaded_and_is_exact(
    text: str, engine: str, slow: Slow, made: list[str]
) -> None:
    graph = random_graph(3)
    expected = int(mf.count(graph, text, device="cpu"))
    graph.forget()
    made.clear()
    slow.holds = lambda: made
    assert int(mf.count(graph, text, device="slow", engine=engine)) == expected
    assert slow.held == [True]


def test_rows_are_planned_while_the_compiler_is_loaded(slow: Slow, made: list[str]) -> None:
    graph = random_graph(3)
    slow.holds = lambda: made
    rows = mf.match(graph, HOUSE, device="slow").to_numpy()
    assert slow.held == [True]
    assert sorted(rows.tolist()) == sorted(mf.match(graph, HOUSE, device="cpu").to_numpy().tolist())


def test_the_first_calls_of_two_threads_open_a_device_once(slow: Slow) -> None:
    graph, found = random_graph(3), []
    waiting = threading.Barrier(2)

    def call() -> None:
        waiting.wait(60)
        found.append(int(mf.count(graph, HOUSE, device="slow")))

    threads = [threading.Thread(target=call) for _ in range(2)]
    slow.holds = lambda: True
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [int(mf.count(graph, HOUSE, device="cpu"))] * 2
    assert len(slow.held) == 1


def test_an_error_in_a_pattern_is_raised_once_the_device_is_open(slow: Slow) -> None:
    slow.holds = lambda: True
    graph = random_graph(3)
    with pytest.raises(mf.PatternError, match="directed"):
        mf.count(graph, "(a)-->(b)", device="slow")
    with pytest.raises(mf.PatternError, match=r"pattern\[1\]: .*directed"):
        mf.count(graph, [HOUSE, "(a)-->(b)"], device="slow")
    assert slow.held == [True]


def test_time_that_is_up_while_a_pattern_is_planned_ends_the_count(slow: Slow) -> None:
    slow.holds = lambda: True
    found = mf.count(random_graph(3), HOUSE, device="slow", timeout=0.0)
    assert (int(found), found.complete) == (0, False)
