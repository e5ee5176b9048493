"""Tails: the last levels, counted in closed form from the sizes of their sets instead of enumerated.

A level may join the tail if its set depends on no level of the tail. Levels whose vertices might coincide
form a component, which is counted by inclusion and exclusion (`csrc/search/tail.hpp`). Levels that symmetry
breaking orders among themselves share one set; the count of ordered choices is divided by the number of their
orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from motiflux.plan.passes.symmetry import closure
from motiflux.plan.shape import PlanArgs, PlanShape, StepArgs, StepShape, Tail, TailComponent

# Mirrors csrc/search/tail.hpp.
MOST_SETS = 4
MOST_MIXED_LEVELS = 6

# A tail from level 1 leaves only level 0 to enumerate. Engines that enumerate root arcs, and parts, need
# level 1.
FIRST_START = 2
# The last level is always counted, not enumerated, so a tail has more levels.
_LEAST_LEVELS = 2


def close_tail(
    shape: PlanShape,
    args: PlanArgs,
    coinciding: frozenset[tuple[int, int]] = frozenset(),
    classes: tuple[int, ...] | None = None,
    *,
    first: int = FIRST_START,
    mixed: bool = True,
) -> tuple[PlanShape, Tail | None]:
    """Return the longest tail, and the shape with the order restrictions that remain in it.

    Parameters
    ----------
    coinciding
        Pairs of levels that may share a data vertex: they are in different components, as the formula of a
        component is for different vertices.
    classes
        Over a candidate space: a number per level, equal for equal candidates.
    first
        The first level that may be in the tail, 1 or more.
    mixed
        Whether levels of a component may have different sets.

    Notes
    -----
    Call it before intersections are shared: sets of the tail cannot be reused.
    """
    levels = len(shape.steps)
    before = comparisons(shape)
    kinds = [
        (
            None if classes is None else classes[level],
            frozenset(m for other, m in coinciding if other == level) if coinciding else coinciding,
        )
        for level in range(levels)
    ]
    for start in range(_least_start(shape, first), levels - _LEAST_LEVELS + 1):
        found = _tail_from(shape, args, kinds, before, start)
        if found is None or _has_pair(found[1], coinciding):
            continue
        if mixed or all(max(component.sets) == 0 for component in found[1].components):
            return found
    return shape, None


def _least_start(shape: PlanShape, first: int) -> int:
    """Return the first level from `first` on from which on no set depends on a level of the tail."""
    last = len(shape.steps)
    anchor = 0
    for start in range(last - 1, first - 1, -1):
        step = shape.steps[start]
        anchor = max(anchor, step.anchor)
        if anchor >= start or step.not_out or step.not_in or step.bounds_out or step.bounds_in:
            return start + 1
    return min(first, last)


def _has_pair(tail: Tail, pairs: frozenset[tuple[int, int]]) -> bool:
    return any({a, b} <= set(component.levels) for component in tail.components for a, b in pairs)


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Pairs of levels whose first vertex is less than the second: as stated, and their closure."""

    stated: frozenset[tuple[int, int]]
    implied: frozenset[tuple[int, int]]


_NO_COMPARISONS = Comparisons(frozenset(), frozenset())


def comparisons(shape: PlanShape) -> Comparisons:
    """Return the comparisons between the levels of a plan."""
    if not any(step.after or step.before for step in shape.steps):
        return _NO_COMPARISONS
    stated = {(other, level) for level, step in enumerate(shape.steps) for other in step.after}
    stated |= {(level, other) for level, step in enumerate(shape.steps) for other in step.before}
    return Comparisons(frozenset(stated), closure(tuple(stated)))


def _tail_from(
    shape: PlanShape,
    args: PlanArgs,
    kinds: Sequence[object],
    before: Comparisons,
    start: int,
) -> tuple[PlanShape, Tail] | None:
    steps = list(shape.steps)
    for level in range(start, len(steps)) if before.stated else ():
        after = tuple(e for e in range(start) if (e, level) in before.implied)
        bound = tuple(e for e in range(start) if (level, e) in before.implied)
        if (after, bound) != (steps[level].after, steps[level].before):
            steps[level] = replace(steps[level], after=after, before=bound)
    components = []
    for members in _components(shape, before, start):
        if len(members) == 1:
            components.append(TailComponent((members[0],), (0,)))
            continue
        component = _component(
            members,
            [LevelSet.of(steps[m], args.steps[m], kinds[m]) for m in members],
            before,
        )
        if component is None:
            return None
        components.append(component)
    return PlanShape(tuple(steps)), Tail(start, tuple(components))


def _components(shape: PlanShape, before: Comparisons, start: int) -> list[list[int]]:
    """Return the levels of the tail in groups; vertices of different groups differ and are not ordered."""
    groups: list[list[int]] = []
    for level in range(start, len(shape.steps)):
        compared = set(shape.steps[level].distinct)
        if before.stated:
            compared |= {
                other for other in range(start, level) if {(other, level), (level, other)} & before.stated
            }
        joined = [group for group in groups if not compared.isdisjoint(group)]
        groups = [group for group in groups if group not in joined]
        groups.append(sorted([level, *(member for group in joined for member in group)]))
    return sorted(groups)


@dataclass(frozen=True, slots=True)
class LevelSet:
    """The sources and bounds of the set of a level; equal for levels with the same set."""

    sources: frozenset[object]
    after: tuple[int, ...]
    before: tuple[int, ...]
    kind: object

    @classmethod
    def of(cls, step: StepShape, args: StepArgs, kind: object) -> LevelSet:
        """Return the set of a step without `reuse`."""
        sources = frozenset(zip(step.sources, args.adjacencies, strict=True))
        return cls(sources, step.after, step.before, kind)


def _component(members: list[int], sets: list[LevelSet], before: Comparisons) -> TailComponent | None:
    """Return the component; None if it is too large, or no formula fits the order of its levels."""
    numbers: dict[LevelSet, int] = {}
    set_of = tuple(numbers.setdefault(one, len(numbers)) for one in sets)
    if len(numbers) > 1 and (len(numbers) > MOST_SETS or len(members) > MOST_MIXED_LEVELS):
        return None
    sizes = []
    for chain in _chains(members, before):
        pairs = [(a, b) for at, a in enumerate(chain) for b in chain[at + 1 :]]
        ordered = all((a, b) in before.implied or (b, a) in before.implied for a, b in pairs)
        same = len({set_of[members.index(level)] for level in chain}) == 1
        if not (ordered and same):
            return None
        if len(chain) > 1:
            sizes.append(len(chain))
    return TailComponent(tuple(members), set_of, tuple(sizes))


def _chains(members: list[int], before: Comparisons) -> list[list[int]]:
    """Return the levels in groups that are connected by order restrictions."""
    chains: list[list[int]] = []
    for level in members:
        linked = [
            chain
            for chain in chains
            if any({(level, other), (other, level)} & before.stated for other in chain)
        ]
        chains = [chain for chain in chains if chain not in linked]
        chains.append(sorted([level, *(other for chain in linked for other in chain)]))
    return chains
