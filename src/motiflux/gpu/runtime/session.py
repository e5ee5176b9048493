"""The streams of one job at a time, and pinned host memory for its control block."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.device import Buffer, Device, HostBuffer, Mark, Stream

_CONTROL = ctypes.sizeof(layout.Control)
CONTROL_BYTES = 128
"""Bytes of the control words at the start of a control block; numbers follow."""
MOST_BLOCK_BYTES = CONTROL_BYTES + 8192
"""Maximum size of a control block."""
_SEEN, _FLAGS, _WORDS = 0, CONTROL_BYTES, 2 * CONTROL_BYTES


class Session:
    """Two streams, used by one job at a time.

    Kernels run on the main stream. The side stream transfers the stop flag and copies of the control block
    while a kernel runs.

    Attributes
    ----------
    stop_word, pause_word
        Values of the stop flag.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.main: Stream = device.stream()
        self._side: Stream = device.stream()
        self._host: HostBuffer = device.allocate_host(_WORDS + MOST_BLOCK_BYTES, "the control block of a job")
        words = self._host.array
        self._seen = words[_SEEN : _SEEN + _CONTROL]
        flags = words[_FLAGS : _FLAGS + 8].view(np.uint32)
        flags[:] = layout.STOP_HOST, layout.STOP_PAUSE
        self.stop_word, self.pause_word = flags[:1], flags[1:]
        self._launched = False
        self._mark: Mark | None = None
        self._spare: Mark | None = None
        self._side_used = False
        self._looking: Mark | None = None
        self._staging: HostBuffer | None = None

    @property
    def is_open(self) -> bool:
        """Whether its streams can be used: the garbage collector finalizes them before their job."""
        return self.main.is_open and self._side.is_open

    def words(self) -> NDArray[np.uint8]:
        """Return host memory for the final control block."""
        return self._host.array[_WORDS:]

    def start(self) -> None:
        """Note that kernels are about to be launched; call `finish` after the last one."""
        # Before the launch, in case of an interrupt. `look` must not show an earlier launch.
        self._mark, self._launched, self._looking = None, True, None

    def finish(self, fetch: Callable[[], None]) -> None:
        """Fetch a control block after the kernels."""
        fetch()
        self._mark = self._spare = self.main.mark(self._spare)

    def done(self) -> bool:
        """Whether the kernels have ended; raises `DeviceError` if one failed."""
        if self._launched:
            if self._mark is None:
                self._mark = self.main.mark()
            self._launched = not self._mark.done()
        return not self._launched

    def look(self, block: Buffer) -> layout.Control | None:
        """Return a control block as it was a moment ago while the kernel runs; None before the first copy."""
        if self._looking is not None and not self._looking.done():
            return None
        seen = None if self._looking is None else layout.Control.from_buffer_copy(self._seen.tobytes())
        self.side.download(block, self._seen)
        self._looking = self._side.mark()
        return seen

    def settle(self) -> None:
        """Wait for the side stream: the next job may reuse memory that it copies to or from."""
        if self._side_used:
            self._side.wait()
            self._side_used = False
        self._looking = None

    @property
    def side(self) -> Stream:
        """The stream that works beside the kernel."""
        self._side_used = True  # first: work may be enqueued although its call raises
        return self._side

    def fetch(self, source: Buffer, nbytes: int) -> NDArray[np.uint8]:
        """Return the first bytes of `source`, by the side stream, in memory that the next call reuses."""
        if self._staging is None or len(self._staging.array) < nbytes:
            self._staging = None
            self._staging = self.device.allocate_host(nbytes, "rows on their way from the device")
        fetched = self._staging.array[:nbytes]
        self.side.download(source, fetched)
        self._side.wait()
        return fetched
