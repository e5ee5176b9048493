"""Which plans look for cliques whose vertices ascend."""

from __future__ import annotations

from motiflux.graph import AdjacencyKey
from motiflux.plan.ir import Plan


def clique_key(plan: Plan) -> AdjacencyKey | None:
    """Return the arcs among which a plan looks for an ascending clique; None if it looks for something else.

    Every vertex must be reached from all before it by the same arcs, and be greater than the one before.
    What else its steps ask for must follow from that.
    """
    steps = plan.shape.steps
    key = plan.args.steps[1].adjacencies[0] if len(steps) > 2 else None
    if key is None:
        return None
    reached: list[set[int]] = []
    for level, (step, args) in enumerate(zip(steps, plan.args.steps, strict=True)):
        known = set() if step.reuse is None else reached[step.reuse]
        reached.append(known | {source.level for source in step.sources})
        follows = reached[level] == set(range(level)) and all(other == key for other in args.adjacencies)
        ascends = level == 0 or level - 1 in step.after
        asks = step.before or step.not_out or step.not_in
        most = max(args.min_out_degree, args.min_in_degree)
        if not follows or not ascends or asks or most >= len(steps):
            return None
    return key
