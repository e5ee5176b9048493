"""A device that only loads images, for tests of which image is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from motiflux.errors import DeviceError, DeviceMemoryError


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel, known by its image."""

    image: bytes
    name: str


@dataclass(frozen=True)
class LoadedModule:
    """A loaded image."""

    image: bytes

    def kernel(self, name: str) -> LoadedKernel:
        return LoadedKernel(self.image, name)


class LoadingDevice:
    """Loads images but for those that it refuses, or none if it is full."""

    name = "loading"

    def __init__(self, refused: Sequence[bytes] = (), *, full: bool = False) -> None:
        self.refused = refused
        self.full = full
        self.loaded: list[bytes] = []

    def add_reclaimer(self, reclaim: Any) -> None:
        pass

    def load(self, image: bytes, name: str) -> LoadedModule:
        self.loaded.append(image)
        if self.full:
            raise DeviceMemoryError("a kernel", needed=len(image), available=0, advice="free some")
        if image in self.refused:
            raise DeviceError(f"{name}: refused")
        return LoadedModule(image)
