"""Groups: query vertices that may be matched together, as GENEVA's extension patterns do (section 4).

Consecutive levels form a group if they are reached from the same one or two vertices, over one set of edge
labels, and have at most two sets of labels among them. None of them is reached from another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motiflux.graph import AdjacencyKey
from motiflux.plan.ir import Plan
from motiflux.plan.passes.reuse import all_sources
from motiflux.plan.shape import Source

_MOST_SOURCES = 2
_MOST_LABEL_SETS = 2


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive levels reached from the same vertices.

    Parameters
    ----------
    levels
        The levels, ascending.
    one_set
        Whether all levels have the same candidates before order restrictions and injectivity.
    """

    levels: tuple[int, ...]
    one_set: bool


def find_groups(plan: Plan) -> tuple[Group, ...]:
    """Return the groups of a plan: disjoint, each as long as possible from its first level on."""
    sources = all_sources(plan.shape, plan.args)
    groups: list[Group] = []
    first = 1
    while first < len(sources):
        end = first + 1
        while end < len(sources) and _is_group(sources[first : end + 1], first):
            end += 1
        if end - first > 1:
            sets = set(zip(sources[first:end], plan.classes[first:end] or (0,) * (end - first), strict=True))
            groups.append(Group(tuple(range(first, end)), one_set=len(sets) == 1))
        first = end
    return tuple(groups)


def _is_group(sources: Sequence[frozenset[tuple[Source, AdjacencyKey]]], first: int) -> bool:
    origins = {tuple(sorted(source.level for source, _ in of_level)) for of_level in sources}
    keys = [key for of_level in sources for _, key in of_level]
    return (
        len(origins) == 1
        and len(set(*origins)) <= _MOST_SOURCES
        and max(*origins, default=0) < first
        and len({(key.edge_labels, key.edge_where) for key in keys}) == 1
        and len({(key.target_labels, key.target_where) for key in keys}) <= _MOST_LABEL_SETS
    )
