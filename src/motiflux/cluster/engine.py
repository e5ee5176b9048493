"""``mf.Cluster``'s engine: the plans of the CPU engine, searched by tasks on the machines of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from motiflux import log
from motiflux.cluster.row_tasks import GroupRows, WholeRows
from motiflux.cluster.rows import ClusterRows
from motiflux.cluster.shares import Order
from motiflux.cluster.simulation import expected_tasks
from motiflux.cluster.tasks import (
    TOO_MANY_CHOICES,
    Bounds,
    Columns,
    Done,
    count_share,
    count_whole,
    native_search,
    plain,
)
from motiflux.cluster.timed_shares import TimedShares
from motiflux.cpu import native
from motiflux.cpu.engine import CAPABILITIES, CpuEngine
from motiflux.cpu.subtracting import count_terms
from motiflux.graph import Graph
from motiflux.plan.estimate.prediction import Prediction, TasksReport
from motiflux.plan.physical import Family, PhysicalPlan
from motiflux.plan.projection import ProjectedPlan
from motiflux.request.costs import HostWork, host_work
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine, Outcome
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

NAME = "cluster"


@dataclass(frozen=True, slots=True)
class Cut:
    """How a count is cut, and its expected time.

    Parameters
    ----------
    whole
        Whether it is one task on one node.
    seconds
        Expected seconds; None if nothing was sampled.
    why
        In words.
    """

    whole: bool
    seconds: float | None
    why: str


class Progressing(Protocol):
    """Shares of which some are done."""

    done: int
    units: int


class Reported(Protocol):
    """A search whose progress is reported."""

    @property
    def shares(self) -> Progressing:
        """Its shares."""

    @property
    def found(self) -> int:
        """Embeddings found."""


class ClusterEngine(CpuEngine):
    """Plans as the CPU engine does, and searches on a cluster."""

    name = NAME
    capabilities = replace(CAPABILITIES, reports_sizes=False, shares_passes=False, at_once=True)

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.device = workers.device

    def is_current(self) -> bool:
        """Whether the cluster is still connected."""
        return self._workers.open

    def cut(self, physical: PhysicalPlan, request: Request) -> Cut:
        """Return how a count will be cut."""
        workers = self._workers
        work = host_work(physical.plan, None, request)
        search = None if work is None else work.seconds / (workers.slots * workers.threads)
        if physical.plan.impossible is not None or physical.stages[0].family is not Family.TABLES:
            return Cut(False, search, f"a search, in shares for {workers.slots} tasks at a time")
        assert physical.plan.formula is not None
        seconds = physical.plan.formula.seconds * request.threads
        tables = HostWork("tables", seconds, len(physical.plan.order)).shared(workers.node_cpus)
        if search is None or tables <= search or request.tuning["tables"] == "on":
            return Cut(True, tables, "tables of local counts, as one task on the largest node")
        return Cut(
            False,
            search,
            f"a search, in shares for {workers.slots} tasks at a time, faster than tables of one",
        )

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``."""
        return self.count_together(graph, [physical], request, deadline)[0]

    def count_together(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> list[Outcome]:
        """Return the count of each plan; the tasks of one follow those of another without a pause."""
        found: list[Outcome | None] = [None] * len(plans)
        searches: list[tuple[int, CountSearch]] = []
        for at, physical in enumerate(plans):
            if physical.plan.impossible is not None:
                found[at] = Outcome(0, True)
            elif physical.terms:
                found[at] = count_terms(
                    physical,
                    request,
                    deadline,
                    lambda term, asked, until: self.count(graph, term, asked, until),
                )
            elif (cut := self.cut(physical, request)).whole:
                found[at] = self._count_whole(graph, physical, request, deadline)
            else:
                log.ENGINE.info("cluster: %s", cut.why)
                number = f", {at + 1}" if len(plans) > 1 else ""
                searches.append((at, CountSearch(self._workers, graph, physical, request, number)))
        if searches:
            self._search([search for _, search in searches], request, deadline)
        for at, search in searches:
            if search.too_many_choices:
                by_levels = replace(plans[at], plan=replace(plans[at].plan, copy_walk=None))
                found[at] = self.count(graph, by_levels, request, deadline)
            else:
                found[at] = search.outcome()
        return [one for one in found if one is not None]

    def _search(self, searches: Sequence[CountSearch], request: Request, deadline: Deadline) -> None:
        report = reporting(searches, request, deadline)
        driver = self._workers.driver()
        driver.run_all(searches, deadline, report)
        for search in searches:
            search.late = not driver.has_all_of(search)

    def _count_whole(
        self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline
    ) -> Outcome:
        content = (physical, plain(request))
        job = self._workers.job(graph, content)
        name = f"count {self._workers.pattern}"
        outcome: Outcome | None = self._workers.whole(
            name, count_whole, job, deadline, graph=graph, content=content, late=Outcome(0, False)
        )
        assert outcome is not None
        return replace(outcome, ran=None)

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, None]:
        """Start an enumeration of at most ``request.limit`` rows."""
        if physical.plan.impossible is not None:
            return NoRows(complete=True), None
        tasks = self.row_tasks(graph, physical, request, deadline)
        assert tasks is not None
        return ClusterRows(self._workers, tasks, request, batch_rows, deadline, tasks.slots), None

    def row_tasks(
        self,
        graph: Graph,
        physical: PhysicalPlan,
        request: Request,
        deadline: Deadline,
        columns: Columns | None = None,
    ) -> WholeRows | None:
        """Return the tasks of a listing, into files with these columns; None if time was up before."""
        return WholeRows(self._workers, graph, physical.plan, request, columns)

    def projected_rows(
        self, graph: Graph, plan: ProjectedPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> RowSource:
        """Start a listing of at most ``request.limit`` distinct rows."""
        if plan.plan.impossible is not None:
            return NoRows(complete=True)
        tasks = GroupRows(self._workers, graph, plan, request)
        return ClusterRows(self._workers, tasks, request, batch_rows, deadline, tasks.slots)

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return how the count will be cut."""
        if physical.terms:
            return ""
        return f"; {self.cut(physical, request).why}"

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        found = super().predict(graph, physical, request)
        workers = self._workers
        cut = self.cut(physical, request)
        threads = workers.node_cpus if cut.whole else workers.slots * workers.threads
        seconds = None if physical.terms else cut.seconds
        tasks = None
        if not physical.terms:
            tasks = TasksReport(1 if cut.whole else workers.slots, _tasks(cut, workers))
        return replace(found, seconds=seconds, threads=threads, tasks=tasks)

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine."""
        return self


def _tasks(cut: Cut, workers: Workers) -> int | None:
    """Return the expected number of tasks; None if no time is predicted."""
    if cut.whole:
        return 1
    return None if cut.seconds is None else expected_tasks(cut.seconds * workers.slots, workers.slots)


class CountSearch:
    """The count of one plan by tasks.

    Attributes
    ----------
    total
        Embeddings found, multiplier not applied.
    late
        Whether time was up.
    """

    divisible = True

    def __init__(
        self, workers: Workers, graph: Graph, physical: PhysicalPlan, request: Request, number: str
    ) -> None:
        plan = physical.plan
        self._workers, self._graph, self._plan, self._request = workers, graph, plan, request
        self._limit = None if request.limit is None else request.limit // plan.multiplier
        units = native_search(graph, plan, request).units
        self._content = (plan, plain(request))
        self._job = workers.job(graph, self._content, units, plan=plan)
        self.name = f"count {workers.pattern}{number}"
        self.shares = TimedShares(units, workers.slots)
        self.total = 0
        self.late = False
        self.too_many_choices = False

    @property
    def found(self) -> int:
        """Embeddings found."""
        return self.total * self._plan.multiplier

    @property
    def over(self) -> bool:
        """Whether a limit is reached."""
        return self.too_many_choices or (self._limit is not None and self.total > self._limit)

    def submit(self, order: Order) -> Any:
        """Start a task."""
        left = None if self._limit is None else self._limit - self.total
        bounds = Bounds(self._workers.threads, seconds=order.seconds, limit=left)
        return self._workers.submit(count_share, self.name, self._job, order.share, bounds)

    def take(self, order: Order, done: Done) -> None:
        """Add the embeddings of a task."""
        if done.stop == TOO_MANY_CHOICES:
            self.too_many_choices = True
            return
        self.total += done.value
        left = done.left if done.stop == native.Stop.NONE else []
        self.shares.ended(order, left, done.seconds)

    def renew(self) -> None:
        """Share the graph again."""
        units = self.shares.units
        self._job = self._workers.job(self._graph, self._content, units, plan=self._plan, again=True)

    def outcome(self) -> Outcome:
        """Return the count, at most the limit."""
        total, limit = self.found, self._request.limit
        if limit is not None and total > limit:
            return Outcome(limit, False)
        return Outcome(total, not self.late)


def reporting(
    searches: Sequence[Reported], request: Request, deadline: Deadline
) -> Callable[[], None] | None:
    """Return the function that reports the progress of searches; None if nobody asked for reports."""
    report = request.progress
    if report is None:
        return None

    def tell() -> None:
        each = tuple(search.found for search in searches)
        done = sum(search.shares.done for search in searches)
        total = sum(search.shares.units for search in searches)
        report(ProgressReport(done, total, sum(each), deadline.elapsed(), each if len(each) > 1 else ()))

    return tell
