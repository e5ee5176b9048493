"""Counting all where no estimator is named: a little before anything is sampled, and on beside the samples.

    samples  |--|    |--|    |-----|      |-----------|          steps where their number has doubled
    count       |-|      |--|      |------|           |-----     as much work again

What is counted is exact: an interval that would have missed is at most replaced.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

from motiflux.cpu.trawling import Trawl, searches_of
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.sampling.stopping import Rules
from motiflux.sampling.worker_thread import WorkerThread
from motiflux.statistics import GROUP

_NODES_FIRST = 1 << 19
_NODES_OF_SAMPLE = 8
"""Two to five milliseconds at most, and less for few samples."""
_NODES_OF_WORK = 1
"""In the time of a unit of the samples' work a search meets 1.1 to 6.5 candidates on a CPU: with 2, samples
of 32 vertices that would have done took 2.5 times as long."""
_LEAST_WORK = 1 << 22
"""Of samples that take .1 to .3 s: for less, counting on made first calls on yeast take 1.5 times as
long that had samples enough, and found no count."""
_MOST_NODES = 1 << 50


class CountBeside:
    """Counts all embeddings, with as much work as the samples took.

    Parameters
    ----------
    sampler
        Who draws the samples: where a device does, nobody waits for the count.
    """

    def __init__(self, sampler: Sampler, graph: Graph, plan: Plan, request: Request, rules: Rules) -> None:
        self._sampler = sampler
        self._trawl = Trawl(sampler.candidates, searches_of(graph, plan, request.threads, request.tuning))
        self._threads = request.threads
        self._nodes = min(_NODES_FIRST, _NODES_OF_SAMPLE * GROUP * rules.groups)
        self._next = rules.first_look
        self._goes_on = rules.rel_error is not None and request.tuning["count_on"] == "on"
        self._thread = WorkerThread("motiflux count on")
        self._running: Future[int | None] | None = None
        self._whole: int | None = None

    @property
    def whole(self) -> int | None:
        """The number of embeddings, once it is known."""
        if self._running is not None and self._running.done():
            self._whole, self._running = self._running.result(), None
        return self._whole

    def begin(self, timeout: float | None) -> int | None:
        """Return the number of embeddings, if it is soon found."""
        self._whole = self._trawl.count_all(self._nodes, timeout)
        return self._whole

    @property
    def next_at(self) -> int | None:
        """After how many groups of samples to go on; None if not at all."""
        return self._next if self._goes_on else None

    def go_on(self, groups: int, work: int, timeout: float | None) -> None:
        """Count on, with as much work as so many groups took, if these are as many as `next_at` says.

        Where the CPU draws, it is done on return. Where a device does, threads of the CPU are at it
        meanwhile.
        """
        if not self._goes_on or self.whole is not None or groups < self._next:
            return
        self._next = 2 * groups
        nodes = min(_MOST_NODES, _NODES_OF_WORK * work)
        if self._running is not None or nodes <= self._nodes or work < _LEAST_WORK:
            return
        self._nodes = nodes
        count = partial(self._trawl.count_all, nodes, timeout, self._threads)
        if self._sampler.device == "cpu":
            self._whole = count()
        else:
            self._running = self._thread.submit(count)

    def close(self) -> None:
        """End what is under way."""
        self._trawl.end()
        self._thread.close()
