"""The control block of a job: words by which a kernel is stopped and watched, and the numbers it leaves."""

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
    """A block of device memory, and its copy in memory of the host after the last kernel.

    The copy lies in the memory of the session: it is valid until the job is closed.

    Parameters
    ----------
    nbytes
        Its size: the control words, and 8 bytes for each number.
    budget
        Maximum number of bytes that motiflux holds on the device.

    Attributes
    ----------
    fetched
        Bytes that are copied to the host after the kernels.
    flagged
        Whether a flag was written into it while a kernel could be running.
    stopped
        Whether that was a stop flag.
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
        """Its memory on the device."""
        assert self._buffer is not None, "the job is closed"
        return self._buffer

    @property
    def address(self) -> int:
        """Where it is on the device."""
        return self.buffer.address

    def bind(self, session: Session) -> None:
        """Be cleared and fetched on the stream of a session."""
        words = session.words()[: self.fetched]
        self.final, self.numbers = layout.Control.from_buffer(words.data), words.view(np.uint64)
        self.clear = session.main.clearing(self.buffer)
        self.fetch = session.main.downloading(self.buffer, words)

    def release(self) -> None:
        """Give its memory back. Safe to repeat."""
        self._buffer = None

    def clear_to_resume(self, session: Session) -> None:
        """Clear the flags of the last launch, and keep the numbers that it found."""
        session.main.clear(self.buffer, _RESUMED, ctypes.sizeof(layout.Control) - _RESUMED)

    def stop(self, session: Session) -> None:
        """Ask the kernel to stop. Repeat until it has ended: the flag may come before it is cleared."""
        self.flagged = self.stopped = True
        session.side.upload(self.buffer, session.stop_word, layout.Control.stop.offset)

    def pause(self, session: Session) -> None:
        """Ask the groups of a listing kernel to save themselves."""
        self.flagged = True
        session.side.upload(self.buffer, session.pause_word, layout.Control.stop.offset)


def _not_bound() -> None:
    raise AssertionError("the control block is not bound to a session")
