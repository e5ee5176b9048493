"""Comparisons of plans with the copies of a graph, as arguments of the native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Operator
from motiflux.graph import Direction, Graph, VertexFilter
from motiflux.graph.copies import CopyIndex, CopyKey, copy_index, vertex_values
from motiflux.plan.bind import BoundEdge
from motiflux.plan.comparisons.bound import BoundComparison, BoundComparisons, BoundSpan, BoundVariable
from motiflux.plan.comparisons.copy_walk import CopyWalk
from motiflux.plan.ir import Plan

_OPERATORS = {
    Operator.EQUAL: 0,
    Operator.UNEQUAL: 1,
    Operator.LESS: 2,
    Operator.AT_MOST: 3,
    Operator.GREATER: 4,
    Operator.AT_LEAST: 5,
}
_OPPOSITE = {
    Direction.OUT: Direction.IN,
    Direction.IN: Direction.OUT,
    Direction.EITHER: Direction.EITHER,
}
_LOW_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class NativeComparisons:
    """Comparisons as the native code takes them.

    Parameters
    ----------
    native
        The object of the native code.
    order
        For each of its variables, the position in `BoundComparisons.variables`.
    indexes
        The copies of each of its variables; None for vertices.
    """

    native: _native.Comparisons
    order: tuple[int, ...]
    indexes: tuple[CopyIndex | None, ...]


@dataclass(frozen=True, slots=True)
class SearchComparisons:
    """Comparisons of a search.

    Parameters
    ----------
    native
        The object of the native code.
    variables_of_sources
        For each source of the plan the variable of its edge, or -1.
    copy_walk
        Arguments of the native code for a search from copy to copy; None for none.
    own_rows
        The sources whose rows lead to all ends of copies: these were found by the same rows.
    """

    native: _native.Comparisons
    variables_of_sources: list[int]
    copy_walk: tuple[Any, ...] | None
    own_rows: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Ends:
    """The levels between which a variable lies, and the copies of an edge as it is followed between them.

    Parameters
    ----------
    start, end
        The levels: of an edge, the second one may be the earlier one; of a vertex, both are its own.
    key
        The copies of an edge, without columns; None for a vertex.
    """

    start: int
    end: int
    key: CopyKey | None

    @property
    def level(self) -> int:
        """The level with which the variable is matched."""
        return max(self.start, self.end)


def windowed_directions(plan: Plan) -> set[Direction]:
    """Return the directions of levels with one source, whose candidates are found by main value."""
    return {args.adjacencies[0].direction for args in plan.args.steps[2:] if len(args.adjacencies) == 1}


def followed(plan: Plan) -> list[Ends]:
    """Return the ends of each variable of a plan, in the order of `BoundComparisons.variables`."""
    assert plan.comparisons is not None
    level_of = {vertex: level for level, vertex in enumerate(plan.order)}
    windows = windowed_directions(plan)
    there = windows | {plan.args.steps[1].adjacencies[0].direction}
    by_edge: dict[int, Ends] = {}
    for level, (shape, args) in enumerate(zip(plan.shape.steps, plan.args.steps, strict=True)):
        for source, adjacency, (edge, _) in zip(shape.sources, args.adjacencies, args.edges, strict=True):
            direction, start, end = adjacency.direction, source.level, level
            if direction not in there and _OPPOSITE[direction] in there:
                # Where rows are intersected, copies are found from either end: an index that is there serves.
                direction, start, end = _OPPOSITE[direction], end, start
            by_value = direction in windows or plan.copy_walk is not None
            key = CopyKey(direction, adjacency.edge_labels, adjacency.edge_where, (), by_value)
            by_edge[edge] = Ends(start, end, key)
    ends = []
    for variable in plan.comparisons.variables:
        if variable.vertex is not None:
            level = level_of[variable.vertex]
            ends.append(Ends(level, level, None))
        else:
            assert variable.edge is not None
            ends.append(by_edge[variable.edge])
    return ends


def followed_by_pairs(plan: Plan) -> list[Ends]:
    """Return the same as edges are followed in the order of a copy walk, if that has one."""
    ends = followed(plan)
    if plan.copy_walk is None or not plan.copy_walk.order:
        return ends
    return _ends_by_pairs(plan, plan.copy_walk, ends)


def native_comparisons(graph: Graph, plan: Plan) -> SearchComparisons:
    """Return the comparisons of a plan."""
    assert plan.comparisons is not None
    variables = plan.comparisons.variables
    ends = followed_by_pairs(plan)
    made = _made(graph, plan.comparisons, ends, len(plan.order))
    place = {
        variables[at].edge: position
        for position, (at, index) in enumerate(zip(made.order, made.indexes, strict=True))
        if index is not None and index.by_value is not None and ends[at].start < ends[at].end
    }
    of_sources = [place.get(edge, -1) for args in plan.args.steps for edge, _ in args.edges]
    walk = None if plan.copy_walk is None else _copy_walk(graph, plan, made, ends)
    return SearchComparisons(made.native, of_sources, walk)


def followed_from_rows(plan: Plan) -> dict[int, tuple[int, Ends]]:
    """Return the source of each variable that is an edge, and its ends and copies as rows of the source.

    By the positions of variables in `BoundComparisons.variables`. There are rows by main value where these
    give a level its candidates.
    """
    assert plan.comparisons is not None
    of_edges: dict[int, tuple[int, Ends]] = {}
    number = 0
    for level, (shape, args) in enumerate(zip(plan.shape.steps, plan.args.steps, strict=True)):
        windows = level > 1 and len(args.adjacencies) == 1
        for source, adjacency, (edge, _) in zip(shape.sources, args.adjacencies, args.edges, strict=True):
            key = CopyKey(adjacency.direction, adjacency.edge_labels, adjacency.edge_where, (), windows)
            of_edges[edge] = number, Ends(source.level, level, key)
            number += 1
    found = {}
    for at, variable in enumerate(plan.comparisons.variables):
        if variable.edge is not None:
            number, ends = of_edges[variable.edge]
            assert ends.key is not None
            by_value = ends.key.by_value and bool(variable.columns)
            key = replace(ends.key, columns=variable.columns, by_value=by_value)
            found[at] = number, replace(ends, key=key)
    return found


def comparisons_of_rows_of_plan(
    values: Any, plan: Plan, indexes: Mapping[int, CopyIndex]
) -> SearchComparisons:
    """Return the comparisons of a plan that is searched over rows which were narrowed before.

    Parameters
    ----------
    values
        The values of vertices, as `vertex_values` takes them; None without comparisons of vertices.
    indexes
        The copies of each variable of `followed_from_rows`, as rows of the same vertices; they may have rows
        by main value where none are asked for.
    """
    assert plan.comparisons is not None
    of_edges, variables = followed_from_rows(plan), plan.comparisons.variables
    ends = []
    for at, variable in enumerate(variables):
        if variable.vertex is None:
            ends.append(of_edges[at][1])
        else:
            level = plan.order.index(variable.vertex)
            ends.append(Ends(level, level, None))
    made = _made(values, plan.comparisons, ends, len(plan.order), indexes.__getitem__)
    of_sources = [-1] * sum(len(args.edges) for args in plan.args.steps)
    for position, at in enumerate(made.order):
        if at in of_edges and (key := of_edges[at][1].key) is not None and key.by_value:
            of_sources[of_edges[at][0]] = position
    own_rows = frozenset(source for source, _ in of_edges.values())
    return SearchComparisons(made.native, of_sources, None, own_rows)


def _copy_walk(graph: Graph, plan: Plan, made: NativeComparisons, ends: Sequence[Ends]) -> tuple[Any, ...]:
    """Return the copies of each variable at both of its ends, the root, and the vertices of each level.

    Those that `made` has are taken from it: the graph keeps what fits its bound, so that asking again may
    build others, which the native code takes for other rows.
    """
    assert plan.comparisons is not None
    assert plan.copy_walk is not None
    if plan.copy_walk.order:
        return _pair_walk(graph, plan, plan.copy_walk, made, ends)
    indexes: list[Any] = []
    for at, index in zip(made.order, made.indexes, strict=True):
        key = ends[at].key
        if key is None or index is None:
            indexes.append(None)
            continue
        columns = plan.comparisons.variables[at].columns
        other = CopyKey(_OPPOSITE[key.direction], key.edge_labels, key.where, columns, by_value=True)
        indexes.append((_arrays(index), _arrays(copy_index(graph, other))))
    level = plan.order.index(plan.copy_walk.vertex)
    side = 0 if ends[plan.copy_walk.root].start == level else 1
    root = made.order.index(plan.copy_walk.root)
    return indexes, root, side, _masks(graph, plan), None, plan.copy_walk.together


def _ends_by_pairs(plan: Plan, walk: CopyWalk, ends: Sequence[Ends]) -> list[Ends]:
    """Return the ends of each variable such that edges start where a search from pair to pair begins them."""
    found = list(ends)
    root = plan.order.index(walk.vertex)
    reached = {root}
    directions: set[Direction] = set()
    leaves = walk.order[len(walk.order) - walk.leaves :] if walk.narrowed else ()
    vertices = _vertices_of(plan)
    for at in walk.order:
        one = ends[at]
        assert one.key is not None
        last = walk.wedges and at == walk.order[-1]  # begins at the last vertex
        closes = at != walk.root and {one.start, one.end} <= reached and not last
        if closes:
            turned = one.key.direction not in directions and _OPPOSITE[one.key.direction] in directions
        elif last:
            turned = one.end == len(plan.order) - 1
        else:
            turned = one.start != root if at == walk.root else one.start not in reached
        direction = _OPPOSITE[one.key.direction] if turned else one.key.direction
        start, end = (one.end, one.start) if turned else (one.start, one.end)
        narrows = at in leaves and end not in reached and vertices[end] != (None, None)
        led = vertices[end] if narrows else None
        found[at] = Ends(
            start, end, replace(one.key, direction=direction, by_value=not walk.wedges, ends=led)
        )
        directions.add(direction)
        reached |= {start, end}
    return found


def _pair_walk(
    graph: Graph, plan: Plan, walk: CopyWalk, made: NativeComparisons, ends: Sequence[Ends]
) -> tuple[Any, ...]:
    """Return the same as `_copy_walk`, with the order of edges and the columns of the root."""
    indexes: list[Any] = []
    columns: list[NDArray[np.int64]] = []
    for at, index in zip(made.order, made.indexes, strict=True):
        if index is None:
            indexes.append(None)
            continue
        indexes.append((_arrays(index), None))
        if at == walk.root:
            columns = list(index.columns)
    by_pairs = ([made.order.index(at) for at in walk.order], walk.leaves, columns, walk.wedges)
    masks = _masks(graph, plan)
    for one in ends:
        if one.key is not None and one.key.ends is not None:
            masks[one.end] = None  # its rows lead to no other vertices
    return indexes, made.order.index(walk.root), 0, masks, by_pairs, walk.together


def _masks(graph: Graph, plan: Plan) -> list[NDArray[np.uint8] | None]:
    """Return for each level which vertices of the graph it may have; None for all."""
    return [graph.allowed_vertices(*vertices) for vertices in _vertices_of(plan)]


def _vertices_of(plan: Plan) -> list[tuple[tuple[int, ...] | None, VertexFilter | None]]:
    """Return for each level the codes of labels and the filter of its vertices."""
    first = plan.args.steps[1].adjacencies[0]
    others = (args.adjacencies[0] for args in plan.args.steps[1:])
    return [
        (first.source_labels, first.source_where),
        *((key.target_labels, key.target_where) for key in others),
    ]


def comparisons_of_rows(
    graph: Graph, bound: BoundComparisons, edges: Sequence[BoundEdge], size: int
) -> NativeComparisons:
    """Return comparisons for rows of data vertices in the order of the pattern's `size` vertices."""
    return _made(graph, bound, ends_of_rows(bound, edges), size)


