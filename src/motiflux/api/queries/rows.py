"""Rows of queries: searches for each of their patterns, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.listing import Listing, Search
from motiflux.api.queries.absent import AbsentEdge
from motiflux.api.queries.absent_paths import AbsentPaths
from motiflux.api.queries.checks import check_apart, check_symmetry_of
from motiflux.api.queries.induced import without_induced
from motiflux.api.queries.related_parts import NotSeparateError, coinciding, joins, related_parts, same_rows
from motiflux.errors import ArgumentError, PatternError
from motiflux.graph import Graph
from motiflux.pattern import Query, QueryVertex
from motiflux.pattern.queries.gluing import both_vertices
from motiflux.pattern.queries.shapes import AbsentPath, Case, PartsTogether, Shape, absent_of_negated
from motiflux.pattern.queries.symmetry import distinct_shapes, images_of
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.engine import Ran
from motiflux.request.request import Request
from motiflux.result.choices import ChoiceRows, Choices
from motiflux.result.queries.columns import CaseColumns, QueryColumns
from motiflux.result.queries.sources import (
    BesideRows,
    ChangedRows,
    Filter,
    RowsInTurn,
    all_rows,
    come_first,
    of_case,
)
from motiflux.result.rows import NoRows, RowSource
from motiflux.result.witnesses import Witnesses
from motiflux.types import Semantics, Symmetry, VertexArray

_COUNTED_ROWS = 65_536

MAX_HELD = 4_000_000
"""Most rows of a part of a disconnected pattern that are held in memory."""


class QuerySearch:
    """The searches for the rows of a query, planned.

    Attributes
    ----------
    columns
        The columns of its rows.
    ran
        The engine of the first search.
    query
        The query, in which induced matching may be written out.
    cases
        The search of each case.
    """

    def __init__(self, listing: Listing, query: Query, deadline: Deadline) -> None:
        query, request = without_induced(query, listing.request, directed=listing.graph.directed)
        self.listing = listing = replace(listing, request=request)
        self._deadline = deadline
        directed = listing.graph.directed
        shapes: Sequence[Shape] = query.shapes
        if request.symmetry is Symmetry.SUBGRAPHS:
            shapes = distinct_shapes(shapes, directed=directed)
        self.cases: list[CaseSearch] = []
        for shape in shapes:
            check_symmetry_of(shape, request)
            if shape.overlaps and listing.edges == "all":
                raise ArgumentError("edges", "True or False beside OR across edges", "all")
            for case in (one for one in shape.cases if one.without is not None):
                self.cases.append(CaseSearch(listing, shape, case, deadline))
        columns = [case.columns for case in self.cases]
        self.query = query
        self.columns = QueryColumns(
            listing.graph,
            query,
            columns,
            edges=bool(listing.edges),
            attributes=listing.attributes,
            names=listing.names,
        )
        self._width = 1 + max(sum(one.widths) for one in columns)
        self.ran: Ran = self.cases[0].ran

    def begin(self) -> RowSource:
        """Begin the first search; the others follow when rows are taken."""
        begin: list[Callable[[int | None], RowSource]] = [
            partial(case.begin, number, self._width) for number, case in enumerate(self.cases)
        ]
        return RowsInTurn(begin, self.listing.request.limit)


def count_rows(
    graph: Graph, shape: Shape, request: Request, deadline: Deadline, limit: int | None
) -> tuple[int, bool]:
    """Return the number of embeddings of a shape, found one by one, and whether it is exact.

    With ``request.copies``, choices of copies are counted.
    """
    own = replace(request, symmetry=Symmetry.EMBEDDINGS, limit=limit, copies=False, progress=None)
    listing = Listing(graph, own, _COUNTED_ROWS, "all" if request.copies else False, (), False)
    listed = [case for case in shape.cases if case.without is not None]
    cases = [CaseSearch(listing, shape, case, deadline) for case in listed]
    if len(cases) == 1 and (found := cases[0].counted(limit)) is not None:
        return found
    width = 1 + max(sum(case.columns.widths) for case in cases)
    rows = RowsInTurn([partial(case.begin, number, width) for number, case in enumerate(cases)], limit)
    number = 0
    try:
        while (block := rows.next()) is not None:
            number += len(block)
    finally:
        rows.close()
    return number, rows.complete


class CaseSearch:
    """The search for the rows of one case."""

    def __init__(self, listing: Listing, shape: Shape, case: Case, deadline: Deadline) -> None:
        self.listing = listing
        self.shape = shape
        self.case = case
        request = listing.request
        own = request.symmetry if shape.is_pattern else Symmetry.EMBEDDINGS
        plain = replace(listing, request=replace(request, symmetry=own), attributes=())
        patterns = [part.pattern for part in case.parts]
        self.columns = columns_of(plain, shape, case)
        if case.joint is not None:  # their copies are chosen together
            plain = replace(plain, edges=False)
        if len(patterns) > 1:
            check_apart(shape, request)
        self.searches = [Search(plain, pattern, deadline) for pattern in patterns]
        self._deadline = deadline
        self.ran = self.searches[0].ran

    def begin(self, number: int, width: int, limit: int | None) -> RowSource:
        """Begin the search; only rows of whole patterns are limited, as others are filtered."""
        listing = self.listing
        try:
            filters = filters_of(listing.graph, listing.request, self.shape, self.columns, self._deadline)
        except OutOfTimeError:
            return NoRows(complete=False)
        if len(self.searches) == 1:
            source = self.searches[0].begin(limit=None if filters else limit)
        else:
            source = self._beside()
            if listing.request.semantics is not Semantics.HOMOMORPHISM:
                source = ChangedRows(source, partial(different, self._rivals()))
        if self.case.joint is not None:
            source = self._chosen(source, self.case.joint)
        return ChangedRows(source, partial(of_case, number, width, filters))

    def counted(self, limit: int | None) -> tuple[int, bool] | None:
        """Return the number of rows, or of choices of copies, and whether it is exact; None to list them.

        With more than `limit`, counting may stop.
        """
        listing, case = self.listing, self.case
        if case.joint is None or case.apart or self.shape.absent or not joins(case):
            return None
        first = len(case.parts[0].vertices)
        rivals = [] if listing.request.semantics is Semantics.HOMOMORPHISM else self._rivals()
        same = coinciding([(x, y - first) for x, y in rivals])
        if same is None:
            return None
        every = listing.edges == "all"
        related = related_parts(listing.graph, case, same, every=every, seconds_left=self._deadline.left)
        held, complete = self._held(1)
        if not complete:
            return 0, False
        try:
            source = None if same_rows(case) else self.searches[0].begin(limit=None)
            return related.count(source, held, limit)
        except NotSeparateError:
            return None

    def _chosen(self, source: RowSource, joint: PartsTogether) -> RowSource:
        """Return the rows of all parts that have a choice of copies, with the copies if these are listed."""
        listing, case = self.listing, self.case
        places = [vertex for part in case.parts for vertex in part.vertices]
        choices = Choices(listing.graph, joint, every=listing.edges == "all")
        if not any(self.columns.chooses):
            order = np.argsort(places)
            return ChangedRows(source, lambda rows: rows[choices.holds(rows[:, order])])
        whole = ChangedRows(source, lambda rows: rows[:, np.argsort(places)])
        columns: list[int] = []
        edges = dict(zip(case.edges, case.joint_edges, strict=True))
        for number, part in enumerate(case.parts):
            columns += part.vertices
            columns += [joint.num_vertices + edges[number, at] for at in range(part.pattern.num_edges)]
        chosen = ChoiceRows(whole, choices, None, self._deadline.left)
        return ChangedRows(chosen, lambda rows: rows[:, columns])

    def _rivals(self) -> list[tuple[int, int]]:
        joint = self.case.joint is not None
        return rivals_of(self.case, None if joint else self.columns.widths)

    def _beside(self) -> RowSource:
        """Return the rows of the parts beside each other: those of all but the largest are held."""
        held = []
        for at in range(1, len(self.searches)):
            rows, complete = self._held(at)
            if not complete:
                return NoRows(complete=False)
            held.append(rows)
        return BesideRows(self.searches[0].begin(limit=None), held, self._deadline.check)

    def _held(self, at: int) -> tuple[VertexArray, bool]:
        """Return all rows of a part, and whether nothing was cut.

        Raises
        ------
        PatternError
            There are too many.
        """
        rows, complete = all_rows(self.searches[at].begin(limit=None), MAX_HELD)
        if rows is None:
            pattern = self.columns.case.parts[at].pattern
            raise PatternError(
                f"expected at most {MAX_HELD:,} rows of the part {pattern} of a disconnected pattern,"
                " found more: write the part with the most rows first, or list the parts one by one"
            )
        return rows, complete


def rivals_of(case: Case, widths: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """Return the columns of rows of all parts beside each other that two parts must not share.

    Parameters
    ----------
    widths
        The number of columns of the rows of each part; None: that of its vertices.
    """
    found: list[tuple[int, int]] = []
    before: list[tuple[int, QueryVertex]] = []
    first = 0
    for number, part in enumerate(case.parts):
        own = [(first + at, vertex) for at, vertex in enumerate(part.pattern.vertices)]
        found += [(x, y) for x, one in before for y, other in own if both_vertices(one, other)]
        before += own
        first += len(own) if widths is None else widths[number]
    return found


def columns_of(listing: Listing, shape: Shape, case: Case) -> CaseColumns:
    """Return the columns of the rows of a case."""
    patterns = [part.pattern for part in case.parts]
    plain = replace(listing, attributes=())
    if case.joint is not None and listing.edges:
        plain = replace(plain, edges="all")  # each part has copies, which are chosen together
    return CaseColumns(
        shape,
        case,
        tuple(plain.columns(pattern) for pattern in patterns),
        tuple(plain.chooses(pattern) for pattern in patterns),
    )


def filters_of(
    graph: Graph, request: Request, shape: Shape, columns: CaseColumns, deadline: Deadline
) -> list[Filter]:
    """Return what drops rows of a case that are in no result, or in that of another case.

    Raises
    ------
    OutOfTimeError
        The deadline passed meanwhile.
    """
    case = columns.case
    filters: list[Filter] = []
    for pattern in case.without or ():
        others = Witnesses(graph, pattern, request.threads)
        negated = [one for one in pattern.negated if one not in case.pattern.negated]
        absent_too = [AbsentEdge(graph, absent_of_negated(one), request) for one in negated]
        filters.append(partial(kept, columns, partial(_is_not_case, others, absent_too)))
    for absent in (*shape.absent, *case.apart):
        if isinstance(absent, AbsentPath):
            tests = AbsentPaths(graph, absent, request, deadline).holds
        else:
            tests = AbsentEdge(graph, absent, request).holds
        filters.append(partial(kept, columns, tests))
    if request.symmetry is Symmetry.SUBGRAPHS and not shape.is_pattern:
        images = images_of(shape.skeleton, directed=graph.directed)
        if len(images) > 1:
            filters.append(partial(kept, columns, partial(come_first, images)))
    return filters


def kept(
    columns: CaseColumns, holds: Callable[[NDArray[Any]], NDArray[np.bool_]], block: NDArray[Any]
) -> NDArray[Any]:
    """Return the rows whose vertices satisfy a test."""
    return block[holds(columns.vertices(block))]


def _is_not_case(
    witnesses: Witnesses, negated: Sequence[AbsentEdge], vertices: VertexArray
) -> NDArray[np.bool_]:
    """Return where a query edge of another case is missing, or one of its negated edges is there."""
    found = np.asarray((witnesses.found(np.ascontiguousarray(vertices)) < 0).any(axis=0))
    for one in negated:
        found |= ~one.holds(vertices)
    return found


def different(rivals: Sequence[tuple[int, int]], rows: NDArray[Any]) -> NDArray[Any]:
    """Return the rows that have no vertex in two of the columns."""
    fits = np.ones(len(rows), dtype=bool)
    for first, second in rivals:
        fits &= rows[:, first] != rows[:, second]
    return rows[fits]
