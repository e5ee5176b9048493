"""Rows of one partition on a device, and the search for the rows of vertices there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import pcsr as layout
from motiflux.codegen.pcsr import FindKernel
from motiflux.device import Buffer, Stream
from motiflux.gpu.pcsr.formats import HashPartition, IntervalPartition
from motiflux.gpu.pcsr.images import arrays_of, read_image, rows_at
from motiflux.gpu.runtime.accelerator import Accelerator

_WHAT = "a partition of the graph"
_WARP = 32
INDEX_BYTES = 32 << 10
"""Most bytes of shared memory of a block for the interval index."""


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Rows of a partition on a device.

    Parameters
    ----------
    rows
        The rows as kernels see them.
    index_bytes
        Bytes of the whole interval index in shared memory; 0 for a hash table.
    buffers
        Their memory.
    """

    rows: layout.IntervalRows | layout.HashRows = field(repr=False)
    index_bytes: int
    buffers: Sequence[Buffer] = field(repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(buffer.nbytes for buffer in self.buffers)


@dataclass(frozen=True)
class Grid:
    """Blocks of a launch, and threads of a block."""

    blocks: int
    threads: int


class RowFinder:
    """Copies partitions to a device, and finds rows there.

    Parameters
    ----------
    accelerator, stream, budget
        The device with its kernels, a stream, and the maximum number of bytes that motiflux holds there.
    """

    def __init__(self, accelerator: Accelerator, stream: Stream, budget: int | None = None) -> None:
        self._accelerator, self._stream, self._budget = accelerator, stream, budget
        self._total = self._array(np.zeros(1, np.uint64))

    def upload(self, part: IntervalPartition | HashPartition, renamed: Buffer | None = None) -> DeviceRows:
        """Copy the rows of a partition.

        Parameters
        ----------
        renamed
            The id of each vertex, of rows by intervals. None: vertices are asked for by the ids of the rows.

        Raises
        ------
        DeviceMemoryError
            They do not fit.
        """
        if isinstance(part, HashPartition):
            arrays = [self._array(part.words), self._array(part.neighbors)]
            table = layout.HashRows(*(one.address for one in arrays), part.groups, 0)
            return DeviceRows(table, 0, arrays)
        image = np.empty(part.nbytes // 4, np.uint32)
        read_image(arrays_of(part), 0, image)
        buffer = self._array(image)
        rows = rows_at(part, buffer.address, 0 if renamed is None else renamed.address)
        return DeviceRows(rows, part.index_bytes, [buffer, *([] if renamed is None else [renamed])])

    def upload_ids(self, renamed: NDArray[np.uint32]) -> Buffer:
        """Copy the ids of all vertices; raises the error of `upload`."""
        return self._array(renamed)

    def launch(
        self,
        rows: DeviceRows,
        count: int,
        *,
        vertices: Buffer | None = None,
        label: tuple[int, Buffer] | None = None,
        found: Buffer | None = None,
        grid: Grid | None = None,
        index_bytes: int = INDEX_BYTES,
        alone: bool = False,
    ) -> None:
        """Find the rows of `count` vertices: 0, 1, ..., or those of `vertices`.

        Parameters
        ----------
        label
            The label of the neighbours that are asked for, and the labels of all vertices.
        found
            Room for `count` elements of `FOUND_ROW`.
        grid
            Blocks and threads; by default all of the device.
        index_bytes
            Most bytes of the interval index in shared memory.
        alone
            Whether each lane finds the row of a vertex; if not, a warp does. Without `label` only.
        """
        by_hash = isinstance(rows.rows, layout.HashRows)
        assert not alone or label is None, "groups of labels are found by a warp"
        entry = FindKernel[("HASH" if by_hash else "INTERVAL") + ("_ALONE" if alone else "")]
        args: Any = (layout.FindByHash if by_hash else layout.FindByInterval)()
        args.rows = rows.rows
        args.vertices = 0 if vertices is None else vertices.address
        args.labels, args.label = (0, 0) if label is None else (label[1].address, label[0])
        args.found, args.total = 0 if found is None else found.address, self._total.address
        args.count = count
        shared = 0 if by_hash else min(max(rows.index_bytes, 4), index_bytes)
        args.index_words = shared // 4
        warps = layout.FIND_THREADS // _WARP
        most = 8 * self._accelerator.device.multiprocessors
        chosen = grid or Grid(max(1, min(most, -(-count // warps))), layout.FIND_THREADS)
        kernel = self._accelerator.kernels(layout.pcsr_source(), FindKernel)[entry]
        for buffer in (*rows.buffers, self._total, vertices, found, None if label is None else label[1]):
            if buffer is not None:
                self._stream.hold(buffer)
        self._stream.launch(kernel, chosen.blocks, chosen.threads, shared, args)

    def find(self, rows: DeviceRows, vertices: NDArray[np.uint32], **options: Any) -> list[tuple[int, int]]:
        """Return place and length of the row of each vertex; takes the options of `launch`."""
        asked = self._array(vertices)
        found = np.zeros(len(vertices), layout.FOUND_ROW)
        there = self._array(found)
        self.launch(rows, len(vertices), vertices=asked, found=there, **options)
        if len(found):
            self._stream.download(there, found)
        self._stream.wait()
        return [(int(row["first"]), int(row["size"])) for row in found]

    def _array(self, array: NDArray[Any]) -> Buffer:
        device = self._accelerator.device
        buffer = device.allocate(max(array.nbytes, 8), _WHAT, budget=self._budget)
        self._stream.hold(buffer)
        if array.nbytes:
            self._stream.upload(buffer, np.ascontiguousarray(array).view(np.uint8))
        self._stream.wait()  # the array may be freed now
        return buffer
