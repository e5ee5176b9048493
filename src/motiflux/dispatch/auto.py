"""``device="auto"``: the engine that is expected to be done first, and the other one where it is not.

While the GPU is closed, plans are the CPU's, and the times expected of both decide. Once it is open, it is
the faster one but for counts of well under a millisecond, so a draft of a plan decides, and the CPU's own
plan is made only where the CPU is to count. `docs/design/dispatch.md` has the figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from motiflux.cpu.engine import formula_for
from motiflux.dispatch.gpu_probe import Gpu
from motiflux.dispatch.planning import plan_for
from motiflux.dispatch.race import CANNOT, Contestant, Wait, race, race_here
from motiflux.dispatch.runtime_history import RuntimeHistory
from motiflux.errors import DeviceError
from motiflux.graph import Graph
from motiflux.plan import Plan, is_search_enough
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.request.costs import HostWork, host_work
from motiflux.request.engine import Engine, Outcome, Ran
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource
from motiflux.units import seconds_text

if TYPE_CHECKING:
    from motiflux.gpu.engine import DfsEngine, Way

PATIENCE = 0.1
"""Share of what the second engine is expected to take, after which it starts too."""
LEAST_PATIENCE = 1.5e-3
_TABLES_PATIENCE = 1.0
"""The same where the CPU counts from tables: these are predicted well, and cannot be stopped soon."""
_PLAN_PATIENCE, _LONG_SEARCH = 10e-3, 10e-3
"""Seconds before the CPU's plan for a long new search is made beside an open GPU, which takes a while, and
cannot be stopped; and what is a long search, in seconds of one thread."""
_ALL_THREADS = 2
"""Threads beyond which one is left free for the GPU."""
_ON_SCHEDULE = 1.5
"""Times what is expected of the CPU, until which it is taken to be on schedule, and no GPU is opened."""

_CPU, _GPU = "CPU", "GPU"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the two is expected to be done first.

    Parameters
    ----------
    on_gpu
        Whether it is the GPU.
    host, gpu
        Expected seconds; None where they are not known.
    why
        In words.
    """

    on_gpu: bool
    host: float | None
    gpu: float | None
    why: str

    @property
    def expected(self) -> tuple[tuple[str, float | None], ...]:
        """Expected seconds by device."""
        return ("cpu", self.host), ("cuda", self.gpu)


