"""The control block of a job: words that stop a kernel and show its progress, and the numbers it finds."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.device import Buffer, Device
from motiflux.gpu.runtime.session import CONTROL_BYTES, Session

_RESUMED = layout.Control.stop.offset


class ControlBlock:
    """A block of device memory, and its copy in host memory after the last kernel.

    The copy lies in memory of the session: it is valid until the job is closed.

    Parameters
    ----------
    nbytes
        Size of the block: the control words, and 8 bytes for each number.
    budget
        Maximum number of bytes that motiflux holds on the device.

    Attributes
    ----------
    fetched
        Number of bytes that are copied to the host after the kernels.
    flagged
        Whether a stop or pause flag was written while a kernel could be running.
    stopped
        Whether a stop flag was written.
    """

    def __init__(self, device: Device, nbytes: int = CONTROL_BYTES, budget: int | None = None) -> None:
        self._buffer: Buffer | None = device.allocate(nbytes, "the control block of a job", budget=budget)
        self.fetched = min(nbytes, CONTROL_BYTES)
        self.flagged = self.stopped = False
        self.final = layout.Control()
        self.numbers: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self.clear: Callable[[], None] = _not_bound
        self.fetch: Callable[[], None] = _not_bound

    @property
    def buffer(self) -> Buffer:
        """The block's memory on the device."""
        assert self._buffer is not None, "the job is closed"
        return self._buffer

    @property
    def address(self) -> int:
        """The block's address on the device."""
        return self.buffer.address

    def bind(self, session: Session) -> None:
        """Bind `clear` and `fetch` to the main stream of a session."""
        words = session.words()[: self.fetched]
        self.final, self.numbers = layout.Control.from_buffer(words.data), words.view(np.uint64)
        self.clear = session.main.clearing(self.buffer)
        self.fetch = session.main.downloading(self.buffer, words)

    def release(self) -> None:
        """Release the memory. Safe to repeat."""
        self._buffer = None

    def clear_to_resume(self, session: Session) -> None:
        """Clear the flags of the last launch, but keep the numbers that it found."""
        session.main.clear(self.buffer, _RESUMED, ctypes.sizeof(layout.Control) - _RESUMED)

    def stop(self, session: Session) -> None:
        """Ask the kernel to stop. Repeat until it has ended: `clear` may erase an early flag."""
        self.flagged = self.stopped = True
        session.side.upload(self.buffer, session.stop_word, layout.Control.stop.offset)

    def pause(self, session: Session) -> None:
        """Ask the groups of a listing kernel to save themselves."""
        self.flagged = True
        session.side.upload(self.buffer, session.pause_word, layout.Control.stop.offset)


def _not_bound() -> None:
    raise AssertionError("the control block is not bound to a session")
