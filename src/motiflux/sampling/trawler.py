"""Trawling beside sampling by a budget of work: batches of samples, and of slots searched meanwhile.

Threads of this machine search while the sampler draws, on a GPU or here. Nobody waits between batches:

    samples    | batch 1 | batch 2 | batch 3 |           drawn by the caller
    slots      |  of batch 1   | 2 |  of 3   |           on threads, in this order; the caller gathers them

What slots come to is a function of the seed: all of them are waited for. The other way is by the clock
(`motiflux.sampling.clock_trawler`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from motiflux import _native
from motiflux.cpu.trawling import CHUNK, DROPPED, LEAST_DEPTH, SEARCHED, Haul, Trawl, searches_of
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.sampling.pilot import trawl_seed
from motiflux.sampling.trawl_plan import TrawlPlan
from motiflux.sampling.worker_thread import WorkerThread
from motiflux.statistics import GROUP, Tally

_AT_ONCE = 16 * CHUNK
"""Slots between looks at whether they are still wanted: those whose searches ended take microseconds each."""
_HANDED_OVER = 2e-3
"""Seconds that the caller waits for the first search to begin, at most: whoever asks a GPU whether it is done
keeps the interpreter to himself."""
MOST_BATCHES = 16
"""That are trawled for before all of them are waited for."""


class _Cast:
    """Slots of some batches, trawled in one go on a thread. Another one may end it."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.begun = threading.Event()
        self.hauls: Future[list[Haul]] | None = None
        self._trawl: Trawl | None = None
        self._over, self._dropped = threading.Event(), threading.Event()

    def run(self, make: _Make, seed: int, first: int, deadline: float | None) -> list[Haul]:
        """Return what the slots of each batch came to: nothing of those that were over before they began."""
        try:
            return self._run(make, seed, first, deadline)
        finally:
            self.begun.set()

    def _run(self, make: _Make, seed: int, first: int, deadline: float | None) -> list[Haul]:
        if self._over.is_set():
            return [_nothing() for _ in self.sizes]
        self._trawl = trawl = make.trawl()
        if self._over.is_set():
            trawl.end()
        self.begun.set()
        parts, count = [], sum(self.sizes)
        for begin in range(0, count, _AT_ONCE):
            if self._dropped.is_set():
                break
            left = None if deadline is None else max(0.0, deadline - time.perf_counter())
            parts.append(make.run(trawl, seed, first + begin, min(_AT_ONCE, count - begin), left))
        return list(_split(parts, self.sizes)) if parts else [_nothing() for _ in self.sizes]

    def end(self) -> None:
        """End its searches: the slots that are left are samples."""
        self._over.set()
        if (trawl := self._trawl) is not None:
            trawl.end()

    def drop(self) -> None:
        """Have it over at once: nobody wants to know."""
        self._dropped.set()
        self.end()


@dataclass(frozen=True, slots=True)
class _Make:
    """What casts of one trawl have in common."""

    candidates: _native.SampleGraph
    searches: list[_native.NativePlan]
    least: int
    nodes: int
    unfinished: str
    threads: int

    def trawl(self) -> Trawl:
        return Trawl(self.candidates, self.searches)

    def run(self, trawl: Trawl, seed: int, first: int, count: int, timeout: float | None) -> Haul:
        return trawl.run(
            seed,
            first,
            count,
            nodes=self.nodes,
            unfinished=self.unfinished,
            threads=self.threads,
            least=self.least,
            timeout=timeout,
        )


