"""Makes the emulator known as the devices ``emulated``, ``emulated:1`` and ``emulated:2``.

``MOTIFLUX_DEVICES=tests.simt.register:register motiflux count ... --device emulated`` runs the GPU's kernels
on the CPU from the command line, in a clone whose folder is on ``PYTHONPATH``.
"""

from __future__ import annotations

import os
from functools import cache, partial

from motiflux.device import Device
from motiflux.device import register as register_device
from motiflux.gpu.runtime.accelerator import Accelerator, register_accelerator
from motiflux.jit import Compiler, KernelCache
from tests.simt.emulated import open_emulated

NAME = "emulated"
NUMBER = 3
"""How many emulated devices this machine has."""


def register() -> None:
    for ordinal in range(NUMBER):
        name = f"{NAME}:{ordinal}" if ordinal else NAME
        register_device(name, partial(open_device, ordinal))
        register_accelerator(name, partial(open_accelerator, ordinal))


def open_device(ordinal: int = 0) -> Device:
    return open_emulated(ordinal)[0]


def open_accelerator(ordinal: int = 0) -> Accelerator:
    compiler = _compiler(os.getpid())
    return Accelerator(open_device(ordinal), compiler, compiles_eagerly=False)


@cache
def _compiler(process: int) -> Compiler:
    """Return what compiles for all of them; a child of a fork gets its own."""
    return Compiler(open_emulated()[1], KernelCache.from_environment())
