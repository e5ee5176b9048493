"""Compiles the emulator's own test kernels and runs them; also a program, for the runs under sanitizers.

usage: python -m tests.simt.harness IMAGE KERNEL COUNT
"""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motiflux.jit.base import Source
from motiflux.jit.compiler import HEADERS
from tests.simt.emulated import EmulatedDevice, EmulatedKernel, GxxToolchain, Scheduling

KERNELS = Path(__file__).parent / "kernels"
_toolchain = GxxToolchain()
Words = NDArray[np.uint64]


class Arguments(ctypes.Structure):
    # As kernels/arguments.hpp has it.
    _fields_ = (
        ("out", ctypes.c_uint64),
        ("in", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
        ("mask", ctypes.c_uint32),
        ("operand", ctypes.c_int32),
        ("width", ctypes.c_int32),
    )


@functools.cache
def image(unit: str, toolchain: GxxToolchain | None = None) -> bytes:
    source = Source(unit, (KERNELS / f"{unit}.cu").read_text())
    return (toolchain or _toolchain).build(source, (HEADERS, KERNELS)).image


def kernel(unit: str | Path, name: str, device: EmulatedDevice) -> EmulatedKernel:
    """Return a kernel of one of the units in `KERNELS`, or of an image in a file."""
    code = unit.read_bytes() if isinstance(unit, Path) else image(unit)
    return device.load(code, Path(unit).stem).kernel(name)


def run(
    unit: str | Path,
    name: str,
    words: int,
    *,
    given: Words | None = None,
    grid: int = 1,
    block: int = 32,
    shared: int = 0,
    device: EmulatedDevice | None = None,
    **arguments: int,
) -> Words:
    """Return the `words` words, zero before, that a kernel wrote."""
    device = device or EmulatedDevice()
    given = np.zeros(1, np.uint64) if given is None else given
    result = np.empty(words, np.uint64)
    out, into = device.allocate(result.nbytes, "output"), device.allocate(given.nbytes, "input")
    stream = device.stream()
    try:
        stream.clear(out)
        stream.upload(into, given)
        argument = Arguments(out.address, into.address, **arguments)
        stream.launch(kernel(unit, name, device), grid, block, shared, argument)
        stream.download(out, result)
        stream.wait()
    finally:
        stream.close()
    return result


def with_seed(seed: int, policy: str = "random") -> EmulatedDevice:
    return EmulatedDevice(scheduling=Scheduling(seed=seed, policy=policy))


if __name__ == "__main__":
    # What a kernel could do wrong here lies right behind these 32 words, or 32 bytes.
    run(Path(sys.argv[1]), sys.argv[2], 32, count=int(sys.argv[3]), shared=32, operand=2**31 - 1)
