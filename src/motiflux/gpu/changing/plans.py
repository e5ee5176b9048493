"""Delta plans of a native monitor, as the kernels read them, and the rows that they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import NO_COLUMN, ChangingPlan, ChangingSource, TailPart
from motiflux.codegen.layout import Span, StepShape
from motiflux.gpu.changing.coalesced import SharedPlans, shared_plans
from motiflux.gpu.changing.pooled_plans import PooledPlan, chain_of

_NONE = -1
COUNTED, LISTED, IS_MATCH = range(3)
"""How matches of a root are found: by a search that counts, by one that lists, or the edge is the match."""
_PAIR = 2
"""Levels of a plan whose matches are the changed edges themselves."""
RowsName = tuple[int, int]
"""Rows: the number of their target in the native monitor, and the direction."""


@dataclass(frozen=True)
class PlanTable:
    """All plans of a monitor.

    Parameters
    ----------
    listed, levels
        For each plan, whether its matches are listed, and its number of levels.
    names
        Names of the rows that plans read; sources number these.
    looked_up
        The names of rows in which candidates are looked up: those of steps that intersect sets.
    most_spans
        Most sets that a step intersects.
    steps, tails
        The steps of each plan, and the levels counted in closed form, as the native monitor tells them.
    columns
        The columns of each plan in the candidate table, by level; `_NONE`: none.
    shared
        The plans that share levels.
    pooled
        For each plan that counts, itself and the plans that go on from the pools of its partial matches; for
        others nothing.
    patterns
        The number of the pattern of each plan in the native monitor.
    """

    listed: NDArray[np.bool_]
    levels: NDArray[np.int64]
    names: tuple[RowsName, ...]
    looked_up: frozenset[RowsName]
    most_spans: int
    steps: Sequence[Any]
    tails: Sequence[Any]
    columns: Sequence[Sequence[int]]
    shared: SharedPlans | None = None
    pooled: Sequence[tuple[PooledPlan, ...]] = ()
    patterns: Sequence[int] = ()

    @cached_property
    def stages(self) -> int:
        """The most stages of the search by a plan."""
        return max((len(chain) for chain in self.pooled), default=1) or 1

    @cached_property
    def pooled_walk(self) -> int:
        """The most levels that are walked until partial matches of a plan are pooled for the last time."""
        return max((sum(one.walked for one in chain) for chain in self.pooled), default=0)

    @cached_property
    def pooled_patterns(self) -> frozenset[int]:
        """The numbers of the patterns whose partial matches may be pooled."""
        pairs = zip(self.patterns, self.pooled, strict=False)
        return frozenset(pattern for pattern, chain in pairs if len(chain) > 1)

    @cached_property
    def manners(self) -> NDArray[np.uint8]:
        """How the matches of each plan are found: `COUNTED`, `LISTED` or `IS_MATCH`."""
        searched = np.where(self.listed, LISTED, COUNTED)
        return np.where(self.levels > _PAIR, searched, IS_MATCH).astype(np.uint8)

    @cached_property
    def reads_before(self) -> NDArray[np.uint8]:
        """Whether each plan finds the same matches in the graph as it was before its update: `ReadsBefore`.

        The update changes entries of either end of the root in the row of the other one. They make no
        difference if candidates of later levels are neither end. Plans that list are left out.
        """
        return np.array(list(map(_reads_before, self.listed, self.steps)), np.uint8)

    @cached_property
    def lists_any(self) -> bool:
        """Whether matches of a plan are listed."""
        return bool(self.listed.any())

    @cached_property
    def most_levels(self) -> int:
        """The most levels of a plan, at least those of a search; a fork is a level, too."""
        return int(self.levels.max(initial=_PAIR + 1)) + (self.shared is not None)

    @cached_property
    def most_walked(self) -> int:
        """The most levels of a plan that are walked before those that are counted, or before the last one."""
        tails = np.array([tail[0] for tail in self.tails], np.int64)
        return int((np.minimum(tails, self.levels - 1) - _PAIR).max(initial=0))

    @property
    def lists(self) -> set[int]:
        """Numbers of the lists of ids that candidates belong to."""
        return {step[6] for steps in self.steps for step in steps[2:] if step[6] != _NONE}

    def packed(self, lists: dict[int, tuple[int, int]], *, chains: bool = False) -> NDArray[np.uint8]:
        """Return the plans as kernels read them.

        Parameters
        ----------
        lists
            The addresses of the first id, and behind the last id, of each list.
        chains
            Whether plans that go on from pools are among them.
        """
        numbers = {name: number for number, name in enumerate(self.names)}
        forked = () if self.shared is None else self.shared.plans
        pooled = self.pooled if chains else ()
        later = [(number, one) for number, chain in enumerate(pooled) for one in chain[1:]]
        plans = (ChangingPlan * max(1, len(self.steps) + len(forked) + len(later)))()
        for packed, steps, tail, columns in zip(plans, self.steps, self.tails, self.columns, strict=False):
            _pack(packed, steps, numbers, lists)
            for level, column in enumerate(columns):
                packed.candidate_columns[level] = NO_COLUMN if column == _NONE else column
            _pack_tail(packed, tail)
        for number, plan in enumerate(forked, len(self.steps)):
            _pack(plans[number], plan.steps, numbers, lists)
            _pack_tail(plans[number], (len(plan.steps), ()))
            plans[number].fork, plans[number].is_shared = plan.fork, plan.is_shared
            # What is kept at later levels belongs to one plan.
            plans[number].renewed[plan.fork] = ~((2 << plan.fork) - 1) & 0xFFFFFFFF
        before = list(range(len(self.steps)))  # by plan: the number of the last one of its chain so far
        for number, chain in enumerate(pooled):
            if chain:
                plans[number].pooled_from, plans[number].pooled_by = chain[0].level, chain[0].by
        for number, (of, one) in enumerate(later, len(self.steps) + len(forked)):
            _pack(plans[number], one.steps, numbers, lists)
            _pack_tail(plans[number], one.tail)
            plans[number].pooled_from, plans[number].pooled_by = one.level, one.by
            plans[before[of]].continuation = number
            before[of] = number
        return np.frombuffer(bytes(plans), np.uint8).copy()


_PAIR_BITS = 0b11
"""The levels of the root."""


class ReadsBefore(IntEnum):
    """Whether a plan finds the same matches in the graph as it was before its update."""

    NO = 0
    YES = 1
    ROWS_OF_PAIR = 2
    """And it reads rows of the update's ends only, so updates with other ends make no difference."""


