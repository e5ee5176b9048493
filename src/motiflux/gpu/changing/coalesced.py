"""Plans that share their first levels, as the kernels search them: coalesced search (GAMMA, section V-B).

A group of plans becomes one plan of the levels that they share, and for each of them a plan of its own for
the later levels. Between the two is a fork, a level whose candidates are the roots of the group
(``match/changing_plan.hpp``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.changing import SHARING
from motiflux.types import MAX_PATTERN_VERTICES

_NONE = -1
_PAIR = 2
_PLAN, _FIRST, _SECOND, _MOMENT = range(4)
"""Columns of the roots of a run."""


@dataclass(frozen=True)
class ForkedPlan:
    """A plan with a fork.

    Parameters
    ----------
    steps
        As the native monitor tells them; the fork is a step, too.
    fork
        Its level.
    is_shared
        Whether this is the plan of shared levels, or a plan of its own.
    """

    steps: Sequence[Any]
    fork: int
    is_shared: bool


@dataclass(frozen=True)
class SharedPlans:
    """The groups of plans of a monitor.

    Parameters
    ----------
    plans
        Plans beside those of the monitor, whose numbers follow theirs.
    together, own
        By plan of the monitor: the number of the plan that it shares, and of its own one; or -1.
    """

    plans: tuple[ForkedPlan, ...]
    together: NDArray[np.int64]
    own: NDArray[np.int64]


@dataclass(frozen=True)
class CoalescedRoots:
    """Roots in the order in which they are searched.

    Parameters
    ----------
    order
        The roots: first those that are searched, then those that share the levels of one of them.
    searched
        How many are searched.
    plans, slots
        In this order: the plan to begin with, and the own plan.
    sharing, numbers
        In this order `SHARING`, and what it refers to: places in the order.
    """

    order: NDArray[np.int64]
    searched: int
    plans: NDArray[np.uint32]
    slots: NDArray[np.uint32]
    sharing: NDArray[np.void]
    numbers: NDArray[np.uint32]

    def rewrite(self, roots: NDArray[np.void]) -> None:
        """Put `ROOT` entries, in the order of the run, in this one, with these plans."""
        roots[:] = roots[self.order]
        roots["plan"], roots["slot"] = self.plans, self.slots


def shared_plans(native: _native.Monitor, plans: Sequence[Any]) -> SharedPlans | None:
    """Return the groups of plans that list matches; None if there are none."""
    members: dict[tuple[int, int], list[int]] = {}
    restrictions: dict[tuple[int, int], Sequence[tuple[int, int, int]]] = {}
    for number, (pattern, listed, levels, *_) in enumerate(plans):
        shared = native.shared_levels(number) if listed and levels < MAX_PATTERN_VERTICES else None
        if shared is not None and shared[1]:
            members.setdefault((pattern, shared[0]), []).append(number)
            restrictions[pattern, shared[0]] = shared[1]
    together, own = np.full((2, len(plans)), _NONE, np.int64)
    found: list[ForkedPlan] = []
    for group, numbers in members.items():
        fork = _PAIR + len(restrictions[group])
        together[numbers] = len(plans) + len(found)
        found.append(ForkedPlan(_together(plans[numbers[0]][3], restrictions[group]), fork, is_shared=True))
        for number in numbers:
            own[number] = len(plans) + len(found)
            found.append(ForkedPlan(_own(plans[number][3], fork), fork, is_shared=False))
    return SharedPlans(tuple(found), together, own) if found else None


def _together(steps: Sequence[Any], restrictions: Sequence[tuple[int, int, int]]) -> list[Any]:
    """Return the steps of the shared levels, then the fork, and a level behind it that is not reached.

    No set is made from that of an earlier level, whose restrictions need not hold here in other plans.
    """
    fork = _PAIR + len(restrictions)
    found = list(steps[:_PAIR])
    for level in range(_PAIR, fork):
        sources, anchor = _all_sources(steps, level), steps[level][2]
        found.append((sources, _NONE, anchor, *restrictions[level - _PAIR], steps[level][6]))
    return [*found, _empty(fork), _empty(fork + 1)]


def _all_sources(steps: Sequence[Any], level: int) -> list[Any]:
    sources, reuse = list(steps[level][0]), steps[level][1]
    return sources if reuse == _NONE else _all_sources(steps, reuse) + sources


def _own(steps: Sequence[Any], fork: int) -> list[Any]:
    """Return the steps of a plan, the levels from the fork on one higher."""

    def moved(level: int) -> int:
        return level + (level >= fork)

    def moved_bits(levels: int) -> int:
        shared = levels & ((1 << fork) - 1)
        return shared | (levels ^ shared) << 1

    found = [
        (
            [(moved(of), *source) for of, *source in sources],
            moved(reuse),
            moved(anchor),
            *map(moved_bits, (after, before, distinct)),
            allowed,
        )
        for sources, reuse, anchor, after, before, distinct, allowed in steps
    ]
    return [*found[:fork], _empty(fork), *found[fork:]]


def _empty(level: int) -> Any:
    return [], _NONE, level - 1, 0, 0, 0, _NONE


def coalesced_roots(plans: SharedPlans, roots: NDArray[np.uint32]) -> CoalescedRoots:
    """Return roots, uint32 [r, 4] as the native monitor gives them, with those together that share levels."""
    plan = roots[:, _PLAN].astype(np.int64)
    together = plans.together[plan]
    alone = together == _NONE
    keys = np.column_stack([roots[:, _MOMENT], roots[:, _FIRST], roots[:, _SECOND], together]).astype(
        np.int64
    )
    keys[alone, -1] = -1 - np.flatnonzero(alone)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    by_group = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    begins = np.cumsum(sizes) - sizes
    leads = np.zeros(len(roots), bool)
    leads[by_group[begins]] = True
    order = np.concatenate([np.flatnonzero(leads), np.flatnonzero(~leads)])
    place = np.empty(len(roots), np.int64)
    place[order] = np.arange(len(roots))
    sharing = np.zeros(len(roots), SHARING)
    sharing["first"], sharing["count"] = begins[group[order]], sizes[group[order]]
    own = np.where(alone, np.arange(len(roots)), plans.own[plan])
    return CoalescedRoots(
        order,
        len(sizes),
        np.where(alone, plan, together)[order].astype(np.uint32),
        own[order].astype(np.uint32),
        sharing,
        place[by_group].astype(np.uint32),
    )
