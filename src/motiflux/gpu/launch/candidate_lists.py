"""Where the lists of a group of lanes lie: candidates of levels, and choices of pieces that meet."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from motiflux.codegen.kernels import Goal
from motiflux.codegen.overlap_layout import MOST_SEPARATORS
from motiflux.codegen.pack_tail import ChoiceBuffer
from motiflux.codegen.tails import DeviceTail, OverlapBranch, OverlapComponent
from motiflux.plan import Plan

_LINE_WORDS = 32
_WORDS_OF_WAYS = 2
MOST_ENTRIES = 1 << 10
"""Entries of a list that are written down at once: of longer ones, one piece after the other."""


@dataclass(frozen=True)
class Lists:
    """Where the candidate lists of a group lie: words in all, and the first word of each level's.

    `rooms` are those for the choices of pieces that meet others, by their first level.
    """

    words: int
    places: tuple[int, ...]
    rooms: Mapping[int, ChoiceBuffer]


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
    rooms: dict[int, ChoiceBuffer] = {}
    for meeting in () if tail is None else tail.overlap_components():
        for part in meeting.branches:
            room, of_part = _room_of(meeting, part, bounds)
            rooms[part.walked.level] = words, room
            words += of_part
    return Lists(words, tuple(places), rooms)


def _lines(words: int) -> int:
    return -(-words // _LINE_WORDS) * _LINE_WORDS


def _room_of(meeting: OverlapComponent, part: OverlapBranch, bounds: Sequence[int]) -> tuple[int, int]:
    """Return for how many choices of a part there is room at once, and the words that takes."""
    if not meeting.lists:
        room = _lines(bounds[part.last])
        return room, room * (1 + _WORDS_OF_WAYS)
    most = prod(max(1, bounds[level]) for level in part.levels)
    # A strip of candidates must fit behind what is there.
    room = _lines(min(most, MOST_ENTRIES)) + _LINE_WORDS
    return room, room * (MOST_SEPARATORS + (_WORDS_OF_WAYS << meeting.leaf_levels))
