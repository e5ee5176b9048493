"""Accelerators for tests that break them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.device import Device
from motiflux.jit import BuildError, Built, NvrtcToolchain, Source, Toolchain
from tests.simt.emulated import EmulatedDevice, GxxToolchain

LOG = "line 1: the first complaint\nline 2: the last complaint"
"""What a toolchain says of units that it is told to refuse."""

_images: dict[tuple[str, Source], Built] = {}


def held_by(device: Any) -> int:
    """Return the bytes that are held, once all streams are idle and what was let go has come back."""
    device.use()
    device._retirement.add((), lambda: None)
    assert not device._retirement.drain(20.0), "a stream does not come to its end"
    gc.collect()
    assert not device._retirement.drain(20.0), "memory does not come back"
    return int(device.used_memory())


class CountingToolchain:
    """Compiles each unit once per process, lists what it was asked for, and refuses what it is told to.

    Parameters
    ----------
    name
        The device to compile for.
    real
        What compiles for it.
    """

    def __init__(self, name: str, real: Toolchain) -> None:
        self._name = name
        self._real = real
        self.asked: list[str] = []
        self.refuses: Callable[[Source], bool] = lambda source: False

    def identity(self) -> Mapping[str, str]:
        return self._real.identity()

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        self.asked.append(source.name)
        if self.refuses(source):
            raise BuildError(LOG)
        key = (self._name, source)
        if key not in _images:
            _images[key] = self._real.build(source, include)
        return _images[key]


class SharedDevice(EmulatedDevice):
    """An emulated device that others use too: what they hold, motiflux cannot have.

    Parameters
    ----------
    unseen
        Bytes that it says are free though others have them by then.
    """

    def __init__(self, memory: int = 1 << 30, unseen: int = 0) -> None:
        super().__init__(memory, multiprocessors=4)
        self.unseen = unseen

    def leave(self, nbytes: int) -> None:
        """Have others hold all but so many bytes beside what motiflux holds now."""
        self._memory = held_by(self) + nbytes

    def free_memory(self) -> int:
        return super().free_memory() + self.unseen


@dataclass
class Bench:
    """A device that engines find by its name, and what compiles for it."""

    device: Device
    toolchain: CountingToolchain

    @property
    def name(self) -> str:
        """As ``device=`` takes it."""
        return self.device.name

    def held(self, *graphs: mf.Graph) -> int:
        """Return the bytes that are held once the copies of `graphs` are forgotten."""
        for graph in graphs:
            graph.forget()
        return held_by(self.device)


@cache
def real_gpu() -> Device:
    """Return the GPU, opened apart from what other tests use."""
    from motiflux.device.cuda import open_device

    return open_device()


@cache
def toolchain_for(name: str) -> Toolchain:
    """Return what compiles for a device."""
    if name == "cuda":
        gpu = real_gpu()
        return NvrtcToolchain(gpu.arch)  # type: ignore[attr-defined]
    return GxxToolchain()
