"""Code motion: a level starts from an earlier level's intersection instead of from scratch."""

from __future__ import annotations

from dataclasses import replace

from motiflux.plan.ir import PlanShape, StepShape

# An intersection of fewer sets is a pointer into the graph: nothing to save. Level 1 is cut into pieces
# of work, so its set is not whole.
_LEAST_SOURCES = 2
_FIRST_LEVEL = 2


def share_intersections(shape: PlanShape) -> PlanShape:
    """Return `shape` with `reuse` set wherever an earlier level's set contains this level's."""
    steps = list(shape.steps)
    for level, step in enumerate(shape.steps):
        if len(step.sources) < _LEAST_SOURCES:
            continue
        contained = [
            earlier
            for earlier in range(_FIRST_LEVEL, level)
            if len(shape.steps[earlier].sources) >= _LEAST_SOURCES
            and set(shape.steps[earlier].sources) <= set(step.sources)
        ]
        smaller, greater = _closed(shape, level) if contained else (set(), set())
        prefixes = [
            earlier for earlier in contained if _clips_no_more(shape.steps[earlier], smaller, greater)
        ]
        if prefixes:
            longest = max(prefixes, key=lambda earlier: len(shape.steps[earlier].sources))
            done = set(shape.steps[longest].sources)
            rest = tuple(source for source in step.sources if source not in done)
            steps[level] = replace(step, sources=rest, reuse=longest)
    return PlanShape(tuple(steps))


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
