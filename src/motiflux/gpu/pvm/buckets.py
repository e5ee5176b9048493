"""Frontiers sorted by the tiles of the table that the next phase reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import pvm as layout
from motiflux.codegen.pvm import BATCH, THREADS, BucketKernel, bucket_source
from motiflux.device import Buffer, Stream
from motiflux.gpu.pvm.frontiers import Frontier
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.request.deadline import Deadline

_BLOCKS_OF_MULTIPROCESSOR = 8


class Buckets:
    """Sorts frontiers on a device.

    Parameters
    ----------
    stream
        The stream of the search.
    renamed
        Address of the ids of all vertices in tables; 0: those of the graph.
    most_tiles
        Most tiles of a table.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        stream: Stream,
        renamed: int,
        most_tiles: int,
        budget: int | None,
        deadline: Deadline,
    ) -> None:
        self._stream, self._renamed = stream, renamed
        self._uploading: tuple[NDArray[Any], ...] = ()
        device = accelerator.device
        found = accelerator.kernels(bucket_source(), [*BucketKernel], deadline)
        self._count, self._write = found[BucketKernel.COUNT], found[BucketKernel.WRITE]
        self._most_blocks = device.multiprocessors * _BLOCKS_OF_MULTIPROCESSOR
        what = "the tiles of a frontier"
        self._least_ids = device.allocate(max(8, 4 * most_tiles), what, budget=budget)
        self._places = device.allocate(max(8, 8 * most_tiles), what, budget=budget)

    @property
    def buffers(self) -> list[Buffer]:
        """Their memory."""
        return [self._least_ids, self._places]

    def sort(
        self, frontier: Frontier, rows: int, column: int, least_ids: NDArray[np.uint32], into: Frontier
    ) -> NDArray[np.int64]:
        """Write the rows of a frontier into another one, in the order of tiles.

        Parameters
        ----------
        column
            Of the vertices whose rows are in the table.
        least_ids
            The least id of each tile.
        into
            A frontier of as many columns, with room for as many rows.

        Returns
        -------
            The first row of each tile, and the number of all rows, int64 [tiles + 1].
        """
        tiles, stream = len(least_ids), self._stream
        stream.upload(self._least_ids, least_ids)
        stream.clear(self._places, 0, 8 * tiles)
        args: Any = layout.BucketArgs()
        args.in_.words, args.in_.capacity = frontier.address, frontier.capacity
        args.out.words, args.out.capacity = into.address, into.capacity
        args.size, args.width, args.column, args.tiles = rows, frontier.width, column, tiles
        args.renamed, args.least_ids = self._renamed, self._least_ids.address
        args.places = self._places.address
        grid = max(1, min(self._most_blocks, -(-rows // (BATCH * (THREADS // 32)))))
        stream.launch(self._count, grid, THREADS, 0, args)
        sizes = np.empty(tiles, np.uint64)
        stream.download(self._places, sizes.view(np.uint8), 0)
        stream.wait()
        ends = np.concatenate([[0], np.cumsum(sizes.astype(np.int64))])
        self._uploading = least_ids, places = least_ids, ends[:-1].astype(np.uint64)  # until the next sort
        stream.upload(self._places, places)
        stream.launch(self._write, grid, THREADS, 0, args)
        return ends


def bucket_bytes(tiles: int) -> int:
    """Return the bytes that a search takes to sort frontiers by so many tiles."""
    return 16 + 12 * tiles
