"""What was derived from a graph, kept with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Scalar = TypeVar("Scalar", bound=np.generic)

_MOST_ENTRIES = 512
_UNKNOWN: Any = object()
"""Stands for no result. A `KeyError` would be the context of whatever `make` raises."""


class SizedMemo:
    """Results by key within a bound on their bytes, the oldest forgotten first. Shared as `Memo` is."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._results: dict[Hashable, tuple[Any, int]] = {}

    def get(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """Return what ``make()`` gave for `key`, calling it if that is not known any more."""
        known = self._results.get(key)
        if known is None:
            made = make()
            known = self._results.setdefault(key, (made, size(made)))
            self._forget()
        result: T = known[0]
        return result

    def _forget(self) -> None:
        room, entries = self._room, _MOST_ENTRIES
        for key, (_, size) in reversed(list(self._results.items())):
            room, entries = room - size, entries - 1
            if room < 0 or entries < 0:
                self._results.pop(key, None)


class Memo:
    """Results by key, the oldest forgotten first.

    Single dictionary operations only: they are atomic, so threads share this without a lock that a fork could
    inherit in its locked state. Two threads may compute the same result; one of them is kept.
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}
        self._kept: dict[Hashable, Any] = {}
        self._arrays: dict[Hashable, NDArray[Any]] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make()`` gave for `key`, calling it if that is not known any more."""
        found: T = self._results.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._results.setdefault(key, make())
            for oldest in list(self._results)[:-_MOST_ENTRIES]:
                self._results.pop(oldest, None)
        return found

    def get_array(self, key: Hashable, make: Callable[[], NDArray[Scalar]], room: int) -> NDArray[Scalar]:
        """Do the same for an array.

        The newest are kept that take at most `room` bytes together, and this one always.
        """
        found = self._arrays.get(key)
        if found is None:
            found = self._arrays.setdefault(key, make())
            for old in reversed(list(self._arrays)):
                room -= 0 if (array := self._arrays.get(old)) is None else array.nbytes
                if room < 0 and old != key:
                    self._arrays.pop(old, None)
        return found

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """Do the same for what is forgotten only by `clear`: things of the graph, not of a query."""
        found: T = self._kept.get(key, _UNKNOWN)
        return self._kept.setdefault(key, make()) if found is _UNKNOWN else found

    def drop(self, key: Hashable) -> None:
        """Forget what is known by one key."""
        self._results.pop(key, None)
        self._kept.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self._results.clear()
        self._kept.clear()
        self._arrays.clear()

    def __len__(self) -> int:
        return len(self._results) + len(self._kept) + len(self._arrays)
