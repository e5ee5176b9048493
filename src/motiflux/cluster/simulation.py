"""A discrete simulation of a cluster: the tasks of a search, handed out by the same code as on a real one.

Time passes in three places: a worker searches a share, a message travels, and the driver, one process,
handles a result and starts a task. Root arcs have given times, and may be divided into equal candidates.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shares import Item, Order, Share, Shares, roots, tasks_at_a_time
from motiflux.cluster.timed_shares import TimedShares, about_tasks

CANDIDATES = 256
"""Equal candidates that a root arc is divided into."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured constants, in seconds (``benchmarks/NOTES.md``).

    Parameters
    ----------
    driver
        Time of the driver for a task: to start it and to take its result.
    worker
        Time of a worker for a task beside its search.
    latency
        Time of a message.
    """

    driver: float = 1e-3
    worker: float = 1e-3
    latency: float = 1e-3


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result of a simulation.

    Parameters
    ----------
    seconds
        Time of the whole search.
    efficiency
        Time of the search itself on one worker, divided by that of all workers together.
    tasks
        Number of tasks.
    longest, mean
        The longest and the mean time of a task, in seconds.
    driver
        Share of the time in which the driver was busy.
    """

    seconds: float
    efficiency: float
    tasks: int
    longest: float
    mean: float
    driver: float


def skewed(arcs: int, seconds: float, exponent: float = 0.8) -> NDArray[np.float64]:
    """Return times of root arcs that sum to `seconds`: rank r, from the last, has about r**-exponent."""
    times: NDArray[np.float64] = np.arange(arcs, 0, -1, dtype=np.float64) ** -exponent
    times *= seconds / times.sum()
    return times


def simulate(
    times: NDArray[np.float64],
    workers: int,
    costs: Costs | None = None,
    shares: Shares | TimedShares | None = None,
) -> Simulated:
    """Return how long `workers` take for root arcs of these times.

    Parameters
    ----------
    shares
        The shares of so many root arcs; default: those of a count.

    Examples
    --------
    >>> one = simulate(skewed(1000, 10.0), 1, Costs(0.0, 0.0, 0.0))
    >>> round(one.seconds, 6), round(one.efficiency, 6)
    (10.0, 1.0)
    """
    costs = Costs() if costs is None else costs
    search = _Search(times)
    shares = TimedShares(len(times), workers) if shares is None else shares
    events: list[tuple[float, int, Order, Share, float]] = []
    now = busy = longest = total = 0.0
    free, running, number = workers, 0, 0
    queue: list[Order] = []

    def start(at: float, order: Order) -> None:
        nonlocal number, longest, total
        seconds, left = search.run(order.share, order.seconds)
        seconds += costs.worker
        longest, total, number = max(longest, seconds), total + seconds, number + 1
        heapq.heappush(events, (at + costs.latency + seconds + costs.latency, number, order, left, seconds))

    most = tasks_at_a_time(workers)
    while True:
        while running < most and (order := shares.take(most - running)) is not None:
            now += costs.driver / 2
            busy += costs.driver / 2
            running += 1
            if free > 0:
                free -= 1
                start(now, order)
            else:
                queue.append(order)
        if not events:
            break
        at, _, ended, left, seconds = heapq.heappop(events)
        if queue:  # the worker takes a task that waits on its node
            start(at - 2 * costs.latency, queue.pop(0))
        else:
            free += 1
        now = max(now, at) + costs.driver / 2
        busy += costs.driver / 2
        running -= 1
        shares.ended(ended, left, seconds)
    work = float(times.sum())
    return Simulated(
        now, work / (workers * now), number, longest, total / number, busy / now if now > 0 else 0.0
    )


class _Search:
    """Runs shares: root arcs one after another, and candidates of one root arc."""

    def __init__(self, times: NDArray[np.float64]) -> None:
        self._times = times
        self._sums = np.concatenate([[0.0], np.cumsum(times)])

    def run(self, share: Share, budget: float) -> tuple[float, Share]:
        """Return the time until a share is done or handed back, and what is handed back."""
        spent = 0.0
        for at, item in enumerate(share):
            seconds, left = self._run(item, budget - spent)
            spent += seconds
            if left or spent >= budget:
                return spent, [*left, *share[at + 1 :]]
        return spent, []

    def _run(self, item: Item, budget: float) -> tuple[float, Share]:
        level, start, end, _, arc, _, _ = item
        if level == 1:
            one = self._times[arc] / CANDIDATES
            done = min(end - start, max(1, int(np.ceil(budget / one)) if one > 0 else end - start))
            rest: Share = [(1, start + done, end, 0, arc, arc + 1, [0])] if start + done < end else []
            return float(done * one), rest
        until = int(np.searchsorted(self._sums, self._sums[start] + budget, side="left"))
        if until >= end and self._sums[end] - self._sums[start] <= budget:
            return float(self._sums[end] - self._sums[start]), []
        stopped = max(start, min(until, end) - 1)  # the arc in which time is up
        spent = float(self._sums[stopped] - self._sums[start])
        seconds, inside = self._run((1, 0, CANDIDATES, 0, stopped, stopped + 1, [0]), budget - spent)
        left: Share = [roots(stopped + 1, end)] if stopped + 1 < end else []
        return spent + seconds, [*left, *inside]


_ARCS = 20_000
_MOST_SIMULATED = 2_000
"""The most tasks, without those at the begin and at the end, whose number is simulated."""


def expected_tasks(seconds: float, workers: int, make: Callable[[int], Shares] | None = None) -> int:
    """Return the number of tasks of a search that takes some seconds on one worker.

    Parameters
    ----------
    make
        Returns the shares of a number of root arcs; default: those of a count.
    """
    shares: Shares | TimedShares
    if make is None:
        shares = TimedShares(_ARCS, workers)
        number = about_tasks(seconds, shares)
    else:
        shares = make(_ARCS)
        assert shares.most is not None
        number = seconds / min(shares.most, max(shares.least, seconds / (16 * workers)))
    if max(number, workers) > _MOST_SIMULATED:
        return round(number)
    return simulate(skewed(_ARCS, max(seconds, 1e-6)), workers, shares=shares).tasks


def expected(seconds: float, workers: int, costs: Costs | None = None) -> float:
    """Return the time of a search by the cost model of ``docs/design/cluster.md``.

    Parameters
    ----------
    seconds
        Time of the search on one worker.
    """
    costs = Costs() if costs is None else costs
    shares = TimedShares(1, workers)
    tasks = about_tasks(seconds, shares)
    spread = (seconds + tasks * costs.worker) / workers
    return max(spread, tasks * costs.driver) + 2 * costs.latency + shares.least / 2
