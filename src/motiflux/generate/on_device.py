"""Edges drawn on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from motiflux.arguments import check_bytes, check_integer
from motiflux.codegen import layout
from motiflux.codegen.kernels import RMAT_ENTRY, rmat_source
from motiflux.device.arrays import DeviceArray
from motiflux.errors import ArgumentError, DeviceMemoryError
from motiflux.gpu.runtime.accelerator import open_accelerator

if TYPE_CHECKING:
    from motiflux.generate.quadrants import Rmat

_THREADS = 256
_BLOCKS_OF_MULTIPROCESSOR = 8
_ROW_BYTES = 8
_USABLE = 0.9
"""Part of the free memory that a block may take: the driver hands it out in pieces."""


def rmat_blocks(
    rmat: Rmat, device: str, rows: int, gpu_memory: int | str | None
) -> Iterator[tuple[DeviceArray, DeviceArray]]:
    """Draw on a device; see `Rmat.device_blocks`."""
    check_integer("rows", rows, 1)
    budget = None if gpu_memory is None else check_bytes("gpu_memory", gpu_memory)
    if rmat.drops_duplicates:
        raise ArgumentError("duplicates", "'keep' on a device", rmat.duplicates)
    return _drawn(rmat, device, rows, budget)


def _drawn(
    rmat: Rmat, device: str, rows: int, budget: int | None
) -> Iterator[tuple[DeviceArray, DeviceArray]]:
    accelerator = open_accelerator(device)
    opened = accelerator.device
    opened.use()
    code = accelerator.compiler.wait(rmat_source())
    kernel = opened.load(code.image, code.name).kernel(RMAT_ENTRY)
    stream = opened.stream()  # goes when the last array that was written on it goes
    if budget is not None:
        accelerator.reclaim(opened.used_memory() + 2 * rows * _ROW_BYTES - budget)
    free = int(_USABLE * opened.free_memory())
    room = free if budget is None else max(0, min(free, budget - opened.used_memory()))
    # Two at once: whoever asks for the next block still has the one before.
    rows = min(rows, room // (2 * _ROW_BYTES))
    if rows == 0:
        raise DeviceMemoryError("two blocks of edges", 2 * _ROW_BYTES, room, "raise gpu_memory")
    for first in range(0, rmat.num_rows, rows):
        size = min(rows, rmat.num_rows - first)
        ends = DeviceArray.empty(opened, (2, size), np.uint32, "a block of edges", budget=budget)
        sources, targets = (
            DeviceArray(opened, ends.buffer, np.uint32, size, offset=4 * size * side, stream=stream)
            for side in (0, 1)
        )
        del ends
        argument = layout.RmatArgs(rmat.parameters(), first, size, sources.address, targets.address)
        grid = min(opened.multiprocessors * _BLOCKS_OF_MULTIPROCESSOR, -(-size // _THREADS))
        stream.hold(sources.buffer)
        stream.launch(kernel, grid, _THREADS, 0, argument)
        yield sources, targets
        del sources, targets
