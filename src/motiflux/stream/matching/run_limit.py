"""The most updates of a run while a device lacks memory for more."""

from __future__ import annotations

from motiflux import _native

_SMALLER = 4
"""The updates of a run for which a device lacked memory, over those of the next one."""
_LEAST_RUN = 256
"""The fewest updates of a run: a device without memory for these lacks it for other reasons."""
_ANY = (1 << 64) - 1
"""Runs of any length."""
_FIRST_WAIT, _MOST_WAIT = 16, 1024
"""Calls after which longer runs are tried again: at first, and at most, as each try that fails doubles it."""


class RunLimit:
    """Divides calls into runs that a device has memory for. Matches do not depend on it."""

    def __init__(self) -> None:
        self._most: int | None = None
        self._before: int | None = None  # the running call
        self._told: int | None = None  # the native monitor was told this
        self._calls, self._wait = 0, _FIRST_WAIT

    def begin(self) -> None:
        """Try longer runs if it is time to, before a call."""
        self._before = self._most
        if self._most is None:
            return
        self._calls += 1
        if self._calls > self._wait:
            self._calls, self._wait = 0, min(2 * self._wait, _MOST_WAIT)
            self._most *= _SMALLER

    def can_lower(self, updates: int) -> bool:
        """Return whether there may be smaller runs than one of so many updates."""
        return updates // _SMALLER >= _LEAST_RUN

    def lower(self, updates: int) -> bool:
        """Have smaller runs after one of so many updates failed; return whether that is possible.

        If it is not, smaller runs were of no use, and the next call has those of before.
        """
        if not self.can_lower(updates):
            self._most = self._before
            return False
        self._calls, self._most = 0, updates // _SMALLER
        return True

    def forget(self) -> None:
        """Have runs of any length: the device is used no more."""
        self._most = self._before = None

    def set(self, native: _native.Monitor) -> None:
        """Have the runs of a call be as short."""
        if self._most != self._told:
            native.limit_runs(_ANY if self._most is None else self._most)
            self._told = self._most
