"""Estimates of sharded graphs: exact counts of some ranges of entries, which are drawn at random."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.api.estimating import MAX_SEED, shown_progress
from motiflux.api.queries.counts import Counted, count_queries, sum_of
from motiflux.api.queries.estimates import Estimating, estimate_each, estimate_query
from motiflux.arguments import check_integer
from motiflux.cluster.shards.counting import LEAST_SECONDS, ShardedSearch, job_of
from motiflux.cluster.shards.parts import has_parts
from motiflux.cluster.shards.planning import plan_search
from motiflux.cluster.shards.products import joined_estimate, rules_of_each
from motiflux.cluster.shards.queries import ShardedCounter, searched_once
from motiflux.cluster.shards.ranges import Ranges
from motiflux.cluster.shards.reading import expected_parts
from motiflux.cluster.shards.reasons import reason_of
from motiflux.cluster.shards.search import Ranged
from motiflux.cluster.shards.tasks import count_range
from motiflux.cluster.shares import Order, Shares, arcs_of, roots
from motiflux.cluster.tasks import Bounds, Done
from motiflux.errors import ArgumentError
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.symmetry import first_alike
from motiflux.plan.passes.symmetry import check_symmetry
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import make_request
from motiflux.result.estimate import Estimate, EstimateCallback, EstimateCounting, EstimateProgress
from motiflux.result.partial import replace_partial
from motiflux.sampling.results import exact_estimate, unknown_estimate
from motiflux.sampling.stopping import Rules, make_rules
from motiflux.statistics import Interval, StoppingChecks, Tally, confidence_interval

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers

_FIRST_GROUPS = 8
"""Groups at the first test of the rules."""


class RangeCounts:
    """Exact counts of ranges, each once.

    Parameters
    ----------
    times
        The embeddings that each one found stands for, where progress tells them.

    Attributes
    ----------
    counts
        Of each range, the embeddings found, multiplier not applied.
    """

    divisible = True
    over = False

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        planned: Ranged,
        ranges: Ranges,
        name: str,
        kind: str | None = None,
        times: int = 1,
    ) -> None:
        self._times = times
        self._workers, self._ranges, self._kind = workers, ranges, kind
        self._make_job = partial(job_of, workers, graph, planned)
        self._job = self._make_job()
        self.name = f"{name} {workers.pattern}"
        self.shares = Shares(0, workers.slots_on(kind), least=LEAST_SECONDS)
        self.counts: dict[int, int] = {}
        self.left: dict[int, int] = {}
        """Entries of each range that are not counted yet."""

    def add(self, number: int) -> None:
        """Have a range counted, unless it is."""
        if number in self.counts:
            return
        first, last = self._ranges.bounds(number)
        self.counts[number], self.left[number] = 0, last - first
        if first < last:
            self.shares.add([roots(first, last)])

    @property
    def progress(self) -> tuple[int, int]:
        """The number of entries that are counted, and of all in the ranges so far."""
        total = sum(last - first for first, last in map(self._ranges.bounds, self.counts))
        return total - sum(self.left.values()), total

    @property
    def found(self) -> int:
        """Embeddings found so far."""
        return self._times * sum(self.counts.values())

    def submit(self, order: Order) -> Any:
        """Start a task."""
        bounds = Bounds(self._workers.threads, seconds=order.seconds)
        given = (self._job, order.share, bounds, self._kind)
        return self._workers.submit(count_range, self.name, *given, on_gpu=self._kind is not None)

    def take(self, order: Order, done: Done) -> None:
        """Add the embeddings of a task."""
        number = self._ranges.number_of(order.share[0][1])
        self.counts[number] += done.value
        self.left[number] -= arcs_of(order.share) - arcs_of(done.left)
        self.shares.finished(order.share, done.left, done.seconds)

    def renew(self) -> None:
        """Share the plan again; servers start again by themselves."""
        self._job = self._make_job()


class _Estimating:
    """The estimate of one pattern."""

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        planned: Ranged,
        rules: Rules,
        seed: int,
        callback: EstimateCallback | None,
        deadline: Deadline,
        kind: str | None,
    ) -> None:
        self._workers, self._graph, self._planned, self._kind = workers, graph, planned, kind
        self._rules, self._seed = rules, seed
        self._callback, self._deadline = callback, deadline
        self._started = time.perf_counter()
        self._factor = planned.plan.multiplier
        self._reason = reason_of(planned, graph.layout, kind)
        self._ranges = Ranges.of(graph.layout.entries)
        self._search = RangeCounts(workers, graph, planned, self._ranges, "estimate", kind)
        self._tally = Tally()
        self._trace: list[EstimateProgress] = []

    def run(self) -> Estimate:
        """Draw groups until the rules are met; count all entries where that is less work."""
        rules = self._rules
        most = self._ranges.most_groups(expected_parts(self._graph, self._planned))
        first = rules.groups if rules.rel_error is None else _FIRST_GROUPS
        looks = StoppingChecks(rules.confidence, first, rules.groups)
        while looks.groups < most:
            if not self._draw(looks.groups):
                return self._result(rules.confidence, complete=False)
            confidence = rules.confidence if rules.rel_error is None else looks.confidence
            self._report()
            if rules.rel_error is None:
                return self._result(confidence, complete=True)
            error = self._error(confidence)
            if error <= rules.rel_error or looks.exhausted:
                return self._result(confidence, complete=error <= rules.rel_error or not rules.strict)
            looks.go_on(min(error, 1e9), rules.rel_error)
        return self._count_all()

    def _draw(self, groups: int) -> bool:
        """Count the ranges of groups, up to a number of groups; return False if time was up."""
        drawn = [self._ranges.draw(self._seed, group) for group in range(self._tally.groups, groups)]
        search = self._search
        for number in np.unique(np.concatenate(drawn)).tolist():
            search.add(number)
        self._run(search)
        ended = 0
        while ended < len(drawn) and all(search.left[number] == 0 for number in drawn[ended].tolist()):
            ended += 1
        weights = np.array([self._ranges.weight(one, search.counts) for one in drawn[:ended]], np.float64)
        valid = np.array([sum(search.counts[at] > 0 for at in one.tolist()) for one in drawn[:ended]])
        self._tally.add(weights, valid.astype(np.uint32), np.zeros(ended, np.uint32))
        return ended == len(drawn)

    def _run(self, search: Any, tell: Callable[[], None] | None = None) -> bool:
        """Run a search, whose progress is told after each task; return whether it has ended."""
        driver = self._workers.driver(self._workers.slots_on(self._kind))
        try:
            driver.run_all([search], self._deadline, tell)
        finally:
            driver.wait_for_cancelled()
        return driver.has_all_of(search)

    def _count_all(self) -> Estimate:
        """Return the exact count, or the estimate so far if time is up first."""
        name = self._search.name
        search = ShardedSearch(self._workers, self._graph, self._planned, name, self._kind)
        callback = self._callback

        def tell() -> None:
            found, shares = float(search.total * self._factor), search.shares
            seconds, samples = time.perf_counter() - self._started, (self._tally.samples, self._tally.valid)
            if callback is not None:
                point = (*samples, seconds, found, found, math.inf, shares.done, shares.units)
                callback(EstimateCounting(*point))

        if not self._run(search, tell):
            return self._result(self._rules.confidence, complete=False)
        value = float(search.total * self._factor)
        found = self._result(self._rules.confidence, complete=True)
        reason = f"{self._reason}; all of it was counted, which takes less time than samples"
        return replace(
            found,
            value=value,
            low=value,
            high=value,
            confidence=1.0,
            sampled=value,
            estimator="exact",
            reason=reason,
            warning=None,
        )

    def _value(self) -> float:
        fraction, exponent = self._tally.mean()
        return self._factor * math.ldexp(fraction, exponent)

    def _interval(self, confidence: float) -> Interval:
        if not self._tally.groups:
            return Interval(0.0, math.inf)
        found = confidence_interval(self._tally.moments(), confidence)
        return Interval(self._factor * found.low, self._factor * found.high)

    def _error(self, confidence: float) -> float:
        value, interval = self._value(), self._interval(confidence)
        return max(interval.high - value, value - interval.low) / value if value > 0 else math.inf

    def _report(self) -> None:
        interval, tally = self._interval(self._rules.confidence), self._tally
        seconds = time.perf_counter() - self._started
        point = EstimateProgress(
            tally.samples, tally.valid, seconds, self._value(), interval.low, interval.high
        )
        self._trace.append(point)
        if self._callback is not None:
            self._callback(point)

    def _result(self, confidence: float, *, complete: bool) -> Estimate:
        tally, interval = self._tally, self._interval(confidence)
        missing = None if tally.valid else "no sample has an embedding: there may be some elsewhere"
        return Estimate(
            value=self._value(),
            low=interval.low,
            high=interval.high,
            confidence=self._rules.confidence,
            samples=tally.samples,
            valid_samples=tally.valid,
            effective_samples=tally.effective if tally.groups else 0.0,
            complete=complete,
            seconds=time.perf_counter() - self._started,
            plan_seconds=self._started - self._deadline.started,
            estimator="ranges",
            device=self._workers.device_on(self._kind),
            sampled=self._value(),
            reason=f"{self._reason}; ranges of its entries were counted",
            warning=missing,
            trace=tuple(self._trace),
        )


def estimate_sharded(
    workers: Workers,
    graph: ShardedGraph,
    queries: Sequence[Pattern | Query],
    options: Mapping[str, Any],
    chosen: Mapping[str, Any],
    kind: str | None = None,
) -> list[Estimate]:
    """Return the estimate of each pattern or query.

    Parameters
    ----------
    chosen
        The options of the search.
    kind
        See `count_sharded`.
    """
    rules = make_rules(options.get("rel_error"), options.get("confidence", 0.95), options.get("samples"))
    if options.get("estimator", "auto") != "auto":
        raise ArgumentError("estimator", "'auto' for a sharded graph", options["estimator"])
    seed = check_integer("seed", options.get("seed", 0), 0, MAX_SEED)
    request = make_request(**chosen, progress=None)
    check_symmetry(request.semantics, request.symmetry)
    graph.served()  # refuses a closed one

    def estimate(pattern: Pattern, call: Estimating) -> Estimate:
        return _estimate(workers, graph, pattern, call, kind)

    found = []
    for query in queries:
        with shown_progress(options.get("progress", False), rules) as callback:
            began = time.perf_counter()
            call = Estimating(graph.sketch, request, rules, "auto", seed, callback, began)
            if isinstance(query, Query):
                counter = ShardedCounter(workers, graph, kind)
                if has_parts(query):
                    found.append(_PartsEstimate(workers, graph, counter, query, call, kind).run())
                else:
                    found.append(estimate_query(query, call, estimate, counter))
            else:
                found.append(estimate(query, call))
    return found


class _PartsEstimate:
    """The estimate of a query of several parts: of each pattern, or a count if none would be drawn."""

    def __init__(
        self,
        workers: Workers,
        graph: ShardedGraph,
        counter: ShardedCounter,
        query: Query,
        call: Estimating,
        kind: str | None,
    ) -> None:
        self._workers, self._graph, self._counter, self._kind = workers, graph, counter, kind
        self._query, self._call = query, call
        self._deadline = Deadline.after(call.request.timeout)
        self._whole = sum_of(query, call.request, counter)
        counter.check(query, self._whole, call.request)
        self._patterns = searched_once(self._whole.counted, call.request, directed=graph.directed)

    def run(self) -> Estimate:
        """Return it."""
        whole, call = self._whole, self._call
        if any(term.listed is not None for term in whole.terms):
            return self._counted("rows of parts are compared")
        rules = rules_of_each(call.rules, whole, len(self._patterns))
        if not any(self._is_drawn(one, rules) for one in self._patterns):
            return self._counted("all of it was counted, which takes less time than samples")
        found = estimate_each(
            [(one.pattern, one.symmetry, None, 1.0) for one in self._patterns],
            replace(call, rules=rules),
            lambda pattern, own: _estimate(self._workers, self._graph, pattern, own, self._kind),
        )
        made = joined_estimate(whole, call.rules, found, lambda one: found[self._place(one)])
        wanted = call.rules.rel_error
        if wanted is None or made.relative_error <= wanted or self._deadline.passed:
            return made
        exact = self._counted("all of it was counted, as samples told too little")
        return exact if exact.complete else replace(made, complete=False)

    def _place(self, one: Counted) -> int:
        """Return the place of the pattern that is the same but for names and numbers."""
        found: int | None = self._places.get(one.key)
        assert found is not None
        return found

    @cached_property
    def _places(self) -> dict[Any, int]:
        places: dict[Any, int] = {}
        every = self._whole.counted
        for one in every:
            alike = [at for at, other in enumerate(self._patterns) if _same_way(one, other)]
            patterns = [*(self._patterns[at].pattern for at in alike), one.pattern]
            places[one.key] = alike[first_alike(patterns, directed=self._graph.directed)[-1]]
        return places

    def _is_drawn(self, one: Counted, rules: Rules) -> bool:
        """Return whether ranges would be drawn for a pattern."""
        request, on_gpu = one.request(self._call.request), self._kind is not None
        given = self._graph, one.pattern, request, self._deadline
        view, planned = plan_search(*given, on_gpu=on_gpu, as_on_cpus=True)
        if planned is None or planned.plan.impossible is not None:
            return False
        most = Ranges.of(view.layout.entries).most_groups(expected_parts(view, planned))
        return most > (rules.groups if rules.rel_error is None else _FIRST_GROUPS)

    def _counted(self, why: str) -> Estimate:
        """Return the exact count, as an estimate."""
        call, deadline = self._call, self._deadline
        device = self._workers.device_on(self._kind)

        def tell(report: ProgressReport) -> None:
            if call.callback is not None:  # counts that are multiplied and subtracted tell no bound
                point = (0, 0, report.seconds, 0.0, 0.0, math.inf, report.done, report.total)
                call.callback(EstimateCounting(*point))

        request = replace(call.request, progress=None if call.callback is None else tell)
        try:
            (count,) = count_queries(self._counter, [self._query], request, deadline, named=False)
        except KeyboardInterrupt as stop:
            replace_partial(stop, None)  # it has bounds of patterns
            raise
        if not count.complete:
            late = "time was up before all patterns were counted"
            return unknown_estimate(call.rules, device, deadline.elapsed(), late)
        found = exact_estimate(int(count), count.plan_seconds, count.seconds)
        return replace(found, device=device, reason=f"{count.reason}; {why}")


def _same_way(one: Counted, other: Counted) -> bool:
    """Return whether two patterns are counted in the same way."""
    return (one.symmetry, one.semantics) == (other.symmetry, other.semantics)


def _estimate(
    workers: Workers, graph: ShardedGraph, pattern: Pattern, call: Estimating, kind: str | None
) -> Estimate:
    """Return the estimate of one pattern."""
    request, rules = call.request, call.rules
    deadline = Deadline.after(request.timeout)
    on_gpu, device = kind is not None, workers.device_on(kind)
    view, planned = plan_search(graph, pattern, request, deadline, on_gpu=on_gpu, as_on_cpus=True)
    if planned is None:
        return unknown_estimate(rules, device, deadline.elapsed())
    if planned.plan.impossible is not None:
        return replace(exact_estimate(0, deadline.elapsed()), device=device)
    return _Estimating(workers, view, planned, rules, call.seed, call.callback, deadline, kind).run()