def comparisons_of_numbered_rows(
    values: Sequence[Any],
    indexes: Mapping[int, CopyIndex],
    bound: BoundComparisons,
    ends: Sequence[Ends],
    size: int,
) -> NativeComparisons:
    """Return the same for rows whose vertices have numbers of their own for each variable.

    Parameters
    ----------
    values
        For each variable the values of vertices, as `vertex_values` takes them; None if it is an edge.
    indexes
        The copies of each variable that is an edge, all of as many vertices.
    ends
        From `ends_of_rows`.
    """
    return _made(None, bound, ends, size, indexes.__getitem__, values.__getitem__)


def ends_of_rows(bound: BoundComparisons, edges: Sequence[BoundEdge]) -> list[Ends]:
    """Return the ends of each variable, and the copies of an edge, in rows of the pattern's vertices."""
    ends = []
    for variable in bound.variables:
        if variable.vertex is not None:
            ends.append(Ends(variable.vertex, variable.vertex, None))
            continue
        assert variable.edge is not None
        edge = edges[variable.edge]
        outward = edge.source < edge.target
        if edge.either:
            direction = Direction.EITHER
        else:
            direction = Direction.OUT if outward else Direction.IN
        start, end = sorted((edge.source, edge.target))
        ends.append(Ends(start, end, CopyKey(direction, edge.labels, edge.where, ())))
    return ends


