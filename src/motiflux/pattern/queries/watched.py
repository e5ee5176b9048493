"""The patterns of a query that a monitor watches one by one."""

from __future__ import annotations

from dataclasses import replace

from motiflux.errors import ArgumentError
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.query import Query
from motiflux.pattern.queries.shapes import Shape
from motiflux.pattern.queries.symmetry import distinct_shapes


def name_of(query: Query) -> str:
    """Return the name of all patterns of a watched query: its own, or its text."""
    return query.name or str(query)


def watched_patterns(query: Query, *, directed: bool, by_occurrence: bool) -> list[Pattern]:
    """Return the patterns whose matches are those of a query, all under its name.

    Parameters
    ----------
    directed
        The direction of the graph.
    by_occurrence
        Whether occurrences are reported, not embeddings.

    Raises
    ------
    ArgumentError
        The query has optional edges, several parts, or OR between conditions of several edges.
    """
    for shape in query.shapes:
        if not shape.is_pattern:
            raise ArgumentError("patterns", _instead_of(shape), str(query))
    shapes = distinct_shapes(query.shapes, directed=directed) if by_occurrence else query.shapes
    return [replace(shape.cases[0].pattern, name=name_of(query)) for shape in shapes]


def _instead_of(shape: Shape) -> str:
    """Return what is expected instead of a shape without a pattern of its own."""
    if shape.absent:
        return "no OPTIONAL edges on streams: rows without one come and go with edges that are in no match"
    if not shape.is_connected:
        return "connected queries on streams: a change of one part changes rows with all of another"
    return "no OR between conditions of several edges on streams: one may take the place of another"
