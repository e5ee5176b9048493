"""``device="auto"``: the engine that is expected to be faster, and the other one if that takes too long.

`docs/design/dispatch.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from motiflux import log
from motiflux.dispatch.gpu_probe import Gpu
from motiflux.dispatch.prepared_query import prepared_query
from motiflux.errors import DeviceError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.estimate.prediction import Prediction
from motiflux.plan.local_counts.speeds import HOST_SPEEDS
from motiflux.plan.physical import PhysicalPlan
from motiflux.request.costs import H100, host_work, usable_formula
from motiflux.request.deadline import Deadline
from motiflux.request.engine import CANNOT, Capabilities, Engine, Outcome, Ran
from motiflux.request.planning import logical_plan
from motiflux.request.progress import Forward
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource
from motiflux.units import seconds_text

LEAST_BUDGET, LONGEST_BUDGET = 5e-3, 60.0
"""Least and greatest budget of the first engine, in seconds."""
_OVER_EXPECTED = 2.0
"""Least ratio of the first engine's budget to its expected time, up to `LONGEST_BUDGET`."""
_GROWTH = 4.0
"""Ratio of the budget of each try to that of the try before."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of the engine that is expected to finish first.

    Parameters
    ----------
    host, gpu
        Expected seconds on the CPU and on the GPU; None if unknown.
    expires
        Seconds of counting by this choice after which it should be made again; None: never.
    overran
        Whether the other engine failed to finish this count before.
    """

    on_gpu: bool
    host: float | None
    gpu: float | None
    why: str
    expires: float | None = None
    overran: bool = False

    @property
    def budget(self) -> float | None:
        """Seconds of the chosen engine before the other one is tried; None if there is no other."""
        if self.gpu is None:
            return None
        first, second = (self.gpu, self.host) if self.on_gpu else (self.host, self.gpu)
        return min(max(LEAST_BUDGET, _OVER_EXPECTED * (first or 0.0), second or 0.0), LONGEST_BUDGET)


