"""Distinct rows of sharded graphs: tasks list all rows, and the driver keeps each image once.

With thresholds, images are those of a row and of vertices that are counted, as many as decide a threshold.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.api.projecting import refuse_copies
from motiflux.api.queries.distinct import check_options
from motiflux.cluster.rows import RowSearch
from motiflux.cluster.shards.columns import IdColumns
from motiflux.cluster.shards.image_tables import Images, ImageTable, bytes_of_row, held, tables_of
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

COPIES = 3
"""Copies of all images while new ones are put among them."""
_MERGED = 1 << 16
"""Images that are collected before those met twice are dropped, or as many as are kept already."""
_LOOKED = 8
"""The same where their number is asked for: this part of those that are kept already."""


class _Distinct(RowSearch):
    """A listing of which the driver keeps the different images of some vertices."""

    def __init__(self, images: DistinctImages, tasks: ShardedRows, request: Request, call: str) -> None:
        super().__init__(images.workers, tasks, request, tasks.slots)
        self.name = f"{call} {images.workers.pattern}"
        self._call, self._projection, self._tables = call, images.projection, images.tables
        self._most = images.graph.memory // COPIES
        self._kept = [table.joined([]) for table in self._tables]
        self._new: list[list[Images]] = [[] for _ in self._tables]
        self._number: int | None = 0

    @property
    def over(self) -> bool:
        """Whether a limit is passed."""
        limit = self.request.limit
        return limit is not None and self._number is not None and self._number > limit

    def take(self, order: Order, done: Done) -> None:
        """Take the images of a task."""
        self.note(order, done, len(done.value[0]))
        for new, found in zip(self._new, done.value, strict=True):
            new.append(found)
        if self.request.limit is not None:
            self.about()
        if self._pending > max(_MERGED, self._size):
            self.merge()

    @property
    def _size(self) -> int:
        return sum(map(len, self._kept))

    @property
    def _pending(self) -> int:
        return sum(len(one) for new in self._new for one in new)

    @property
    def _ended(self) -> bool:
        return self.shares.done == self.shares.units

    def about(self) -> int:
        """Return the number of different rows so far; all are counted once all tasks have ended.

        So dropping rows that were met twice takes a time in proportion to all rows, not to tasks times rows.
        """
        if self._ended or self._pending * _LOOKED > self._size:
            self.merge()
        if self._number is None:
            self._number = len(self.rows(complete=self._ended))
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

    def rows(self, *, complete: bool) -> NDArray[np.int64]:
        """Return the rows that hold: ids, then a number that tells which are missing.

        Parameters
        ----------
        complete
            Whether all tasks have ended.
        """
        self.merge()
        return held(self._projection, self._tables, self._kept, complete=complete)


@dataclass(frozen=True, slots=True)
class DistinctImages:
    """The distinct rows of a pattern or a query, planned.

    Parameters
    ----------
    tables
        Those of all images that tell the rows.
    tasks
        Tasks that list rows; None: time was up before there was a plan.
    reason
        Why this engine, in words.
    """

    workers: Workers
    graph: ShardedGraph
    projection: Projection
    tables: tuple[ImageTable, ...]
    tasks: ShardedRows | None
    reason: str

    @property
    def device(self) -> str:
        """The machines in words."""
        return f"{self.workers.device}, {self.graph.num_shards} shards"

    def collected(self, request: Request, deadline: Deadline, call: str) -> tuple[NDArray[np.int64], bool]:
        """Return the rows, at most the limit, and whether none is missing.

        Rows are ids, then a number that tells which are missing.

        Raises
        ------
        ClusterError
            They do not fit into the memory of the graph.
        """
        if self.tasks is None:
            return np.empty((0, 1 + len(self.projection.returned)), np.int64), False
        search = _Distinct(self, self.tasks, request, call)
        driver = self.workers.driver(self.tasks.slots)
        try:
            driver.run_all([search], deadline, _reporting(search, request, deadline))
        finally:
            driver.wait_for_cancelled()
        complete, limit = driver.has_all_of(search), request.limit
        rows = search.rows(complete=complete)
        if limit is not None and len(rows) > limit:
            return rows[:limit], False
        return rows, complete


def distinct_images(
    workers: Workers,
    graph: ShardedGraph,
    query: Pattern | Query,
    projection: Projection,
    request: Request,
    deadline: Deadline,
    kind: str | None,
) -> DistinctImages:
    """Return the distinct rows of a pattern or a query, planned.

    Parameters
    ----------
    kind
        The kind of device that was asked for; CPUs list all the same. None: CPUs.

    Raises
    ------
    ArgumentError, PatternError
        The query or an option takes more than a sharded graph has.
    """
    check_rows(query, request)
    found, vertices = _planned(graph, query, request, deadline)
    reason = f"{found.reason}; {listed_by(request, kind)}"
    tables = tables_of(projection)
    if found.searches is None:
        return DistinctImages(workers, graph, projection, tables, None, reason)
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
    return DistinctImages(workers, graph, projection, tables, listing, reason)


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
    images = distinct_images(workers, graph, query, projection, request, deadline, kind)
    planned = time.perf_counter()
    rows, complete = images.collected(request, deadline, "count")
    seconds = 0.0 if images.tasks is None else time.perf_counter() - planned
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
