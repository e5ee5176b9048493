"""Compressed sparse rows, the static storage format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.types import LabelArray, OffsetArray, VertexArray


@dataclass(frozen=True, eq=False, slots=True)
class Csr:
    """Arcs grouped by their first vertex, each row ascending by (neighbour, label), each arc once.

    Parameters
    ----------
    offsets
        uint64 [n + 1]; row v is ``neighbors[offsets[v]:offsets[v + 1]]``.
    neighbors
        uint32 [arcs], internal ids.
    labels
        uint32 [arcs], label codes; None where all edges have one label.
    copies
        uint32 [arcs], how often the arc was given; None where each was given once.
    """

    offsets: OffsetArray
    neighbors: VertexArray
    labels: LabelArray | None
    copies: NDArray[np.uint32] | None

    def arrays(self) -> list[NDArray[np.uint64] | NDArray[np.uint32]]:
        """Return the arrays that are there."""
        optional = [array for array in (self.labels, self.copies) if array is not None]
        return [self.offsets, self.neighbors, *optional]

    @property
    def num_vertices(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays())

    def degrees(self) -> NDArray[np.int64]:
        """Return the length of each row, int64 [n]."""
        offsets = self.offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]

    def sources(self) -> VertexArray:
        """Return the first vertex of each arc, uint32 [arcs]."""
        return np.repeat(np.arange(self.num_vertices, dtype=np.uint32), self.degrees())
