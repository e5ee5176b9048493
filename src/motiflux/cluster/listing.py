"""Listings of graphs that fit a node, planned: as tasks that list shares of the rows, if there are such."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from motiflux.api.listing import LateRows, Listing, Search
from motiflux.api.matching import DEFAULT_BATCH_ROWS, WithBar, match
from motiflux.api.pattern_list import naming_pattern
from motiflux.api.projecting import plan_rows
from motiflux.api.queries.rows import QuerySearch
from motiflux.cluster.begin import begun
from motiflux.cluster.case_tasks import PlannedCase, QueryListing
from motiflux.cluster.digests import digest_of
from motiflux.cluster.driver_rows import DriverRows, Told, run_all
from motiflux.cluster.jobs import RowJob, WrittenRows
from motiflux.cluster.row_tasks import CaseRows, GroupRows, WholeRows
from motiflux.cluster.rows import ClusterRows
from motiflux.cluster.tasks import Columns, native_search
from motiflux.errors import ArgumentError, ClusterError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.progress import progress_callback
from motiflux.request.request import Request, make_request
from motiflux.result.columns import RowColumns
from motiflux.result.matches import Matches
from motiflux.result.rows import RowSource

if TYPE_CHECKING:
    from motiflux.cluster.engine import ClusterEngine
    from motiflux.cluster.gpu_engine import GpuClusterEngine
    from motiflux.cluster.workers import Workers

_LATE = "match: time was up before the search was planned; nothing was written"


@dataclass(frozen=True, slots=True)
class Asked:
    """A pattern or query of a listing, and the projection that is asked for, if any."""

    query: Pattern | Query
    projection: Projection | None


class ListedCases:
    """A query whose cases have one part each: tasks list the rows of all cases as one search."""

    def __init__(self, workers: Workers, search: QuerySearch) -> None:
        self._workers, self.search = workers, search

    @property
    def listable(self) -> bool:
        """Whether tasks can list them: parts of a case are put together on the driver."""
        return all(len(one.case.parts) == 1 for one in self.search.cases)

    @property
    def chooses(self) -> bool:
        """Whether rows have choices of copies."""
        return any(any(one.columns.chooses) for one in self.search.cases)

    def tasks(self) -> CaseRows | None:
        """Return the tasks; None if time was up before all cases were planned."""
        search, listing = self.search, self.search.listing
        graph, cases = listing.graph, []
        for one in search.cases:
            physical = one.searches[0].physical
            if physical is None:
                return None
            plan = physical.plan
            units = 0 if plan.impossible is not None else native_search(graph, plan, listing.request).units
            cases.append(PlannedCase(one.shape, one.case, plan, units))
        shown = listing.edges, tuple(listing.attributes), listing.names
        query_listing = QueryListing(search.query, tuple(cases), *shown)
        columns = Columns(search.query, *shown)
        return CaseRows(self._workers, graph, query_listing, listing.request, columns)


def match_query(
    workers: Workers,
    graph: Graph,
    query: Query,
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    *,
    late: bool,
) -> Matches | None:
    """Return the rows of a query, if tasks list them and the driver has to choose no copies; None otherwise.

    Parameters
    ----------
    late
        Whether the search begins with the first rows, or at once.
    """
    with ExitStack() as bar:
        batch_rows, request, deadline = begun(options, chosen, bar)
        listing = _listing(graph, request, options, batch_rows)
        listing.check()
        search = QuerySearch(listing, query, deadline)
        cases = ListedCases(workers, search)
        tasks = cases.tasks() if cases.listable and not cases.chooses else None
        if tasks is None:
            return None
        planned = time.perf_counter()
        begin = partial(ClusterRows, workers, tasks, request, batch_rows, deadline, tasks.slots)
        source: RowSource = LateRows(begin) if late else begin()
        return Matches(
            WithBar(source, bar.pop_all()),
            search.columns,
            started=planned,
            plan_seconds=planned - deadline.started,
            engine=search.ran.engine,
            device=search.ran.device,
            reason=search.ran.why,
            batch_rows=batch_rows,
            limit=request.limit,
        )


def write_rows(
    workers: Workers,
    graph: Graph,
    asked: Sequence[Asked],
    folders: Sequence[str],
    job: str | None,
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
) -> list[WrittenRows]:
    """Write the rows of each pattern or query into a data set in a folder of its own."""
    with progress_callback(options.get("progress", False), "matching") as callback:
        device, engine = options.get("device", "auto"), options.get("engine", "auto")
        request = make_request(**chosen, device=device, engine=engine, progress=callback)
        writing = _Writing(workers, graph, request, options, job)
        several = len(asked) > 1
        for at, (one, folder) in enumerate(zip(asked, folders, strict=True)):
            with naming_pattern(at if several else None):
                writing.plan(one, folder, f", {at + 1}" if several else "")
        return writing.run()


def _listing(graph: Graph, request: Request, options: Mapping[str, Any], block_rows: int) -> Listing:
    edges, names = options.get("edges", False), options.get("names", False)
    return Listing(graph, request, block_rows, edges, options.get("attributes", ()), names)


@dataclass(frozen=True, slots=True)
class _Planned:
    """Tasks of a listing, or rows that pass through the driver."""

    query: Pattern | Query
    projection: Projection | None
    tasks: WholeRows | None
    request: Request
    matches: Matches | None
    folder: str
    number: str


class _Writing:
    """The data sets of a call."""

    def __init__(
        self, workers: Workers, graph: Graph, request: Request, options: Mapping[str, Any], job: str | None
    ) -> None:
        self._workers, self._graph, self._request, self._job = workers, graph, request, job
        self._options = options
        self._listing = _listing(graph, request, options, DEFAULT_BATCH_ROWS)
        self._listing.check()
        self._deadline: Deadline | None = None
        self._planned: list[_Planned] = []

    def plan(self, asked: Asked, folder: str, number: str) -> None:
        """Plan a listing.

        Raises
        ------
        ClusterError
            Time was up.
        """
        query, projection = asked.query, asked.projection
        request, tasks, matches = self._request, None, None
        if projection is not None and isinstance(query, Pattern):
            tasks = self._groups(query, projection)
        elif isinstance(query, Pattern):
            request, tasks = self._pattern(query)
        else:
            tasks = None if projection is not None else self._cases(query)
            if tasks is None:
                matches = self._here(query, projection)
        self._planned.append(_Planned(query, projection, tasks, request, matches, folder, number))

    def _time(self) -> Deadline:
        """Return the deadline of the call, whose time begins with the first plan."""
        if self._deadline is None:
            self._deadline = Deadline.after(self._request.timeout)
        return self._deadline

    def _pattern(self, pattern: Pattern) -> tuple[Request, WholeRows]:
        listing = self._listing
        listing.columns(pattern)  # raises what it refuses
        search = Search(listing, pattern, self._deadline)
        self._deadline = search.deadline
        columns = Columns(pattern, listing.edges, tuple(listing.attributes), listing.names)
        asked, tasks = listing.for_pattern(pattern), None
        engine = cast("ClusterEngine | GpuClusterEngine", search.engine)
        if search.physical is not None:
            tasks = engine.row_tasks(self._graph, search.physical, asked, search.deadline, columns)
        return asked, _in_time(tasks)

    def _groups(self, pattern: Pattern, projection: Projection) -> WholeRows:
        listing = self._listing
        if listing.edges is not False:
            expected = "False beside distinct rows, which have no edges"
            raise ArgumentError("edges", expected, listing.edges)
        returned, names = projection.returned, listing.names
        # raises what it refuses
        RowColumns(self._graph, pattern, attributes=listing.attributes, names=names, returned=returned)
        plan = plan_rows(self._graph, pattern, projection, self._request, self._time())
        columns = Columns(pattern, False, tuple(listing.attributes), names, returned)
        tasks = None if plan is None else GroupRows(self._workers, self._graph, plan, self._request, columns)
        return _in_time(tasks)

    def _cases(self, query: Query) -> WholeRows | None:
        """Return the tasks of a query; None if rows pass through the driver."""
        cases = ListedCases(self._workers, QuerySearch(self._listing, query, self._time()))
        return _in_time(cases.tasks()) if cases.listable else None

    def _here(self, query: Query, projection: Projection | None) -> Matches:
        """Return rows that pass through the driver."""
        given = dict(self._options) | {"timeout": self._time().left(), "progress": False}
        return match(self._graph, query, **(given | {"distinct": projection, "having": None}))

    def run(self) -> list[WrittenRows]:
        """Write all."""
        planned, deadline = time.perf_counter(), self._time()
        jobs: list[RowJob | DriverRows] = []
        for one in self._planned:
            if one.tasks is None:
                jobs.append(self._driver_rows(one))
                continue
            tasks, name = one.tasks, self._job
            given = tasks.plan, one.request, one.folder, name, one.number, tasks.slots
            jobs.append(RowJob(self._workers, tasks, *given))
        return run_all(self._workers, jobs, self._request, deadline, planned)

    def _driver_rows(self, one: _Planned) -> DriverRows:
        assert one.matches is not None
        listing = self._listing
        columns = listing.edges, tuple(listing.attributes), listing.names
        told = Told(digest_of(self._graph), one.query, one.projection, self._request, columns)
        return DriverRows(one.matches, told, one.folder, self._job)


def _in_time(tasks: WholeRows | None) -> WholeRows:
    if tasks is None:
        raise ClusterError(_LATE)
    return tasks
