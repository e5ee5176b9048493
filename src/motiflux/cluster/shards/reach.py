"""Which rows a search may open: the reach of a plan from its first query vertex.

The rows of query vertices are read from which a query edge, or a comparison with arcs that must be absent,
leads to a later level of the plan. Then rows that lead from images of such query vertices to images of the
later ones have all embeddings, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from motiflux.cluster.shards.layout import Layout
from motiflux.conditions import Condition
from motiflux.graph import AdjacencyKey, Direction
from motiflux.plan import Plan
from motiflux.plan.bind import BoundPattern
from motiflux.plan.passes.symmetry import closure

Pair = tuple[int, int, int]
"""A query vertex whose rows are read, one that they lead to, and the side of the neighbours: 1, -1 or 0."""
Key = tuple[list[Pair], list[int]]
"""The pairs of query vertices whose rows it has, and which kinds of entries; no kinds for all."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A query edge as it leads to a later level.

    Parameters
    ----------
    kinds
        For each kind of an entry whether the edge may use it; empty: all.
    """

    target: int
    kinds: list[int]


@dataclass(frozen=True, eq=False, slots=True)
class Reach:
    """The order in which candidates of query vertices are gathered.

    Parameters
    ----------
    root, second
        The query vertices of the plan's levels 0 and 1.
    root_labels
        Codes of the labels that the root may have; None: any.
    cover
        Query vertices whose rows are read, by level; the root is the first.
    leads
        For each vertex of the cover, in the same order: the edges to later levels.
    less
        Pairs of query vertices: the id of the first one's image is less than that of the second.
    least_ids
        For each query vertex, the first vertex that has as many arcs as its images need.
    """

    size: int
    root: int
    second: int
    root_labels: tuple[int, ...] | None
    cover: tuple[int, ...]
    leads: tuple[tuple[Lead, ...], ...]
    less: frozenset[tuple[int, int]]
    least_ids: tuple[int, ...]

    def side(self, one: int, other: int) -> int:
        """Return 1 if the image of `other` has a greater id than that of `one`, -1 if less, 0 if unknown."""
        return 1 if (one, other) in self.less else -1 if (other, one) in self.less else 0


@dataclass(frozen=True, eq=False, slots=True)
class RowsOfPlan:
    """The rows that a plan reads, of a part of a graph.

    Parameters
    ----------
    sources
        The key of each source of the plan.
    out, into
        The keys of the arcs that must not lead to, and from, a later level.
    apart
        Levels, earlier levels, and the keys of the arcs that must not lead from these to them.
    arcs
        For each earlier and later level that a source joins: a key that has the arcs between their images.
    """

    keys: list[Key]
    sources: list[int]
    out: int
    into: int
    apart: list[tuple[int, int, int]]
    arcs: dict[tuple[int, int], int]


def reach_of(bound: BoundPattern, plan: Plan, layout: Layout) -> Reach:
    """Return the reach of a plan."""
    levels = {vertex: level for level, vertex in enumerate(plan.order)}
    cover = {plan.order[earlier] for level in range(bound.size) for earlier, _ in _arcs(plan, level)}
    leads = []
    ordered = [vertex for vertex in plan.order if vertex in cover]
    for vertex in ordered:
        found = []
        for edge in bound.incident[vertex]:
            other = edge.other(vertex)
            if levels[other] > levels[vertex]:
                kinds = layout.allowed_kinds(edge, vertex, bound.labels[other])
                found.append(Lead(other, [] if kinds.all() else kinds.astype(int).tolist()))
        leads.append(tuple(found))
    root = plan.order[0]
    return Reach(
        bound.size,
        root,
        plan.order[1],
        bound.labels[root],
        tuple(ordered),
        tuple(leads),
        closure(plan.restrictions),
        tuple(_least_id(plan, levels[vertex], layout) for vertex in range(bound.size)),
    )


def rows_of_plan(bound: BoundPattern, plan: Plan, reach: Reach, layout: Layout) -> RowsOfPlan:
    """Return the rows that a plan reads.

    Sources share rows if these are of the same arcs, from vertices of the same labels and conditions and to
    those of the same query vertices, as the plan sees them: with labels for single query vertices, to one of
    them.
    """
    order, keys = plan.order, _Keys(layout)
    either = Direction.OUT if layout.directed else Direction.EITHER
    arcs: dict[tuple[int, int], int] = {}
    for level in range(bound.size):
        for earlier, key in sources_of_level(plan, level):
            group = _group(bound, order[earlier], key)
            arcs[earlier, level] = keys.add(group, order[earlier], order[level], reach)
    sources = [
        keys.at(_group(bound, order[source.level], key))
        for step, args in zip(plan.shape.steps, plan.args.steps, strict=True)
        for source, key in zip(step.sources, args.adjacencies, strict=True)
    ]
    apart = []
    for level, (step, args) in enumerate(zip(plan.shape.steps, plan.args.steps, strict=True)):
        for earlier, key in args.apart:
            arcs_apart = (key.direction, key.edge_labels, key.edge_where)
            apart.append((level, earlier, keys.add(arcs_apart, order[earlier], order[level], reach)))
        for direction, levels in ((either, step.not_out), (Direction.IN, step.not_in)):
            for earlier in levels:
                keys.add((direction, None, None), order[earlier], order[level], reach)
    out, into = (
        keys.at((way, None, None), 0) for way in (either, Direction.IN if layout.directed else either)
    )
    return RowsOfPlan(keys.found, sources, out, into, apart, arcs)


def _group(bound: BoundPattern, start: int, key: AdjacencyKey) -> _Group:
    """Return what sources have in common that share rows."""
    of_start = bound.labels[start], bound.filters[start]
    return key.direction, key.edge_labels, key.edge_where, of_start, key.target_labels, key.target_where


_Group = tuple[Direction, tuple[int, ...] | None, Condition | None, *tuple[object, ...]]


class _Keys:
    """Keys by the group of sources that they are for."""

    def __init__(self, layout: Layout) -> None:
        self.found: list[Key] = []
        self._layout = layout
        self._places: dict[tuple[object, ...], int] = {}

    def at(self, group: tuple[object, ...], missing: int | None = None) -> int:
        if missing is not None:
            return self._places.get(group, missing)
        return self._places[group]

    def add(
        self,
        group: _Group,
        source: int,
        target: int,
        reach: Reach,
    ) -> int:
        place = self._places.setdefault(group, len(self.found))
        if place == len(self.found):
            kinds = self._layout.kinds_of(*group[:3])
            self.found.append(([], [] if kinds.all() else kinds.astype(int).tolist()))
        pairs = self.found[place][0]
        pair = (source, target, reach.side(source, target))
        if pair not in pairs:
            pairs.append(pair)
        return place


def sources_of_level(plan: Plan, level: int) -> Iterator[tuple[int, AdjacencyKey]]:
    """Yield the earlier levels, and the arcs from them, that give a level its candidates."""
    step, args = plan.shape.steps[level], plan.args.steps[level]
    if step.reuse is not None:
        yield from sources_of_level(plan, step.reuse)
    for source, key in zip(step.sources, args.adjacencies, strict=True):
        yield source.level, key


def _arcs(plan: Plan, level: int) -> Sequence[tuple[int, object]]:
    """Return the earlier levels whose rows are compared with the candidates of a level."""
    step = plan.shape.steps[level]
    absent = [(earlier, None) for earlier in (*step.not_out, *step.not_in)]
    return [*sources_of_level(plan, level), *absent, *plan.args.steps[level].apart]


def _least_id(plan: Plan, level: int, layout: Layout) -> int:
    """Return the first vertex that has the arcs that the image of a level needs."""
    args = plan.args.steps[level]
    needed = args.min_out_degree + args.min_in_degree
    if not layout.directed:
        needed = max(args.min_out_degree, args.min_in_degree)
    return int(layout.first_ids[np.searchsorted(layout.degrees, needed)])
