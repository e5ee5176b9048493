"""Trawling by the clock: threads search for as long as samples are drawn, and no longer (gSWORD, section 5).

    samples    | launched | drawn                    | over |         the caller, and the sampler's device
    slots                 | set up, begun, searched  | ended          threads that need no interpreter

All that it takes beside the samples is to end: searches look at the clock every few microseconds. What is
found depends on the machine; on average over all seeds it is the count.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from motiflux.cpu.trawling import CHUNK, DROPPED, SEARCHED, Stream, Trawl, searches_of
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.sampling.pilot import trawl_seed
from motiflux.sampling.trawl_plan import TrawlPlan
from motiflux.statistics import GROUP, Tally

_SAMPLES_OF_SLOT = 64
"""So many samples for each slot, at least: there are fewer slots where their searches take longer."""
_MOST_SLOTS = 1 << 16
"""Of a stream, between two looks."""
_FREE = 1 << 45
"""Work of counting all beside a device: its thread has nothing else to do, and the samples end it."""
SHARE = 0.1
"""Of the time that samples take, what trawling may add to it at most."""
_FIXED_SECONDS = 8e-4
"""What trawling adds to samples drawn on a device, however long that takes: to set up, and to end."""
_LOOK_EVERY = 256
"""Steps of a search between looks at whether it is wanted: some microseconds."""


class ClockTrawler:
    """Trawls beside what the caller does, until that is done.

    Attributes
    ----------
    tally
        Of the slots that are counted.
    halves
        The same of each stream: as many slots as the other one began.
    seen
        What the streams came to by themselves: what the weights of the others may know.
    seconds
        Of the caller: to set up searches, and to wait for their end.
    """

    def __init__(
        self, sampler: Sampler, graph: Graph, plan: Plan, request: Request, trawl: TrawlPlan, seed: int
    ) -> None:
        self.plan = trawl
        self.tally = Tally(draws=1)
        self.halves = (Tally(draws=1), Tally(draws=1))
        self.seen = (Tally(draws=1), Tally(draws=1))
        self.searched = 0
        self.seconds = {"set-up": 0.0, "waiting": 0.0}
        self._sampler, self._graph, self._search, self._request = sampler, graph, plan, request
        self._seed = trawl_seed(seed)
        beside = sampler.device != "cpu"
        self._threads, counts = _threads_of(request, beside=beside)
        self._whole = (_FREE if beside else trawl.whole) if counts and trawl.whole > 0 else 0
        self._least_seconds = _FIXED_SECONDS / SHARE if beside else 0.0
        self._expected = 0.0
        self._first = 0
        self._most = 0
        self._wanted = 0
        self._begun = False

    @cached_property
    def _trawl(self) -> Trawl:
        searches = searches_of(self._graph, self._search, self._request.threads, self._request.tuning)
        return Trawl(self._sampler.candidates, searches, look_every=_LOOK_EVERY)

    @property
    def takes_turns(self) -> bool:
        """Whether one thread serves both streams, so that samples have to come in batches."""
        return self._threads == 1

    def count_all(self, timeout: float | None) -> int | None:
        """Return None: all is counted beside the samples too."""
        return None

    def begin(self, batches: Sequence[int], deadline: float | None) -> None:
        """Hear of batches of so many groups that are drawn next; `start` begins to search."""
        self._wanted = sum(batches)

    def expect(self, seconds: float) -> None:
        """Hear how long it is likely to take to draw what `begin` was told of."""
        self._expected = seconds

    def start(self) -> None:
        """Have slots searched from now on, if none are; called for each draw, once that is under way.

        Nothing is done where samples are drawn so soon that more than `SHARE` would be added to their time.
        """
        if self._begun:
            if self.takes_turns:
                self._trawl.turn()
            return
        if self._wanted == 0 or self._expected < self._least_seconds:
            return
        started = time.perf_counter()
        trawl, tuning = self._trawl, self._request.tuning
        self._most = _most_of(self.plan, tuning["trawl_samples"], self._wanted)
        self._begun = True  # whatever interrupts: `close` ends what there is
        trawl.begin(
            self._seed,
            self._first,
            self._most,
            nodes=self.plan.nodes,
            unfinished=tuning["trawl_unfinished"],
            threads=self._threads,
            least=int(tuning["trawl_depth"]),
            whole=self._whole,
        )
        self.seconds["set-up"] += time.perf_counter() - started

    def end_batch(self) -> None:
        """Do nothing: searches go on."""

    def gather(self, *, wait: bool = True, late: bool = False) -> None:
        """End searches and add what they found; nothing happens where there is more to draw.

        Raises what went wrong on their threads.
        """
        if not self._begun or not wait:
            return
        started = time.perf_counter()
        streams = self._trawl.finish()
        self._begun, self._wanted = False, 0
        self._first += self._most
        for number, (one, other) in enumerate((streams, streams[::-1])):
            self._add(self.seen[number], one, one.begun)
            self._add(self.halves[number], one, other.begun)
            self._add(self.tally, one, other.begun)
            self.searched += int(np.count_nonzero(one.haul.outcomes[: other.begun] == SEARCHED))
        self.seconds["waiting"] += time.perf_counter() - started

    @staticmethod
    def _add(tally: Tally, stream: Stream, count: int) -> None:
        # A slot stands for a group of samples that are all worth the same.
        counted = stream.haul.outcomes[:count] != DROPPED
        worth = stream.haul.weights[:count][counted] * GROUP
        tally.add(worth, (worth > 0).astype(np.uint32), stream.haul.work[:count][counted])

    def count_to_the_end(self) -> None:
        """Do nothing: counting ended with the samples."""

    @property
    def whole(self) -> int | None:
        """The number of all embeddings, where it was counted beside the samples and is known by now."""
        return self._trawl.whole if "_trawl" in self.__dict__ else None

    @property
    def slots(self) -> int:
        """Slots that are in the estimate."""
        return self.tally.groups

    def close(self) -> None:
        """End what is under way; its slots are lost."""
        if self._begun:
            self._begun = False
            with contextlib.suppress(ValueError):  # it did not come to begin
                self._trawl.finish()


def _threads_of(request: Request, *, beside: bool) -> tuple[int, bool]:
    """Return how many threads serve the streams, and whether one more counts all.

    Who asks a GPU whether it is done takes a thread. Both streams have as many.
    """
    left = max(1, request.threads - 1) if beside else request.threads
    if request.tuning["trawl_whole"] == "off":
        return max(1, left - left % 2), False
    left = max(1, left - 1)
    return max(1, left - left % 2), True


def _most_of(plan: TrawlPlan, asked: str, groups: int) -> int:
    """Return how many slots a stream may begin beside so many groups."""
    if asked == "auto":
        slots = groups * GROUP // _SAMPLES_OF_SLOT
    else:
        slots = -(-plan.slots * groups // plan.groups)
    return min(_MOST_SLOTS, max(CHUNK, -(-slots // 2)))