class Trawler:
    """Trawls beside what the caller does."""

    takes_turns = True
    """Samples come in batches."""

    def __init__(
        self, sampler: Sampler, graph: Graph, plan: Plan, request: Request, trawl: TrawlPlan, seed: int
    ) -> None:
        self.plan = trawl
        self.seconds = {"set-up": 0.0, "waiting": 0.0}
        """Of the caller: to set up searches, and to wait for their end."""
        started = time.perf_counter()
        self.tally = Tally(draws=1)
        self.halves = (Tally(draws=1), Tally(draws=1))
        """Of every other batch."""
        self.seen = self.halves
        """What the weights of the others may know."""
        self.searched = 0
        searches = searches_of(graph, plan, request.threads, request.tuning)
        self._make = _Make(
            sampler.candidates,
            searches,
            int(request.tuning["trawl_depth"]),
            self.plan.nodes,
            request.tuning["trawl_unfinished"],
            request.threads,
        )
        self._draws_here = sampler.device == "cpu"
        self._seed = trawl_seed(seed)
        self._begun = 0
        self._batch = 0
        self._thread = WorkerThread("motiflux trawl")
        self._casts: deque[_Cast] = deque()
        self._counting: Trawl | None = None
        self._whole: Future[int | None] | None = None
        self._counter = WorkerThread("motiflux count")
        self.seconds["set-up"] += time.perf_counter() - started

    def count_all(self, timeout: float | None) -> int | None:
        """Return the number of embeddings, if that takes a small part of the work that the samples would.

        Samples may die where a search, which knows what the others left, is soon over. Where a device draws,
        it goes on beside the samples, and None is returned: `whole` tells what came of it.
        """
        if self.plan.whole == 0:
            return None
        trawl = self._make.trawl()
        if self._draws_here:
            return trawl.count_all(self.plan.whole, timeout)
        self._counting = trawl
        self._whole = self._counter.submit(partial(trawl.count_all, self.plan.whole, timeout))
        return None

    def count_to_the_end(self) -> None:
        """Wait until all was counted, or that takes too much work."""
        if self._whole is not None:
            self._whole.result()

    @property
    def whole(self) -> int | None:
        """The number of all embeddings, where it was counted beside the samples and is known by now."""
        return self._whole.result() if self._whole is not None and self._whole.done() else None

    def begin(self, batches: Sequence[int], deadline: float | None) -> None:
        """Have slots trawled beside batches of so many groups, one after another."""
        sizes = [self.plan.slots_of(groups) for groups in batches]
        idle = not self._casts
        cast = _Cast(sizes)
        self._casts.append(cast)  # to be dropped whatever comes
        cast.hauls = self._thread.submit(partial(cast.run, self._make, self._seed, self._begun, deadline))
        self._begun += sum(sizes)
        if idle:
            cast.begun.wait(_HANDED_OVER)

    def expect(self, seconds: float) -> None:
        """Do nothing: searches keep to their work."""

    def start(self) -> None:
        """Do nothing: slots were handed over before the samples."""

    def end_batch(self) -> None:
        """Do nothing: searches go on."""

    def gather(self, *, wait: bool = True, late: bool = False) -> None:
        """Add what was trawled: what is there by now, or all; if time is `late`, searches end.

        Raises what went wrong on its threads.
        """
        started = time.perf_counter()
        if late:
            for cast in self._casts:
                cast.end()
        while self._casts:
            hauls = self._casts[0].hauls
            assert hauls is not None
            if not wait and not hauls.done():
                break
            for haul in hauls.result():
                self._add(haul)
            self._casts.popleft()
        self.seconds["waiting"] += time.perf_counter() - started

    def close(self) -> None:
        """End what is under way; its slots are lost."""
        for cast in self._casts:
            cast.drop()
        if self._counting is not None:
            self._counting.end()
        self._thread.close()
        self._counter.close()

    def _add(self, haul: Haul) -> None:
        # A slot stands for a group of samples that are all worth the same.
        counted = haul.outcomes != DROPPED
        weights = haul.weights[counted] * GROUP
        for tally in (self.tally, self.halves[self._batch % 2]):
            tally.add(weights, (weights > 0).astype(np.uint32), haul.work[counted])
        self._batch += 1
        self.searched += int(np.count_nonzero(haul.outcomes == SEARCHED))

    @property
    def slots(self) -> int:
        """Slots that are in the estimate."""
        return self.tally.groups


def _nothing() -> Haul:
    return Haul(np.empty(0), np.empty(0, np.uint8), np.empty(0, np.uint8), np.empty(0, np.uint64))


def _split(parts: Sequence[Haul], sizes: Sequence[int]) -> Iterator[Haul]:
    """Give the slots of each batch."""
    whole = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    ends = list(accumulate(sizes, initial=0))
    for begin, end in pairwise(ends):
        weights, outcomes, depths, work = (column[begin:end] for column in whole)
        yield Haul(weights, outcomes, depths, work)


def can_trawl(plan: Plan) -> bool:
    """Return whether a pattern has levels to sample and a level to search."""
    return len(plan.order) > LEAST_DEPTH