class AutoEngine:
    """Chooses between the CPU and a GPU. Its name is that of the CPU engine; outcomes name the engine used.

    Parameters
    ----------
    host
        The engine of the CPU.
    gpu
        The engine of the GPU.
    """

    def __init__(self, host: Engine, gpu: Gpu) -> None:
        self._host = host
        self._gpu = gpu
        self.name, self.device = host.name, host.device
        # An open GPU is faster except for short counts: a plan without formula and parts suffices to choose.
        self._drafts = gpu.is_open()

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities for the draft plan by which the engine is chosen."""
        if not self._drafts:
            return self._host.capabilities
        return replace(self._host.capabilities, parts=False, tables=None, shares_passes=False)

    def is_current(self) -> bool:
        """Whether this process would choose between the same engines."""
        return self._host.is_current() and self._drafts == self._gpu.is_open()

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return the engine that executes a plan."""
        on_host = physical.engine == self._host.name
        return self._host if on_host else self._gpu.engine().executor(physical)

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
        """Return the plan of the chosen engine; None if time was up before there was one.

        If the GPU is chosen but cannot be opened, the CPU is taken.
        """
        draft = logical_plan(
            graph, pattern, request, self.capabilities, deadline, counting=counting, beside=beside
        )
        if draft is None:
            return None
        if draft.impossible is not None:
            return replace(PhysicalPlan(self._host.name, draft, ()), why="nothing is searched")
        choice = self._choose(graph, pattern, draft, request, listing=not counting)
        engine = self._host
        if choice.on_gpu:
            try:
                engine = self._gpu.engine()
            except DeviceError as error:
                choice = replace(choice, on_gpu=False, gpu=None, why=_refused(error), expires=None)
        physical = engine.plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        other = None if physical is None else self._while_compiling(engine, physical, request, choice)
        if other is not None:
            choice = other
            physical = self._host.plan(graph, pattern, request, deadline, counting=counting, beside=beside)
        if physical is None:
            return None
        return replace(
            physical,
            why="; ".join(filter(None, (choice.why, physical.why))),
            expected=(("cpu", choice.host), ("cuda", choice.gpu)),
            budget=choice.budget,
            expires=physical.expires if choice.expires is None else choice.expires,
        )

    def _while_compiling(
        self, engine: Engine, physical: PhysicalPlan, request: Request, choice: Choice
    ) -> Choice | None:
        """Return the CPU if it is faster than compiling the chosen GPU's kernels; None to keep the choice.

        Compilation of missing kernels begins in the background.
        """
        seconds = self._gpu.compile_seconds
        if not choice.on_gpu or choice.overran or choice.host is None or choice.host > seconds:
            return None
        assert choice.gpu is not None
        try:
            if engine.begin(physical, request):
                return None
        except CANNOT as error:
            return replace(choice, on_gpu=False, gpu=None, why=_refused(error), expires=None)
        why = "the GPU's kernel is being compiled"
        return Choice(False, choice.host, max(choice.gpu, seconds), why, expires=0.0)

    def _choose(
        self, graph: Graph, pattern: Pattern, draft: Plan, request: Request, *, listing: bool
    ) -> Choice:
        """Return the choice of the engine.

        For a new query, the time until a GPU is ready counts in full. For a repeated query, the time that it
        has already spent on the CPU is subtracted.
        """
        formula = None if listing else usable_formula(draft, request, HOST_SPEEDS)
        work = host_work(draft, formula, request, listing=listing)
        host = None if work is None else work.shared(request.threads)
        if (why := self._gpu.why_not()) is not None:
            return Choice(False, host, None, why)
        known = None if listing else prepared_query(graph, pattern, request)
        ready = self._gpu.seconds(None, graph)
        there = work
        if work is not None and self._gpu.stays_on_host(graph, request.gpu_memory):
            there = replace(work, seconds=H100.over_bus * work.seconds)
        gpu = self._gpu.seconds(there, graph, new=known is None)
        gpu -= 0.0 if known is None else min(ready, known.spent)
        # After a single overrun, the engine is tried again: its kernel may have been compiled meanwhile.
        if known is not None and known.overran and known.overruns > 1:
            on_gpu = known.physical.engine == self._host.name
            first = "CPU" if on_gpu else "GPU"
            return Choice(on_gpu, host, gpu, f"the {first} did not give the count before", overran=True)
        if host is None:
            return Choice(False, None, gpu, "nothing was sampled, so that no time is expected")
        on_cpu, on_device = (f"about {seconds_text(seconds)}" for seconds in (host, gpu))
        if gpu < host:
            why = f"{on_device} expected, {on_cpu} on the CPU"
            if self._drafts:
                why = "the GPU is open, and expected to be faster than the CPU"
            return Choice(True, host, gpu, why)
        expires = 0.0 if known is None else None
        if known is not None and self._gpu.seconds(there, graph) - ready < host:
            expires = ready
        return Choice(False, host, gpu, f"{on_cpu} expected, {on_device} on the GPU", expires)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``, and the engine that counted.

        The engines take turns until one finishes: the chosen one with its budget, then the other one with
        four times as much, and so on.
        """
        if physical.plan.impossible is not None:
            return Outcome(0, True, ran=Ran(self.name, self.device, physical.why))
        budget, why = physical.budget, physical.why
        if request.progress is not None:
            request = replace(request, progress=Forward(request.progress))
        tries: list[PhysicalPlan | None] = [physical, None]
        best: Outcome | None = None
        refused: Exception | None = None
        turn = 0
        while True:
            within = deadline if budget is None or refused is not None else deadline.within(budget)
            on_host = (turn == 0) == (physical.engine == self._host.name)
            try:
                engine = self._host if on_host else self._gpu.engine()
                plan = tries[turn] or _plan_again(engine, graph, physical.plan, request, deadline)
                if plan is None:
                    return best or Outcome(0, False, ran=Ran(self.name, self.device, why))
                tries[turn] = plan
                found = engine.count(graph, plan, request, within)
            except CANNOT as error:
                if refused is not None or on_host:
                    raise
                refused, why = error, _refused(error)
                log.ENGINE.info("the CPU takes over: %s", why)
            else:
                found = replace(found, ran=_ran(found.ran, engine, why))
                if best is None or found.complete or found.value > best.value:
                    best = found
                if found.complete or found.value == request.limit or within is deadline or deadline.passed:
                    return best
                assert budget is not None
                why = f"the {'CPU' if on_host else 'GPU'} took longer than expected"
                log.ENGINE.info("the %s takes over: %s", "GPU" if on_host else "CPU", why)
                budget *= _GROWTH
            turn = 1 - turn

    def count_together(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> list[Outcome]:
        """Return the count of each plan: in one pass on the CPU, each by itself if the GPU counts one."""
        if any(physical.engine != self._host.name for physical in plans):
            return [self.count(graph, physical, request, deadline) for physical in plans]
        found = self._host.count_together(graph, plans, request, deadline)
        return [
            replace(one, ran=Ran(self.name, self.device, physical.why))
            for one, physical in zip(found, plans, strict=True)
        ]

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran]:
        """Start an enumeration by the chosen engine, or by the CPU if the GPU refuses."""
        # Not the executor: it would not leave rows on the host that do not fit.
        engine = self._host if physical.engine == self._host.name else self._gpu.engine()
        try:
            rows, ran = engine.rows(graph, physical, request, batch_rows, deadline)
            return rows, _ran(ran, engine, physical.why)
        except CANNOT as error:
            if engine is self._host:
                raise
            ran = Ran(self.name, self.device, _refused(error))
            log.ENGINE.info("the CPU takes over: %s", ran.why)
        assert physical.plan.asked is not None
        plan = self._host.plan(graph, physical.plan.asked, request, deadline, counting=False)
        if plan is None:
            return NoRows(complete=False), ran
        return self._host.rows(graph, plan, request, batch_rows, deadline)[0], ran

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Begin long preparations of a plan in the background; return whether they are done."""
        return self.executor(physical).begin(physical, request)

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""
        return self.executor(physical).notes(graph, physical, request)

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        return self.executor(physical).predict(graph, physical, request)


def _plan_again(
    engine: Engine, graph: Graph, plan: Plan, request: Request, deadline: Deadline
) -> PhysicalPlan | None:
    """Return an engine's plan for the pattern of another plan; None if time was up before there was one."""
    assert plan.asked is not None
    return engine.plan(graph, plan.asked, request, deadline)


def _ran(found: Ran | None, engine: Engine, why: str) -> Ran:
    """Return the engine that was chosen and the reason, or the one that it called, and both reasons."""
    if found is None:
        return Ran(engine.name, engine.device, why)
    return replace(found, why=why if why.endswith(found.why) else f"{why}; {found.why}")


def _refused(error: Exception) -> str:
    return f"the GPU cannot do it: {str(error).partition(chr(10))[0]}"
