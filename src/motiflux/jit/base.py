"""Units to compile, compiled images, and the interface of a toolchain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

QUICK = "--Ofast-compile=mid"
"""The option of `Source.quick`."""


@dataclass(frozen=True, slots=True)
class Source:
    """One translation unit.

    Parameters
    ----------
    name
        Short name for file names and messages: letters, digits, ``-`` and ``_``.
    text
        The C++ text; it may include motiflux' headers.
    options
        Compiler options of this unit, in addition to the options of the toolchain.
    description
        The purpose of the unit, as text (for a search: its plan). Shown if it does not compile; not
        compiled.
    """

    name: str
    text: str
    options: tuple[str, ...] = ()
    description: str = field(default="", compare=False)

    def quick(self) -> Source:
        """Return the unit with an option that shortens its compilation, but slows its code."""
        return replace(self, name=f"{self.name}-quick", options=(*self.options, QUICK))


@dataclass(frozen=True, slots=True)
class Built:
    """The output of a toolchain: the binary image, and the messages."""

    image: bytes
    log: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled unit.

    Parameters
    ----------
    name
        Name of the source.
    image
        The binary: a cubin, or a shared library for the emulator.
    key
        Digest of all inputs of the compilation; empty for an image from the package.
    log
        Messages of the toolchain; empty for an image from the cache.
    cached
        Whether the image was read from the cache or from the package.
    prebuilt
        Whether the image came with the package.
    seconds
        Wall-clock seconds of compiling or reading.
    """

    name: str
    image: bytes = field(repr=False)
    key: str
    log: str = field(default="", repr=False, compare=False)
    cached: bool = field(default=False, compare=False)
    prebuilt: bool = field(default=False, compare=False)
    seconds: float = field(default=0.0, compare=False)


class BuildError(Exception):
    """A toolchain refused a unit; `log` has all its messages."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


class Toolchain(Protocol):
    """Turns text into binary images for one kind of device."""

    def identity(self) -> Mapping[str, str]:
        """Return all inputs of the compilation beside source and headers: versions, target, options."""

    def build(self, source: Source, include: tuple[Path, ...]) -> Built:
        """Compile `source` with headers from `include`; raise `BuildError` if it is refused."""
