"""Comparisons of plans with the copies of a graph, as arguments of the native code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.conditions import Operator
from motiflux.graph import Direction, Graph
from motiflux.graph.copies import CopyIndex, CopyKey, copy_index, vertex_values
from motiflux.plan.bind import BoundEdge
from motiflux.plan.comparing import BoundComparison, BoundComparisons, BoundVariable
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
class _Ends:
    """The levels between which a variable lies, and the copies of an edge as it is followed between them."""

    start: int
    end: int
    key: CopyKey | None


def windowed_directions(plan: Plan) -> set[Direction]:
    """Return the directions of levels with one source, whose candidates are found by main value."""
    return {args.adjacencies[0].direction for args in plan.args.steps[2:] if len(args.adjacencies) == 1}


def native_comparisons(graph: Graph, plan: Plan) -> tuple[_native.Comparisons, list[int]]:
    """Return the comparisons of a plan, and for each source the variable of its edge, or -1."""
    assert plan.comparisons is not None
    variables = plan.comparisons.variables
    level_of = {vertex: level for level, vertex in enumerate(plan.order)}
    windows = windowed_directions(plan)
    there = windows | {plan.args.steps[1].adjacencies[0].direction}
    by_edge: dict[int, _Ends] = {}
    for level, (shape, args) in enumerate(zip(plan.shape.steps, plan.args.steps, strict=True)):
        for source, adjacency, (edge, _) in zip(shape.sources, args.adjacencies, args.edges, strict=True):
            direction, start, end = adjacency.direction, source.level, level
            if direction not in there and _OPPOSITE[direction] in there:
                # Where rows are intersected, copies are found from either end: an index that is there serves.
                direction, start, end = _OPPOSITE[direction], end, start
            by_value = direction in windows
            key = CopyKey(direction, adjacency.edge_labels, adjacency.edge_where, (), by_value)
            by_edge[edge] = _Ends(start, end, key)
    ends = []
    for variable in variables:
        if variable.vertex is not None:
            level = level_of[variable.vertex]
            ends.append(_Ends(level, level, None))
        else:
            assert variable.edge is not None
            ends.append(by_edge[variable.edge])
    made = _made(graph, plan.comparisons, ends, len(plan.order))
    place = {
        variables[at].edge: position
        for position, (at, index) in enumerate(zip(made.order, made.indexes, strict=True))
        if index is not None and index.by_value is not None and ends[at].start < ends[at].end
    }
    of_sources = [place.get(edge, -1) for args in plan.args.steps for edge, _ in args.edges]
    return made.native, of_sources


def comparisons_of_rows(
    graph: Graph, bound: BoundComparisons, edges: Sequence[BoundEdge], size: int
) -> NativeComparisons:
    """Return comparisons for rows of data vertices in the order of the pattern's `size` vertices."""
    ends = []
    for variable in bound.variables:
        if variable.vertex is not None:
            ends.append(_Ends(variable.vertex, variable.vertex, None))
            continue
        assert variable.edge is not None
        edge = edges[variable.edge]
        outward = edge.source < edge.target
        if edge.either:
            direction = Direction.EITHER
        else:
            direction = Direction.OUT if outward else Direction.IN
        start, end = sorted((edge.source, edge.target))
        ends.append(_Ends(start, end, CopyKey(direction, edge.labels, edge.where, ())))
    return _made(graph, bound, ends, size)


def _made(graph: Graph, bound: BoundComparisons, ends: Sequence[_Ends], levels: int) -> NativeComparisons:
    order = sorted(range(len(ends)), key=lambda at: max(ends[at].start, ends[at].end))
    place = {at: position for position, at in enumerate(order)}
    given, indexes = [], []
    for at in order:
        variable, end = bound.variables[at], ends[at]
        index = None
        if end.key is not None:
            index = copy_index(graph, replace(end.key, columns=variable.columns))
            given.append(_edge(end, index))
        else:
            given.append(_vertex(graph, end, variable))
        indexes.append(index)
    native = _native.Comparisons(
        variables=given,
        comparisons=[_comparison(one, place) for one in bound.comparisons],
        span=None
        if bound.span is None
        else (bound.span.floats, *_halves(bound.span.span), bound.span.float_span),
        levels=levels,
        count_choices=bound.count_choices,
    )
    return NativeComparisons(native, tuple(order), tuple(indexes))


def _edge(ends: _Ends, index: CopyIndex) -> tuple[Any, ...]:
    by_value = None if index.by_value is None else (list(index.by_value[0]), index.by_value[1])
    arrays = (index.offsets, index.neighbors, index.starts, by_value)
    return False, ends.start, ends.end, list(index.columns), arrays, None


def _vertex(graph: Graph, ends: _Ends, variable: BoundVariable) -> tuple[Any, ...]:
    columns: list[NDArray[np.int64]] = []
    missing: NDArray[np.bool_] | None = None
    for key in variable.columns:
        values, absent = vertex_values(graph, key)
        columns.append(np.ascontiguousarray(values))
        if absent is not None:
            missing = absent if missing is None else missing | absent
    return True, ends.start, ends.end, columns, None, None if missing is None else missing.view(np.uint8)


def _comparison(one: BoundComparison, place: dict[int, int]) -> tuple[Any, ...]:
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


def _halves(number: int) -> tuple[int, int]:
    """Return the upper half, with the sign, and the lower half of an integer of 128 bits."""
    return number >> 64, number & _LOW_BITS
