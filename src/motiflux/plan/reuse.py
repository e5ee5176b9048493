"""Code motion: a level starts from an earlier level's intersection instead of from scratch."""

from __future__ import annotations

from dataclasses import replace

from motiflux.plan.ir import PlanArgs, PlanShape, StepShape

# An intersection of fewer sets is a pointer into the graph: nothing to save. Level 1 is cut into pieces
# of work, so its set is not whole.
_LEAST_SOURCES = 2
_FIRST_LEVEL = 2


def share_intersections(shape: PlanShape, args: PlanArgs) -> tuple[PlanShape, PlanArgs]:
    """Return the plan with `reuse` set wherever an earlier level's set contains this level's."""
    steps, step_args = list(shape.steps), list(args.steps)
    wanted = [
        list(zip(step.sources, arg.adjacencies, strict=True))
        for step, arg in zip(shape.steps, args.steps, strict=True)
    ]
    for level, sources in enumerate(wanted):
        if len(sources) < _LEAST_SOURCES:
            continue
        contained = [
            earlier
            for earlier in range(_FIRST_LEVEL, level)
            if len(wanted[earlier]) >= _LEAST_SOURCES and set(wanted[earlier]) <= set(sources)
        ]
        smaller, greater = _closed(shape, level) if contained else (set(), set())
        prefixes = [
            earlier for earlier in contained if _clips_no_more(shape.steps[earlier], smaller, greater)
        ]
        if prefixes:
            longest = max(prefixes, key=lambda earlier: len(wanted[earlier]))
            rest = [source for source in sources if source not in wanted[longest]]
            steps[level] = replace(steps[level], sources=tuple(s for s, _ in rest), reuse=longest)
            step_args[level] = replace(step_args[level], adjacencies=tuple(key for _, key in rest))
    return PlanShape(tuple(steps)), PlanArgs(tuple(step_args))


def _clips_no_more(earlier: StepShape, after: set[int], before: set[int]) -> bool:
    """Whether the earlier set, clipped to the levels it knows, still contains all that the later may hold."""
    known = range(earlier.anchor + 1)
    return set(earlier.after) & set(known) <= after and set(earlier.before) & set(known) <= before


def _closed(shape: PlanShape, level: int) -> tuple[set[int], set[int]]:
    """Return the levels whose vertex is certainly smaller, and greater, than the candidate of `level`."""
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
