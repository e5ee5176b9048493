"""Levels up to which partial matches may be pooled: counted by what later levels read, and completed once.

If the ways to match a level and all later ones depend on the pair and on at most one level more, partial
matches that agree there have equally many completions. The rule serves both the choice of an order and the
engine that pools (`motiflux.gpu.changing.pooled_plans`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_PAIR = 0b11
_FIRST = 2
"""The first level beyond the pair."""


class LevelReads(NamedTuple):
    """What the candidates of a level depend on.

    Parameters
    ----------
    levels
        The levels that it reads by itself, as bits: those of its sources, its order restrictions, and those
        that it must differ from.
    reuse
        The earlier level whose set is used again; None: no set is.
    sets
        The number of sets whose intersection it takes.
    """

    levels: int
    reuse: int | None
    sets: int


class PoolLevel(NamedTuple):
    """A level up to which partial matches are pooled.

    Parameters
    ----------
    level
        The first level that is matched once for all partial matches that agree.
    by
        The level beyond the pair whose vertex tells them apart; 0: the pair alone does.
    """

    level: int
    by: int


def pool_levels(steps: Sequence[LevelReads], counted_from: int, given: int = 1) -> Iterator[PoolLevel]:
    """Return the levels up to which a plan pools partial matches, ascending.

    Parameters
    ----------
    steps
        What each level reads.
    counted_from
        The first level that is counted instead of walked.
    given
        The last level whose vertex a root gives.
    """
    first = True
    for level in range(given + 2, counted_from + 1):
        by = _told_apart_by(steps, level)
        # The first pool leaves a level behind; later ones leave the vertex that told the entries apart.
        if by is None or (first and level - _FIRST - (by > 0) < 1):
            continue
        # To look up the sizes of rows takes no longer than to find the entry of a pool.
        if level < counted_from or any(step.sets > 1 for step in steps[level:]):
            first = False
            yield PoolLevel(level, by)


def _told_apart_by(steps: Sequence[LevelReads], level: int) -> int | None:
    """Return the level beyond the pair that a level and all later ones read; 0: none, None: several.

    A set of an earlier level that is used again stands for all that this level depends on, and more: its
    order restrictions. Such levels count as several.
    """
    used = 0
    for step in steps[level:]:
        if step.reuse is not None and step.reuse < level:
            return None
        used |= step.levels
    used &= (1 << level) - 1 & ~_PAIR
    return None if used & (used - 1) else max(0, used.bit_length() - 1)
