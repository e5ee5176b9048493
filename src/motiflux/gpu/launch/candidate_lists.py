"""Where the lists of a group of lanes lie: the candidates of levels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from motiflux.codegen.kernels import Goal
from motiflux.codegen.tails import DeviceTail
from motiflux.plan import Plan

_LINE_WORDS = 32


@dataclass(frozen=True)
class Lists:
    """Where the candidate lists of a group lie: words in all, and the first word of each level's."""

    words: int
    places: tuple[int, ...]


def lay_out(
    plan: Plan,
    sources: Sequence[Sequence[Hashable]],
    longest: Mapping[Any, int],
    goal: Goal,
    tail: DeviceTail | None = None,
) -> Lists:
    """Bound each level's candidates by the shortest of its sets; `sources` names the rows it reads.

    Of a tail only those that are walked have any.
    """
    walked = set() if tail is None else {*range(tail.start), *(one.level for one in tail.walked())}
    bounds: list[int] = []
    places: list[int] = []
    words = 0
    last = len(plan.shape.steps) - 1
    for level, (step, keys) in enumerate(zip(plan.shape.steps, sources, strict=True)):
        sets = [] if step.reuse is None else [bounds[step.reuse]]
        sets += [longest[key] for key in keys]
        bounds.append(min(sets, default=0))
        places.append(words)
        if tail is None:
            never_kept = goal is Goal.COUNT and level == last and step.anchor == last - 1
        else:
            never_kept = level not in walked
        if level > 1 and len(sets) > 1 and not never_kept:
            words += _lines(bounds[level])
    return Lists(words, tuple(places))


def _lines(words: int) -> int:
    return -(-words // _LINE_WORDS) * _LINE_WORDS
