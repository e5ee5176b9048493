"""Updates that wait for a monitor, in the order of their arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from motiflux.stream.updates import Updates


class Part(NamedTuple):
    """Updates of one producer.

    Parameters
    ----------
    first
        The position of the first one among all updates of the feed.
    updates
        The updates.
    """

    first: int
    updates: Updates


class Waiting:
    """The updates that wait. Its methods are called by one thread at a time."""

    def __init__(self) -> None:
        self._parts: deque[Part] = deque()

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def add(self, part: Part) -> None:
        """Add updates after all others."""
        self._parts.append(part)

    def take(self, most: int) -> list[Part]:
        """Return the first updates, and take them out: at most so many, that one call can apply."""
        taken = [self._parts.popleft()]
        size = len(taken[0].updates)
        while self._parts and are_alike(taken[-1].updates, self._parts[0].updates):
            size += len(self._parts[0].updates)
            if size > most:
                break
            taken.append(self._parts.popleft())
        return taken

    def put_back(self, parts: Sequence[Part]) -> None:
        """Have parts before all others again."""
        self._parts.extendleft(reversed(parts))


def are_alike(one: Updates, other: Updates) -> bool:
    """Return whether the columns of both can be put together without a change of their values."""
    if any(part.vertex_labels is not None or part.attributes is not None for part in (one, other)):
        return False
    if one.zoned is not other.zoned:
        return False
    return all(
        (mine is None) == (theirs is None)
        and (mine is None or theirs is None or mine.dtype.kind == theirs.dtype.kind)
        and (mine is None or theirs is None or mine.dtype.kind not in "Mm" or mine.dtype == theirs.dtype)
        for mine, theirs in (
            (one.sources, other.sources),
            (one.targets, other.targets),
            (one.labels, other.labels),
            (one.times, other.times),
        )
    )


def together(parts: Sequence[Part]) -> Updates:
    """Return the updates of parts that are alike as one."""
    if len(parts) == 1:
        return parts[0].updates
    all_updates = [part.updates for part in parts]
    first = all_updates[0]
    return Updates.of_checked(
        np.concatenate([one.inserts for one in all_updates]),
        np.concatenate([one.sources for one in all_updates]),
        np.concatenate([one.targets for one in all_updates]),
        None if first.labels is None else np.concatenate([one.labels for one in all_updates]),
        None if first.times is None else np.concatenate([one.times for one in all_updates]),
        zoned=first.zoned,
    )
