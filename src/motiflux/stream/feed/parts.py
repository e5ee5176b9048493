"""Updates of producers that wait for a monitor, and which of them one call can apply."""

from __future__ import annotations

from collections.abc import Sequence
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


def count_alike(parts: Sequence[Part]) -> int:
    """Return how many of the first parts can be put together."""
    alike = 1
    while alike < len(parts) and are_alike(parts[alike - 1].updates, parts[alike].updates):
        alike += 1
    return min(alike, len(parts))


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
