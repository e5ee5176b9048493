"""The account of the memory that motiflux holds on a device, and functions that can release memory."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from types import MethodType

from motiflux import log
from motiflux.errors import DeviceMemoryError

Reclaim = Callable[[int], int]
"""Releases up to the given number of bytes, and returns the number of bytes released."""

_MOST_TRIES = 4
"""Most times that reclaimers are called for one allocation."""


class MemoryAccount:
    """Bytes held on one device, by holder. Safe to use from many threads.

    A holder is any object, identified by its id, and referenced while it holds memory. Its entry is added or
    removed in one step, and may be removed twice, so an interrupt by Ctrl-C loses nothing.

    Parameters
    ----------
    settle
        Waits briefly for memory whose release is pending; called before memory is refused.

    Examples
    --------
    >>> account = MemoryAccount()
    >>> table, other = object(), object()
    >>> account.take(table, 600, "a table", budget=1000)
    >>> account.held()
    600
    >>> account.take(other, 600, "another table", budget=1000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    motiflux.errors.DeviceMemoryError: another table: expected 600 bytes of device memory, found 400; ...
    >>> account.give_back(table)
    >>> account.held()
    0
    """

    def __init__(self, settle: Callable[[], object] | None = None) -> None:
        self._settle_device = settle
        self._lock = threading.Lock()
        self._held: dict[object, int] = {}
        self._reclaimers: list[Callable[[], Reclaim | None]] = []

    def held(self) -> int:
        """Return the number of bytes held."""
        return sum(list(self._held.values()))

    def take(self, holder: object, nbytes: int, what: str, *, budget: int | None = None) -> None:
        """Add `nbytes` held by `holder`; call the reclaimers first if that exceeds the budget.

        Raises
        ------
        DeviceMemoryError
            More than `budget` bytes would be held. Nothing is added then.
        """
        missing = self._try(holder, nbytes, budget)
        if missing and self._settle_device is not None:
            self._settle_device()
            missing = self._try(holder, nbytes, budget)
        for _ in range(_MOST_TRIES):  # what is released may be used elsewhere, and stay
            if not missing or not self.reclaim(missing):
                break
            missing = self._try(holder, nbytes, budget)
        log.MEMORY.debug("%s: %d bytes of a device, %d missing", what, nbytes, missing)
        if missing and budget is not None:
            held = self.held()
            raise DeviceMemoryError(
                what,
                nbytes,
                max(0, budget - held),
                f"the budget gpu_memory is {budget:,} bytes, of which motiflux holds {held:,}: raise it, or "
                "close results and monitors that are no longer needed",
            )

    def give_back(self, holder: object) -> None:
        """Remove the entry of `holder`, if there is one. Takes no lock: finalizers call it."""
        self._held.pop(holder, None)

    def add_reclaimer(self, reclaim: Reclaim) -> None:
        """Call `reclaim(missing)` before memory is refused; it returns the bytes that it released.

        A method is removed with its object, to which the account holds a weak reference; a function stays.
        """
        known = weakref.WeakMethod(reclaim) if isinstance(reclaim, MethodType) else lambda: reclaim
        with self._lock:
            self._reclaimers = [one for one in self._reclaimers if one() is not None]
            self._reclaimers.append(known)

    def reclaim(self, missing: int) -> int:
        """Call the reclaimers until `missing` bytes are released; return the number released."""
        with self._lock:
            reclaimers = tuple(self._reclaimers)
        freed = 0
        for known in reclaimers:
            if freed >= missing:
                break
            if (reclaim := known()) is not None:
                freed += reclaim(missing - freed)
        if freed:
            log.MEMORY.info("%d bytes of a device released, %d were missing", freed, missing)
        if freed and self._settle_device is not None:
            self._settle_device()
        return freed

    def _try(self, holder: object, nbytes: int, budget: int | None) -> int:
        """Add `nbytes` if they fit into the budget; return the number of bytes that are missing."""
        with self._lock:
            held = self.held()
            if budget is not None and held + nbytes > budget:
                return held + nbytes - budget
            self._held[holder] = nbytes
            return 0
