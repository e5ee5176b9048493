"""The launches of a job, which are bound to a stream once and repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from motiflux.codegen.kernels import THREADS
from motiflux.device import Kernel, Stream
from motiflux.gpu.runtime.work_partition import WorkPartition

Bound = Callable[[], None]
"""Work of a stream that can be enqueued again and again."""


class Launches(Protocol):
    """Work of a job, in order."""

    def bind(self, stream: Stream) -> list[Bound]:
        """Return the work, bound to a stream."""

    def resume(self) -> None:
        """Have the next launch continue groups that saved themselves."""

    def release(self) -> None:
        """Let go of device memory."""


class KernelLaunch:
    """One search kernel.

    Parameters
    ----------
    argument
        Its argument, with a `motiflux.codegen.layout.Task` as `task`.
    grid, lanes
        Number of blocks; lanes of a group.
    partition
        How its work is partitioned between devices.
    """

    def __init__(
        self, kernel: Kernel, argument: Any, grid: int, lanes: int, partition: WorkPartition
    ) -> None:
        self.kernel = kernel
        self.partition = partition
        self._argument = argument
        self._grid = grid
        self.groups_of_block = THREADS // lanes

    @property
    def task(self) -> Any:
        """The task in the argument."""
        return self._argument.task

    @property
    def groups(self) -> int:
        """Number of groups of lanes."""
        return self._grid * self.groups_of_block

    def take_share(self, first: int, stride: int, piece: int) -> None:
        """Do the `first` of each `stride` pieces of work only."""
        self.partition.give(self.task, first, stride, piece)

    def bind(self, stream: Stream) -> list[Bound]:
        """Return the launch, bound to a stream."""
        shared = self.groups_of_block * self.task.shared_bytes
        return [stream.launching(self.kernel, self._grid, THREADS, shared, self._argument)]

    def resume(self) -> None:
        """Have the next launch continue groups that saved themselves."""
        self.task.resume = True

    def release(self) -> None:
        """Do nothing: the argument holds addresses only."""


class LaunchSequence:
    """Launches and clearings, one after another."""

    def __init__(self) -> None:
        self._queue: list[Callable[[Stream], Bound]] = []

    def add(self, prepare: Callable[[Stream], Bound]) -> None:
        """Append work, given by the function that binds it to a stream."""
        self._queue.append(prepare)

    def bind(self, stream: Stream) -> list[Bound]:
        """Return the work, bound to a stream."""
        return [prepare(stream) for prepare in self._queue]

    def resume(self) -> None:
        """Refuse: no kernel of a sequence saves itself."""
        raise AssertionError("a sequence of launches cannot be resumed")

    def release(self) -> None:
        """Drop all work, and the buffers in it."""
        self._queue.clear()
