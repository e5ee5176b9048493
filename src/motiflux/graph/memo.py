"""A cache of data derived from a graph, kept with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

_MOST_ENTRIES = 512
_UNKNOWN: Any = object()
"""No result. A `KeyError` would be the context of exceptions of `make`."""


class _Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T")
S = TypeVar("S", bound=_Sized)


class Memo:
    """Results by key; the oldest are dropped first.

    Single dictionary operations only: they are atomic, so threads share this without a lock that a fork could
    inherit in its locked state. Two threads may compute the same result; one of them is kept.
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}
        self._kept: dict[Hashable, Any] = {}
        self._pools: dict[Hashable, dict[Hashable, Any]] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached result for `key`; without one, call ``make()`` and cache its result."""
        found: T = self._results.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._results.setdefault(key, make())
            for oldest in list(self._results)[:-_MOST_ENTRIES]:
                self._results.pop(oldest, None)
        return found

    def knows(self, key: Hashable) -> bool:
        """Whether `get` would find a key."""
        return key in self._results

    def get_sized(self, pool: str, key: Hashable, make: Callable[[], S], room: int) -> S:
        """Do the same for a result with a size (``nbytes``), in a pool of its own.

        The newest results of a `pool` that take at most `room` bytes together are kept, and this one in any
        case.
        """
        kept = self._pools.setdefault(pool, {})
        found: S | None = kept.get(key)
        if found is None:
            found = kept.setdefault(key, make())
            for old in reversed(list(kept)):
                room -= 0 if (one := kept.get(old)) is None else one.nbytes
                if room < 0 and old != key:
                    kept.pop(old, None)
        return found

    def recent(self, pool: str, key: Hashable) -> Any:
        """Return the value stored under `key` in a pool; None if it was dropped."""
        kept = self._pools.get(pool)
        return None if kept is None else kept.get(key)

    def forget_one(self, pool: str, key: Hashable) -> None:
        """Drop the value stored under `key` in a pool."""
        if (kept := self._pools.get(pool)) is not None:
            kept.pop(key, None)

    def store(self, pool: str, key: Hashable, value: object, most: int) -> None:
        """Store a value under `key` in a pool, and keep the `most` newest values of the pool."""
        kept = self._pools.setdefault(pool, {})
        kept[key] = value
        for oldest in list(kept)[:-most]:
            kept.pop(oldest, None)

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """Do the same for data of the graph itself, which is dropped only by `clear`."""
        found: T = self._kept.get(key, _UNKNOWN)
        return self._kept.setdefault(key, make()) if found is _UNKNOWN else found

    def keeps(self, key: Hashable) -> bool:
        """Whether `keep` would find a key."""
        return key in self._kept

    def drop(self, key: Hashable) -> None:
        """Drop the results under one key, or a whole pool."""
        self._results.pop(key, None)
        self._kept.pop(key, None)
        self._pools.pop(key, None)

    def forget_queries(self) -> None:
        """Drop the results of queries: all but data of the graph itself."""
        self._results.clear()
        self._pools.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._results.clear()
        self._kept.clear()
        self._pools.clear()

    def __len__(self) -> int:
        return len(self._results) + len(self._kept) + sum(map(len, list(self._pools.values())))