class AutoEngine:
    """Counts on the CPU or a GPU. It is named as the CPU engine; where the GPU counted, outcomes say so.

    Parameters
    ----------
    host
        The engine of the CPU.
    gpu
        The other one.
    """

    def __init__(self, host: Engine, gpu: Gpu) -> None:
        self._host = host
        self._gpu = gpu
        self.name, self.device = host.name, host.device
        self.searches_space, self.counts_tails = host.searches_space, host.counts_tails
        self.parts_cost, self.searchers = host.parts_cost, host.searchers
        self.tells_sizes = host.tells_sizes
        self._drafts = gpu.is_open()
        self.counts_parts = host.counts_parts and not self._drafts
        self.counts_tables: Speeds | None = None if self._drafts else host.counts_tables
        self.shares_passes = host.shares_passes and not self._drafts

    def count(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``, and who counted."""
        met = self._met(graph, plan, request.threads)
        met.times += 1
        learns = self._learns(request)
        if learns and (better := met.better(_CPU, _GPU)) is not None:
            known = self._by_known(graph, plan, request, started, met, better)
            if known is not None:
                return known
        new = met.times == 1
        choice = self._choose(graph, [_work(plan, request)], request, new=new)
        only = request.tuning["dispatch"] == "first" and not choice.on_gpu
        if choice.gpu is None or only:
            return self._on_host(graph, plan, request, started, choice.why)
        if not learns or new:
            return self._raced(graph, plan, request, started, choice, new=new)[0]
        met.expect(_CPU, choice.host)
        met.expect(_GPU, choice.gpu)
        first, other = (_GPU, _CPU) if choice.on_gpu else (_CPU, _GPU)
        if met.is_worth_a_try(other, first):
            choice = replace(choice, on_gpu=not choice.on_gpu, why=f"to see how long the {other} takes")
            first = other
        began = time.perf_counter()
        outcome, winner = self._raced(graph, plan, request, started, choice, new=False)
        if outcome.complete:
            met.took(winner, time.perf_counter() - began)
            if winner != first:
                met.took(first, time.perf_counter() - began)
        return outcome

    def _by_known(
        self, graph: Graph, plan: Plan, request: Request, started: float, met: RuntimeHistory, better: str
    ) -> Outcome | None:
        """Return the count of the engine that was the faster one before; None if this time it is not."""
        began = time.perf_counter()
        if better == _CPU:
            found = self._tried(graph, plan, request, started, _patience(met, _CPU))
            if found is None or found.complete:  # else time was up before, which says nothing
                met.took(_CPU, time.perf_counter() - began)
            return None if found is None else replace(found, ran=self._ran(_faster(_CPU)))
        engine = self._gpu.engine()
        planned = met.gpu_plan or self._plan_of(graph, plan, request, engine, started)
        if planned is None:
            return Outcome(0, False, ran=Ran(engine.name, engine.device, _faster(_GPU)))
        met.gpu_plan = planned

        def count(asked: Request) -> Outcome:
            return engine.count(graph, planned, asked, started)

        return self.count_on_known(graph, plan, request, started, met, engine, count)

    def settled(self, graph: Graph, plan: Plan, request: Request) -> KnownFaster | None:
        """Return how to count by a plan again without looking at anything else; None if that is open."""
        if not self._learns(request):
            return None
        met = self._met(graph, plan, request.threads)
        if met.gpu_plan is None or met.better(_CPU, _GPU) != _GPU:
            return None
        engine = self._gpu.engine()
        # Imported here: a search on the CPU needs nothing of this.
        from motiflux.gpu.engine import DfsEngine

        if not isinstance(engine, DfsEngine):
            return None
        return KnownFaster(self, plan, met, engine, met.gpu_plan, engine.way(graph, met.gpu_plan, request))

    def count_on_known(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        started: float,
        met: RuntimeHistory,
        engine: Engine,
        count: Callable[[Request], Outcome],
    ) -> Outcome:
        """Return the GPU's count, or the CPU's where the GPU takes longer than before, or refuses."""
        began = time.perf_counter()
        why = _faster(_GPU)
        gpu = Contestant(_GPU, lambda asked, wait: count(asked), checks=True)
        host = Contestant(_CPU, lambda asked, wait: self._beside(graph, plan, asked, started))
        result = race_here(gpu, host, _patience(met, _GPU), request)
        if result.refused is not None:
            met.forget(_GPU)
            return replace(result.outcome, ran=self._ran(_refused(result.refused)))
        if result.outcome.complete:
            met.took(_GPU, time.perf_counter() - began)
        if result.name == _CPU:
            return replace(result.outcome, ran=self._ran(f"{why}; the CPU was done first"))
        return replace(result.outcome, ran=Ran(engine.name, engine.device, why))

    def _raced(
        self, graph: Graph, plan: Plan, request: Request, started: float, choice: Choice, *, new: bool
    ) -> tuple[Outcome, str]:
        """Return the count of whichever is done first, the chosen one beginning, and which that was."""
        host = Contestant(_CPU, lambda asked, wait: self._second(graph, plan, asked, started, wait, new=new))
        gpu = Contestant(_GPU, self._gpu_count(graph, plan, request, started, choice, new=new))
        patience = LEAST_PATIENCE
        if choice.on_gpu and self._drafts:
            patience += self._gpu.seconds(None, graph, new=new)
        if choice.on_gpu:
            first, second = gpu, host
            if request.tuning["dispatch"] == "first":
                patience = float("inf")
        else:
            assert choice.gpu is not None
            most = max(LEAST_PATIENCE, PATIENCE * choice.gpu)
            if choice.host is not None and choice.host <= most:
                found = self._tried(graph, plan, request, started, most)
                if found is not None:
                    return replace(found, ran=self._ran(choice.why)), _CPU
            self._host_plan(graph, plan, request, started)  # remembered
            first = Contestant(_CPU, lambda asked, wait: self._beside(graph, plan, asked, started))
            second = gpu
        here = choice.on_gpu and self._drafts and not new
        result = (race_here if here else race)(first, second, patience, request)
        why = choice.why
        if result.refused is not None:
            why = _refused(result.refused)
        elif result.name != first.name:
            why += f"; the {result.name} was done first"
        ran = result.outcome.ran or self._ran(why)
        return replace(result.outcome, ran=replace(ran, why=why)), result.name

    def _choose(
        self,
        graph: Graph,
        works: Sequence[HostWork | None],
        request: Request,
        *,
        whole: bool = False,
        new: bool = False,
    ) -> Choice:
        """Return which engine to take for works that come one after the other, of `whole` plans or not."""
        host: float | None = 0.0
        for work in works:
            host = None if work is None or host is None else host + work.shared(request.threads)
        if (why := self._gpu.why_not()) is not None:
            return Choice(False, host, None, why)
        gpu = sum(self._gpu.seconds(work, graph, new=new) for work in works)
        if host is None:
            return Choice(False, None, gpu, "nothing was sampled, so that no time is expected")
        here, there = (f"about {seconds_text(seconds)}" for seconds in (host, gpu))
        if gpu < host and self._drafts and not whole:
            return Choice(True, host, gpu, "the GPU is open, and expected to be faster than the CPU")
        if gpu < host:
            return Choice(True, host, gpu, f"{there} expected, {here} on the CPU")
        return Choice(False, host, gpu, f"{here} expected, {there} on the GPU")

    def _learns(self, request: Request) -> bool:
        """Whether what engines take is remembered for later counts."""
        return self._drafts and request.limit is None and request.tuning["dispatch"] == "learn"

    def _met(self, graph: Graph, plan: Plan, threads: int) -> RuntimeHistory:
        """Return what is known of a plan of this graph."""
        return graph.memo.get(("met", id(plan), threads), lambda: RuntimeHistory(plan))

    def _tried(
        self, graph: Graph, plan: Plan, request: Request, started: float, seconds: float
    ) -> Outcome | None:
        """Return the CPU's count if it is there in so many seconds; None if not."""
        if (found := self._host_plan(graph, plan, request, started)) is None:
            return Outcome(0, False)
        most = time.perf_counter() - started + seconds
        # Tables tell nothing until they are done, and take what is expected of them.
        if found.formula is not None or (request.timeout is not None and request.timeout <= most):
            return self._host.count(graph, found, request, started)
        counted = self._host.count(graph, found, replace(request, timeout=most), started)
        return counted if counted.complete or counted.value == request.limit else None

    def _second(
        self, graph: Graph, plan: Plan, request: Request, started: float, wait: Wait, *, new: bool
    ) -> Outcome:
        """Return the CPU's count, once waiting any longer for the GPU would cost too much."""
        draft = _work(plan, request)
        if self._drafts and new and draft is not None and draft.seconds > _LONG_SEARCH:
            wait(_PLAN_PATIENCE)
        found = self._host_plan(graph, plan, request, started)
        work = None if found is None else _work(found, request)
        if work is not None:
            patience = _TABLES_PATIENCE if work.kind == "tables" else PATIENCE
            wait(patience * work.shared(request.threads))
        return self._beside(graph, plan, request, started)

    def _beside(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return the CPU's count, a thread being left to the GPU."""
        threads = request.threads - 1 if request.threads > _ALL_THREADS else request.threads
        return self._on_host(graph, plan, replace(request, threads=threads), started, "")

    def _gpu_count(
        self, graph: Graph, plan: Plan, request: Request, started: float, choice: Choice, *, new: bool
    ) -> Callable[[Request, Wait], Outcome]:
        """Return what counts on the GPU. If that is open and comes first, its plan is made here and now."""

        def count(asked: Request, wait: Wait) -> Outcome:
            if not choice.on_gpu:
                wait(self._patience_with_host(choice, new=new))
            engine = self._gpu.engine()
            ran = Ran(engine.name, engine.device, "")
            found = self._plan_of(graph, plan, asked, engine, started)
            if found is None:
                return Outcome(0, False, ran=ran)
            return replace(engine.count(graph, found, asked, started), ran=ran)

        if choice.on_gpu and self._drafts:
            with suppress(*CANNOT):  # raised again where it is looked at
                self._plan_of(graph, plan, request, self._gpu.engine(), started)  # remembered
        return count

    def _patience_with_host(self, choice: Choice, *, new: bool) -> float:
        """Return how long to wait for the CPU: while it is on schedule, if the GPU is not ready."""
        patience = PATIENCE * (choice.gpu or 0.0)
        ready = self._drafts and not new
        if ready or choice.host is None or choice.gpu is None:
            return patience
        return max(patience, min(_ON_SCHEDULE * choice.host, choice.gpu))

    def _host_plan(self, graph: Graph, plan: Plan, request: Request, started: float) -> Plan | None:
        if not self._drafts or is_search_enough(plan, request.tuning):
            return plan  # another would be the same
        return self._plan_of(graph, plan, request, self._host, started)

    def _plan_of(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        engine: Engine,
        started: float,
        *,
        counting: bool = True,
    ) -> Plan | None:
        assert plan.asked is not None
        return plan_for(graph, plan.asked, request, engine, started, counting=counting)

    def _on_host(self, graph: Graph, plan: Plan, request: Request, started: float, why: str) -> Outcome:
        found = self._host_plan(graph, plan, request, started)
        ran = self._ran(why)
        if found is None:
            return Outcome(0, False, ran=ran)
        return replace(self._host.count(graph, found, request, started), ran=ran)

    def _ran(self, why: str) -> Ran:
        return Ran(self._host.name, self._host.device, why)

    def count_together(
        self, graph: Graph, plans: Sequence[Plan], request: Request, started: float
    ) -> list[Outcome]:
        """Return the count of each plan: in one pass on the CPU, each by itself where the GPU is faster."""
        choice = self._choose(graph, [_work(plan, request) for plan in plans], request)
        if choice.on_gpu:
            return [self.count(graph, plan, request, started) for plan in plans]
        found = self._host.count_together(graph, plans, request, started)
        return [replace(one, ran=self._ran(choice.why)) for one in found]

    def settle(
        self, graph: Graph, plan: Plan, request: Request, started: float, *, listing: bool = False
    ) -> tuple[Engine, Plan | None, Choice]:
        """Return the engine to take if it has to be one of them, its plan (None: no time), and why.

        The GPU is opened if it is to be taken, and not taken if that fails. Times are those of whole plans.
        """
        host = self._plan_of(graph, plan, request, self._host, started, counting=not listing)
        if host is None or host.impossible is not None:
            return self._host, host, Choice(False, None, None, "nothing is searched")
        choice = self._choose(graph, [_work(host, request, listing=listing)], request, whole=True)
        if not choice.on_gpu:
            return self._host, host, choice
        try:
            engine = self._gpu.engine()
        except DeviceError as error:
            return self._host, host, replace(choice, on_gpu=False, why=_refused(error))
        return engine, self._plan_of(graph, plan, request, engine, started, counting=not listing), choice

    def start_rows(
        self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float
    ) -> tuple[RowSource, Ran]:
        """Start an enumeration where it is expected to end first, and say where that is."""
        engine, found, choice = self.settle(graph, plan, request, started, listing=True)
        why = choice.why
        if found is None:
            return NoRows(complete=False), Ran(engine.name, engine.device, why)
        try:
            return engine.rows(graph, found, request, batch_rows, started), Ran(
                engine.name, engine.device, why
            )
        except CANNOT as error:
            if engine is self._host:
                raise
            why = _refused(error)
        return self._host.rows(graph, plan, request, batch_rows, started), self._ran(why)

    def rows(self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float) -> RowSource:
        """Start an enumeration of at most ``request.limit`` rows."""
        return self.start_rows(graph, plan, request, batch_rows, started)[0]

    def predict(self, graph: Graph, plan: Plan, request: Request) -> Prediction:
        """Return what a count on the CPU will give and take."""
        return self._host.predict(graph, plan, request)


@dataclass(frozen=True, slots=True)
class KnownFaster:
    """A count that the GPU does as long as it is known to be the faster one.

    Parameters
    ----------
    draft
        What the plan of the CPU is made from, should it have to count.
    plan, way
        How the GPU counts.
    """

    auto: AutoEngine
    draft: Plan
    met: RuntimeHistory
    engine: DfsEngine
    plan: Plan
    way: Way

    def is_current(self) -> bool:
        """Whether the GPU would be taken again, and is the one that is open."""
        return self.met.better(_CPU, _GPU) == _GPU and self.engine.is_current()

    def count(self, graph: Graph, request: Request, started: float) -> Outcome:
        """Return the count."""
        return self.auto.count_on_known(
            graph,
            self.draft,
            request,
            started,
            self.met,
            self.engine,
            lambda asked: self.engine.count_in(self.way, graph, self.plan, asked, started),
        )


def _faster(engine: str) -> str:
    return f"the {engine} was faster before"


def _patience(met: RuntimeHistory, engine: str) -> float:
    """Return how long an engine may take that is known, before the other one starts too."""
    return LEAST_PATIENCE + _ON_SCHEDULE * (met.seconds(engine) or 0.0)


def _work(plan: Plan, request: Request, *, listing: bool = False) -> HostWork | None:
    """Return what a plan of the CPU takes, or a draft of one."""
    formula = None if listing else formula_for(plan, request)
    return host_work(plan, formula, request, listing=listing)


def _refused(error: Exception) -> str:
    return f"the GPU cannot do it: {str(error).partition(chr(10))[0]}"