def _made(
    graph: Any,
    bound: BoundComparisons,
    ends: Sequence[Ends],
    levels: int,
    index_of: Callable[[int], CopyIndex] | None = None,
    values_of: Callable[[int], Any] | None = None,
) -> NativeComparisons:
    """Return comparisons.

    Parameters
    ----------
    index_of, values_of
        Return the copies of a variable, and what has the values of one; by default those of the graph.
    """
    order = sorted(range(len(ends)), key=lambda at: ends[at].level)
    place = {at: position for position, at in enumerate(order)}
    given, indexes = [], []
    for at in order:
        variable, end = bound.variables[at], ends[at]
        index = None
        if end.key is not None:
            if index_of is None:
                index = copy_index(graph, replace(end.key, columns=variable.columns))
            else:
                index = index_of(at)
            given.append(_edge(end, index))
        else:
            given.append(_vertex(graph if values_of is None else values_of(at), end, variable))
        indexes.append(index)
    native = _native.Comparisons(
        variables=given,
        comparisons=[native_comparison(one, place) for one in bound.comparisons],
        span=native_span(bound.span),
        levels=levels,
        count_choices=bound.count_choices,
    )
    return NativeComparisons(native, tuple(order), tuple(indexes))


def _edge(ends: Ends, index: CopyIndex) -> tuple[Any, ...]:
    return False, ends.start, ends.end, list(index.columns), _arrays(index), None


