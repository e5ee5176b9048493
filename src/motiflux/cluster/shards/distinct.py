"""Distinct rows of sharded graphs: tasks list all rows, and the driver keeps each image once.

With thresholds, images are those of a row and of vertices that are counted, as many as decide a threshold.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.matching import DEFAULT_BATCH_ROWS
from motiflux.api.projecting import refuse_copies
from motiflux.api.queries.distinct import check_options
from motiflux.cluster.rows import RowSearch
from motiflux.cluster.shards.columns import IdColumns
from motiflux.cluster.shards.image_tables import Images, bytes_of_row, held, tables_of
from motiflux.cluster.shards.parts import PartsRows, Searching, has_parts
from motiflux.cluster.shards.query_tasks import ImageRows, distinct_of_query
from motiflux.cluster.shards.row_tasks import (
    PlannedRows,
    Shaped,
    ShardedRows,
    patterns_listed,
    planned_rows,
)
from motiflux.cluster.shares import Order
from motiflux.cluster.tasks import Done
from motiflux.dispatch.prepared_query import count_of
from motiflux.errors import ClusterError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection
from motiflux.plan.passes.symmetry import Restriction, check_symmetry
from motiflux.plan.projection import row_restrictions
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome, Ran
from motiflux.request.planning import row_plan_options
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.types import Symmetry

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

IdRows = NDArray[np.int64]

COPIES = 6
"""Copies of all images while as many new ones are put among them: those, both together, and sorted."""
_MERGED = 1 << 16
"""Images that are collected before those met twice are dropped, or as many as are kept already."""
_LOOKED = 8
"""The same where their number is asked for: this part of those that are kept already."""


class _Kept:
    """The different images of some vertices, and the rows that they tell.

    Parameters
    ----------
    call
        The call that keeps them, for errors.
    memory
        Bytes for them, and for copies while new ones are put among them.
    """

    def __init__(self, call: str, projection: Projection, memory: int) -> None:
        self._call, self._projection, self._tables = call, projection, tables_of(projection)
        self._most = memory // COPIES
        self._kept = [table.joined([]) for table in self._tables]
        self._new: list[list[Images]] = [[] for _ in self._tables]
        self._number: int | None = 0

    @property
    def _size(self) -> int:
        return sum(map(len, self._kept))

    @property
    def _pending(self) -> int:
        return sum(len(one) for new in self._new for one in new)

    def add(self, images: Sequence[Images]) -> None:
        """Add images to each table, of which some may be there."""
        for new, found in zip(self._new, images, strict=True):
            new.append(found)
        if self._pending > max(_MERGED, self._size):
            self.merge()

    def passes(self, limit: int | None) -> bool:
        """Whether more rows than a limit are known."""
        return limit is not None and self._number is not None and self._number > limit

    def about(self, *, all_there: bool) -> int:
        """Return the number of different rows so far; all are counted once all images are there.

        So dropping rows that were met twice takes a time in proportion to all rows, not to tasks times rows.
        """
        if all_there or self._pending * _LOOKED > self._size:
            self.merge()
        if self._number is None or all_there:  # more rows hold once it is known that no image is missing
            self._number = len(self.rows(complete=all_there))
        return self._number

    def merge(self) -> None:
        """Drop images that were met twice.

        Raises
        ------
        ClusterError
            Those that are left do not fit into memory.
        """
        for at, table in enumerate(self._tables):
            if self._new[at]:
                self._kept[at] = table.joined([self._kept[at], *self._new[at]])
                self._new[at], self._number = [], None
        if sum(one.nbytes for one in self._kept) > self._most:
            raise ClusterError(f"{self._call}: {self._too_many()}, or list all rows without distinct")

    def _too_many(self) -> str:
        if self._projection.thresholds:
            return (
                f"expected at most {self._most:,} bytes of distinct rows and images that thresholds count, "
                "which fit into the memory of the graph, found more: open it with more memory=, name fewer "
                "vertices, compare with smaller numbers"
            )
        most = self._most // (8 * self._tables[0].width)
        return (
            f"expected at most {most:,} distinct rows, which fit into the memory of the graph, found more: "
            "open it with more memory=, name fewer vertices"
        )

    def rows(self, *, complete: bool) -> IdRows:
        """Return the rows that hold: ids, then a number that tells which are missing.

        Parameters
        ----------
        complete
            Whether these are all images.
        """
        self.merge()
        return held(self._projection, self._tables, self._kept, complete=complete)

    def collected(self, limit: int | None, *, complete: bool) -> tuple[IdRows, bool]:
        """Return the rows, at most the limit, and whether none is missing."""
        rows = self.rows(complete=complete)
        if limit is not None and len(rows) > limit:
            return rows[:limit], False
        return rows, complete


class _Distinct(RowSearch):
    """A listing of which the driver keeps the different images of some vertices."""

    def __init__(
        self, workers: Workers, tasks: ShardedRows, request: Request, call: str, kept: _Kept
    ) -> None:
        super().__init__(workers, tasks, request, tasks.slots)
        self.name = f"{call} {workers.pattern}"
        self._kept = kept

    @property
    def over(self) -> bool:
        """Whether a limit is passed."""
        return self._kept.passes(self.request.limit)

    def take(self, order: Order, done: Done) -> None:
        """Take the images of a task."""
        self.note(order, done, len(done.value[0]))
        self._kept.add(done.value)
        if self.request.limit is not None:
            self.about()

    def about(self) -> int:
        """Return the number of different rows so far."""
        return self._kept.about(all_there=self.shares.done == self.shares.units)


@dataclass(frozen=True, slots=True)
class DistinctImages:
    """The distinct rows of a pattern or a query, planned.

    Parameters
    ----------
    call
        The call that keeps them, for errors.
    tasks
        Tasks that list rows; None: time was up before there was a plan.
    reason
        Why this engine, in words.
    """

    workers: Workers
    graph: ShardedGraph
    projection: Projection
    request: Request
    deadline: Deadline
    call: str
    tasks: ShardedRows | None
    reason: str

    @property
    def device(self) -> str:
        """The machines in words."""
        return _device(self.workers, self.graph)

    @property
    def planned(self) -> bool:
        """Whether there is a plan."""
        return self.tasks is not None

    def collected(self) -> tuple[IdRows, bool]:
        """Return the rows, at most the limit, and whether none is missing.

        Rows are ids, then a number that tells which are missing.

        Raises
        ------
        ClusterError
            They do not fit into the memory of the graph.
        """
        if self.tasks is None:
            return np.empty((0, 1 + len(self.projection.returned)), np.int64), False
        kept = _Kept(self.call, self.projection, self.graph.memory)
        search = _Distinct(self.workers, self.tasks, self.request, self.call, kept)
        driver = self.workers.driver(self.tasks.slots)
        try:
            driver.run_all([search], self.deadline, _reporting(search, self.request, self.deadline))
        finally:
            driver.wait_for_cancelled()
        return kept.collected(self.request.limit, complete=driver.has_all_of(search))


class PartsImages:
    """The same of a query of several parts, whose rows pass through the driver.

    It keeps the rows of parts in one half of the memory of the graph, and images in the other one.
    """

    planned = True

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        query: Query,
        projection: Projection,
        request: Request,
        deadline: Deadline,
        call: str,
        kind: str | None,
    ) -> None:
        self._request, self._tables = request, tables_of(projection)
        room = graph.memory // 2
        self._kept = _Kept(call, projection, room)
        self.device = _device(workers, graph)
        own = replace(request, limit=None, progress=None if request.progress is None else self._tell)
        searching = Searching(workers, graph, own, deadline, room, DEFAULT_BATCH_ROWS, call=call)
        self._rows = PartsRows(searching, query.shapes, query)
        self.reason = f"{self._rows.reason}; {listed_by(request, kind)}"

    def _tell(self, report: ProgressReport) -> None:
        """Report the number of different rows."""
        assert self._request.progress is not None
        self._request.progress(replace(report, found=self._kept.about(all_there=report.done == report.total)))

    def collected(self) -> tuple[IdRows, bool]:
        """Return the rows, at most the limit, and whether none is missing.

        Rows are ids, then a number that tells which are missing.

        Raises
        ------
        ClusterError
            They, or the rows of a part, do not fit into the memory of the graph.
        """
        rows, kept, limit = self._rows, self._kept, self._request.limit
        try:
            while (block := rows.next()) is not None:
                columns = rows.cases[int(block[0, 0])]
                vertices = np.asarray(columns.vertices(block), np.int64)
                kept.add([table.images(vertices, columns.shape.vertices) for table in self._tables])
                if limit is not None and kept.about(all_there=False) > limit:
                    break
        finally:
            rows.close()
        return kept.collected(limit, complete=rows.complete)


def _device(workers: Workers, graph: ShardedGraph) -> str:
    """Return the machines in words."""
    return f"{workers.device}, {graph.num_shards} shards"


def distinct_images(
    workers: Workers,
    graph: ShardedGraph,
    query: Pattern | Query,
    projection: Projection,
    request: Request,
    deadline: Deadline,
    call: str,
    kind: str | None,
) -> DistinctImages | PartsImages:
    """Return the distinct rows of a pattern or a query, planned.

    Parameters
    ----------
    call
        The call that keeps them, for errors.
    kind
        The kind of device that was asked for; CPUs list all the same. None: CPUs.

    Raises
    ------
    ArgumentError, PatternError
        The query or an option takes more than a sharded graph has.
    """
    check_rows(query, request)
    if isinstance(query, Query) and has_parts(query):
        return PartsImages(workers, graph, query, projection, request, deadline, call, kind)
    found, vertices = _planned(graph, query, request, deadline)
    tables, listing = tables_of(projection), None
    if found.searches is not None:
        ascending: tuple[Restriction, ...] = ()
        if isinstance(query, Pattern) and request.symmetry is Symmetry.SUBGRAPHS:
            options = row_plan_options(request, deadline)
            ascending = row_restrictions(query, projection, options, directed=graph.directed)
        entries, searches = graph.layout.entries, len(found.searches)

        def make_job() -> ImageRows:
            return ImageRows(found.rows(workers, entries), tables, vertices, ascending)

        functions = distinct_of_query, distinct_of_query
        own = IdColumns(found.patterns[0].pattern, names=False)
        units = entries * searches
        listing = ShardedRows(workers, graph, own, units, found.plan, make_job, functions, found.images)
    reason = f"{found.reason}; {listed_by(request, kind)}"
    return DistinctImages(workers, graph, projection, request, deadline, call, listing, reason)


def listed_by(request: Request, kind: str | None) -> str:
    """Return what becomes of rows and who lists them, in words; see `distinct_images`."""
    told = "all rows are listed" + ("" if kind is None else f", by CPUs, not {kind!r}")
    if request.symmetry is Symmetry.SUBGRAPHS:
        told += ", and one kept of those that automorphisms turn into each other"
    return told


def memory_of_row(projection: Projection) -> int:
    """Return the most bytes of memory that a distinct row takes where the call is made."""
    return COPIES * bytes_of_row(tables_of(projection))


def count_distinct_sharded(
    workers: Workers,
    graph: ShardedGraph,
    query: Pattern | Query,
    projection: Projection,
    request: Request,
    deadline: Deadline,
    kind: str | None = None,
) -> Count:
    """Return the number of distinct rows of a pattern or a query; see `distinct_images`.

    Raises
    ------
    ArgumentError, PatternError
        The query or an option takes more than a sharded graph has.
    ClusterError
        The rows do not fit into the memory of the graph.
    """
    images = distinct_images(workers, graph, query, projection, request, deadline, "count", kind)
    planned = time.perf_counter()
    rows, complete = images.collected()
    seconds = time.perf_counter() - planned if images.planned else 0.0
    ran = Ran("cluster", images.device, images.reason)
    return count_of(Outcome(len(rows), complete), ran, seconds, planned - deadline.started)


def check_rows(query: Pattern | Query, request: Request) -> None:
    """Refuse options that distinct rows do not have."""
    if isinstance(query, Query):
        check_options(request)
        return
    refuse_copies(request)
    check_symmetry(request.semantics, request.symmetry, query)


def _planned(
    graph: ShardedGraph, query: Pattern | Query, request: Request, deadline: Deadline
) -> tuple[PlannedRows, tuple[tuple[int | None, ...], ...]]:
    """Return the searches, and for each pattern its vertices by their position in the query."""
    if isinstance(query, Pattern):
        patterns = [Shaped(query)]
        vertices: list[tuple[int | None, ...]] = [tuple(range(query.num_vertices))]
    else:
        _, request, patterns = patterns_listed(query, request, directed=graph.directed)
        vertices = [one.shape.vertices for one in patterns if one.shape is not None]
    own = replace(request, limit=None)
    return planned_rows(graph, patterns, own, deadline, None), tuple(vertices)


def _reporting(search: _Distinct, request: Request, deadline: Deadline) -> Any:
    report = request.progress
    if report is None:
        return None

    def tell() -> None:
        report(ProgressReport(search.shares.done, search.shares.units, search.about(), deadline.elapsed()))

    return tell
