"""Work of a launch that is enqueued in waves, while it runs.

A queue of a device takes about a thousand operations before enqueuing blocks, and what is enqueued cannot be
taken back. So the next wave is enqueued when an earlier one has ended, and none once the work is stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from motiflux.device import Mark, Stream
from motiflux.gpu.runtime.control_block import ControlBlock
from motiflux.gpu.runtime.launches import Wave

_AT_ONCE = 2
"""Waves that are enqueued at once: the device has work while the host enqueues more."""


class Waves:
    """Enqueues the waves of one launch.

    Parameters
    ----------
    control
        The control block: it is fetched after each wave. After a stop the waves that are left are dropped.
    """

    def __init__(self, waves: Sequence[Wave], stream: Stream, control: ControlBlock) -> None:
        self._left = deque(waves)
        self._stream = stream
        self._control = control
        self._ends: deque[Mark] = deque()

    def enqueue(self) -> bool:
        """Enqueue the waves whose turn it is; return whether none is left to enqueue later.

        Raises `DeviceError` if the work of a wave failed.
        """
        stopped = self._control.stopped
        while self._ends and self._ends[0].done():
            self._ends.popleft()
            stopped = stopped or self._control.final.stop != 0  # as fetched after that wave, or a later one
        if stopped:
            self._left.clear()
        while self._left and len(self._ends) < _AT_ONCE:
            self._enqueue(self._left.popleft())
        return not self._left

    def _enqueue(self, wave: Sequence[Callable[[], None]]) -> None:
        for work in wave:
            work()
        self._control.fetch()
        self._ends.append(self._stream.mark())
