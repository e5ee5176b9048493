"""Distinct rows of queries: the different rows of all patterns, put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import log
from motiflux.api.listing import Listing
from motiflux.api.projecting import begin_rows, plan_rows, refuse_copies, why_cpu
from motiflux.api.queries.induced import without_induced
from motiflux.api.queries.rows import CaseSearch
from motiflux.conditions import Operator
from motiflux.cpu.projection import count_rows
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection, Threshold, rows_text
from motiflux.pattern.queries.shapes import Case, Shape
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.images import written
from motiflux.result.partial import replace_partial
from motiflux.result.queries.columns import MISSING
from motiflux.result.queries.sources import ChangedRows, widened
from motiflux.result.rows import NoRows, RowSource
from motiflux.types import VERTEX_DTYPE, Symmetry, VertexArray

_BLOCK_ROWS = 65_536
_MERGED = 1 << 20
"""Rows that are collected before those met twice are dropped, or as many as are kept already."""

COMPARED: dict[Operator, Callable[[NDArray[np.int64], int], NDArray[np.bool_]]] = {
    Operator.EQUAL: np.equal,
    Operator.UNEQUAL: np.not_equal,
    Operator.LESS: np.less,
    Operator.AT_MOST: np.less_equal,
    Operator.GREATER: np.greater,
    Operator.AT_LEAST: np.greater_equal,
}
"""Compares the numbers of images of rows with the number of a threshold."""


class DistinctSearch:
    """The searches for the distinct rows of a query, planned.

    Each pattern is searched for the rows of the returned and the counted vertices; those of all patterns are
    compared with each other. Of shapes whose rows only a filter tells, all rows are listed.

    Attributes
    ----------
    patterns
        The patterns that are searched, and the projection of each; None: all of its rows are listed.

    Parameters
    ----------
    projection
        Of the vertices that the query names, by position.

    Raises
    ------
    ArgumentError, PatternError
        Options that distinct rows of queries do not have.
    """

    def __init__(
        self, graph: Graph, query: Query, projection: Projection, request: Request, deadline: Deadline
    ) -> None:
        check_options(request)
        query, request = without_induced(query, request, directed=graph.directed)
        self._projection = projection
        self._wanted = (*projection.returned, *projection.counted)
        self._limit = request.limit
        # Shown progress is that of one search; rows found by several are not known before all end.
        own = replace(request, limit=None, progress=None, device="cpu", engine="auto", devices=None)
        self.patterns: list[tuple[Pattern, Projection | None]] = []
        self._searches: list[Callable[[], RowSource]] = []
        for shape in query.shapes:
            for case in shape.cases:
                if case.without is not None:
                    search = self._filtered if _has_filter(shape, case) else self._projected
                    self._searches.append(search(graph, shape, case, own, deadline))
        self._found = _Distinct(len(self._wanted))

    def rows(self) -> tuple[VertexArray, bool]:
        """Search, and return the rows [rows, returned vertices], and whether none is missing.

        Where a row has no vertex, it has `MISSING`.
        """
        limit = self._limit
        complete = True
        for begin in self._searches:
            source = begin()
            try:
                while (block := source.next()) is not None:
                    self._found.add(written(block))
                    if not self._wanted and self._found.most:
                        return self._found.rows(), True
                    if limit is not None and self._is_past(limit):
                        return self._found.rows()[:limit], False
                complete = source.complete
            except OutOfTimeError:
                complete = False
            finally:
                source.close()
            if not complete:
                break
        found = self.held(complete=complete)
        return (found, complete) if limit is None or len(found) <= limit else (found[:limit], False)

    def held(self, *, complete: bool) -> VertexArray:
        """Return the rows found that satisfy the thresholds; unless `complete`, whatever is found later."""
        rows, returned = self._found.rows(), len(self._projection.returned)
        if not self._projection.thresholds:
            return rows
        told = complete or self._projection.lasting
        return self._judged(rows, returned) if told else rows[:0, :returned]

    def _is_past(self, limit: int) -> bool:
        """Whether more rows are known than are wanted."""
        if self._projection.thresholds or self._found.most <= limit:
            return False
        return len(self._found.rows()) > limit

    def _projected(
        self, graph: Graph, shape: Shape, case: Case, request: Request, deadline: Deadline
    ) -> Callable[[], RowSource]:
        """Plan the search of one pattern, whose rows have each image of the wanted vertices once."""
        (part,) = case.parts
        at = {vertex: place for place, vertex in enumerate(part.vertices)}
        columns = [shape.vertices[vertex] for vertex in self._wanted]
        there = [place for place, vertex in enumerate(columns) if vertex is not None]
        returned = tuple(at[vertex] for vertex in columns if vertex is not None)
        self.patterns.append((part.pattern, Projection(returned)))
        plan = plan_rows(graph, part.pattern, Projection(returned), request, deadline)

        def begin() -> RowSource:
            if plan is None:
                return NoRows(complete=False)
            if not returned:
                found = count_rows(graph, plan, request, deadline)
                return _OneRow(
                    len(columns), there=found.value > 0, complete=found.complete or found.value > 0
                )
            rows = begin_rows(graph, plan, request, _BLOCK_ROWS, deadline)
            if len(there) == len(columns):
                return rows
            return ChangedRows(rows, partial(widened, there, len(columns)))

        return begin

    def _filtered(
        self, graph: Graph, shape: Shape, case: Case, request: Request, deadline: Deadline
    ) -> Callable[[], RowSource]:
        """Plan the search for all rows of a case, of which a filter drops some."""
        self.patterns += [(part.pattern, None) for part in case.parts]
        listing = Listing(graph, request, _BLOCK_ROWS, False, (), False)
        search = CaseSearch(listing, shape, replace(case, without=()), deadline)
        columns = [shape.vertices[vertex] for vertex in self._wanted]
        there = [place for place, vertex in enumerate(columns) if vertex is not None]
        vertices = [vertex for vertex in columns if vertex is not None]

        def begin() -> RowSource:
            source = search.begin(0, 1 + sum(search.columns.widths), None)
            return ChangedRows(
                source,
                lambda rows: widened(there, len(columns), search.columns.vertices(rows)[:, vertices]),
            )

        return begin

    def _judged(self, rows: VertexArray, returned: int) -> VertexArray:
        """Return the rows that satisfy all thresholds; behind each, `rows` has images that are counted."""
        told = rows[:, :returned]
        first = differ_from_before(told)
        group = np.cumsum(first) - 1
        held = np.ones(int(first.sum()), dtype=bool)
        for one in self._projection.thresholds:
            held &= COMPARED[one.operator](self._counts(rows, group, one, len(held)), one.number)
        return told[first][held]

    def _counts(
        self, rows: VertexArray, group: NDArray[np.int64], threshold: Threshold, groups: int
    ) -> NDArray[np.int64]:
        """Return the number of different images that a threshold counts, for each group.

        A missing vertex is no image.
        """
        places = [self._wanted.index(vertex) for vertex in threshold.counted]
        images = rows[:, places]
        there = (images != MISSING).all(axis=1)
        if threshold.counted == self._projection.counted:  # then the rows of a group have different images
            return np.bincount(group[there], minlength=groups)
        numbered = np.column_stack([group[there].astype(VERTEX_DTYPE), images[there]])
        return np.bincount(_unique(numbered)[:, 0], minlength=groups)


class _Distinct:
    """Rows, each once."""

    def __init__(self, width: int) -> None:
        self._kept: VertexArray = np.empty((0, width), VERTEX_DTYPE)
        self._more: list[VertexArray] = []
        self._pending = 0

    @property
    def most(self) -> int:
        """An upper bound of their number."""
        return len(self._kept) + self._pending

    def add(self, rows: VertexArray) -> None:
        """Add rows that may be there already."""
        self._more.append(rows.copy())
        self._pending += len(rows)
        if self._pending > max(_MERGED, len(self._kept)):
            self.rows()

    def rows(self) -> VertexArray:
        """Return all."""
        if self._more:
            self._kept = _unique(np.concatenate([self._kept, *self._more]))
            self._more, self._pending = [], 0
        return self._kept


class _OneRow:
    """One row without vertices, or none."""

    def __init__(self, width: int, *, there: bool, complete: bool) -> None:
        self._block = np.full((1, width), MISSING, VERTEX_DTYPE) if there else None
        self.complete = complete

    def next(self) -> VertexArray | None:
        """Return the row, then None."""
        block, self._block = self._block, None
        return block

    def close(self) -> None:
        """Drop the row."""
        self._block = None


class DistinctRows:
    """The rows of a search in blocks; it begins when the first are taken."""

    def __init__(self, search: DistinctSearch, batch_rows: int) -> None:
        self._search = search
        self._batch_rows = batch_rows
        self._blocks: Iterator[VertexArray] | None = None
        self._left = 1
        self.complete = False

    def next(self) -> VertexArray | None:
        """Return the next block, or None at the end."""
        if self._blocks is None:
            rows, self.complete = self._search.rows()
            size = self._batch_rows
            self._blocks = iter([rows[first : first + size] for first in range(0, len(rows), size)])
            self._left = -(-len(rows) // size)
        block = next(self._blocks, None)
        self._left -= block is not None
        return block

    def close(self) -> None:
        """Drop the rows that were not taken."""
        if self._left > 0:
            self.complete = False
        self._left = 0
        self._blocks = iter(())


def check_options(request: Request) -> None:
    """Refuse options that distinct rows of queries do not have."""
    refuse_copies(request)
    if request.symmetry is Symmetry.SUBGRAPHS:
        raise ArgumentError(
            "symmetry",
            "'embeddings' beside distinct rows of a query: each of its patterns has other automorphisms",
            request.symmetry.value,
        )


def count_distinct(
    graph: Graph, query: Query, projection: Projection, request: Request, deadline: Deadline
) -> Count:
    """Return the number of distinct rows of a query."""
    search = DistinctSearch(graph, query, projection, request, deadline)
    planned = time.perf_counter()

    def result(number: int, *, complete: bool) -> Count:
        return Count(
            number if request.limit is None else min(number, request.limit),
            complete=complete,
            seconds=time.perf_counter() - planned,
            plan_seconds=planned - deadline.started,
            engine="cpu",
            device="cpu",
            reason=why_cpu(request),
        )

    try:
        rows, complete = search.rows()
    except KeyboardInterrupt as stop:
        replace_partial(stop, [result(len(search.held(complete=False)), complete=False)])
        raise
    count = result(len(rows), complete=complete)
    text = rows_text(query.vertex_names, projection) if projection.returned else ""
    log.ENGINE.info("rows of %s %s: %r, %s", query, text, count, count.reason)
    return count


def _has_filter(shape: Shape, case: Case) -> bool:
    """Whether only a filter tells the rows of a case among those of its patterns."""
    return len(case.parts) > 1 or bool(shape.absent or case.apart)


def _unique(rows: VertexArray) -> VertexArray:
    """Return rows, each once, in ascending order."""
    if rows.shape[1] == 0:
        return rows[:1]
    if rows.shape[1] <= 2:  # as numbers, which are sorted without looking up rows
        keys = rows[:, 0].astype(np.uint64)
        if rows.shape[1] == 2:
            keys = keys << np.uint64(32) | rows[:, 1]
        keys.sort()
        keys = keys[differ_from_before(keys[:, np.newaxis])]
        if rows.shape[1] == 1:
            return keys.astype(VERTEX_DTYPE)[:, np.newaxis]
        found = np.empty((len(keys), 2), VERTEX_DTYPE)
        found[:, 0], found[:, 1] = keys >> np.uint64(32), keys & np.uint64(MISSING)
        return found
    rows = rows[np.lexsort(rows.T[::-1])]
    return rows[differ_from_before(rows)]


def differ_from_before(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of sorted rows differ from the row before."""
    first = np.zeros(len(rows), dtype=bool)
    first[:1] = True
    for column in rows.T:
        first[1:] |= column[1:] != column[:-1]
    return first
