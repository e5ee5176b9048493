"""Numbers of updates without effect, which are known once updates that were put off are written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from motiflux import _native


@dataclass(frozen=True, slots=True)
class Noops:
    """The insertions of existing edges and deletions of missing edges in one call.

    Parameters
    ----------
    counted
        Those known when the call ended.
    put_off
        The others; None if no update was put off.
    write
        Writes what was put off, by which the others become known.
    """

    counted: int
    put_off: _native.PutOffNoops | None = None
    write: Callable[[], None] | None = None

    @property
    def known(self) -> bool:
        """Whether `number` writes nothing."""
        return self.put_off is None or self.put_off.known

    def number(self) -> int:
        """Return their number; updates that were put off are written for it."""
        if self.put_off is None:
            return self.counted
        if not self.put_off.known and self.write is not None:
            self.write()
        return self.counted + self.put_off.count


class NoopSum:
    """The sum over many calls, of which only those not known yet are kept."""

    def __init__(self) -> None:
        self._counted = 0
        self._waiting: deque[Noops] = deque()

    def add(self, noops: Noops) -> None:
        """Add those of a call, which come in the order of calls."""
        self._waiting.append(noops)
        while self._waiting and self._waiting[0].known:
            self._counted += self._waiting.popleft().number()

    def total(self) -> int:
        """Return the sum."""
        return self._counted + sum(noops.number() for noops in self._waiting)

    def known(self) -> int:
        """Return the sum of those that are known; nothing is written."""
        return self._counted + sum(noops.number() for noops in self._waiting if noops.known)
