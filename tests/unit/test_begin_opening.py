"""Devices that are opened on a thread of their own while the first call does other work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import motiflux as mf
from motiflux.device import begin_opening, open_device, register, registry
from motiflux.dispatch import choose
from motiflux.gpu.runtime.accelerator import _open, begin_accelerator, open_accelerator
from motiflux.jit import Compiler, Source
from motiflux.plan.planner import plan_with
from tests.unit.jit_cases import run_python

TRIANGLE = "(a)--(b)--(c)--(a)"
PATH = "(a)--(b)--(c)"
ENGINES = ("auto", "dfs", "outofcore")


class Opened:
    """A device that nothing is done with."""

    def use(self) -> None:
        """Do nothing."""


@pytest.fixture
def registered() -> Iterator[Callable[[str, Callable[[], Any]], None]]:
    """Register devices; they are gone after the test."""
    names: list[str] = []

    def add(name: str, factory: Callable[[], Any]) -> None:
        names.append(name)
        register(name, factory)

    yield add
    for name in names:
        registry._registry.factories.pop(name)
        for key in [key for key in registry._registry.opened if key[0] == name]:
            registry._registry.opened.pop(key)


def test_a_device_is_opened_once_by_the_thread_that_began(registered: Any) -> None:
    threads, go_on = [], threading.Event()

    def factory() -> Opened:
        threads.append(threading.current_thread())
        assert go_on.wait(60)
        return Opened()

    registered("slow", factory)
    begin_opening("slow")
    threading.Timer(0.05, go_on.set).start()
    device = open_device("slow")
    begin_opening("slow")
    assert open_device("slow") is device
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


def test_the_error_of_a_device_is_raised_where_it_is_asked_for(registered: Any) -> None:
    tried = threading.Event()

    def factory() -> Opened:
        tried.set()
        raise mf.DeviceError("device 'broken': no such thing")

    registered("broken", factory)
    begin_opening("broken")
    assert tried.wait(60)
    with pytest.raises(mf.DeviceError, match="no such thing"):
        open_device("broken")
    begin_opening("none of this name")
    with pytest.raises(mf.ArgumentError):
        open_device("none of this name")


def square() -> mf.Graph:
    return mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the patterns that are planned."""
    made: list[str] = []

    def noting(graph: mf.Graph, pattern: mf.Pattern, *rest: Any) -> Any:
        made.append(str(pattern))
        return plan_with(graph, pattern, *rest)

    monkeypatch.setattr("motiflux.request.planning.plan_with", noting)
    return made


def opens_after(condition: Callable[[], object], seconds: float = 60.0) -> Callable[[], Any]:
    """Return what finds a device broken, the first time once a condition holds or time is up."""
    waited = threading.Event()

    def factory() -> Opened:
        until = time.monotonic() + seconds
        while not (waited.is_set() or condition() or time.monotonic() > until):
            time.sleep(0.005)
        waited.set()
        raise mf.DeviceError("a broken device")

    return factory


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("call", [mf.count, mf.match])
def test_a_pattern_is_planned_while_the_device_is_opened(
    call: Any, engine: str, registered: Any, planned: list[str]
) -> None:
    registered("slow", opens_after(lambda: bool(planned)))
    with pytest.raises(mf.DeviceError, match="broken"):
        call(square(), TRIANGLE, device="slow", engine=engine)
    assert planned, "nothing was planned before the device was open"


def test_patterns_of_a_list_are_planned_until_the_device_is_open(registered: Any, planned: list[str]) -> None:
    first, second = (str(mf.Pattern.parse(text)) for text in (PATH, TRIANGLE))
    registered("slow", opens_after(lambda: second in planned))
    with pytest.raises(mf.DeviceError, match="broken"):
        mf.count(square(), [PATH, TRIANGLE], device="slow")
    assert planned.index(first) < planned.index(second)


