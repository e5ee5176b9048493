"""The device under test, opened, and its kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiflux.device import open_device
from motiflux.jit.base import Source, Toolchain
from motiflux.jit.cache import KernelCache
from motiflux.jit.compiler import Compiler

if TYPE_CHECKING:
    from motiflux.device.base import Device, Kernel, Stream

SOURCE = Path(__file__).with_name("kernels.cu")


@pytest.fixture
def gpu(device: str) -> Device:
    """Return the device under test; it is the calling thread's."""
    return open_device(device)


@pytest.fixture
def stream(gpu: Device) -> Stream:
    """Return a stream of its own for the test."""
    return gpu.stream()


@pytest.fixture(scope="session")
def image_of(device: str) -> Callable[[Path], bytes]:
    """Return what compiles a file with test kernels for the device under test."""
    compiler = Compiler(_toolchain(device), KernelCache(None))

    @cache
    def compiled(path: Path) -> bytes:
        return compiler.compile(Source(path.stem, path.read_text())).image

    return compiled


@pytest.fixture(scope="session")
def image(image_of: Callable[[Path], bytes]) -> bytes:
    """Return the test kernels, compiled for the device under test."""
    return image_of(SOURCE)


@pytest.fixture
def kernel(gpu: Device, image: bytes) -> Callable[[str], Kernel]:
    """Return what gives a test kernel by its name."""
    return gpu.load(image, "the test kernels").kernel


def _toolchain(device: str) -> Toolchain:
    if device == "cuda":
        from motiflux.device.cuda import CudaDevice
        from motiflux.jit.nvrtc import NvrtcToolchain

        opened = open_device(device)
        assert isinstance(opened, CudaDevice)
        return NvrtcToolchain(opened.arch)
    from tests.simt.emulated import open_emulated

    return open_emulated()[1]
