"""Counts of sharded graphs: shares are ranges of entries, whose roots' parts workers gather and search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from motiflux.cluster.connection import put
from motiflux.cluster.shards.conditions import refuse_lost_copies
from motiflux.cluster.shards.planning import plan_search
from motiflux.cluster.shards.progress import tell_end
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.search import Ranged
from motiflux.cluster.shards.tasks import ShardJob, count_range
from motiflux.cluster.shares import FEW_PARTS, Order, Shares
from motiflux.cluster.tasks import Bounds, Done
from motiflux.dispatch.prepared_query import count_of
from motiflux.pattern import Pattern
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Outcome, Ran
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.partial import keep_partial

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

LEAST_SECONDS = 0.25
"""Shortest time that tasks are made for: each reads rows anew that others read, too."""


def shares_of(units: int, slots: int) -> Shares:
    """Return the shares of a count of so many entries."""
    return Shares(units, slots, least=LEAST_SECONDS, parts=FEW_PARTS, short_ends=False)


def job_of(workers: Workers, graph: ShardedGraph, content: Any) -> ShardJob:
    """Return the job of a search, whose content is put into the object store."""
    content = put(workers.connection.ray, content, "the plan, with what servers judged,")
    return ShardJob(workers.token(), graph.served(), [content])


class ShardedSearch:
    """The count of one pattern by tasks.

    Parameters
    ----------
    kind
        The kind of device of which each task has one; None: tasks count on CPUs.
    """

    divisible = True

    def __init__(
        self, workers: Workers, graph: ShardedGraph, planned: Ranged, name: str, kind: str | None = None
    ) -> None:
        self._workers, self._kind = workers, kind
        plan, request = planned.plan, planned.request
        self.multiplier = plan.multiplier
        self._limit = None if request.limit is None else request.limit // plan.multiplier
        units = 0 if plan.impossible is not None else graph.layout.entries
        slots = workers.slots_on(kind)
        share = units // (FEW_PARTS * slots)
        self._make_job = partial(job_of, workers, graph, replace(planned, share=share))
        self._job = self._make_job()
        self.name = name
        self.shares = shares_of(units, slots)
        self.total = 0

    @property
    def over(self) -> bool:
        """Whether a limit is reached."""
        return self._limit is not None and self.total > self._limit

    def submit(self, order: Order) -> Any:
        """Start a task."""
        left = None if self._limit is None else self._limit - self.total
        bounds = Bounds(self._workers.threads, seconds=order.seconds, limit=left)
        given = (self._job, order.share, bounds, self._kind)
        return self._workers.submit(count_range, self.name, *given, on_gpu=self._kind is not None)

    def take(self, order: Order, done: Done) -> None:
        """Add the embeddings of a task."""
        self.total += done.value
        self.shares.finished(order.share, done.left, done.seconds)

    def renew(self) -> None:
        """Share the plan again; servers start again by themselves."""
        self._job = self._make_job()


def count_sharded(
    workers: Workers,
    graph: ShardedGraph,
    patterns: Sequence[Pattern],
    request: Request,
    deadline: Deadline,
    kind: str | None = None,
) -> list[Count]:
    """Return the count of each pattern, by tasks on CPUs or, each with one, on GPUs of a kind.

    Raises
    ------
    DeviceError
        The cluster has no GPU for a task.
    PatternError, ArgumentError
        A pattern or an option takes more than a sharded graph has.
    KeyboardInterrupt
        It was interrupted; `motiflux.result.partial` has the counts so far.
    """
    check_symmetry(request.semantics, request.symmetry)
    refuse_lost_copies(graph.layout, request.copies)
    device = f"{workers.device_on(kind)}, {graph.num_shards} shards"
    made: list[ShardedSearch | None] = []
    reasons = []
    for at, pattern in enumerate(patterns):
        name = f"count {workers.pattern}" + (f", {at + 1}" if len(patterns) > 1 else "")
        view, planned = plan_search(graph, pattern, request, deadline, on_gpu=kind is not None)
        made.append(None if planned is None else ShardedSearch(workers, view, planned, name, kind))
        reasons.append(reason_of(planned, view.layout, kind))
    started = time.perf_counter()
    searches = [one for one in made if one is not None]
    driver = workers.driver(workers.slots_on(kind))

    def counts(*, complete: Callable[[ShardedSearch], bool]) -> list[Count]:
        seconds, planning = time.perf_counter() - started, started - deadline.started
        return [
            count_of(_outcome(one, request, complete), Ran("cluster", device, reason), seconds, planning)
            for one, reason in zip(made, reasons, strict=True)
        ]

    try:
        driver.run_all(searches, deadline, _reporting(searches, request, deadline))
        if all(one is not None and one.shares.units == 0 for one in made):
            tell_end(request.progress, deadline)
    except KeyboardInterrupt as stop:
        keep_partial(stop, counts(complete=lambda _: False))  # it may have come between two steps
        raise
    finally:
        driver.wait_for_cancelled()
    return counts(complete=driver.has_all_of)


def _outcome(
    search: ShardedSearch | None, request: Request, complete: Callable[[ShardedSearch], bool]
) -> Outcome:
    """Return what a search found, at most the limit; without one, time was up before there was a plan."""
    if search is None:
        return Outcome(0, False)
    total, limit = search.total * search.multiplier, request.limit
    if limit is not None and total > limit:
        return Outcome(limit, False)
    return Outcome(total, complete(search))


def _reporting(searches: Sequence[ShardedSearch], request: Request, deadline: Deadline) -> Any:
    report = request.progress
    if report is None:
        return None

    def tell() -> None:
        each = tuple(one.total * one.multiplier for one in searches)
        done, total = (sum(getattr(one.shares, name) for one in searches) for name in ("done", "units"))
        report(ProgressReport(done, total, sum(each), deadline.elapsed(), each if len(each) > 1 else ()))

    return tell
