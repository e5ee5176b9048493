"""What one search on a device needs beside its data: streams, and words to be stopped and watched by."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import layout
from motiflux.device import Buffer, Device, HostBuffer, Mark, Stream

_CONTROL = ctypes.sizeof(layout.Control)
_SLOT = 128
CONTROL_ROOM = _SLOT
WORD_BYTES = CONTROL_ROOM + 8192
"""Bytes of a block of numbers (`Session.words`), of which the first `CONTROL_ROOM` are a control block."""
_FINAL, _SEEN, _STOP = 0, _SLOT, 2 * _SLOT


class Session:
    """Two streams and a control block; serves one search at a time, then the next.

    Kernels run on one stream. The other carries the stop flag and looks at how far the kernel is, past it.

    Attributes
    ----------
    control
        The control block: its own, or one that the search has lent it.
    told
        Whether something was written to the control block past the kernel.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.main: Stream = device.stream()
        self._side: Stream = device.stream()
        self._own = self.control = device.allocate(_CONTROL, "the control block of a search")
        self._host: HostBuffer = device.allocate_host(3 * _SLOT, "the control block of a search")
        words = self._host.array
        self._fetched = words[_FINAL : _FINAL + _CONTROL]
        self._own_final = self._final = layout.Control.from_buffer(self._fetched.data)
        self._clear: Callable[[], None] | None = None
        self._own_fetch: Callable[[], None] | None = None
        self._fetch: Callable[[], None] | None = None
        self._clean = self._ahead = self.told = False
        self._seen = words[_SEEN : _SEEN + _CONTROL]
        reasons = words[_STOP : _STOP + 8].view(np.uint32)
        reasons[:] = layout.STOP_HOST, layout.STOP_PAUSE
        self._stop, self._pause = reasons[:1], reasons[1:]
        self._launched = False
        self._words: HostBuffer | None = None
        self._mark: Mark | None = None
        self._spare: Mark | None = None
        self._beside = False
        self._looking: Mark | None = None
        self._began: Mark | None = None
        self._staging: HostBuffer | None = None

    def begin(self) -> None:
        """Start a new search: have the control block be clear."""
        self._looking = None
        self._ahead = self.told = False
        clean, self._clean = self._clean, False
        if not clean:
            self._clear_own()

    def begin_in(self, block: Buffer, final: layout.Control, fetch: Callable[[], None]) -> None:
        """Start a search that has a control block, which it clears: where it is, and how it gets where."""
        self._looking = None
        self._ahead = self.told = False
        self.control, self._final, self._fetch = block, final, fetch

    def clear_ahead(self) -> None:
        """Clear the control block for the next search, once the kernels that were launched have ended.

        While they run, this takes no time; before the next launch it does. A lent one is the lender's.
        """
        self._ahead = True  # first: `look` may not show what is cleared
        if self.control is self._own:
            self._clear_own()
            self._clean = not self.told

    def _clear_own(self) -> None:
        if self._clear is None:
            self._clear = self.main.clearing(self._own)
        self._clear()

    def start(self, *, timed: bool) -> None:
        """Say that kernels are about to be launched: `finish` comes after the last of them."""
        # Said first: whatever interrupts this, a kernel may be running then.
        self._mark, self._launched = None, True
        self._began = self.main.mark() if timed else None

    def finish(self, *, timed: bool) -> None:
        """Fetch the control block after the kernels."""
        self._ended = self.main.mark() if timed else None
        if self._fetch is None:
            self._own_fetch = self._fetch = self.main.downloading(self._own, self._fetched)
        self._fetch()
        self._mark = self._spare = self.main.mark(self._spare)

    def words(self) -> HostBuffer:
        """Return memory of the host for a block of numbers that kernels leave behind."""
        if self._words is None:
            self._words = self.device.allocate_host(WORD_BYTES, "the numbers of a search")
        return self._words

    def done(self) -> bool:
        """Whether the kernel has ended; raises `DeviceError` if it failed."""
        if not self._launched:
            return True
        if self._mark is None:
            self._mark = self.main.mark()
        if self._mark.done():
            self._launched = False
        return not self._launched

    def kernel_seconds(self) -> float:
        """Return the time of the kernel by the device's own clock, if it was launched `timed`."""
        if self._began is None or self._ended is None:
            return 0.0
        return self._ended.milliseconds_since(self._began) / 1000

    def final(self) -> layout.Control:
        """Return the control block as the kernel left it, until the next search begins."""
        return self._final

    def look(self) -> layout.Control | None:
        """Return the control block as it was a moment ago, while the kernel runs; None if none came yet."""
        if self._looking is not None and not self._looking.done():
            return None
        if self._ahead and self.done():  # what came may be what was cleared
            return None
        seen = None if self._looking is None else layout.Control.from_buffer_copy(self._seen.tobytes())
        self.side.download(self.control, self._seen)
        self._looking = self._side.mark()
        return seen

    def settle(self) -> None:
        """Wait for what goes on beside the kernel: a stop flag that came late would end the next search."""
        if self._beside:
            self._side.wait()
            self._beside = False
        self._looking = None
        self.control, self._final, self._fetch = self._own, self._own_final, self._own_fetch

    def stop(self) -> None:
        """Ask the kernel to stop. Repeat until it is done: the flag may be there before it is cleared."""
        self.told, self._clean = True, False
        self.side.upload(self.control, self._stop, layout.Control.stop.offset)

    @property
    def side(self) -> Stream:
        """The stream that goes past the kernel."""
        self._beside = True  # first: what is enqueued may be there although something is raised
        return self._side

    def pause(self) -> None:
        """Ask the groups of a listing kernel to save themselves. Settle before the next launch."""
        self.told, self._clean = True, False
        self.side.upload(self.control, self._pause, layout.Control.stop.offset)

    def fetch(self, source: Buffer, nbytes: int) -> NDArray[np.uint8]:
        """Return the first bytes of `source`, beside the main stream, in memory that the next call reuses."""
        if self._staging is None or len(self._staging.array) < nbytes:
            self._staging = None
            self._staging = self.device.allocate_host(nbytes, "rows on their way from the device")
        fetched = self._staging.array[:nbytes]
        self.side.download(source, fetched)
        self._side.wait()
        return fetched
