"""Rows in device memory as arrays of ids, with their images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.codegen.kernels import NUMBER_ENTRY, THREADS, number_source
from motiflux.device.arrays import DeviceArray
from motiflux.gpu.runtime.job import AnyJob
from motiflux.request.deadline import Deadline
from motiflux.types import VertexArray

_TILE_BYTES = 8 << 10
"""Bytes of ids in shared memory: 16 blocks of a multiprocessor use half of an H100's."""
_TILE_CELLS = 1 << 12
"""Approximate cells of a tile that a block writes: few rows with many images keep all blocks busy too."""
_BLOCKS = 16
"""Blocks of a multiprocessor."""
_ID_BYTES = 8


class DeviceIds:
    """Makes arrays of ids from rows that kernels stored, beside the kernel if it still runs.

    Parameters
    ----------
    job
        The job that found the rows.
    sources
        For each cell of the images of a row, [images, columns], its column in the stored row.
    ids
        Ids of all vertices.
    budget
        Maximum number of bytes that motiflux holds on the device.
    deadline
        Deadline for the compilation of the kernel.

    Raises
    ------
    DeviceMemoryError
        The ids do not fit.
    OutOfTimeError
        The kernel is not compiled by the deadline.
    """

    def __init__(
        self,
        job: AnyJob,
        sources: VertexArray,
        ids: NDArray[np.int64],
        budget: int | None,
        deadline: Deadline,
    ) -> None:
        device, stream = job.accelerator.device, job.session.side
        self._kernel = job.accelerator.kernel(number_source(), deadline, NUMBER_ENTRY)
        self._job = job
        self._budget = budget
        self._columns = sources.shape[1]
        self._image_cells = sources.size
        self._ids = DeviceArray.from_numpy(device, ids, stream, "the ids of vertices", budget=budget)
        cells = sources.ravel().astype(np.uint8)
        self._sources = DeviceArray.from_numpy(device, cells, stream, "the images of a row", budget=budget)

    def empty(self, rows: int) -> DeviceArray:
        """Return an uninitialized array for `rows` rows of ids."""
        device = self._job.accelerator.device
        return DeviceArray.empty(device, (rows, self._columns), np.int64, "rows of ids", budget=self._budget)

    def write(self, address: int, out: DeviceArray, capacity: int = 0) -> None:
        """Write the images of the rows at `address` one after the other until `out` is full.

        Parameters
        ----------
        capacity
            Vertices of a stored column, if rows are stored in columns; 0: one after another.
        """
        accelerator, stream = self._job.accelerator, self._job.session.side
        stream.hold(out.buffer)
        row_bytes = _ID_BYTES * self._columns
        tile_rows = max(1, min(_TILE_BYTES // row_bytes, _TILE_CELLS // self._image_cells))
        tiles = -(-out.size // (tile_rows * self._image_cells))
        args = layout.NumberArgs(
            vertices=address,
            ids=self._ids.address,
            sources=self._sources.address,
            out=out.address,
            cells=out.size,
            capacity=capacity,
            columns=self._columns,
            image_cells=self._image_cells,
            tile_rows=tile_rows,
        )
        grid = max(1, min(_BLOCKS * accelerator.device.multiprocessors, tiles))
        stream.launch(self._kernel, grid, THREADS, tile_rows * row_bytes, args)
