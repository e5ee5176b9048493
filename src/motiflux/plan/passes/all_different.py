"""All-different bounds: how many different vertices later levels need from the candidates of a level."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.graph import AdjacencyKey
from motiflux.plan.passes.reuse import certain_orders
from motiflux.plan.shape import PlanArgs, PlanShape, Source

_FIRST_LEVEL = 2
"""The candidates of level 1 are split into pieces of work."""


def all_different_bounds(
    shape: PlanShape, args: PlanArgs, classes: Sequence[int] | None = None
) -> tuple[tuple[int, int], ...]:
    """Return the all-different bounds of each level; empty if no level has any.

    The first bound is the number of later levels that take different vertices from the candidates of the
    level. The second is how many of these vertices must be greater than the vertex of the level itself.

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
    """Return the sources of each level, with the sources of the intersection that it reuses."""
    found: list[frozenset[tuple[Source, AdjacencyKey]]] = []
    for step, arg in zip(shape.steps, args.steps, strict=True):
        own = frozenset(zip(step.sources, arg.adjacencies, strict=True))
        found.append(own if step.reuse is None else own | found[step.reuse])
    return found
