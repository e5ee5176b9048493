"""Control blocks of the phases of a search, beside that of its job."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.pvm import PhaseControl
from motiflux.device import Device, Mark, Stream

_STRIDE = 128
assert ctypes.sizeof(PhaseControl) <= _STRIDE


class PhaseControls:
    """A control block for each phase on the device, and their copies after the last launch.

    Parameters
    ----------
    number
        Number of phases.
    budget
        Most bytes that motiflux holds on the device.
    """

    def __init__(self, device: Device, number: int, budget: int | None) -> None:
        what = "the control blocks of phases"
        self._number = number
        self.buffer = device.allocate(number * _STRIDE, what, budget=budget)
        self._host = device.allocate_host(number * _STRIDE, what)
        self._beside = device.allocate_host(number * _STRIDE, what)
        self._looking: Mark | None = None

    def address(self, phase: int) -> int:
        """Return the address of a phase's block on the device."""
        return self.buffer.address + phase * _STRIDE

    def clearing(self, stream: Stream) -> Callable[[], None]:
        """Return a function that clears all blocks."""
        return stream.clearing(self.buffer)

    def fetching(self, stream: Stream) -> Callable[[], None]:
        """Return a function that copies all blocks to the host."""
        return stream.downloading(self.buffer, self._host.array)

    def seen(self, phase: int) -> PhaseControl:
        """Return a phase's block as it was fetched last."""
        return _block(self._host.array, phase)

    def look(self, beside: Stream, *, begins: bool = False) -> list[PhaseControl] | None:
        """Return all blocks as they were a moment ago while kernels run; None before the first copy.

        Parameters
        ----------
        beside
            A stream that works beside the kernels.
        begins
            Whether copies that were begun before are of an earlier launch.
        """
        if begins:
            self._looking = None
        if self._looking is not None and not self._looking.done():
            return None
        seen = None
        if self._looking is not None:
            seen = [_block(self._beside.array, phase) for phase in range(self._number)]
        beside.download(self.buffer, self._beside.array)
        self._looking = beside.mark()
        return seen


def _block(words: NDArray[np.uint8], phase: int) -> PhaseControl:
    first = phase * _STRIDE
    return PhaseControl.from_buffer_copy(words[first : first + ctypes.sizeof(PhaseControl)].tobytes())
