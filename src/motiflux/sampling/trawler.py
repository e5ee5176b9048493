"""Trawling while the samples are drawn: slots are sampled and searched on CPU threads.

    samples    | batch 1 | batch 2 | batch 3 |           drawn by the caller's thread, on any device
    slots      | for batch 1   | 2 |  for 3  |           on other threads, in this order

Searches have a budget of work, so the results of slots are a function of the seed. `gather` waits for all.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from motiflux.cpu.trawling import CHUNK, DROPPED, LEAST_DEPTH, SEARCHED, Slots, Trawl, searches_of
from motiflux.plan import Plan
from motiflux.request.sampler import Sampler
from motiflux.sampling.call import EstimateCall
from motiflux.sampling.pilot import trawl_seed
from motiflux.sampling.trawl_plan import TrawlPlan
from motiflux.sampling.worker_thread import WorkerThread
from motiflux.statistics import GROUP, Tally

_SLOTS_PER_RUN = 16 * CHUNK
"""Slots between two tests of whether a job is cancelled; samples take microseconds each after `end`."""
_START_SECONDS = 2e-3
"""Maximum time to wait for the first search: a thread that polls a GPU holds the interpreter lock."""
MOST_BATCHES = 16
"""Maximum number of batches per call of `Trawler.begin`."""


class Trawler:
    """Trawls on other threads while the caller draws samples.

    Attributes
    ----------
    plan
        The number of slots and their budget.
    tally
        Sums over all slots.
    halves
        Sums over the slots of even and of odd batches.
    searched
        Number of slots whose search finished.
    seconds
        Time of the caller's thread: to set up searches, and to wait for them.
    """

    def __init__(self, call: EstimateCall, plan: Plan, sampler: Sampler) -> None:
        started = time.perf_counter()
        self.plan = TrawlPlan.of(call.rules, call.request)
        self.tally = Tally(draws=1)
        self.halves = (Tally(draws=1), Tally(draws=1))
        self.searched = 0
        self._call = call
        self._candidates = sampler.candidates
        self._searches = searches_of(call.graph, plan, call.request.threads, call.request.tuning)
        self._seed = trawl_seed(call.seed)
        self._slots_begun = 0
        self._batches_added = 0
        self._thread = WorkerThread("motiflux trawl")
        self._jobs: deque[_SlotJob] = deque()
        self.seconds = {"set-up": time.perf_counter() - started, "waiting": 0.0}

    @property
    def slots(self) -> int:
        """Number of slots in the estimate."""
        return self.tally.groups

    def begin(self, batches: Sequence[int]) -> None:
        """Start the slots for batches of samples, given as numbers of groups."""
        sizes = [self.plan.slots_of(groups) for groups in batches]
        first, self._slots_begun = self._slots_begun, self._slots_begun + sum(sizes)
        idle = not self._jobs
        job = _SlotJob(sizes)
        self._jobs.append(job)  # before it starts: `close` cancels it after an interrupt
        job.results = self._thread.submit(partial(job.run, self._new_trawl, partial(self._run, first)))
        if idle:
            job.started.wait(_START_SECONDS)

    def _new_trawl(self) -> Trawl:
        return Trawl(self._candidates, self._searches)

    def _run(self, first: int, trawl: Trawl, begin: int, count: int) -> Slots:
        """Return `count` slots of a job that starts at slot `first`, from its slot `begin` on."""
        tuning = self._call.request.tuning
        return trawl.run(
            self._seed,
            first + begin,
            count,
            nodes=self.plan.nodes,
            unfinished=tuning["trawl_unfinished"],
            threads=self._call.request.threads,
            least=int(tuning["trawl_depth"]),
            timeout=self._call.seconds_left(),
        )

    def gather(self, *, wait: bool = True, late: bool = False) -> None:
        """Add the results of slots.

        Parameters
        ----------
        wait
            Wait for all slots; otherwise, add only finished jobs.
        late
            The time limit is over: stop searches.

        Raises
        ------
        Exception
            Any error of the searches.
        """
        started = time.perf_counter()
        if late:
            for job in self._jobs:
                job.end()
        while self._jobs:
            results = self._jobs[0].results
            assert results is not None
            if not wait and not results.done():
                break
            for batch in results.result():
                self._add(batch)
            self._jobs.popleft()
        self.seconds["waiting"] += time.perf_counter() - started

    def _add(self, slots: Slots) -> None:
        # A slot counts as a group of samples of equal weight.
        counted = slots.outcomes != DROPPED
        weights = slots.weights[counted] * GROUP
        for tally in (self.tally, self.halves[self._batches_added % 2]):
            tally.add(weights, (weights > 0).astype(np.uint32), slots.work[counted])
        self._batches_added += 1
        self.searched += int(np.count_nonzero(slots.outcomes == SEARCHED))

    def close(self) -> None:
        """Cancel all jobs and wait for the thread."""
        for job in self._jobs:
            job.cancel()
        self._thread.close()


class _SlotJob:
    """The slots for some batches, run as one on the trawler's thread. Any thread may end or cancel it."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.started = threading.Event()
        self.results: Future[list[Slots]] | None = None
        self._sizes = sizes
        self._trawl: Trawl | None = None
        self._ended, self._cancelled = threading.Event(), threading.Event()

    def run(
        self, new_trawl: Callable[[], Trawl], run_slots: Callable[[Trawl, int, int], Slots]
    ) -> list[Slots]:
        """Return the results of each batch; empty ones if it was ended before it started."""
        try:
            if self._ended.is_set():
                return [Slots.empty() for _ in self._sizes]
            self._trawl = trawl = new_trawl()
            if self._ended.is_set():
                trawl.end()
        finally:
            self.started.set()
        parts, count = [], sum(self._sizes)
        for begin in range(0, count, _SLOTS_PER_RUN):
            if self._cancelled.is_set():
                break
            parts.append(run_slots(trawl, begin, min(_SLOTS_PER_RUN, count - begin)))
        return _split(parts, self._sizes) if parts else [Slots.empty() for _ in self._sizes]

    def end(self) -> None:
        """Stop searches: the remaining slots are plain samples."""
        self._ended.set()
        if (trawl := self._trawl) is not None:
            trawl.end()

    def cancel(self) -> None:
        """Stop as soon as possible: the results are not used."""
        self._cancelled.set()
        self.end()


def _split(parts: Sequence[Slots], sizes: Sequence[int]) -> list[Slots]:
    """Return the concatenated parts, divided by batch."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    ends = pairwise(accumulate(sizes, initial=0))
    return [Slots(*(column[begin:end] for column in columns)) for begin, end in ends]


def can_trawl(plan: Plan) -> bool:
    """Return whether a pattern has enough vertices to be counted first or trawled."""
    return len(plan.order) > LEAST_DEPTH
