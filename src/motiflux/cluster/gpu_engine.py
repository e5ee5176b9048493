"""Counts and rows on the GPUs of a cluster: a task has one GPU, and searches a share of the work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from motiflux import log
from motiflux.cluster.driver import Driver
from motiflux.cluster.engine import NAME, ClusterEngine, reporting
from motiflux.cluster.gpu_shares import Cuts, Parts
from motiflux.cluster.gpu_spaces import Filtering, MaybeFiltered, Spaces
from motiflux.cluster.gpu_tasks import Filtered, Found, SeenGpu, count_on_gpu, look_at_gpu
from motiflux.cluster.row_tasks import GpuRows, WholeRows
from motiflux.cluster.rows import ClusterRows
from motiflux.cluster.shares import Order
from motiflux.cluster.tasks import Bounds, Columns, Done, Job, plain
from motiflux.cluster.workers import Workers
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.engine import CAPABILITIES, DfsEngine
from motiflux.gpu.strategy import DeviceFacts
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction, TasksReport
from motiflux.plan.physical import Family, PhysicalPlan
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.engine import Outcome, Ran
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource
from motiflux.units import quantity

_FILTERED = "candidate spaces filtered on GPUs of a cluster"
_SHARES = 4
"""Most shares of a count for each GPU: a task that is lost repeats one of them."""
_LEAST_SECONDS = 0.1
"""Expected seconds for which a share is made, unless GPUs would have none."""


class GpuClusterEngine(DfsEngine):
    """Plans as the engine ``dfs`` does for one of the GPUs, and counts on all of them.

    Plans have no counts in parts, unless the switch ``parts`` is on. Those of listings have no candidate
    spaces, whose root arcs have other numbers than the graph's. One GPU filters a space for all.

    Parameters
    ----------
    kind
        The kind of device: ``"cuda"``.
    host
        Counts what kernels cannot.
    """

    name = NAME
    capabilities = replace(CAPABILITIES, at_once=True)

    def __init__(self, workers: Workers, kind: str, host: ClusterEngine) -> None:
        self._workers, self._kind, self._host = workers, kind, host
        self._seen: SeenGpu | None = None
        self._spaces = Spaces(workers)
        self.check()

    def check(self) -> None:
        """Raise `DeviceError` if the cluster has no GPU for a task; take note of those that it has."""
        self.device = self._workers.gpus_of_kind(self._kind)

    @property
    def facts(self) -> DeviceFacts:
        """Facts of one of the GPUs."""
        return self.measured.facts

    @property
    def measured(self) -> SeenGpu:
        """One of the GPUs, as a task saw it."""
        assert self._seen is not None, "a plan comes first"
        return self._seen

    def look(self, deadline: Deadline) -> bool:
        """Have a task look at a GPU, unless one did; return whether one did."""
        if self._seen is None:
            look = _Look(self._workers, self._kind)
            self._driver().run_all([look], deadline)
            self._seen = look.seen
        return self._seen is not None

    def is_current(self) -> bool:
        """Whether the cluster is still connected."""
        return self._workers.open

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Return True: workers compile."""
        return True

    def plan(
        self,
        graph: Graph,
        pattern: Pattern,
        request: Request,
        deadline: Deadline,
        *,
        counting: bool = True,
        beside: Sequence[Plan] = (),
    ) -> PhysicalPlan | None:
        """Return the physical plan of a count; None if time was up before there was one."""
        if not self.look(deadline):
            return None
        if request.tuning["parts"] == "auto":
            request = _with(request, parts="off")
        if not counting:
            request = _with(request, candidates="off")
        return super().plan(graph, pattern, request, deadline, counting=counting, beside=beside)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``."""
        return self.count_together(graph, [physical], request, deadline)[0]

    def count_together(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> list[Outcome]:
        """Return the count of each plan; the tasks of one follow those of another without a pause."""
        found: dict[int, Outcome] = {}
        searches: dict[int, GpuCount] = {}
        filtered = self._filtered(graph, plans, request, deadline)
        for at, physical in enumerate(plans):
            space, fits = filtered.get(at, (None, True))
            if physical.plan.impossible is not None:
                found[at] = Outcome(0, True)
            elif physical.stages[0].family is Family.HOST:
                found[at] = self._count_on_cpus(graph, physical, request, deadline)
            elif not fits:
                found[at] = self._count_in_rows(graph, physical, request, deadline)
            else:
                number = f", {at + 1}" if len(plans) > 1 else ""
                searches[at] = GpuCount(
                    self._workers, graph, physical, self._spaces, space, request, self._kind, number
                )
        if searches:
            driver, counts = self._driver(), list(searches.values())
            driver.run_all(counts, deadline, reporting(counts, request, deadline))
            for search in counts:
                search.late = search.late or not driver.has_all_of(search)
        for at, search in searches.items():
            if search.no_room:
                found[at] = self._count_in_rows(graph, plans[at], request, deadline)
                continue
            then = search.then()
            found[at] = search.outcome() if then is None else self.count(graph, then, request, deadline)
        return [found[at] for at in range(len(plans))]

    def _filtered(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> dict[int, tuple[Filtered | None, bool]]:
        """Return the candidate spaces of plans that have some, and whether they fit on a GPU.

        A space is filtered once for a graph, by one task. None is returned if time was up.
        """
        found: dict[int, tuple[Filtered | None, bool]] = {}
        for at, physical in enumerate(plans):
            search = physical.plan.impossible is None and physical.stages[0].family is Family.SEARCH
            if search and physical.plan.space is not None:
                made = self._filtered_space(graph, physical.plan, request, deadline)
                found[at] = made, made is not None
        return found

    def _filtered_space(
        self, graph: Graph, plan: Plan, request: Request, deadline: Deadline
    ) -> Filtered | None:
        def make() -> MaybeFiltered:
            filtering = Filtering(self._workers, graph, plan, request, self._kind)
            driver = self._driver()
            driver.run_all([filtering], deadline)
            if not driver.has_all_of(filtering):
                raise OutOfTimeError
            return MaybeFiltered(filtering.made)

        name = plan.space, self._kind, request.gpu_memory
        try:
            return graph.memo.get_sized(_FILTERED, name, make, graph.cache_bytes()).made
        except OutOfTimeError:
            return None

    def _count_in_rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline
    ) -> Outcome:
        """Return the count of a plan whose candidate space does not fit, or whose filter came too late."""
        pattern = physical.plan.asked
        assert pattern is not None
        log.ENGINE.info("rows of the graph are searched: a candidate space does not fit on a GPU")
        asked = _with(request, candidates="off")
        planned = self.plan(graph, pattern, asked, deadline)
        return Outcome(0, False) if planned is None else self.count(graph, planned, asked, deadline)

    def _count_on_cpus(
        self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline
    ) -> Outcome:
        """Return the count by tasks on CPUs."""
        pattern, host = physical.plan.asked, self._host
        assert pattern is not None
        planned = host.plan(graph, pattern, request, deadline)
        outcome = Outcome(0, False) if planned is None else host.count(graph, planned, request, deadline)
        return replace(outcome, ran=Ran(host.name, host.device, _why_host(physical)))

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows."""
        if physical.plan.impossible is not None:
            return NoRows(complete=True), None
        tasks, host = self.row_tasks(graph, physical, request, deadline), self._host
        ran = None if isinstance(tasks, GpuRows) else Ran(host.name, host.device, _why_host(physical))
        if tasks is None:
            return NoRows(complete=False), ran
        return ClusterRows(self._workers, tasks, request, batch_rows, deadline, tasks.slots), ran

    def row_tasks(
        self,
        graph: Graph,
        physical: PhysicalPlan,
        request: Request,
        deadline: Deadline,
        columns: Columns | None = None,
    ) -> WholeRows | None:
        """Return the tasks of a listing, into files with these columns; None if time was up before."""
        if physical.plan.impossible is not None or physical.stages[0].family is not Family.HOST:
            self.check()
            return GpuRows(self._workers, graph, physical.plan, request, self._kind, columns)
        pattern = physical.plan.asked
        assert pattern is not None
        planned = self._host.plan(graph, pattern, request, deadline, counting=False)
        return None if planned is None else self._host.row_tasks(graph, planned, request, deadline, columns)

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return how the count will be cut."""
        if not physical.stages:
            return ""
        return f"; {_cut(physical, self._workers)}{physical.notes}"

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        family, workers = physical.stages[0].family, self._workers
        if family is Family.HOST:
            return self._host.predict(graph, physical, request)
        found, seconds = super().predict(graph, physical, request), physical.seconds
        if family is Family.TABLES:
            return replace(found, tasks=TasksReport(1, 1, gpus=1))
        shares = _shares(seconds, workers.gpus)
        if seconds is not None:
            seconds = math.ceil(shares / workers.gpus) * seconds / shares
        filtered = family is Family.SEARCH and physical.plan.space is not None
        tasks = TasksReport(workers.gpus, shares + filtered, gpus=workers.gpus)
        return replace(found, seconds=seconds, tasks=tasks)

    def _driver(self) -> Driver:
        self.check()
        return self._workers.driver(self._workers.gpus)


def _why_host(physical: PhysicalPlan) -> str:
    """Return the reason for which CPUs do the work of a plan."""
    return physical.notes.lstrip("; ") or "a number passed the range of its kernels"


class GpuCount:
    """The count of one plan by tasks on GPUs.

    Attributes
    ----------
    late
        Whether time was up.
    no_room
        Whether a GPU had no room for the candidate space.
    """

    divisible = False

    def __init__(
        self,
        workers: Workers,
        graph: Graph,
        physical: PhysicalPlan,
        spaces: Spaces,
        space: Filtered | None,
        request: Request,
        kind: str,
        number: str,
    ) -> None:
        self._workers, self._graph, self._physical, self._kind = workers, graph, physical, kind
        self._uncut = physical.stages[0].family is Family.TABLES
        self._times = 1 if self._uncut else physical.plan.multiplier
        self._limit = None if request.limit is None else request.limit // self._times
        self._asked = request
        self._spaces, self._space = spaces, space
        self._job = self._shared()
        self.name = f"count {workers.pattern}{number}"
        self.shares = Parts(1 if self._uncut else _shares(physical.seconds, workers.gpus))
        self._total = 0
        self._cut = Cuts()
        self._whole = True
        self._overflow = False
        self.no_room = False
        self._refused: tuple[str, int, int] | None = None
        self.late = False

    @property
    def found(self) -> int:
        """Embeddings found."""
        return self._total * self._times

    @property
    def over(self) -> bool:
        """Whether a limit is reached, or the kernels of the plan failed."""
        failed = self._overflow or self._refused is not None or self.no_room
        return failed or (self._limit is not None and self._total > self._limit)

    def submit(self, order: Order) -> Any:
        """Start a task."""
        left = None if self._limit is None else self._limit - self._total
        seconds = None if math.isinf(order.seconds) else order.seconds
        bounds = Bounds(self._workers.threads, seconds=seconds, limit=left)
        share = order.number, self.shares.units
        return self._workers.submit(
            count_on_gpu, self.name, self._job, self._kind, share, bounds, on_gpu=True
        )

    def take(self, order: Order, done: Done) -> None:
        """Add the embeddings of a task.

        Raises
        ------
        ClusterError
            Two GPUs cut the work in different ways, so that their shares are not parts of one whole.
        """
        found: Found = done.value
        self._overflow = self._overflow or found.overflow
        self._refused = self._refused or found.refused
        self.no_room = self.no_room or found.no_room
        if found.overflow or found.refused or found.no_room:
            return
        self._total += found.value
        self._whole = self._whole and found.whole
        self.shares.done += 1
        self._cut.add(self.name, found.cut, done.node)

    def renew(self) -> None:
        """Share the graph again."""
        self._job = self._shared(again=True)

    def _shared(self, *, again: bool = False) -> Job:
        space = None if self._space is None else self._spaces.of(self._space, again=again)
        content = ((self._physical, space), plain(self._asked))
        return self._workers.job(self._graph, content, again=again)

    def then(self) -> PhysicalPlan | None:
        """Return the plan that counts instead, if the kernels of this one failed.

        Raises
        ------
        DeviceMemoryError
            A GPU has too little memory, and no other kernels need less.
        """
        if not self._overflow and self._refused is None:
            return None
        fallback, why = self._physical.fallback, "a number passed the range of its kernels"
        if not self._overflow and self._refused is not None:
            why, needed, available = self._refused
            if fallback is None or self._physical.stages[0].family is Family.SEARCH:
                error = DeviceMemoryError(self.name, needed, available, "")
                error.args = (why,)
                raise error
        assert fallback is not None, "the host counts any number"
        log.ENGINE.info("%s takes over: %s", fallback, why)
        return fallback

    def outcome(self) -> Outcome:
        """Return the count, at most the limit."""
        total, limit = self.found, self._asked.limit
        if limit is not None and total > limit:
            return Outcome(limit, False)
        return Outcome(total, self._whole and not self.late)


def _cut(physical: PhysicalPlan, workers: Workers) -> str:
    """Return in words how a count is cut."""
    family = physical.stages[0].family
    if family is Family.HOST:
        return f"in shares for {workers.slots} tasks on CPUs at a time"
    if family is Family.TABLES:
        return "tables of local counts, as one task on one GPU"
    shares = _shares(physical.seconds, workers.gpus)
    filtered = family is Family.SEARCH and physical.plan.space is not None
    after = " after a task that filters candidates" if filtered else ""
    return f"a search, in {quantity(shares, 'share')} for {quantity(workers.gpus, 'GPU')}{after}"


def _with(request: Request, **switches: str) -> Request:
    """Return a request with other values of switches."""
    return replace(request, tuning={**request.tuning, **switches})


def _shares(seconds: float | None, gpus: int) -> int:
    """Return the number of shares of a count that is expected to take some seconds on one GPU.

    Examples
    --------
    >>> [_shares(seconds, 2) for seconds in (None, 0.001, 0.05, 10.0)]
    [8, 2, 2, 8]
    """
    most = _SHARES * gpus
    if seconds is None or _LEAST_SECONDS <= 0:
        return most
    return max(gpus, min(most, math.ceil(seconds / _LEAST_SECONDS)))


class _Look:
    """A look at one of the GPUs: plans depend on its size and speed."""

    name = "look at a GPU"
    divisible = False
    over = False

    def __init__(self, workers: Workers, kind: str) -> None:
        self._workers, self._kind = workers, kind
        self.shares = Parts(1)
        self.seen: SeenGpu | None = None

    def submit(self, order: Order) -> Any:
        return self._workers.submit(look_at_gpu, self.name, self._kind, on_gpu=True)

    def take(self, order: Order, done: Done) -> None:
        self.seen = done.value

    def renew(self) -> None:
        """Do nothing: the task has no graph."""
