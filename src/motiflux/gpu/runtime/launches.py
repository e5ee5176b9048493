"""The launches of a job, bound to a stream once and repeated, and the reader of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from motiflux.codegen import layout
from motiflux.codegen.kernels import THREADS
from motiflux.device import Buffer, Kernel, Stream
from motiflux.errors import InternalError
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.work_partition import ArcPartition, WorkPartition

Bound = Callable[[], None]
"""Enqueues work on its stream; can be called repeatedly."""

Wave = Sequence[Bound]
"""Work that is enqueued together. Launches can be stopped between two waves."""


class Launches(Protocol):
    """Work of a job, in order."""

    def bind(self, stream: Stream) -> Sequence[Wave]:
        """Return the work, bound to a stream: one wave, or several that are enqueued one after another."""

    def resume(self) -> None:
        """Have the next launch continue groups that saved themselves."""

    def release(self) -> None:
        """Release device memory."""


class KernelLaunch:
    """One search kernel.

    Parameters
    ----------
    argument
        The argument of the kernel, with a `motiflux.codegen.layout.Task` as `task`.
    grid, lanes
        Number of blocks; lanes of a group.
    partition
        The partition of the work between devices.
    """

    def __init__(
        self, kernel: Kernel, argument: Any, grid: int, lanes: int, partition: WorkPartition
    ) -> None:
        self.kernel = kernel
        self.partition = partition
        self.argument = argument
        self._grid = grid
        self._zeros: list[Buffer] = []
        self.groups_of_block = THREADS // lanes

    @property
    def task(self) -> Any:
        """The task in the argument."""
        return self.argument.task

    def set_limit(self, limit: int | None) -> None:
        """Have the kernel stop when it has found more than `limit`."""
        none = limit is None or limit >= layout.NO_LIMIT
        self.argument.task.limit = layout.NO_LIMIT if none else limit

    @property
    def groups(self) -> int:
        """Number of groups of lanes."""
        return self._grid * self.groups_of_block

    def take_share(self, first: int, stride: int, piece: int) -> None:
        """Restrict the work to chunk `first` of each `stride` chunks of `piece` units."""
        self.partition.give(self.task, first, stride, piece)

    def take_range(self, first: int, last: int) -> None:
        """Restrict the work to root arcs ``first .. last - 1``."""
        assert isinstance(self.partition, ArcPartition), "units of other kernels are no arcs"
        self.partition.give_range(self.task, first, last)

    def bind(self, stream: Stream) -> Sequence[Wave]:
        """Return the launch, bound to a stream."""
        shared = self.groups_of_block * self.task.shared_bytes
        clearings = [stream.clearing(buffer) for buffer in self._zeros]
        return [[*clearings, stream.launching(self.kernel, self._grid, THREADS, shared, self.argument)]]

    def clear_before(self, buffer: Buffer) -> None:
        """Clear a buffer before the kernel, which is read after it: not for the next launch behind it."""
        self._zeros.append(buffer)

    def resume(self) -> None:
        """Have the next launch continue groups that saved themselves."""
        self.task.resume = True

    def release(self) -> None:
        """Drop the buffers that are cleared."""
        self._zeros.clear()


class LaunchSequence:
    """Launches and clearings, one after another."""

    def __init__(self) -> None:
        self._queue: list[Callable[[Stream], Bound]] = []

    def add(self, prepare: Callable[[Stream], Bound]) -> None:
        """Append work, given by the function that binds it to a stream."""
        self._queue.append(prepare)

    def bind(self, stream: Stream) -> Sequence[Wave]:
        """Return the work, bound to a stream."""
        return [[prepare(stream) for prepare in self._queue]]

    def resume(self) -> None:
        """Refuse: no kernel of a sequence saves itself."""
        raise AssertionError("a sequence of launches cannot be resumed")

    def release(self) -> None:
        """Drop all work, and the buffers in it."""
        self._queue.clear()


class Result(NamedTuple):
    """The result of a job that counts.

    Parameters
    ----------
    found
        The number found.
    limited
        Whether it stopped because of its limit.
    overflow
        Whether a number passed the range of its kernels; `found` is then meaningless.
    """

    found: int
    limited: bool = False
    overflow: bool = False


class Reader(Protocol):
    """Reads the results of one job."""

    @property
    def units(self) -> int:
        """Total units of work."""

    def progress(self, seen: layout.Control) -> tuple[int, int, int]:
        """Return units of work done, units in total, and the number found, from a control block in use."""

    def result(self) -> Any:
        """Return the result, once the kernels have ended."""


class SearchReader:
    """Reads the results of a search: a number, or rows."""

    def __init__(self, control: ControlBlock, launch: KernelLaunch) -> None:
        self._control = control
        self._launch = launch

    @property
    def units(self) -> int:
        """Total number of root arcs."""
        return int(self._launch.task.arcs)

    def progress(self, seen: layout.Control) -> tuple[int, int, int]:
        """Return root arcs done, root arcs in total, and the number found."""
        done = int(seen.done)
        # Work that is being handed over reduces the number of arcs done, even below 0.
        return 0 if done >> 63 else done, self.units, _total(seen)

    def result(self) -> Result:
        """Return the result, once the kernel has ended.

        Raises
        ------
        InternalError
            The kernel was stopped by another job.
        """
        final = check_not_stopped(self._control)
        return Result(_total(final), final.stop == layout.STOP_LIMIT, bool(final.overflow))

    def final_progress(self) -> tuple[int, int, int]:
        """Return what `progress` does, once the kernel has ended."""
        return self.progress(self._control.final)

    def rows_stored(self) -> int:
        """Return the number of rows that the kernel stored, once it has ended."""
        final = self._control.final
        return min(int(final.reserved), layout.NO_LIMIT - int(final.refused))

    def parked(self) -> int:
        """Return the number of groups that saved themselves, once the kernel has ended."""
        return int(self._control.final.parked)


def check_not_stopped(control: ControlBlock) -> layout.Control:
    """Return the final control block; raise `InternalError` if another job stopped the kernels."""
    final = control.final
    if final.stop == layout.STOP_HOST and not control.stopped:
        raise InternalError("a job on a device was stopped by another one; its result is not whole")
    return final


def _total(control: layout.Control) -> int:
    return int(control.found[0]) | int(control.found[1]) << 64
