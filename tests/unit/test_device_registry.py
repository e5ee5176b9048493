"""Devices by name."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types

import pytest

from motiflux import device as devices
from motiflux.device import registry
from motiflux.errors import ArgumentError, DeviceError


class Example:
    """What the registry asks of a device."""

    name = "example"

    def __init__(self) -> None:
        self.used = 0

    def use(self) -> None:
        self.used += 1


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", registry._Registry())
    monkeypatch.delenv("MOTIFLUX_DEVICES", raising=False)


def test_a_device_is_opened_once_and_made_current_at_each_use() -> None:
    opened: list[Example] = []

    def factory() -> Example:
        opened.append(Example())
        return opened[-1]

    devices.register("example", factory)  # type: ignore[arg-type]
    assert devices.open_device("example") is devices.open_device("example")
    assert len(opened) == 1
    assert opened[0].used == 2


def test_threads_that_open_at_once_get_one_device() -> None:
    opened: list[Example] = []
    barrier = threading.Barrier(4)
    found: list[object] = []

    def factory() -> Example:
        opened.append(Example())
        return opened[-1]

    def work() -> None:
        barrier.wait()
        found.append(devices.open_device("example"))

    devices.register("example", factory)  # type: ignore[arg-type]
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1
    assert all(device is opened[0] for device in found)


def test_an_unknown_name_is_refused_with_those_known() -> None:
    with pytest.raises(ArgumentError, match=r"device: expected one of cuda, found 'quantum'"):
        devices.open_device("quantum")


@pytest.mark.parametrize("name", ["", "cpu", "auto"])
def test_names_that_mean_something_else_cannot_be_registered(name: str) -> None:
    with pytest.raises(ArgumentError, match="name: expected"):
        devices.register(name, Example)  # type: ignore[arg-type]


def test_a_device_that_does_not_open_is_tried_again() -> None:
    tries: list[int] = []

    def factory() -> Example:
        tries.append(1)
        if len(tries) == 1:
            raise DeviceError("not yet")
        return Example()

    devices.register("example", factory)  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match="not yet"):
        devices.open_device("example")
    assert devices.open_device("example") is not None


def test_the_environment_names_functions_that_register_more(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def add() -> None:
        calls.append(1)
        devices.register("added", Example)  # type: ignore[arg-type]

    module = types.ModuleType("example_devices")
    module.add = add  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "example_devices", module)
    monkeypatch.setenv("MOTIFLUX_DEVICES", " example_devices:add ,")
    assert devices.known_devices() == ("cuda", "added")
    devices.open_device("added")
    assert len(calls) == 1


@pytest.mark.parametrize("entry", ["no_such_module_here:add", "os:no_such_function", "os", ":add"])
def test_an_entry_that_cannot_be_called_is_named_each_time(
    entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTIFLUX_DEVICES", entry)
    for _ in range(2):
        with pytest.raises(DeviceError, match=f"MOTIFLUX_DEVICES: expected module:function.*{entry}"):
            devices.known_devices()


def test_the_device_package_imports_no_gpu_package() -> None:
    code = (
        "import sys, motiflux.device.cuda, motiflux.device.arrays;"
        "sys.exit(any(name.split('.')[0] in ('cuda', 'cupy') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False).returncode == 0
