"""Rows of partitions as arrays of the host, as kernels read them (``include/motiflux/view``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.pcsr import GROUP_WORDS
from motiflux.types import OffsetArray, VertexArray


@dataclass(frozen=True, eq=False)
class IntervalPartition:
    """Rows of one partition by intervals of ids (``view/interval_rows.hpp``).

    Parameters
    ----------
    firsts
        Ids that begin an interval, ascending, uint32 [intervals].
    rows_before
        Number of rows before each interval, and of all rows, uint32 [intervals + 1].
    offsets
        Offsets of the rows, in the order of ids, uint32 or uint64 [rows + 1].
    neighbors
        Ids of the graph; by label first if rows have groups.
    """

    firsts: VertexArray = field(repr=False)
    rows_before: NDArray[np.uint32] = field(repr=False)
    offsets: NDArray[np.uint32] | OffsetArray = field(repr=False)
    neighbors: VertexArray = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of vertices that have arcs in the partition."""
        return len(self.offsets) - 1

    @property
    def index_bytes(self) -> int:
        """Bytes of the interval index."""
        return self.firsts.nbytes + self.rows_before.nbytes

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.index_bytes + self.offsets.nbytes + self.neighbors.nbytes

    def ids(self) -> VertexArray:
        """Return the ids of the rows, ascending."""
        rows_before = self.rows_before.astype(np.int64)
        starts, lengths = self.firsts.astype(np.int64) - rows_before[:-1], rows_before[1:] - rows_before[:-1]
        return (np.repeat(starts, lengths) + np.arange(self.rows)).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class IntervalFormat:
    """Rows of all partitions by intervals.

    Parameters
    ----------
    partitions
        The rows of each partition.
    renamed
        Id of each vertex, uint32 [n]; None: they are those of the graph.
    """

    partitions: Sequence[IntervalPartition] = field(repr=False)
    renamed: VertexArray | None = field(repr=False)

    @property
    def intervals(self) -> int:
        """Number of intervals of all partitions."""
        return sum(len(part.firsts) for part in self.partitions)

    @property
    def nbytes(self) -> int:
        """Bytes of all partitions, and of the new ids."""
        return sum(part.nbytes for part in self.partitions) + self.renamed_bytes

    @property
    def renamed_bytes(self) -> int:
        """Bytes of the new ids."""
        return 0 if self.renamed is None else self.renamed.nbytes

    @property
    def largest(self) -> int:
        """Bytes of the largest partition, and of the new ids: what one phase needs on a device."""
        return max(part.nbytes for part in self.partitions) + self.renamed_bytes


@dataclass(frozen=True, eq=False)
class HashPartition:
    """Rows of one partition by a hash table (``view/hash_rows.hpp``).

    Parameters
    ----------
    words
        Groups of pairs of a vertex and the place of its row, uint32 [groups * 32].
    neighbors
        Ids of the graph, in the order of the groups.
    """

    words: NDArray[np.uint32] = field(repr=False)
    neighbors: VertexArray = field(repr=False)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.words) // GROUP_WORDS

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.words.nbytes + self.neighbors.nbytes


@dataclass(frozen=True, eq=False)
class HashFormat:
    """Rows of all partitions by hash tables."""

    partitions: Sequence[HashPartition] = field(repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of all partitions."""
        return sum(part.nbytes for part in self.partitions)

    @property
    def largest(self) -> int:
        """Bytes of the largest partition."""
        return max(part.nbytes for part in self.partitions)