def _arrays(index: CopyIndex) -> tuple[Any, ...]:
    by_value = None if index.by_value is None else (list(index.by_value.columns), *index.by_value.arrays)
    return index.offsets, index.neighbors, index.starts, index.lasts, by_value


def _vertex(graph: Any, ends: Ends, variable: BoundVariable) -> tuple[Any, ...]:
    columns: list[NDArray[np.int64]] = []
    missing: NDArray[np.bool_] | None = None
    for key in variable.columns:
        values, absent = vertex_values(graph, key)
        columns.append(np.ascontiguousarray(values))
        if absent is not None:
            missing = absent if missing is None else missing | absent
    return True, ends.start, ends.end, columns, None, None if missing is None else missing.view(np.uint8)


def native_comparison(one: BoundComparison, place: Mapping[int, int]) -> tuple[Any, ...]:
    """Return a comparison as the native code takes it; `place`: the positions of the variables there."""
    return (
        place[one.left],
        place[one.right],
        one.left_column,
        one.right_column,
        _OPERATORS[one.operator],
        one.floats,
        one.m,
        one.n,
        *_halves(one.c),
        one.factor,
        one.offset,
    )


def native_span(span: BoundSpan | None) -> tuple[Any, ...] | None:
    """Return a span over all edges as the native code takes it."""
    return None if span is None else (span.floats, *_halves(span.span), span.float_span)


def _halves(number: int) -> tuple[int, int]:
    """Return the upper half, with the sign, and the lower half of an integer of 128 bits."""
    return number >> 64, number & _LOW_BITS
