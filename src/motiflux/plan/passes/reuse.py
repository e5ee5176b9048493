"""Levels whose candidates are among those of an earlier level.

Reuse of intersections: a level starts from the intersection of an earlier level. All-different bounds: the
number of different vertices that later levels need from the candidates of a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from motiflux.graph import AdjacencyKey
from motiflux.plan.shape import PlanArgs, PlanShape, Source, StepShape, Tail

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
    wanted = [
        list(zip(step.sources, arg.adjacencies, strict=True))
        for step, arg in zip(shape.steps, args.steps, strict=True)
    ]
    held = [frozenset(sources) for sources in wanted]
    clips: list[_Clip] = []
    for level, sources in enumerate(wanted):
        clip = _own_clip(steps[level])
        contained = [
            earlier
            for earlier in range(_FIRST_LEVEL, level if tail is None else min(level, tail.start))
            if len(wanted[earlier]) >= _LEAST_SOURCES
            and (classes is None or classes[earlier] == classes[level])
            and held[earlier] <= held[level]
        ]
        smaller, greater = certain_orders(shape, level) if contained else (set(), set())
        prefixes = [e for e in contained if clips[e].after <= smaller and clips[e].before <= greater]
        if prefixes:
            longest = max(prefixes, key=lambda earlier: len(wanted[earlier]))
            rest = [at for at, source in enumerate(sources) if source not in held[longest]]
            step, arg = steps[level], step_args[level]
            steps[level] = replace(step, sources=tuple(step.sources[at] for at in rest), reuse=longest)
            step_args[level] = replace(
                arg,
                adjacencies=tuple(arg.adjacencies[at] for at in rest),
                edges=tuple(arg.edges[at] for at in rest),
            )
            clip = _Clip(clip.after | clips[longest].after, clip.before | clips[longest].before)
        clips.append(clip)
    return PlanShape(tuple(steps)), PlanArgs(tuple(step_args))


@dataclass(frozen=True, slots=True)
class _Clip:
    """The levels whose vertices bound the set of a level from below and above, reused sets included.

    A later level may reuse the set only if the same bounds hold for its candidates.
    """

    after: set[int]
    before: set[int]


def _own_clip(step: StepShape) -> _Clip:
    known = set(range(step.anchor + 1))
    return _Clip(set(step.after) & known, set(step.before) & known)


def certain_orders(shape: PlanShape, level: int) -> tuple[set[int], set[int]]:
    """Return the levels whose vertex must be smaller, and greater, than the candidate of `level`."""
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
