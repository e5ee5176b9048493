"""Levels whose candidates are among those of an earlier level.

Reuse of intersections: a level starts from the intersection of an earlier level. All-different bounds: the
number of different vertices that later levels need from the candidates of a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motiflux.graph import AdjacencyKey
from motiflux.plan.shape import PlanArgs, PlanShape, Source, StepArgs, StepShape, Tail

# A set with fewer sources is a row of the graph, which takes no time. Level 1 is split into pieces of work,
# so its set is not complete.
_LEAST_SOURCES = 2
_FIRST_LEVEL = 2


def share_intersections(
    shape: PlanShape, args: PlanArgs, classes: Sequence[int] | None = None, tail: Tail | None = None
) -> tuple[PlanShape, PlanArgs]:
    """Return the plan with `reuse` set for each level whose set is contained in that of an earlier level.

    Parameters
    ----------
    classes
        Over a candidate space: a number per level, equal for equal candidates. Only levels with equal
        candidates share a set.
    tail
        Levels counted in closed form; their sets cannot be reused.
    """
    steps, step_args = list(shape.steps), list(args.steps)
    candidates = _candidates(shape, classes, len(steps) if tail is None else tail.start)
    if not candidates:
        return shape, args
    held: dict[int, frozenset[object]] = {}
    clips: dict[int, _Clip] = {}

    def sources_of(level: int) -> frozenset[object]:
        if level not in held:
            sources = zip(shape.steps[level].sources, args.steps[level].adjacencies, strict=True)
            held[level] = frozenset(sources)
        return held[level]

    def clip_of(level: int) -> _Clip:
        return clips[level] if level in clips else _own_clip(shape.steps[level])

    for level, earlier_levels in candidates.items():
        contained = [earlier for earlier in earlier_levels if sources_of(earlier) <= sources_of(level)]
        smaller, greater = certain_orders(shape, level) if contained else (set(), set())
        prefixes = [e for e in contained if clip_of(e).after <= smaller and clip_of(e).before <= greater]
        if prefixes:
            longest = max(prefixes, key=lambda earlier: len(shape.steps[earlier].sources))
            steps[level], step_args[level] = _reusing(
                shape.steps[level], args.steps[level], longest, sources_of(longest)
            )
            own, reused = clip_of(level), clip_of(longest)
            clips[level] = _Clip(own.after | reused.after, own.before | reused.before)
    return PlanShape(tuple(steps)), PlanArgs(tuple(step_args))


def _reusing(
    step: StepShape, args: StepArgs, level: int, held: frozenset[object]
) -> tuple[StepShape, StepArgs]:
    """Return a step that starts from the intersection of a level, whose sources are `held`."""
    sources = zip(step.sources, args.adjacencies, strict=True)
    rest = [at for at, source in enumerate(sources) if source not in held]
    # Not by `replace`, which takes 12 us.
    shape = StepShape(
        tuple([step.sources[at] for at in rest]),
        level,
        step.anchor,
        step.after,
        step.before,
        step.distinct,
        step.not_out,
        step.not_in,
        step.bounds_out,
        step.bounds_in,
    )
    return shape, StepArgs(
        tuple([args.adjacencies[at] for at in rest]),
        tuple([args.edges[at] for at in rest]),
        args.min_out_degree,
        args.min_in_degree,
        args.apart,
    )


def _candidates(shape: PlanShape, classes: Sequence[int] | None, end: int) -> dict[int, list[int]]:
    """Return the levels whose sources include the levels of all sources of earlier levels, and these.

    Only these levels before `end` can have a set that the level reuses. Few plans have any.
    """
    reached = []
    for step in shape.steps:
        mask = 0
        for source in step.sources:
            mask |= 1 << source.level
        reached.append(mask)
    shared = [
        level
        for level in range(_FIRST_LEVEL, min(end, len(reached)))
        if len(shape.steps[level].sources) >= _LEAST_SOURCES
    ]
    found = {}
    for level in range(shared[0] + 1 if shared else len(reached), len(reached)):
        outside = ~reached[level]
        earlier_levels = [
            earlier
            for earlier in shared
            if earlier < level
            and not reached[earlier] & outside
            and (classes is None or classes[earlier] == classes[level])
        ]
        if earlier_levels:
            found[level] = earlier_levels
    return found


@dataclass(frozen=True, slots=True)
class _Clip:
    """The levels whose vertices bound the set of a level from below and above, reused sets included.

    A later level may reuse the set only if the same bounds hold for its candidates.
    """

    after: set[int]
    before: set[int]


def _own_clip(step: StepShape) -> _Clip:
    if not step.after and not step.before:
        return _Clip(set(), set())
    known = set(range(step.anchor + 1))
    return _Clip(set(step.after) & known, set(step.before) & known)


def certain_orders(shape: PlanShape, level: int) -> tuple[set[int], set[int]]:
    """Return the levels whose vertex must be smaller, and greater, than the candidate of `level`."""
    if not any(step.after or step.before for step in shape.steps):
        return set(), set()
    smaller = {position: set(step.after) for position, step in enumerate(shape.steps)}
    for position, step in enumerate(shape.steps):
        for other in step.before:
            smaller[other].add(position)
    return _reach(smaller, level), _reach(_turned(smaller), level)


def _turned(relation: dict[int, set[int]]) -> dict[int, set[int]]:
    return {a: {b for b, others in relation.items() if a in others} for a in relation}


def _reach(relation: dict[int, set[int]], start: int) -> set[int]:
    reached: set[int] = set()
    frontier = [start]
    while frontier:
        for other in relation[frontier.pop()] - reached:
            reached.add(other)
            frontier.append(other)
    return reached


def all_different_bounds(
    shape: PlanShape, args: PlanArgs, classes: Sequence[int] | None = None
) -> tuple[tuple[int, int], ...]:
    """Return the all-different bounds of each level; empty if no level has any.

    The first bound is the number of later levels that take different vertices from the candidates of the
    level. The second is the number of these vertices that must be greater than the vertex of the level.

    Parameters
    ----------
    classes
        Over a candidate space: a number per level, equal for equal candidates.
    """
    levels = len(shape.steps)
    sources = all_sources(shape, args)
    found = [(0, 0)] * levels
    orders: dict[int, tuple[set[int], set[int]]] = {}

    def ordered(level: int) -> tuple[set[int], set[int]]:
        if level not in orders:
            orders[level] = certain_orders(shape, level)
        return orders[level]

    def apart(level: int) -> set[int]:
        adjacent = {source.level for source, _ in sources[level]}
        return adjacent.union(shape.steps[level].distinct, *ordered(level))

    for level in range(_FIRST_LEVEL, levels - 1):
        others = [level]
        for later in range(level + 1, levels):
            if not (
                sources[level] <= sources[later] and (classes is None or classes[level] == classes[later])
            ):
                continue
            smaller, greater = ordered(later)
            earlier = {other for other in ordered(level)[1] if other < level}
            if smaller >= ordered(level)[0] and greater >= earlier and apart(later).issuperset(others):
                others.append(later)
        found[level] = (len(others) - 1, sum(level in ordered(later)[0] for later in others[1:]))
    return tuple(found) if any(others for others, _ in found) else ()


def all_sources(shape: PlanShape, args: PlanArgs) -> list[frozenset[tuple[Source, AdjacencyKey]]]:
    """Return the sources of each level, with the sources of the intersection that it reuses."""
    found: list[frozenset[tuple[Source, AdjacencyKey]]] = []
    for step, arg in zip(shape.steps, args.steps, strict=True):
        own = frozenset(zip(step.sources, arg.adjacencies, strict=True))
        found.append(own if step.reuse is None else own | found[step.reuse])
    return found
