"""What random rows are drawn from: patterns that a sampler takes, and filters of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motiflux.api.listing import Listing
from motiflux.api.queries.absent import AbsentEdge
from motiflux.api.queries.checks import check_symmetry_of
from motiflux.api.queries.estimates import largest_kind
from motiflux.api.queries.rows import columns_of, filters_of
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.shapes import Case, Shape, absent_of_negated
from motiflux.pattern.queries.symmetry import automorphisms_of, distinct_shapes
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.queries.columns import CaseColumns, QueryColumns
from motiflux.result.queries.sources import Filter, of_case
from motiflux.types import Symmetry, VertexArray


@dataclass(frozen=True, slots=True)
class Part:
    """A pattern whose embeddings are drawn, and what becomes of its rows.

    Parameters
    ----------
    pattern
        The pattern, without negated edges that the sampler does not look for.
    kept
        Drops rows, and adds columns; None: they stay as they are.
    each
        How many embeddings are one row of the result: the automorphisms of a shape.
    """

    pattern: Pattern
    kept: Filter | None
    each: int = 1


def parts_of_pattern(graph: Graph, pattern: Pattern, request: Request) -> list[Part]:
    """Return the only part of a pattern."""
    drawn, dropped = _without_other_kinds(graph, pattern, request)
    return [Part(drawn, _filter(dropped) if dropped else None)]


def parts_of_query(graph: Graph, query: Query, request: Request) -> tuple[list[Part], QueryColumns]:
    """Return the parts of a query, and the columns of its rows.

    Raises
    ------
    ArgumentError
        The query has disconnected parts, or options do not fit it.
    """
    listing = Listing(graph, request, 1, False, (), False)
    by_occurrence = request.symmetry is Symmetry.SUBGRAPHS
    shapes: Sequence[Shape] = query.shapes
    if by_occurrence:
        shapes = distinct_shapes(shapes, directed=graph.directed)
    cases: list[tuple[Shape, Case, CaseColumns]] = []
    for shape in shapes:
        check_symmetry_of(shape, request)
        if not shape.is_connected:
            raise ArgumentError("pattern", "a connected pattern, to draw its rows at random", str(query))
        listed = (case for case in shape.cases if case.without is not None)
        cases += [(shape, case, columns_of(listing, shape, case)) for case in listed]
    layout = QueryColumns(graph, query, [columns for *_, columns in cases], attributes=(), names=False)
    width = 1 + max(sum(columns.widths) for *_, columns in cases)
    plain = replace(request, symmetry=Symmetry.EMBEDDINGS)
    parts = []
    for number, (shape, case, columns) in enumerate(cases):
        drawn, dropped = _without_other_kinds(graph, case.pattern, request)
        filters = filters_of(graph, plain, shape, columns, Deadline.after(None))
        each = automorphisms_of(shape.skeleton, directed=graph.directed).order if by_occurrence else 1
        parts.append(Part(drawn, _numbered(number, width, _filter(dropped), filters), each))
    return parts, layout


def _numbered(number: int, width: int, kept: Filter, filters: Sequence[Filter]) -> Filter:
    return lambda rows: of_case(number, width, filters, kept(rows))


def _without_other_kinds(
    graph: Graph, pattern: Pattern, request: Request
) -> tuple[Pattern, list[Callable[[VertexArray], NDArray[np.bool_]]]]:
    """Return a pattern with negated edges of one kind, and tests that rows have none of the others."""
    kept = largest_kind(pattern, graph, request.semantics)
    others = [one for one in pattern.negated_pairs if one not in kept]
    drawn = replace(pattern, negated=tuple(one for one in pattern.negated if one not in others))
    return drawn, [AbsentEdge(graph, absent_of_negated(one), request).holds for one in others]


def _filter(tests: Sequence[Callable[[VertexArray], NDArray[np.bool_]]]) -> Filter:
    def kept(rows: VertexArray) -> VertexArray:
        for holds in tests:
            rows = rows[holds(rows)] if len(rows) else rows
        return rows

    return kept
