"""Accelerators that tests of faults break."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from motiflux.device import Device, register, registry
from motiflux.gpu.runtime import accelerator
from motiflux.gpu.runtime.accelerator import Accelerator, register_accelerator
from motiflux.jit import Compiler, KernelCache
from tests.fault.benches import Bench, CountingToolchain, SharedDevice, real_gpu, toolchain_for

Connect = Callable[..., Bench]


@pytest.fixture
def no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process, no device was opened yet, and only ``cuda`` is known."""
    monkeypatch.delenv(registry.ENVIRONMENT, raising=False)
    monkeypatch.setattr(registry, "_registry", registry._Registry())
    monkeypatch.setattr(accelerator, "_open", {})
    monkeypatch.setattr(accelerator, "_makers", {})


@pytest.fixture
def connect(device: str, no_devices: None) -> Connect:
    """Return what makes an accelerator, in the place of one that was made before: on a new emulated device
    unless one is given, or on the GPU if that is tested.
    """

    def connect(on: Device | None = None, *, cache: Path | None = None, eager: bool = False) -> Bench:
        gpu = on or (real_gpu() if device == "cuda" else SharedDevice())
        bench = Bench(gpu, CountingToolchain(gpu.name, toolchain_for(gpu.name)))

        def make() -> Accelerator:
            return Accelerator(gpu, Compiler(bench.toolchain, KernelCache(cache)), eager)

        accelerator._open.clear()
        register(gpu.name, lambda: gpu)
        register_accelerator(gpu.name, make)
        return bench

    return connect


@pytest.fixture
def bench(connect: Connect) -> Bench:
    """Return an accelerator of the test's own."""
    return connect()
