"""Distinct rows of sharded graphs: tasks list all rows, and the driver keeps each image once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.rows import RowSearch
from motiflux.cluster.shards.columns import IdColumns
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
from motiflux.errors import ArgumentError, ClusterError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome, Ran
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.types import Symmetry

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

_COPIES = 3
"""Copies of all rows while new ones are put among them."""
_MERGED = 1 << 16
"""Rows that are collected before those met twice are dropped, or as many as are kept already."""
_LOOKED = 8
"""The same where their number is asked for: this part of those that are kept already."""


class _Distinct(RowSearch):
    """A listing of which the driver keeps the different images of some vertices.

    Parameters
    ----------
    most
        Maximum number of rows that are kept.
    """

    def __init__(
        self, workers: Workers, tasks: ShardedRows, request: Request, call: str, width: int, most: int
    ) -> None:
        super().__init__(workers, tasks, request, tasks.slots)
        self.name = f"{call} {workers.pattern}"
        self._call, self._most = call, most
        self._kept: NDArray[np.int64] = np.empty((0, width), np.int64)
        self._new: list[NDArray[np.int64]] = []

    @property
    def over(self) -> bool:
        """Whether a limit is passed."""
        limit = self.request.limit
        return limit is not None and len(self._kept) > limit

    def take(self, order: Order, done: Done) -> None:
        """Take the rows of a task."""
        self.note(order, done, len(done.value))
        self._new.append(done.value)
        if self.request.limit is not None:
            self.about()
        if self._pending > max(_MERGED, len(self._kept)):
            self.merge()

    @property
    def _pending(self) -> int:
        return sum(map(len, self._new))

    def about(self) -> int:
        """Return the number of different rows so far; all are counted once all tasks have ended.

        So dropping rows that were met twice takes a time in proportion to all rows, not to tasks times rows.
        """
        if self.shares.done == self.shares.units or self._pending * _LOOKED > len(self._kept):
            self.merge()
        return len(self._kept)

    def merge(self) -> int:
        """Drop rows that were met twice; return the number of those that are left.

        Raises
        ------
        ClusterError
            They do not fit into memory.
        """
        if self._new:
            self._kept = np.unique(np.concatenate([self._kept, *self._new]), axis=0)
            self._new = []
        if len(self._kept) > self._most:
            raise ClusterError(
                f"{self._call}: expected at most {self._most:,} distinct rows, which fit into the memory of "
                "the graph, found more: open it with more memory=, name fewer vertices, or list all rows "
                "without distinct"
            )
        return len(self._kept)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows so far: a number that tells which ids are missing, then the ids."""
        self.merge()
        return self._kept


@dataclass(frozen=True, slots=True)
class DistinctImages:
    """The different images of some vertices in the rows of a pattern or a query, planned.

    Parameters
    ----------
    tasks
        Tasks that list rows; None: time was up before there was a plan.
    reason
        Why this engine, in words.
    """

    workers: Workers
    graph: ShardedGraph
    width: int
    tasks: ShardedRows | None
    reason: str

    @property
    def device(self) -> str:
        """The machines in words."""
        return f"{self.workers.device}, {self.graph.num_shards} shards"

    def collected(self, request: Request, deadline: Deadline, call: str) -> tuple[NDArray[np.int64], bool]:
        """Return the images, at most the limit, and whether none is missing.

        Raises
        ------
        ClusterError
            They do not fit into the memory of the graph.
        """
        if self.tasks is None:
            return np.empty((0, self.width), np.int64), False
        most = self.graph.memory // (8 * self.width * _COPIES)
        search = _Distinct(self.workers, self.tasks, request, call, self.width, most)
        driver = self.workers.driver(self.tasks.slots)
        try:
            driver.run_all([search], deadline, _reporting(search, request, deadline))
        finally:
            driver.wait_for_cancelled()
        rows, limit = search.rows, request.limit
        if limit is not None and len(rows) > limit:
            return rows[:limit], False
        return rows, driver.has_all_of(search)


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
    _check(projection, request)
    found, columns = _planned(graph, query, projection, request, deadline)
    reason = f"{found.reason}; all rows are listed{'' if kind is None else f', by CPUs, not {kind!r}'}"
    width = 1 + len(projection.returned)
    if found.searches is None:
        return DistinctImages(workers, graph, width, None, reason)
    entries, searches = graph.layout.entries, len(found.searches)

    def make_job() -> ImageRows:
        return ImageRows(found.rows(workers, entries), columns)

    functions = distinct_of_query, distinct_of_query
    own = IdColumns(found.patterns[0].pattern, names=False)
    units = entries * searches
    tasks = ShardedRows(workers, graph, own, units, found.plan, make_job, functions, found.images)
    return DistinctImages(workers, graph, width, tasks, reason)


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


def _check(projection: Projection, request: Request) -> None:
    """Refuse what distinct rows of a sharded graph do not have."""
    if projection.thresholds:
        raise ArgumentError("having", "None for a sharded graph", "thresholds")
    if request.copies:
        raise ArgumentError("copies", "False beside distinct rows, which have no copies", True)
    if request.symmetry is Symmetry.SUBGRAPHS:
        expected = "'embeddings' beside distinct rows of a sharded graph"
        raise ArgumentError("symmetry", expected, request.symmetry.value)


def _planned(
    graph: ShardedGraph,
    query: Pattern | Query,
    projection: Projection,
    request: Request,
    deadline: Deadline,
) -> tuple[PlannedRows, tuple[tuple[int | None, ...], ...]]:
    """Return the searches, and for each pattern its vertices whose images are counted."""
    returned = projection.returned
    columns: Sequence[tuple[int | None, ...]] = [returned]
    patterns = []
    if isinstance(query, Pattern):
        patterns = [Shaped(query)]
    else:
        _, request, patterns = patterns_listed(query, request, directed=graph.directed)
        columns = [
            tuple(one.shape.vertices[vertex] for vertex in returned)
            for one in patterns
            if one.shape is not None
        ]
    own = replace(request, limit=None)
    return planned_rows(graph, patterns, own, deadline, None), tuple(columns)


def _reporting(search: _Distinct, request: Request, deadline: Deadline) -> Any:
    report = request.progress
    if report is None:
        return None

    def tell() -> None:
        report(ProgressReport(search.shares.done, search.shares.units, search.about(), deadline.elapsed()))

    return tell
