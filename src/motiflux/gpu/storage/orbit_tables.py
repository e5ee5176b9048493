"""What orbits of five vertices need on a device: starts of lists of common neighbours, and coefficients."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Buffer
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.storage.device_csr import CopiedArray, resident
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
        starts = _copied(ends - sizes, "starts of lists of common neighbours", accelerator, context)
        return ListStarts(starts, int(ends[-1]) if len(ends) else 0, offsets)

    # The entry holds the offsets, so that no other array gets their id.
    return resident(graph, accelerator.device).keep(("list starts", id(offsets)), make)


def coefficients(
    graph: Graph, accelerator: Accelerator, numbers: NDArray[np.uint64], context: UploadContext
) -> CopiedArray:
    """Return the coefficients of orbits in sums; raises the errors of `list_starts`.

    Parameters
    ----------
    numbers
        The coefficients: for each number of sums the same ones.
    """

    def make() -> CopiedArray:
        return CopiedArray(_copied(numbers, "coefficients of orbits", accelerator, context), numbers)

    return resident(graph, accelerator.device).keep(("coefficients of orbits", numbers.shape), make)


def _copied(
    numbers: NDArray[np.uint64], what: str, accelerator: Accelerator, context: UploadContext
) -> Buffer:
    context.deadline.check()
    buffer = accelerator.device.allocate(max(numbers.nbytes, 8), what, budget=context.budget)
    if numbers.nbytes:
        context.stream.upload(buffer, numbers)
    context.stream.wait()
    return buffer
