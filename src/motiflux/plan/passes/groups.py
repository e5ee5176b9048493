"""Groups: query vertices that may be matched together, as GENEVA's extension patterns do (section 4).

Consecutive levels form a group if they are reached from the same one or two vertices, over one set of edge
labels, and have at most two sets of labels among them. None of them is reached from another.
"""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.plan.shape import Group, PlanArgs, PlanShape

_MOST_SOURCES = 2
_MOST_LABEL_SETS = 2


def find_groups(shape: PlanShape, args: PlanArgs, classes: Sequence[int] | None = None) -> tuple[Group, ...]:
    """Return the groups of a plan: disjoint, each as long as possible from its first level on.

    Parameters
    ----------
    classes
        Over a candidate space: a number per level, equal for equal candidates.

    Notes
    -----
    Call it before intersections are shared, while each level has all its sources.
    """
    groups: list[Group] = []
    first = 1
    while first < len(shape.steps):
        end = first + 1
        while end < len(shape.steps) and _is_group(shape, args, range(first, end + 1)):
            end += 1
        if end - first > 1:
            groups.append(_group(shape, args, classes, range(first, end)))
        first = end
    return tuple(groups)


def _is_group(shape: PlanShape, args: PlanArgs, levels: range) -> bool:
    origins = {tuple(source.level for source in shape.steps[level].sources) for level in levels}
    keys = [key for level in levels for key in args.steps[level].adjacencies]
    return (
        len(origins) == 1
        and len(set(*origins)) <= _MOST_SOURCES
        and max(*origins, default=0) < levels.start
        and len({(key.edge_labels, key.edge_where) for key in keys}) == 1
        and len({(key.target_labels, key.target_where) for key in keys}) <= _MOST_LABEL_SETS
    )


def _group(shape: PlanShape, args: PlanArgs, classes: Sequence[int] | None, levels: range) -> Group:
    sets = {
        (
            frozenset(zip(shape.steps[level].sources, args.steps[level].adjacencies, strict=True)),
            None if classes is None else classes[level],
        )
        for level in levels
    }
    return Group(tuple(levels), one_set=len(sets) == 1)
