"""Where the lists of common neighbours of arcs begin on a device, computed once per graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from motiflux.device import Buffer
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.storage.device_csr import resident
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import AdjacencyKey, Graph
from motiflux.types import OffsetArray


@dataclass(eq=False)
class ListStarts(CacheEntry):
    """The place of the first list of each vertex: ``local_counts::ListArgs``.

    Parameters
    ----------
    starts
        The places.
    size
        Entries of all lists.
    origin
        The offsets of the rows.
    """

    starts: Buffer
    size: int
    origin: OffsetArray = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of the array."""
        return (self.starts,)


def list_starts(
    graph: Graph, key: AdjacencyKey, accelerator: Accelerator, context: UploadContext
) -> ListStarts:
    """Return the starts of the lists of symmetric rows.

    Raises
    ------
    DeviceMemoryError
        The array does not fit.
    OutOfTimeError
        Time was up before it was copied.
    """
    offsets = graph.adjacency(key, context.threads)[0]

    def make() -> ListStarts:
        above = graph.offsets_above(key, context.threads)
        sizes = (np.diff(above) * np.diff(offsets)).astype(np.uint64)
        ends = np.cumsum(sizes, dtype=np.uint64)
        starts = ends - sizes
        context.deadline.check()
        buffer = accelerator.device.allocate(
            max(starts.nbytes, 8), "starts of lists of common neighbours", budget=context.budget
        )
        if starts.nbytes:
            context.stream.upload(buffer, starts)
        context.stream.wait()
        return ListStarts(buffer, int(ends[-1]) if len(ends) else 0, offsets)

    # The entry holds the offsets, so that no other array gets their id.
    return resident(graph, accelerator.device).keep(("list starts", id(offsets)), make)
