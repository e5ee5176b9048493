"""Pooled partial matches: where plans pool them, the plans that go on from a pool, and the pools' memory.

If the ways to match a level and all later ones depend on the pair and on at most one level more, partial
matches of a root that agree there are counted in a table and completed together. The kernels and the layout
are those of ``match/pooled_plans.hpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from motiflux.codegen.changing import POOLED, Pool
from motiflux.device import Buffer, Stream
from motiflux.gpu.changing.memory import SpareRoom
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.plan.passes.pools import LevelReads, pool_levels

POOLING_SWITCHES = ("auto", "on")
"""Values of the switch with which partial matches may be pooled."""
_NONE = -1
_FIRST = 2
"""The first level beyond the pair; in plans that go on from a pool, that of the entry's vertex."""
_CLEARED_BYTES = POOLED.itemsize + 8
"""Of a place, with the high word of its weight."""
_COUNT_BYTES, _CLAIM_BYTES, _ALIGNMENT = 16, 4, 16
_LEAST_PLACES, _MOST_PLACES = 1 << 10, 1 << 26
_PLACES_OF_ROOT = 1 << 16
"""Places for each root: searches rarely reach as many vertices of a label from one."""
_LEAST_PATHS = 1 << 14
"""Expected partial matches of a root up to the last level that is pooled, from which on they are."""
_MOST_ROOTS = 1 << 30
"""The most roots that are searched at a time: a key has 32 bits for the number of one."""
_FULL, _SPARSE = 0.5, 0.125
"""Shares of the places in use beyond which fewer roots are searched at a time, and below which more are."""


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


class Pools:
    """The pools of searches, in memory that is kept between runs.

    A stage reads the pool that the one before it has written, so there are two at most.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    switch
        ``auto``: for plans of which many partial matches are expected; ``on``: for all; else none.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None, switch: str) -> None:
        self.switch = switch
        self._memory = SpareRoom(accelerator.device, "partial matches that are pooled", budget)
        self._buffer: Buffer | None = None
        self._places = self._pools = 0
        self._fullest = 0
        self.roots = 1
        """The most roots that are searched at a time."""

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._memory.nbytes

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()
        self._buffer = None

    def were_used(self) -> None:
        """Note that no search uses the pools any more."""
        self._memory.give_back()
        self._buffer = None

    def are_wanted(self, stages: int, walked: int, typical: float) -> bool:
        """Whether searches should pool partial matches.

        Parameters
        ----------
        stages
            Most stages of a plan.
        walked
            Levels that are walked until they are pooled for the last time.
        typical
            The length of the row that an entry is in, on average.
        """
        if stages == 1 or self.switch not in POOLING_SWITCHES:
            return False
        return self.switch == "on" or typical**walked >= _LEAST_PATHS

    def open(self, stream: Stream, stages: int, roots: int, vertices: int, nbytes: int) -> bool:
        """Have pools for a search; False if there is no memory.

        Parameters
        ----------
        nbytes
            The most bytes that may be allocated.
        """
        of_root = min(_PLACES_OF_ROOT, 2 * vertices)
        places = max(_LEAST_PLACES, 1 << (min(roots * of_root, _MOST_PLACES) - 1).bit_length())
        pools = min(2, stages - 1)
        most = self.nbytes + nbytes
        while (needed := pools * _bytes_of(places)) > most or not self._allocated(needed, stream):
            places //= 2
            if places < _LEAST_PLACES:
                return False
        self._places, self._pools, self._fullest = places, pools, 0
        self.roots = max(1, min(roots, places // of_root, _MOST_ROOTS))
        return True

    def _allocated(self, nbytes: int, stream: Stream) -> bool:
        self._buffer = self._memory.take(nbytes, stream)
        return self._buffer is not None

    def cleared(self, stream: Stream, stage: int) -> Pool:
        """Return the empty pool that a stage writes."""
        assert self._buffer is not None, "open() comes first"
        pool = self.of(stage)
        begin = pool.places - self._buffer.address
        stream.clear(self._buffer, begin, _CLEARED_BYTES * self._places + _COUNT_BYTES)
        return pool

    def of(self, stage: int) -> Pool:
        """Return the pool that a stage writes."""
        assert self._buffer is not None, "open() comes first"
        places = self._buffer.address + stage % self._pools * _bytes_of(self._places)
        count = places + _CLEARED_BYTES * self._places
        highs = places + POOLED.itemsize * self._places
        return Pool(places, highs, count + _COUNT_BYTES, count, self._places - 1)

    def entries(self, stream: Stream, stage: int) -> int:
        """Return the number of entries that a stage has written, once its launch has ended."""
        assert self._buffer is not None, "open() comes first"
        count = np.zeros(1, np.uint32)
        stream.download(self._buffer, count, self.of(stage).count - self._buffer.address)
        stream.wait()
        self._fullest = max(self._fullest, int(count[0]))
        return int(count[0])

    def adapt(self) -> None:
        """Have as many roots searched at a time as the places suffice for."""
        share, self._fullest = self._fullest / self._places, 0
        if share > _FULL:
            self.roots = max(1, self.roots // 2)
        elif share < _SPARSE:
            self.roots = min(2 * self.roots, _MOST_ROOTS)


def _bytes_of(places: int) -> int:
    """Return the bytes of a pool: its places, how many are in use, and which; the next one is aligned."""
    nbytes = (_CLEARED_BYTES + _CLAIM_BYTES) * places + _COUNT_BYTES
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
