"""Makes the emulator known as the device ``emulated``.

``MOTIFLUX_DEVICES=tests.simt.register:register motiflux count ... --device emulated`` runs the GPU's kernels
on the CPU from the command line, in a clone whose folder is on ``PYTHONPATH``.
"""

from __future__ import annotations

from motiflux.device import Device
from motiflux.device import register as register_device
from motiflux.engine.accelerator import Accelerator, register_accelerator
from motiflux.jit import Compiler, KernelCache
from tests.simt.emulated import open_emulated

NAME = "emulated"
PATIENCE = 4
"""Looks at a full ring before a group parks: a fiber that waits keeps a thread of the host busy."""


def register() -> None:
    register_device(NAME, open_device)
    register_accelerator(NAME, open_accelerator)


def open_device() -> Device:
    return open_emulated()[0]


def open_accelerator() -> Accelerator:
    device, toolchain = open_emulated()
    return Accelerator(
        device, Compiler(toolchain, KernelCache.from_environment()), compiles_eagerly=False, patience=PATIENCE
    )
