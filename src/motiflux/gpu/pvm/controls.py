"""Control blocks of the phases of a search, beside that of its job."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from motiflux.codegen.pvm import PhaseControl
from motiflux.device import Device, Stream

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
        self.buffer = device.allocate(number * _STRIDE, what, budget=budget)
        self._host = device.allocate_host(number * _STRIDE, what)

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
        first = phase * _STRIDE
        words = self._host.array[first : first + ctypes.sizeof(PhaseControl)]
        return PhaseControl.from_buffer_copy(words.tobytes())
