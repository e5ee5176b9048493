"""Levels whose vertices all come from the candidates of an earlier one: these must be enough for all."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.graph import AdjacencyKey
from motiflux.plan.passes.reuse import certain_orders
from motiflux.plan.shape import PlanArgs, PlanShape, Source

_FIRST_LEVEL = 2
"""The candidates of level 1 are cut into pieces of work."""


def room_needed(
    shape: PlanShape, args: PlanArgs, classes: Sequence[int] | None = None
) -> tuple[tuple[int, int], ...]:
    """Return what later levels need of the candidates of each level; empty if nothing.

    That is: how many later levels take their vertices from these candidates, each another one, and how many
    of them certainly a greater one than the level itself.

    Parameters
    ----------
    classes
        Over a candidate space: a number per level, equal where the candidates are the same.
    """
    levels = len(shape.steps)
    sources = _all_sources(shape, args)
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


def _all_sources(shape: PlanShape, args: PlanArgs) -> list[frozenset[tuple[Source, AdjacencyKey]]]:
    """Return where the candidates of each level come from, those of the set that it starts from included."""
    found: list[frozenset[tuple[Source, AdjacencyKey]]] = []
    for step, arg in zip(shape.steps, args.steps, strict=True):
        own = frozenset(zip(step.sources, arg.adjacencies, strict=True))
        found.append(own if step.reuse is None else own | found[step.reuse])
    return found
