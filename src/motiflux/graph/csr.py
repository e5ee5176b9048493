"""Compressed sparse rows, the static storage format."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.graph.class_order import ClassOrder
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

    def freeze(self) -> None:
        """Make the arrays read-only."""
        for array in self.arrays():
            array.flags.writeable = False

    def begin(self) -> None:
        """Begin to fetch rows that are fetched at their first access: these are there."""

    @property
    def class_order(self) -> ClassOrder | None:
        """The rows of the graph sorted by class, if a file has them."""
        return None

    @property
    def num_arcs(self) -> int:
        """Number of arcs."""
        return len(self.neighbors)

    @property
    def num_vertices(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays())

    @property
    def is_mapped(self) -> bool:
        """Whether the neighbours are in a file that is mapped into memory."""
        owner: object = self.neighbors
        while isinstance(owner, np.ndarray):
            owner = owner.base
        return isinstance(owner, mmap.mmap)

    def degrees(self) -> NDArray[np.int64]:
        """Return the length of each row, int64 [n]."""
        offsets = self.offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]

    def sources(self) -> VertexArray:
        """Return the first vertex of each arc, uint32 [arcs]."""
        return np.repeat(np.arange(self.num_vertices, dtype=np.uint32), self.degrees())


class LazyCsr(Csr):
    """Rows that are fetched on the first access to one of their arrays; their sizes are known before.

    Parameters
    ----------
    num_vertices, num_arcs, nbytes
        The sizes of the rows.
    fetch
        Returns the rows, with read-only arrays. Its exceptions are raised at the access; the next access
        tries again.
    begin
        Begins in the background what `fetch` takes long for.
    class_order
        The rows of the graph sorted by class.
    """

    __slots__ = ("_begin", "_class_order", "_fetch", "_sizes")

    def __init__(
        self,
        num_vertices: int,
        num_arcs: int,
        nbytes: int,
        fetch: Callable[[], Csr],
        begin: Callable[[], None] | None = None,
        class_order: ClassOrder | None = None,
    ) -> None:
        object.__setattr__(self, "_sizes", (num_vertices, num_arcs, nbytes))
        object.__setattr__(self, "_fetch", fetch)
        object.__setattr__(self, "_begin", begin)
        object.__setattr__(self, "_class_order", class_order)

    def __getattr__(self, name: str) -> Any:
        # Python calls this for attributes that are not set. Two threads may both fetch, and set equal rows.
        if name not in {field.name for field in fields(Csr)}:
            raise AttributeError(name)
        rows = self._fetch()
        for field in fields(Csr):
            object.__setattr__(self, field.name, getattr(rows, field.name))
        return getattr(rows, name)

    def __reduce__(self) -> tuple[type[Csr], tuple[Any, ...]]:
        return Csr, (self.offsets, self.neighbors, self.labels, self.copies)

    def begin(self) -> None:
        """Begin to fetch the rows in the background; the first access waits for it."""
        if self._begin is not None:
            self._begin()

    @property
    def class_order(self) -> ClassOrder | None:
        """The rows of the graph sorted by class, if the file has them."""
        found: ClassOrder | None = self._class_order
        return found

    def freeze(self) -> None:
        """Do nothing: the arrays will be read-only."""

    @property
    def num_vertices(self) -> int:
        """Number of rows."""
        return int(self._sizes[0])

    @property
    def num_arcs(self) -> int:
        """Number of arcs."""
        return int(self._sizes[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self._sizes[2])
