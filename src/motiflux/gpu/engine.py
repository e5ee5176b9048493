"""``engine="dfs"``: counts and row listings on one device, or on several that share the work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

from motiflux import log
from motiflux.codegen.kernels import Goal
from motiflux.cpu.engine import CpuEngine, count_from_tables, outcome_of_tables
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.group import Call, DeviceGroup, GroupJob, Job
from motiflux.gpu.group_rows import GroupRows
from motiflux.gpu.kernels.cliques import set_up_cliques
from motiflux.gpu.kernels.table_run import TableJob, TooWide
from motiflux.gpu.kernels.tables import prepare_tables, table_bytes
from motiflux.gpu.kernels.universal_vertex import set_up_universal_vertex
from motiflux.gpu.launch.job_pool import job_pool
from motiflux.gpu.launch.memory import HasMemory, device_bytes, groups_told
from motiflux.gpu.launch.prepare import kernels_of, prepare, set_up_stage
from motiflux.gpu.rows.stored_rows import StoredRows
from motiflux.gpu.runtime.accelerator import Accelerator, known_accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.gpu.runtime.kernel_times import on_host
from motiflux.gpu.runtime.launches import Result
from motiflux.gpu.strategy import DeviceFacts, clique_rows, gather, listing, strategy
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.plan import Plan
from motiflux.plan.bind import bind
from motiflux.plan.candidates.space import candidate_space
from motiflux.plan.estimate.predict import distinct_keys, expected_count, narrowed_bytes
from motiflux.plan.estimate.prediction import MemoryReport, Prediction
from motiflux.plan.ir import Searched
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS
from motiflux.plan.neighborhood.bits import clique_key
from motiflux.plan.neighborhood.universal_vertex import has_universal_vertex
from motiflux.plan.physical import Family, PhysicalPlan, Stage
from motiflux.request.deadline import Deadline, OutOfTimeError, wait_for
from motiflux.request.engine import Capabilities, Engine, Outcome, Ran
from motiflux.request.planning import counts_all, logical_plan
from motiflux.request.progress import Forward, in_parts
from motiflux.request.reports import ProgressCallback
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource

_LOOK_FOR_PARTS = 0.05
"""Approximate seconds of the search for a plan with parts."""

LEAST_TURN, _OVER_EXPECTED, _GROWTH = 0.1, 4.0, 4.0
"""Seconds after which a count in parts gives way to one without at the earliest, their least ratio to the
expected seconds, and the ratio of the time of each turn to that of the turn before."""
_COMPILATION = 10.0
"""Seconds that a turn has besides whose kernel is not compiled."""

_TOO_FAR = {
    True: "a number passed the range of its kernels",
    False: "an embedding has too many copies for its kernels",
}
"""The reason to take the fallback after a kernel gave up, by whether the plan has no comparisons."""

SET_UP = {Family.UNIVERSAL_VERTEX: set_up_universal_vertex, Family.CLIQUES: set_up_cliques}
"""Functions that set up the jobs of kernels that count in bitmaps."""

CAPABILITIES = Capabilities(
    candidate_spaces=True,
    tails=True,
    parts=True,
    tables=DEVICE_SPEEDS,
    parts_cost=DEVICE_SPEEDS.parts,
    searchers=20_000,
)


class DfsEngine:
    """Executes plans on a group of devices, over copies of the graph's rows that stay on the devices."""

    name = "dfs"
    capabilities = CAPABILITIES

    def __init__(self, group: DeviceGroup) -> None:
        self.group = group
        self.device = group.name

    @property
    def facts(self) -> DeviceFacts:
        """Facts of one device, by which plans are made."""
        return self.group.facts

    @property
    def measured(self) -> HasMemory:
        """The device for which memory is predicted."""
        return self.group.first.device

    def is_current(self) -> bool:
        """Whether the names of the devices still belong to the same open devices in this process."""
        return all(known_accelerator(one.device.name) is one for one in self.group.accelerators)

    def executor(self, physical: PhysicalPlan) -> Engine:
        """Return this engine."""
        return self

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
        """Return the physical plan of a request; None if time was up before there was one."""
        if counting and counts_all(request) and _may_be_in_bits(graph, pattern, request):
            plain = logical_plan(graph, pattern, request, self.capabilities, deadline, parts=False)
            if plain is None:
                return None
            physical = self.strategy(graph, plain, request)
            brief = physical.seconds is not None and physical.seconds < _LOOK_FOR_PARTS
            if plain.formula is not None or (brief and _is_of(physical, Family.UNIVERSAL_VERTEX)):
                return physical
        plan = logical_plan(
            graph, pattern, request, self.capabilities, deadline, counting=counting, beside=beside
        )
        return None if plan is None else self.strategy(graph, plan, request, counting=counting)

    @classmethod
    def plan_ahead(
        cls, graph: Graph, pattern: Pattern, request: Request, deadline: Deadline, *, counting: bool = True
    ) -> None:
        """Leave with the graph what `plan` takes long for, as far as it does not depend on the devices."""
        if counting and counts_all(request) and _may_be_in_bits(graph, pattern, request):
            plain = logical_plan(graph, pattern, request, cls.capabilities, deadline, parts=False)
            # The time in bitmaps, by which `plan` looks for parts, depends on the device. Cliques have none.
            if plain is None or not _is_search(plain) or clique_key(plain) is None:
                return
        plan = logical_plan(graph, pattern, request, cls.capabilities, deadline, counting=counting)
        if counting and plan is not None and _is_search(plan):
            clique_rows(graph, plan, request)

    def begin(self, physical: PhysicalPlan, request: Request) -> bool:
        """Have the kernels of a plan compiled in the background; return whether compilation is over.

        Returns True at once for tables, each of whose kernels compiles in less than a second, and for
        requests that run specialized kernels only.
        """
        if request.tuning["specialize"] == "on":
            return True
        first, over = self.group.first, True
        for stage in physical.stages:
            general, special = kernels_of(stage)
            if general is not None and not (special is not None and first.has_loaded(special)):
                over = first.begin(general) and over
        return over

    def strategy(self, graph: Graph, plan: Plan, request: Request, *, counting: bool = True) -> PhysicalPlan:
        """Return the physical plan of a logical plan."""
        facts = self.facts
        if not counting:
            return listing(plan, facts, request)
        return strategy(plan, gather(graph, plan, facts, request), facts, request)

    def count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count, at most ``request.limit``."""
        if physical.plan.impossible is not None:
            return Outcome(0, True)
        asked = physical.plan.asked
        takes_turns = request.tuning["parts"] == "auto" and request.limit is None and _in_parts(physical)
        if asked is None or not takes_turns:
            return self._count(graph, physical, request, deadline)
        return self._in_turns(graph, asked, physical, request, deadline)

    def _in_turns(
        self, graph: Graph, pattern: Pattern, physical: PhysicalPlan, request: Request, deadline: Deadline
    ) -> Outcome:
        """Return a count in parts or, if it takes longer than expected, one that matches each vertex.

        A group counts the parts of a partial embedding alone, which takes for ever where few of them have
        nearly all of the work, and no sample tells. So both take turns, each four times as long as the one
        before, and the search that ended begins the next time.
        """
        if request.progress is not None:
            request = replace(request, progress=Forward(request.progress))
        flat = replace(request, tuning={**request.tuning, "parts": "off"})
        name = ("parts took too long", self.device, pattern, request.semantics, request.symmetry)
        tries: list[PhysicalPlan | None] = [physical, None]
        turn = int(graph.memo.knows(name))
        budget = max(LEAST_TURN, _OVER_EXPECTED * (physical.seconds or 0.0))
        best = Outcome(0, False)
        while True:
            plan = tries[turn] or self.plan(graph, pattern, flat, deadline)
            if plan is None:
                return best
            tries[turn] = plan
            seconds = budget if self.begin(plan, request) else budget + _COMPILATION
            found = self._count(graph, plan, request, deadline.within(seconds))
            best = found if found.complete else max(best, found, key=attrgetter("value"))
            if found.complete and turn:
                graph.memo.get(name, lambda: True)
            elif found.complete:
                graph.memo.drop(name)
            if found.complete or deadline.passed:
                return best
            log.ENGINE.info("a search takes over after %.3g s: %s", seconds, pattern)
            turn, budget = 1 - turn, _GROWTH * budget

    def _count(self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline) -> Outcome:
        """Return the count of one plan, by its fallbacks if its kernels fail."""
        first: DeviceMemoryError | None = None  # the error of the first kernels that did not fit
        while True:
            found, refused = None, False
            try:
                found = self._execute(graph, physical, request, deadline)
            except DeviceMemoryError as error:
                # Without its traceback: the error must not hold rows while other kernels are tried.
                first, refused = first or error.with_traceback(None), True
            if found is not None:
                return found
            then = physical.fallback
            if refused and (then is None or _is_of(physical, Family.SEARCH)):
                assert first is not None
                raise first  # a full device does not start a search on the CPU
            assert then is not None, "the host counts any number"
            why = "not enough memory" if refused else _TOO_FAR[physical.plan.comparisons is None]
            log.ENGINE.info("%s takes over: %s", then, why)
            physical = then

    def _execute(
        self, graph: Graph, physical: PhysicalPlan, request: Request, deadline: Deadline
    ) -> Outcome | None:
        """Return the count of a physical plan without its fallback; None if a number overflowed."""
        group = self.group if physical.whole else self.group.only_first()
        family = physical.stages[0].family
        if family is Family.HOST:
            with on_host():
                host = CpuEngine()
                done = host.count(graph, host.strategy(graph, physical.plan, request), request, deadline)
                if physical.plan.comparisons is None:
                    return done
                return replace(done, ran=Ran(host.name, host.device, physical.notes.lstrip("; ")))
        if family is Family.TABLES:
            return self._from_tables(graph, physical.stages[0], group, request, deadline)
        times, found, complete = physical.plan.multiplier, 0, True
        # total * times > limit exactly when total > limit // times.
        most = None if request.limit is None else request.limit // times
        reports: Iterable[ProgressCallback | None] = (request.progress,)
        if len(physical.stages) > 1:
            reports = in_parts(request.progress, [stage.share for stage in physical.stages])
        for stage, report in zip(physical.stages, reports, strict=True):
            left = None if most is None else most - found
            try:
                job = self._search_job(graph, stage, group, request, left, deadline)
            except OutOfTimeError:
                complete = False
                break
            in_time, result = run_job(job, deadline, report, found, times)
            if result.overflow:
                return None
            found += result.found
            complete = in_time and not result.limited
            if not complete or (most is not None and found > most):
                break
        total = found * times
        if request.limit is not None and total > request.limit:
            return Outcome(request.limit, False)
        return Outcome(total, complete)

    def _search_job(
        self,
        graph: Graph,
        stage: Stage,
        group: DeviceGroup,
        request: Request,
        limit: int | None,
        deadline: Deadline,
    ) -> Job:
        """Return the job of a stage: on one device, kept from an earlier call or set up now, or on several.

        Several devices set up new jobs for each call: a job depends on the device's share of the work.
        """
        devices = len(group.accelerators)

        def make(accelerator: Accelerator) -> SearchJob:
            in_bits = SET_UP.get(stage.family)
            set_up = set_up_stage if in_bits is None else partial(in_bits, devices=devices)
            return prepare(accelerator, graph, stage, request, limit, deadline, set_up)

        if devices > 1:
            return GroupJob.searching(group, make, Call(graph, stage.plan, request, deadline), limit)
        pool, name = job_pool(graph, group.accelerators[0]), (stage.name, request.gpu_memory, self.name)
        job = pool.begin(name, request)
        if job is None:
            job = make(group.accelerators[0])
            pool.keep(name, job, stage, request)
        else:
            job.launches.set_limit(limit)
        return job

    def _from_tables(
        self, graph: Graph, stage: Stage, group: DeviceGroup, request: Request, deadline: Deadline
    ) -> Outcome | None:
        """Return the count from tables, on the host if a number passes 64 bits; None if it does there too."""

        def search(table: Searched) -> int:
            inner = replace(request, limit=None, progress=None)
            found = self.count(graph, stage.searched[table], inner, deadline)
            if not found.complete:
                raise OutOfTimeError
            return found.value

        def make(accelerator: Accelerator, share: tuple[int, int] = (0, 1)) -> TableJob:
            return prepare_tables(accelerator, graph, stage, request, deadline, search, share)

        try:
            job = make(group.first) if group.alone else GroupJob.of_shares(group, make)
            in_time, result = run_job(job, deadline, request.progress)
        except OutOfTimeError:
            return Outcome(0, False)
        except TooWide:
            in_time, result = True, Result(0, overflow=True)
        if not in_time:
            return Outcome(0, False)
        if not result.overflow:
            return outcome_of_tables(result.found, stage.plan, request)
        try:
            with on_host():
                return count_from_tables(graph, stage.plan, request, deadline)
        except OverflowError:
            return None  # weights of walks have 64 bits on the host too

    def count_together(
        self, graph: Graph, plans: Sequence[PhysicalPlan], request: Request, deadline: Deadline
    ) -> list[Outcome]:
        """Return the count of each plan, each by a separate search."""
        return [self.count(graph, physical, request, deadline) for physical in plans]

    def rows(
        self, graph: Graph, physical: PhysicalPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> tuple[RowSource, Ran | None]:
        """Start an enumeration of at most ``request.limit`` rows."""
        if physical.plan.impossible is not None:
            return NoRows(complete=True), None
        stage = physical.stages[0]
        if stage.family is Family.HOST:
            host = CpuEngine()
            listed = host.strategy(graph, physical.plan, request, counting=False)
            source, _ = host.rows(graph, listed, request, batch_rows, deadline)
            return source, Ran(host.name, host.device, physical.notes.lstrip("; "))
        try:
            if not self.group.alone:
                return GroupRows(self.group, graph, stage, request, batch_rows, deadline), None
            job = prepare(self.group.first, graph, stage, request, None, deadline)
        except OutOfTimeError:
            return NoRows(complete=False), None
        return StoredRows(job, stage.plan, request, batch_rows, deadline), None

    def notes(self, graph: Graph, physical: PhysicalPlan, request: Request) -> str:
        """Return the text that `explain` adds to the reason for the engine."""
        if not physical.stages:
            return ""
        if _is_of(physical, Family.TABLES) and not physical.whole and not self.group.alone:
            first = self.group.first.device.name
            return f"; {first} alone: the tables that it comes from are not shared"
        if not _is_of(physical, Family.SEARCH):
            return physical.notes
        return physical.notes + groups_told(self.group.first.device, graph, physical.stages[0], request)

    def predict(self, graph: Graph, physical: PhysicalPlan, request: Request) -> Prediction:
        """Return the expected result, time and memory of a count, without searching."""
        plan = physical.plan
        space = None if plan.space is None else candidate_space(graph, plan.space, request.threads)
        narrowed = sum(narrowed_bytes(graph, key) for key in distinct_keys(plan))
        rows = narrowed if space is None else space.nbytes
        stage = physical.stages[0]
        if stage.schedule is not None:
            device = table_bytes(graph, stage.schedule)
        else:
            device = device_bytes(self.measured, graph, stage, request)
        return Prediction(
            expected_count(plan, request.limit),
            physical.seconds,
            request.threads,
            MemoryReport(rows, 0, device),
            note="nothing was sampled" if physical.seconds is None else None,
        )


def open_engine(names: Sequence[str]) -> DfsEngine:
    """Return the engine on devices of these names; raises `DeviceError`."""
    return DfsEngine(DeviceGroup.open(names))


plan_ahead = DfsEngine.plan_ahead


def _is_of(physical: PhysicalPlan, family: Family) -> bool:
    return physical.stages[0].family is family


def _in_parts(physical: PhysicalPlan) -> bool:
    """Whether the kernel of a search counts in parts."""
    kernel = physical.stages[0].kernel
    return kernel is not None and kernel.goal is Goal.NESTED


def _is_search(plan: Plan) -> bool:
    return plan.impossible is None and plan.formula is None and plan.comparisons is None


def _may_be_in_bits(graph: Graph, pattern: Pattern, request: Request) -> bool:
    """Return whether a plan without parts may be counted in bitmaps, which saves the search for parts."""
    if request.tuning["bitmaps"] in ("cliques", "off") or request.tuning["parts"] == "on":
        return False
    if pattern.comparisons:
        return False
    return has_universal_vertex(bind(pattern, graph), request.semantics)


def run_job(
    job: Job, deadline: Deadline, progress: ProgressCallback | None, before: int = 0, times: int = 1
) -> tuple[bool, Result]:
    """Launch a job, wait for its end and close it; return whether it ended in time, and its result."""
    try:
        job.watched = progress is not None
        job.launch()
        in_time = wait_for(job, deadline, progress, before, times)
        return in_time, job.result()
    finally:
        job.close()