def _reads_before(listed: bool, steps: Sequence[Any]) -> ReadsBefore:
    if listed or any(_PAIR_BITS & ~bits for bits in _differing(steps)[_PAIR:]):
        return ReadsBefore.NO
    sources = (level for step in steps[_PAIR:] for level, *_ in step[0])
    return ReadsBefore.ROWS_OF_PAIR if all(level < _PAIR for level in sources) else ReadsBefore.YES


def _differing(steps: Sequence[Any]) -> list[int]:
    """Return the earlier levels whose vertices no candidate of a level is, as bits, for each level.

    No vertex is its own neighbour in these rows.
    """
    joined: list[int] = []
    found: list[int] = []
    for sources, reuse, _, after, before, distinct, _ in steps:
        bits = 0 if reuse == _NONE else joined[reuse]
        for level, *_ in sources:
            bits |= 1 << level
        joined.append(bits)
        found.append(bits | after | before | distinct)
    return found


def table_of(native: _native.Monitor, *, coalesces: bool = False, pools: bool = False) -> PlanTable:
    """Return the plans of a native monitor.

    Parameters
    ----------
    coalesces
        Whether those of a group share levels.
    pools
        Whether partial matches may be pooled.
    """
    plans = [native.plan(number) for number in range(native.num_plans)]
    shared = shared_plans(native, plans) if coalesces else None
    names: dict[RowsName, None] = {}
    looked_up: set[RowsName] = set()
    spans = 1
    forked = [] if shared is None else [plan.steps for plan in shared.plans]
    for steps in [*(steps for *_, steps, _ in plans), *forked]:
        for step in steps[2:]:
            sources, reuse, allowed = step[0], step[1], step[6]
            read = dict.fromkeys((target, way) for _, way, target, _ in sources)
            names.update(read)
            sets = len(sources) + (reuse != _NONE) + (allowed != _NONE)
            if sets > 1:
                looked_up.update(read)
            spans = max(spans, sets)
    return PlanTable(
        np.array([listed for _, listed, *_ in plans], bool),
        np.array([levels for _, _, levels, *_ in plans], np.int64),
        tuple(names),
        frozenset(looked_up),
        spans,
        [steps for *_, steps, _ in plans],
        [tail for *_, tail in plans],
        [native.plan_columns(number) for number in range(native.num_plans)],
        shared,
        [() if listed else chain_of(steps, tail) for _, listed, _, steps, tail in plans] if pools else (),
        [pattern for pattern, *_ in plans],
    )


def _pack(
    packed: Any, steps: Sequence[Any], numbers: dict[RowsName, int], lists: dict[int, tuple[int, int]]
) -> None:
    packed.level_count = len(steps)
    place = 0
    for level, (sources, reuse, anchor, after, before, distinct, allowed) in enumerate(steps):
        packed.shapes[level] = StepShape(
            first_source=place,
            source_count=len(sources),
            reuse=reuse,
            anchor=anchor,
            after=after,
            before=before,
            distinct=distinct,
        )
        if level > 1:
            packed.renewed[anchor] |= 1 << level
        if allowed != _NONE and level > 1:
            packed.allowed[level] = Span(*lists[allowed])
        for source, way, target, hidden in sources:
            packed.sources[place] = ChangingSource(source, hidden, numbers.get((target, way), 0))
            place += 1


def _pack_tail(packed: Any, tail: tuple[int, Sequence[tuple[Sequence[int], int, Sequence[int]]]]) -> None:
    packed.tail_start, parts = tail
    packed.part_count = len(parts)
    first = 0
    for number, (levels, sets, chains) in enumerate(parts):
        assert sets == 1, "plans for this engine have no tails of several sets"
        packed.parts[number] = TailPart(levels[0], len(levels), first, len(chains))
        for chain in chains:
            packed.chains[first] = chain
            first += 1