def test_no_more_is_planned_once_the_device_is_open(registered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[mf.Pattern] = []

    def ahead(graph: mf.Graph, pattern: mf.Pattern, *_: Any, **__: Any) -> None:
        asked.append(pattern)
        for thread in threading.enumerate():
            if thread.name.endswith("slow"):
                thread.join(60)

    registered("slow", opens_after(lambda: asked))
    monkeypatch.setattr("motiflux.gpu.outofcore.fitting.plan_ahead", ahead)
    with pytest.raises(mf.DeviceError, match="broken"):
        mf.count(square(), [PATH] * 5, device="slow")
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("call", "arguments", "error"),
    [
        (mf.count, {"pattern": "(a)-->(b)"}, mf.PatternError),
        (mf.count, {"pattern": [PATH, "(a)-->(b)"]}, mf.PatternError),
        (mf.match, {"pattern": "(a)-->(b)"}, mf.PatternError),
        (mf.count, {"pattern": PATH, "symmetry": "subgraphs", "semantics": "homomorphism"}, mf.ArgumentError),
    ],
    ids=["count", "list", "match", "symmetry"],
)
def test_an_error_in_a_pattern_is_that_of_the_device_if_it_cannot_be_opened(
    call: Any, arguments: dict[str, Any], error: type[Exception], registered: Any, planned: list[str]
) -> None:
    registered("slow", opens_after(lambda: bool(planned), 0.5))
    with pytest.raises(mf.DeviceError, match="broken"):
        call(square(), device="slow", **arguments)
    with pytest.raises(error):
        call(square(), device="cpu", **arguments)


def test_a_listing_whose_time_is_limited_is_planned_when_its_time_has_begun(
    registered: Any, planned: list[str]
) -> None:
    registered("slow", opens_after(lambda: bool(planned), 0.3))
    with pytest.raises(mf.DeviceError, match="broken"):
        mf.match(square(), TRIANGLE, device="slow", timeout=60.0)
    assert not planned


def test_planning_does_not_delay_the_error_where_there_is_no_gpu(
    planned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        raise mf.DeviceError("the engine was asked for")

    monkeypatch.setattr(choose, "why_no_gpu", lambda: "no GPU was found")
    monkeypatch.setattr(choose, "begin_opening", lambda name: True)
    monkeypatch.setattr(choose, "open_engine", opened)
    for device in ("cuda", "cuda:1"):
        with pytest.raises(mf.DeviceError, match="the engine was asked for"):
            mf.count(square(), TRIANGLE, device=device)
    assert not planned


def test_an_interrupt_while_patterns_are_planned_ends_the_call(
    registered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ahead(*_: Any, **__: Any) -> None:
        go_on.set()
        raise KeyboardInterrupt

    go_on = threading.Event()
    registered("slow", opens_after(go_on.is_set))
    monkeypatch.setattr("motiflux.gpu.outofcore.fitting.plan_ahead", ahead)
    with pytest.raises(KeyboardInterrupt):
        mf.count(square(), TRIANGLE, device="slow")


@pytest.mark.parametrize("call", [mf.count, mf.match])
def test_a_call_begins_to_open_its_device_before_it_imports_the_engine(
    call: Any, registered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = threading.Event()

    def factory() -> Opened:
        opening.set()
        return Opened()

    def imported(*_: object) -> None:
        assert opening.wait(60), "nobody opens the device"
        raise mf.DeviceError("the engine was asked for")

    registered("slow", factory)
    monkeypatch.setattr(choose, "open_engine", imported)
    with pytest.raises(mf.DeviceError, match="the engine was asked for"):
        call(mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)]), TRIANGLE, device="slow")


class Compiling(Opened):
    """A device that kernels are compiled for."""

    name, arch = "compiling", "sm_90"

    def add_reclaimer(self, reclaim: Callable[[int], int]) -> None:
        """Do nothing."""


def test_common_kernels_are_compiled_once_a_call_has_planned(
    registered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    begun: list[str] = []

    def known(_: Compiler, source: Source) -> bool:
        looked.append(source.name)
        return False

    monkeypatch.setattr(Compiler, "known", known)
    monkeypatch.setattr(Compiler, "submit", lambda _, source: begun.append(source.name) or Future())
    registered("compiling", Compiling)
    try:
        thread = begin_accelerator("compiling")
        assert thread is not None
        thread.join(60)
        assert len(looked) == 2
        assert not begun
        accelerator = open_accelerator("compiling")
        assert begun == looked[:2]
        assert open_accelerator("compiling") is accelerator
        assert len(begun) == 2
    finally:
        _open.pop("compiling", None)


def test_a_count_on_a_gpu_imports_no_engine_of_monitors() -> None:
    script = """
import sys
from motiflux.request.registry import AUTO_ON_GPU
__import__(AUTO_ON_GPU)
print([name for name in sys.modules if "gpu.changing" in name or name == "motiflux.gpu.outofcore.engine"])
"""
    assert run_python(script)[:2] == (0, "[]\n")
