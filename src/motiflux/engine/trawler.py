"""Trawling beside sampling (gSWORD, section 5): batches of samples, and of slots searched meanwhile."""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from motiflux.cpu.trawling import CHUNK, DROPPED, LEAST_DEPTH, SEARCHED, Haul, Trawl, searches_of
from motiflux.engine.base import Request
from motiflux.engine.estimate_rules import DEFAULT_SAMPLES, Rules
from motiflux.engine.pilot import trawl_seed
from motiflux.engine.sampler import Sampler
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.statistics import GROUP, Tally

_SAMPLES_OF_SLOT = 1024
_NODES_OF_SAMPLE = 4
_FREE = 64
"""By the clock, slots may take so many times the work that they may take otherwise: the batch ends them."""


def count_all(
    sampler: Sampler, graph: Graph, plan: Plan, request: Request, rules: Rules, timeout: float | None
) -> int | None:
    """Return the number of embeddings, if it takes a small part of the work that the samples would.

    Samples may die where a search, which knows what the others left, is soon over.
    """
    if request.tuning["trawl_whole"] == "off":
        return None
    nodes = _NODES_OF_SAMPLE * GROUP * min(rules.groups, DEFAULT_SAMPLES // GROUP)
    searches = searches_of(graph, plan, request.threads, request.tuning)
    return Trawl(sampler.candidates, searches).count_all(nodes, timeout)


@dataclass(frozen=True, slots=True)
class TrawlPlan:
    """How much is trawled, fixed before the first sample.

    Parameters
    ----------
    groups
        Groups of samples that make a batch.
    slots
        Slots that are trawled meanwhile, whole chunks.
    nodes
        Work that searches may take for each slot of a chunk.
    """

    groups: int
    slots: int
    nodes: int

    @classmethod
    def of(cls, rules: Rules, request: Request) -> TrawlPlan:
        """Return what the switches say, for the samples that are to be drawn."""
        tuning = request.tuning
        groups = -(-min(rules.groups, DEFAULT_SAMPLES // GROUP) // int(tuning["trawl_batches"]))
        if tuning["trawl_samples"] == "auto":
            slots = _chunks(groups * GROUP / _SAMPLES_OF_SLOT)
        else:
            slots = int(tuning["trawl_samples"])
        nodes = int(tuning["trawl_nodes"])
        return cls(groups, slots, nodes * _FREE if tuning["trawl_budget"] == "clock" else nodes)


class Trawler:
    """Trawls one batch of slots at a time, beside what the caller does."""

    def __init__(
        self,
        sampler: Sampler,
        graph: Graph,
        plan: Plan,
        request: Request,
        rules: Rules,
        seed: int,
    ) -> None:
        self.plan = TrawlPlan.of(rules, request)
        self.tally = Tally(draws=1)
        self.halves = (Tally(draws=1), Tally(draws=1))
        """Of every other batch."""
        self.searched = 0
        self._candidates = sampler.candidates
        self._searches = searches_of(graph, plan, request.threads, request.tuning)
        self._unfinished = request.tuning["trawl_unfinished"]
        self._by_clock = request.tuning["trawl_budget"] == "clock"
        self._threads = request.threads
        self._seed = trawl_seed(seed)
        self._begun = 0
        self._batch = 0
        self._thread = ThreadPoolExecutor(1)
        self._trawl: Trawl | None = None
        self._haul: Future[Haul] | None = None

    def begin(self, groups: int, timeout: float | None) -> None:
        """Begin to trawl beside so many groups of samples."""
        slots = _chunks(self.plan.slots * groups / self.plan.groups)
        self._trawl = Trawl(self._candidates, self._searches)
        self._haul = self._thread.submit(self._run, self._trawl, self._seed, self._begun, slots, timeout)
        self._begun += slots

    def _run(self, trawl: Trawl, seed: int, first: int, count: int, timeout: float | None) -> Haul:
        return trawl.run(
            seed,
            first,
            count,
            nodes=self.plan.nodes,
            unfinished=self._unfinished,
            threads=self._threads,
            timeout=timeout,
        )

    def finish(self, *, late: bool = False) -> None:
        """Wait for the batch; by the clock, or if time is up, its searches end now."""
        if self._trawl is None or self._haul is None:
            return
        if late or self._by_clock:
            self._trawl.end()
        self._add(self._haul.result())
        self._trawl = self._haul = None

    def close(self) -> None:
        """End what is under way; its slots are lost."""
        if self._trawl is not None:
            self._trawl.end()
        self._thread.shutdown()

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


def _chunks(slots: float) -> int:
    """Return the least number of slots that is no fewer and makes whole chunks."""
    return CHUNK * max(1, math.ceil(slots / CHUNK))


def can_trawl(plan: Plan) -> bool:
    """Return whether a pattern has levels to sample and a level to search."""
    return len(plan.order) > LEAST_DEPTH
