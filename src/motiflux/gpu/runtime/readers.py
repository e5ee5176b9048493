"""Reads the results of kernels from control blocks."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from motiflux.codegen import layout
from motiflux.errors import InternalError
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.launches import KernelLaunch


class Result(NamedTuple):
    """The result of a job that counts.

    Parameters
    ----------
    found
        The number found.
    limited
        Whether it stopped because of its limit.
    overflow
        Whether a number passed the range of its kernels; the number found is of no use then.
    """

    found: int
    limited: bool = False
    overflow: bool = False


class Reader(Protocol):
    """Reads the results of one job."""

    @property
    def units(self) -> int:
        """Units of work in all."""

    def progress(self, seen: layout.Control) -> tuple[int, int, int]:
        """Return units of work done, units in all, and the number found, from a control block in use."""

    def result(self) -> Any:
        """Return the result, once the kernels have ended."""


class SearchReader:
    """Reads the results of a search: a number, or rows."""

    def __init__(self, control: ControlBlock, launch: KernelLaunch) -> None:
        self._control = control
        self._launch = launch

    @property
    def units(self) -> int:
        """Root arcs in all."""
        return int(self._launch.task.arcs)

    def progress(self, seen: layout.Control) -> tuple[int, int, int]:
        """Return root arcs done, root arcs in all, and the number found."""
        done = int(seen.done)
        # Splits on their way make the number of arcs done smaller, even less than 0.
        return 0 if done >> 63 else done, self.units, _total(seen)

    def result(self) -> Result:
        """Return the result, once the kernel has ended.

        Raises
        ------
        InternalError
            The kernel was stopped, and not by this job.
        """
        check_not_stopped(self._control)
        final = self._control.final
        return Result(_total(final), final.stop == layout.STOP_LIMIT, bool(final.overflow))

    def rows_stored(self) -> int:
        """Return how many rows the kernel stored in memory, once it has ended."""
        final = self._control.final
        return min(int(final.reserved), layout.NO_LIMIT - int(final.refused))

    def parked(self) -> int:
        """Return how many groups saved themselves, once the kernel has ended."""
        return int(self._control.final.parked)


def check_not_stopped(control: ControlBlock) -> None:
    """Raise `InternalError` if the kernels were stopped, and not by their own job."""
    if control.final.stop == layout.STOP_HOST and not control.stopped:
        raise InternalError("a job on a device was stopped by another one; its result is not whole")


def _total(control: layout.Control) -> int:
    return int(control.found[0]) | int(control.found[1]) << 64
