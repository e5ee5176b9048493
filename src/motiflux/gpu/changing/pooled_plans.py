"""Plans whose partial matches may be pooled, and the plans that go on from a pool.

If the ways to match a level and all later ones depend on the pair and on at most one level more, partial
matches of a root that agree there are counted in a table and completed together. The kernels and the layout
are those of ``match/pooled_plans.hpp``, the rule is that of `motiflux.plan.passes.pools`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from motiflux.plan.passes.pools import LevelReads, pool_levels

_NONE = -1
_FIRST = 2
"""The first level beyond the pair; in plans that go on from a pool, that of the entry's vertex."""


class Step(NamedTuple):
    """A step as the native monitor tells it."""

    sources: Sequence[tuple[int, int, int, bool]]
    reuse: int
    anchor: int
    after: int
    before: int
    distinct: int
    allowed: int

    @property
    def reads(self) -> LevelReads:
        """What its candidates depend on."""
        bits = self.after | self.before | self.distinct
        for level, *_ in self.sources:
            bits |= 1 << level
        reuses = self.reuse != _NONE
        sets = len(self.sources) + reuses + (self.allowed != _NONE)
        return LevelReads(bits, self.reuse if reuses else None, sets)


@dataclass(frozen=True)
class PooledPlan:
    """A plan whose partial matches may be pooled.

    Parameters
    ----------
    steps, tail
        As the native monitor tells them.
    level
        Partial matches up to this level are pooled; 0: none are.
    by
        The level beyond the pair whose vertex tells them apart; 0: the pair alone does.
    given
        The last level whose vertex a root gives.
    """

    steps: tuple[Step, ...]
    tail: tuple[int, Sequence[Any]]
    level: int = 0
    by: int = 0
    given: int = 1

    @property
    def walked(self) -> int:
        """Levels that are walked until partial matches are pooled."""
        return self.level - self.given - 1 if self.level else 0

    def continuation(self) -> PooledPlan:
        """Return the plan that goes on from the pool, which may pool again."""
        level, by = self.level, self.by

        def renumbered(other: int) -> int:
            if other < _FIRST:
                return other
            return _FIRST if other == by else other - level + _FIRST + 1

        def bits(levels: int) -> int:
            return sum(1 << renumbered(one) for one in range(levels.bit_length()) if levels >> one & 1)

        steps = [*self.steps[:_FIRST], Step((), _NONE, 0, 0, 0, 0, _NONE)]
        for step in self.steps[level:]:
            steps.append(
                Step(
                    [(renumbered(one), way, target, hidden) for one, way, target, hidden in step.sources],
                    _NONE if step.reuse == _NONE else renumbered(step.reuse),
                    renumbered(step.anchor),
                    bits(step.after),
                    bits(step.before),
                    bits(step.distinct),
                    step.allowed,
                )
            )
        start, parts = self.tail
        parts = [([renumbered(one) for one in levels], sets, chains) for levels, sets, chains in parts]
        return pooled_plan(steps, (start - level + _FIRST + 1, parts), given=_FIRST)


def pooled_plan(steps: Sequence[Any], tail: tuple[int, Sequence[Any]], given: int = 1) -> PooledPlan:
    """Return a plan with the first level up to which its partial matches are pooled, if any."""
    of = tuple(Step(*step) for step in steps)
    counted_from = min(tail[0], len(of) - 1)
    level, by = next(pool_levels([step.reads for step in of], counted_from, given), (0, 0))
    return PooledPlan(of, tail, level, by, given)


def chain_of(steps: Sequence[Any], tail: tuple[int, Sequence[Any]]) -> tuple[PooledPlan, ...]:
    """Return a plan, the one that goes on from its pool, and so on."""
    chain = [pooled_plan(steps, tail)]
    while chain[-1].level:
        chain.append(chain[-1].continuation())
    return tuple(chain)
