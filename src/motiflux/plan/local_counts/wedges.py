"""Patterns of vertices between the ends of wedges, which histograms of wedges count."""

from __future__ import annotations

from motiflux.plan.ir import Middles, Wedges
from motiflux.plan.local_counts.family import Family
from motiflux.plan.rooted import Rooted

_MOST_MIDDLE_KINDS = 2
"""Kinds of middle vertices of one pattern."""


def is_uniform(pattern: Rooted, family: Family) -> bool:
    """Return whether all vertices have one kind, and all edges one kind, which goes either way."""
    kinds = {kind for _, _, kind in pattern.edges}
    return len(set(pattern.vertices)) == len(kinds) == 1 and family.is_either(min(kinds))


def wedges_of(pattern: Rooted, family: Family) -> tuple[Wedges, list[list[int]]] | None:
    """Return the pattern as middles of one or two kinds between two ends, and the middles of each kind."""
    size = len(pattern.vertices)
    if size < 4 or len(pattern.edges) != 2 * (size - 2):
        return None
    for x in range(size) if pattern.roots != 1 else (0,):
        around = pattern.neighbors(x)
        others = set(range(size)) - around - {x}
        if len(others) != 1 or pattern.neighbors(z := min(others)) != around:
            continue
        kinds: dict[object, list[int]] = {}
        for middle in sorted(around):
            kinds.setdefault(_middle_kind(pattern, family, x, z, middle), []).append(middle)
        uniform = size == 4 and is_uniform(pattern, family)
        if len(kinds) > _MOST_MIDDLE_KINDS or (pattern.roots == 2 and not uniform):
            continue
        turned = {_middle_kind(pattern, family, z, x, alike[0]): len(alike) for alike in kinds.values()}
        there = {kind: len(alike) for kind, alike in kinds.items()}
        symmetric = pattern.vertices[x] == pattern.vertices[z] and turned == there
        middles = tuple(Middles((x, alike[0]), (alike[0], z), len(alike)) for alike in kinds.values())
        return Wedges(pattern, middles, symmetric, uniform), list(kinds.values())
    return None


def _middle_kind(pattern: Rooted, family: Family, x: int, z: int, middle: int) -> object:
    """Return the kinds of a middle vertex and of its edges from x and to z."""
    return pattern.vertices[middle], family.edge(pattern, x, middle), family.edge(pattern, middle, z)
