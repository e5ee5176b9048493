"""Edges drawn on a device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from motiflux.codegen import layout
from motiflux.codegen.kernels import RMAT_ENTRY, rmat_source
from motiflux.device.arrays import DeviceArray
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.accelerator import open_accelerator

_THREADS = 256
_BLOCKS_OF_MULTIPROCESSOR = 8
_ROW_BYTES = 8
_USABLE = 0.9
"""Part of the free memory that a block may take: the driver hands it out in pieces."""


def rmat_blocks(
    parameters: layout.Rmat, num_rows: int, device: str, rows: int, budget: int | None
) -> Iterator[tuple[DeviceArray, DeviceArray]]:
    """Draw `num_rows` edges of an R-MAT graph on a device; see `Rmat.device_blocks`.

    Parameters
    ----------
    rows
        Edges of a block, at most.
    budget
        Most bytes to hold on the device; None: its free memory.
    """
    accelerator = open_accelerator(device)
    opened = accelerator.device
    opened.use()
    code = accelerator.compiler.wait(rmat_source())
    kernel = opened.load(code.image, code.name).kernel(RMAT_ENTRY)
    stream = opened.stream()  # released with the last array that was written on it
    if budget is not None:
        accelerator.reclaim(opened.used_memory() + 2 * rows * _ROW_BYTES - budget)
    free = int(_USABLE * opened.free_memory())
    room = free if budget is None else max(0, min(free, budget - opened.used_memory()))
    # Two blocks: the caller still holds the previous one when it takes the next.
    rows = min(rows, room // (2 * _ROW_BYTES))
    if rows == 0:
        raise DeviceMemoryError("two blocks of edges", 2 * _ROW_BYTES, room, "raise gpu_memory")
    for first in range(0, num_rows, rows):
        size = min(rows, num_rows - first)
        ends = DeviceArray.empty(opened, (2, size), np.uint32, "a block of edges", budget=budget)
        sources, targets = (
            DeviceArray(opened, ends.buffer, np.uint32, size, offset=4 * size * side, stream=stream)
            for side in (0, 1)
        )
        del ends
        argument = layout.RmatArgs(parameters, first, size, sources.address, targets.address)
        grid = min(opened.multiprocessors * _BLOCKS_OF_MULTIPROCESSOR, -(-size // _THREADS))
        stream.hold(sources.buffer)
        stream.launch(kernel, grid, _THREADS, 0, argument)
        yield sources, targets
        del sources, targets
