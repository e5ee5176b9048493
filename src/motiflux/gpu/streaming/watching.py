"""Where the stages of a resident kernel stand."""

from __future__ import annotations

import time
from dataclasses import dataclass

from motiflux.errors import DeviceError


class StreamStalledError(DeviceError):
    """A resident kernel made no progress for too long, and was stopped."""


@dataclass(frozen=True)
class StreamProgress:
    """How far the stages of a stream are; numbers of updates unless said otherwise.

    Parameters
    ----------
    submitted
        Written to their lines.
    received, published
        Taken from there by the updater; written into the graph by it.
    finished, collected
        Searched, without gaps; whose slots may be used again.
    issued, taken
        Works of the work list that were written, and tickets that groups of executors took. A group that
        waits has a ticket that is not issued yet.
    begun, read
        Packets of the output ring that executors have begun, and that the host has read.
    beats
        Reports of the collector.
    turns
        It grows while executors search, and while the updater puts memory together.
    reason
        Why the updater takes no further update; empty if it does.
    """

    submitted: int
    received: int
    published: int
    finished: int
    collected: int
    issued: int
    taken: int
    begun: int
    read: int
    beats: int
    turns: int
    reason: str

    def __str__(self) -> str:
        parts = [
            f"{self.submitted:,} updates submitted",
            f"{self.received:,} received",
            f"{self.published:,} published",
            f"{self.finished:,} finished",
            f"{self.collected:,} collected",
            f"{self.issued:,} works issued and {self.taken:,} tickets taken",
            f"{self.begun:,} packets of answers begun and {self.read:,} read",
            f"{self.beats:,} reports of the collector",
        ]
        if self.reason:
            parts.append(f"the updater ended: {self.reason}")
        return ", ".join(parts)

    @property
    def moves(self) -> tuple[int, ...]:
        """What grows while a stage works on updates."""
        of_updates = self.received, self.published, self.finished, self.collected
        return (*of_updates, self.issued, self.begun, self.read, self.turns)


class Watchdog:
    """Tells when a stream with work has made no progress for too long.

    Parameters
    ----------
    seconds
        How long that is.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last: tuple[int, ...] = ()
        self._since = 0.0

    def begin(self) -> None:
        """Begin anew."""
        self._last = ()

    def is_stalled(self, progress: StreamProgress, *, drained: bool) -> bool:
        """Whether nothing has moved for too long although updates are under way.

        Parameters
        ----------
        drained
            Whether all answers that were there were read: else the stream may wait for that.
        """
        now = time.monotonic()
        waits_for_host = not drained and progress.begun > progress.read
        if progress.moves != self._last or progress.collected >= progress.submitted or waits_for_host:
            self._last, self._since = progress.moves, now
            return False
        return now - self._since > self._seconds
