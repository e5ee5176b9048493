"""Phases that read one row of an embedding in place of those that read several.

If a table is in tiles, two rows of an embedding are mostly in different tiles. Phases of two sets are divided
then: one of the first set, and one of the second, whose candidates are compared with those of the first. This
is what ``pvm="sv"`` does with all members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from motiflux.plan.phases.data import CandidateSet, Checks, Extension, Pair, Phase, Relation


def with_single_rows(
    phases: Sequence[Phase], is_divided: Callable[[Extension], bool]
) -> list[tuple[int, Phase]]:
    """Return phases with the numbers of those that they are, or are parts of."""
    found: list[tuple[int, Phase]] = []
    for number, phase in enumerate(phases):
        divided = isinstance(phase, Extension) and len(phase.sets) > 1 and is_divided(phase)
        parts = _divided(phase) if divided and isinstance(phase, Extension) else [phase]
        found += [(number, part) for part in parts]
    return found


def _divided(phase: Extension) -> list[Phase]:
    """Return a phase for each of the two sets of a phase."""
    first, second = phase.sets
    among = [[pair for pair in phase.pairs if _is_of(one, pair)] for one in (first, second)]
    crossing = [pair for pair in phase.pairs if pair not in among[0] and pair not in among[1]]
    added = [_checks([pair for pair in crossing if pair.second == member]) for member in second.members]
    if all(checks == added[0] for checks in added):
        second = replace(second, common=_with(second.common, added[0]))
    else:
        own = second.own or (Checks(),) * len(second.members)
        second = replace(second, own=tuple(map(_with, own, added)))
    return [
        replace(phase, sets=(first,), pairs=tuple(among[0])),
        replace(phase, sets=(second,), pairs=tuple(among[1]), root=None),
    ]


def _is_of(one: CandidateSet, pair: Pair) -> bool:
    return pair.first in one.members and pair.second in one.members


def _checks(pairs: Sequence[Pair]) -> Checks:
    """Return the checks of a member of the second set with members of the first."""
    return Checks(
        distinct=tuple(pair.first for pair in pairs if pair.relation is Relation.DIFFERENT),
        after=tuple(pair.first for pair in pairs if pair.relation is Relation.LESS),
        not_out=tuple(pair.first for pair in pairs if pair.not_out),
        not_in=tuple(pair.first for pair in pairs if pair.not_in),
    )


def _with(checks: Checks, added: Checks) -> Checks:
    return replace(
        checks,
        distinct=(*checks.distinct, *added.distinct),
        after=(*checks.after, *added.after),
        not_out=(*checks.not_out, *added.not_out),
        not_in=(*checks.not_in, *added.not_in),
    )
