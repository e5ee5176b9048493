"""Induced matching of queries with optional edges, written out as negated edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from motiflux.errors import ArgumentError
from motiflux.pattern.elements import QueryEdge
from motiflux.pattern.negated import NegatedEdge, induced_edges
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.query import Query
from motiflux.pattern.queries.shapes import Absent, AbsentPath, Case, LonePath, Part, Shape
from motiflux.request.request import Request
from motiflux.types import Semantics

_OTHERS = "'isomorphism' or 'homomorphism' beside"


def without_induced(
    query: Query, request: Request, *, directed: bool, alternatives: bool = False
) -> tuple[Query, Request]:
    """Return a query with optional edges, and a request, that match induced without saying so.

    An embedding may have a data edge between two vertices only where the text has an edge in that direction,
    which may be an optional one that is missing in the embedding. Patterns have no such edges, so the edges
    that embeddings must not have are negated. Other queries, and requests for other semantics, are returned
    as they are.

    Parameters
    ----------
    alternatives
        Whether queries with OR across edges are to do so, too.

    Raises
    ------
    ArgumentError
        Optional parts, or vertices that may coincide, which have no meaning beside induced matching.
    """
    if request.semantics is not Semantics.INDUCED:
        return query, request
    if any(shape.skeleton.may_coincide for shape in query.shapes):
        raise ArgumentError(
            "semantics", "'isomorphism' or 'homomorphism' beside WALK and may_equal", request.semantics.value
        )
    if not any(shape.absent or (alternatives and shape.overlaps) for shape in query.shapes):
        return query, request
    optional = {
        shape.vertices[at]
        for at in range(len(query.vertex_names))
        for shape in query.shapes
        if shape.vertices[at] is not None and any(one.vertices[at] is None for one in query.shapes)
    }
    shapes = tuple(_written_out(shape, optional, directed=directed) for shape in query.shapes)
    return replace(query, shapes=shapes), replace(request, semantics=Semantics.ISOMORPHISM)


def _written_out(shape: Shape, optional: set[int | None], *, directed: bool) -> Shape:
    """Return a shape with the negated edges of induced matching."""
    _check(shape, optional)
    whole = shape.skeleton
    allowed = [edge for one in shape.absent for edge in _edges_between(one)]
    edges = [edge for edge in whole.edges if not _is_mark(edge)]
    negated = tuple(induced_edges(range(whole.num_vertices), (*edges, *allowed), None, directed))
    return replace(
        shape,
        cases=tuple(_case(case, negated) for case in shape.cases),
        absent=tuple(_absent(one) for one in shape.absent),
        skeleton=replace(whole, negated=(*whole.negated, *negated)),
    )


def _check(shape: Shape, optional: set[int | None]) -> None:
    found = Semantics.INDUCED.value
    if not shape.is_connected:
        raise ArgumentError("semantics", f"{_OTHERS} several parts", found)
    if shape.skeleton.may_coincide:
        raise ArgumentError("semantics", f"{_OTHERS} may_equal and WALK", found)
    for one in shape.absent:
        if None not in one.ends and not optional.isdisjoint(one.ends):
            raise ArgumentError("semantics", f"{_OTHERS} OPTIONAL edges to optional vertices", found)
        if isinstance(one, AbsentPath):
            if one.ends[1] is not None and any(len(path.edges) > 1 for path in one.paths):
                raise ArgumentError("semantics", f"{_OTHERS} OPTIONAL paths between two vertices", found)
            if one.ends[1] is None and any(path.pattern.comparisons for path in one.paths):
                raise ArgumentError("semantics", f"{_OTHERS} comparisons behind OPTIONAL", found)


def _edges_between(absent: Absent | AbsentPath) -> Iterator[QueryEdge]:
    """Yield an optional edge between two vertices of a shape, in the vertices of the shape."""
    start, end = absent.ends
    if start is None or end is None:
        return
    if isinstance(absent, Absent):
        pattern, place = absent.edge, (start, end)
    else:
        pattern = absent.paths[0].pattern
        place = (start, end) if absent.paths[0].vertices[0] == 0 else (end, start)
    (edge,) = pattern.edges
    yield replace(edge, source=place[edge.source], target=place[edge.target], name="")


def _is_mark(edge: QueryEdge) -> bool:
    """Whether an edge of a skeleton stands for one that is not there."""
    return any(isinstance(label, str) and label.startswith("\0") for label in edge.labels or ())


def _case(case: Case, negated: tuple[NegatedEdge, ...]) -> Case:
    def more(pattern: Pattern) -> Pattern:
        return replace(pattern, negated=(*pattern.negated, *negated))

    (part,) = case.parts
    without = None if case.without is None else tuple(map(more, case.without))
    return replace(case, parts=(Part(more(part.pattern), part.vertices),), without=without)


def _absent(absent: Absent | AbsentPath) -> Absent | AbsentPath:
    """Return an optional path to a new vertex whose vertices have no other edges to those before."""
    if None not in absent.ends:
        return absent
    if isinstance(absent, AbsentPath):
        return replace(absent, induced=True)
    first, last = absent.ends
    vertices = (0, 1) if last is None else (1, 0)
    known = first if first is not None else last
    assert known is not None
    path = LonePath(absent.edge, vertices, (0,))
    return AbsentPath((path,), (known, None), absent.before, absent.form, induced=True)
