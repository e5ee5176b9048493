"""Devices that are opened on a thread of their own while the first call does other work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import motiflux as mf
from motiflux.device import begin_opening, open_device, register, registry
from motiflux.dispatch import choose

TRIANGLE = "(a)--(b)--(c)--(a)"


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
