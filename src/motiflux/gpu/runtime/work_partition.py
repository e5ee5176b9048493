"""Partition of the work of a kernel between several devices.

Chunks of root arcs, units of a kernel for cliques, or batches of roots are assigned to the devices in turn.
They are roughly in the order of their work, so that the shares are about equal. On a device, free groups take
the next chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


def every(count: int, first: int, stride: int) -> int:
    """Return the number of elements ``first, first + stride, ...`` of `count` elements.

    Examples
    --------
    >>> [every(7, first, 3) for first in range(3)]
    [3, 2, 2]
    """
    return max(0, -(-(count - first) // stride))


class WorkPartition(Protocol):
    """Writes a part of the work into the argument of a kernel."""

    @property
    def extent(self) -> int:
        """Total units of work."""

    @property
    def cut(self) -> Hashable:
        """What has to be the same on all devices, beside the extent."""

    def piece_for(self, devices: int) -> int:
        """Return the number of units in a chunk if `devices` devices share the work."""

    def give(self, task: Any, first: int, stride: int, piece: int) -> None:
        """Have a kernel do the `first` of each `stride` chunks."""


@dataclass(frozen=True)
class ArcPartition:
    """Root arcs, or roots, in chunks.

    Parameters
    ----------
    extent
        Total number of arcs.
    piece_of
        Returns the number of arcs in a chunk, given the number of arcs of a device.
    """

    extent: int
    piece_of: Callable[[int], int]
    cut: ClassVar[None] = None

    def piece_for(self, devices: int) -> int:
        """Return the number of units in a chunk if `devices` devices share the work."""
        return self.piece_of(-(-self.extent // devices))

    def give(self, task: Any, first: int, stride: int, piece: int) -> None:
        """Have a kernel do the `first` of each `stride` chunks."""
        pieces = -(-self.extent // piece)
        mine = every(pieces, first, stride)
        last = mine > 0 and (mine - 1) * stride + first == pieces - 1
        task.arcs = mine * piece - (pieces * piece - self.extent if last else 0)
        task.first, task.stride, task.chunk = first, stride, piece

    def give_range(self, task: Any, first: int, last: int) -> None:
        """Have a kernel search from arcs ``first .. last - 1``: it takes them from the last one on."""
        task.arcs, task.all_arcs = last - first, last
        task.first, task.stride, task.chunk = 0, 1, self.piece_of(last - first)


@dataclass(frozen=True)
class CliquePartition:
    """Units of a kernel for cliques (``match::CliqueUnit``), as in `motiflux.gpu.kernels.cliques.RootTasks`.

    Parameters
    ----------
    extent, spilled, blocks
        Numbers of all units, of units that do not fit into shared memory, and of units that take a block.
    arcs
        Number of arcs in the rows of all roots.
    """

    extent: int
    spilled: int
    blocks: int
    arcs: int
    cut: ClassVar[None] = None

    def piece_for(self, devices: int) -> int:
        """Return 1: units are sorted by their work."""
        return 1

    def give(self, task: Any, first: int, stride: int, piece: int) -> None:
        """Have a kernel do the `first` of each `stride` units."""
        task.unit_count = every(self.extent, first, stride)
        task.spilled, task.blocks = every(self.spilled, first, stride), every(self.blocks, first, stride)
        task.arcs = -(-self.arcs // stride)  # approximate: for progress reports only
        task.first, task.stride = first, stride


@dataclass(frozen=True)
class BatchPartition:
    """Roots in batches, each of which one device counts whole.

    Parameters
    ----------
    cut
        Number of arcs of the roots of each batch.
    """

    cut: tuple[int, ...]

    @property
    def extent(self) -> int:
        """Number of arcs."""
        return sum(self.cut)

    def piece_for(self, devices: int) -> int:
        """Return 1: batches are about as long."""
        return 1

    def give(self, task: Any, first: int, stride: int, piece: int) -> None:
        """Have kernels do the `first` of each `stride` batches: here, the number of their arcs."""
        task.arcs = sum(self.cut[first::stride])
