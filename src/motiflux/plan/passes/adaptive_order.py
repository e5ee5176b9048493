"""The data of a search that may match its levels in any connected order."""

from __future__ import annotations

from motiflux.plan.shape import AdaptiveOrder, PlanArgs, PlanShape


def adaptive_order_of(shape: PlanShape, args: PlanArgs, *, always: bool) -> AdaptiveOrder:
    """Return the query edges and comparisons of a search without reused intersections."""
    links = tuple(
        (source.level, level, *edge)
        for level, (step, arg) in enumerate(zip(shape.steps, args.steps, strict=True))
        for source, edge in zip(step.sources, arg.edges, strict=True)
    )
    apart, smaller, greater = ([0] * len(shape.steps) for _ in range(3))
    for level, step in enumerate(shape.steps):
        for masks, turned, others in (
            (apart, apart, step.distinct),
            (smaller, greater, step.after),
            (greater, smaller, step.before),
        ):
            for other in others:
                masks[level] |= 1 << other
                turned[other] |= 1 << level
    return AdaptiveOrder(links, tuple(zip(apart, smaller, greater, strict=True)), always)
