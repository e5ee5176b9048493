"""Reads what all phases of a launch counted."""

from __future__ import annotations

from motiflux.codegen import layout
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.launches import check_not_stopped


class PhaseReader:
    """Reads the number that all phases of a launch counted.

    Attributes
    ----------
    units
        Parts of a search of which progress tells how many are over.
    share
        Share of the search that is over: from 0 to 1.
    found
        The number counted before the launch.
    """

    units = 1000

    def __init__(self, control: ControlBlock) -> None:
        self._control = control
        self.share, self.found = 0.0, 0

    def progress(self, seen: layout.Control) -> tuple[int, int, int]:
        """Return the parts of the search that are over, all of them, and the number found."""
        return min(self.units, int(self.units * self.share)), self.units, self.found + counted(seen)

    def result(self) -> layout.Control:
        """Return the control block of the job; raises `InternalError` if another job stopped the kernels."""
        return check_not_stopped(self._control)


def counted(seen: layout.Control) -> int:
    """Return the number counted."""
    return int(seen.found[0]) | int(seen.found[1]) << 64
