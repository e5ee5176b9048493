"""``engine="dfs"``: depth-first search on a device by groups of lanes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from motiflux.codegen.kernels import Goal
from motiflux.codegen.tails import device_tail
from motiflux.cpu.engine import CpuEngine, count_from_tables, formula_for, outcome_of_tables
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.kernels.cliques import clique_key, prepare_cliques
from motiflux.gpu.kernels.table_run import TooWide
from motiflux.gpu.kernels.tables import start_tables, table_bytes
from motiflux.gpu.kernels.universal_vertex import Bits, Part, bits_for, parts_of, prepare_cone
from motiflux.gpu.launch.job_pool import resting
from motiflux.gpu.launch.memory import device_bytes, groups_told
from motiflux.gpu.launch.prepare import prepare, task_limit
from motiflux.gpu.rows.ring_rows import RingRows
from motiflux.gpu.rows.stored_rows import StoredRows
from motiflux.gpu.runtime.accelerator import Accelerator, known_accelerator
from motiflux.gpu.runtime.kernel_times import on_host
from motiflux.gpu.runtime.search import DeviceSearch
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.candidates.space import candidate_space
from motiflux.plan.estimate.predict import distinct_keys, expected_count, narrowed_bytes
from motiflux.plan.estimate.prediction import MemoryReport, Prediction
from motiflux.plan.ir import Formula, Searched
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS, Speeds
from motiflux.request.costs import H100, host_work
from motiflux.request.deadline import OutOfTimeError, moments
from motiflux.request.engine import Outcome
from motiflux.request.progress import in_parts
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.result.rows import NoRows, RowSource

_LOOK_SECONDS = 0.05
"""Time between two looks at how far a search is."""


class Watched(Protocol):
    """Work on devices that goes on."""

    def done(self) -> bool:
        """Whether it has ended; raises what failed."""

    def stop_and_wait(self) -> None:
        """Stop it, and wait for its end."""

    def look(self) -> tuple[int, int, int] | None:
        """Return what is done of what in all, and what was found; None if not known."""

    def tell_time(self) -> None:
        """Add the kernels' time to what is being taken, once they are done."""

    def close(self) -> None:
        """Stop it if it goes on, and give everything back."""


class Evaluation(Protocol):
    """A formula that is being evaluated."""

    @property
    def run(self) -> Watched:
        """What it is done with; closed with it."""

    def total(self) -> int:
        """Return what the formula comes to, once all is done; raises `TooWide`."""


@dataclass(frozen=True, slots=True)
class Watching:
    """How a search is watched, and what is told of it.

    Parameters
    ----------
    multiplier
        What each embedding that is found stands for.
    before
        Embeddings that earlier parts found.
    """

    request: Request
    started: float
    deadline: float | None
    multiplier: int = 1
    before: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """How a plan is counted: what takes as long to look up as a short count takes of the host.

    Parameters
    ----------
    formula
        From tables; None where they do not serve.
    parts
        Else by kernels: ways to cut the count into parts, the first that fits. Not looked for where there is
        a formula.
    """

    formula: Formula | None
    parts: tuple[tuple[Part, ...], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, and whether that is all there is."""

    found: int
    complete: bool


class DfsEngine:
    """Executes plans on a device, over copies of the graph's rows that stay there."""

    name = "dfs"
    searches_space = True
    counts_tails = True
    counts_parts = True
    parts_cost = DEVICE_SPEEDS.parts
    searchers = 20_000
    counts_tables: Speeds | None = DEVICE_SPEEDS
    tells_sizes = False
    shares_passes = False

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self.device = accelerator.device.name

    def is_current(self) -> bool:
        """Whether this process would take the same device, by its name, now."""
        return known_accelerator(self.device) is self._accelerator

    def count(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return the count, at most ``request.limit``."""
        return self.count_in(self.way(graph, plan, request), graph, plan, request, started)

    def way(self, graph: Graph, plan: Plan, request: Request) -> Way:
        """Return how a plan is counted: the same for the same plan and request."""
        formula = formula_for(plan, request, DEVICE_SPEEDS)
        return Way(formula, () if formula is not None else self._parts(graph, plan, request))

    def _parts(self, graph: Graph, plan: Plan, request: Request) -> tuple[tuple[Part, ...], ...]:
        bits = self.bits(graph, plan, request)
        in_bits = () if bits is None else (tuple(parts_of(bits)),)
        countable = plan.tail is None or device_tail(plan) is not None
        return (*in_bits, (Part(plan),)) if countable else in_bits

    def count_in(self, way: Way, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Return what `count` does, in a way that is known."""
        deadline = _deadline(request, started)
        ways = way.parts
        if way.formula is not None:
            outcome = self._from_tables(graph, plan, way.formula, request, started, deadline)
            if outcome is not None:
                return outcome
            ways = self._parts(graph, plan, request)
        watched = Watching(request, started, deadline, plan.multiplier)
        for parts in ways:
            try:
                found = self._count_parts(graph, parts, watched)
            except DeviceMemoryError:
                if parts[0].bits is None:
                    raise
                continue
            if found is not None:
                break
        else:
            return self._on_host(graph, plan, request, started)
        total = found.found * plan.multiplier
        if request.limit is not None and total > request.limit:
            return Outcome(request.limit, False)
        return Outcome(total, found.complete)

    def bits(self, graph: Graph, plan: Plan, request: Request) -> Bits | None:
        """Return how the plan is counted in bits, if it is and is no clique."""
        bits = bits_for(graph, plan, request, getattr(self._accelerator.device, "speed", 0.0))
        return bits if bits is not None and bits.taken else None

    def told(self, graph: Graph, plan: Plan, request: Request) -> str:
        """Return what there is to say of how a plan is counted, beside why here."""
        if plan.impossible is not None or formula_for(plan, request, DEVICE_SPEEDS) is not None:
            return ""
        if request.tuning["bitmaps"] != "off" and clique_key(plan) is not None:
            return "; cliques in bits"
        bits = bits_for(graph, plan, request, getattr(self._accelerator.device, "speed", 0.0))
        if bits is not None and bits.taken:
            return f"; {bits.words}"
        told = "" if bits is None else f"; {bits.words}"
        if plan.tail is not None and device_tail(plan) is None:
            return told  # the CPU counts
        return told + groups_told(self._accelerator.device, graph, plan, request)

    def _count_parts(self, graph: Graph, parts: Sequence[Part], watched: Watching) -> Found | None:
        """Return what all parts come to; None if a number passed 128 bits."""
        found = 0
        # total * multiplier > limit exactly when total > limit // multiplier.
        most = watched.request.limit
        most = None if most is None else most // watched.multiplier
        reports = in_parts(watched.request.progress, [part.share for part in parts])
        for part, report in zip(parts, reports, strict=True):
            now = watched  # as it is, most often: each copy takes microseconds
            if report is not watched.request.progress:
                now = replace(now, request=replace(now.request, progress=report))
            if found:
                now = replace(now, before=found)
            left = None if most is None else most - found
            try:
                one = self._count_part(graph, part, left, now)
            except OutOfTimeError:
                return Found(found, False)
            if one is None:
                return None
            found += one.found
            if not one.complete or (most is not None and found > most):
                return Found(found, False)
        return Found(found, True)

    def _count_part(self, graph: Graph, part: Part, limit: int | None, watched: Watching) -> Found | None:
        request, started, deadline = watched.request, watched.started, watched.deadline
        with self._counting(graph, part.plan, request, limit, deadline, part=part) as search:
            if request.progress is not None:
                search.expect_looks()
            search.launch()
            in_time = self._watch(search, watched.multiplier, request, started, deadline, watched.before)
            if search.passed_128_bits():
                return None
            return Found(search.found(), in_time and not search.was_limited())

    def _from_tables(
        self,
        graph: Graph,
        plan: Plan,
        formula: Formula,
        request: Request,
        started: float,
        deadline: float | None,
    ) -> Outcome | None:
        """Return the count from tables, on the host where they pass 64 bits; None if that cannot be."""

        def search(table: Searched) -> int:
            inner = replace(request, limit=None, progress=None)
            found = self.count(graph, table.plan, inner, started)
            if not found.complete:
                raise OutOfTimeError
            return found.value

        try:
            tables = self._start_tables(graph, formula, request, deadline, search)
            with contextlib.closing(tables.run):
                if not self._watch(tables.run, 1, request, started, deadline):
                    return Outcome(0, False)
                total = tables.total()
        except OutOfTimeError:
            return Outcome(0, False)
        except DeviceMemoryError:
            return None
        except TooWide:
            try:
                with on_host():
                    return count_from_tables(graph, plan, formula, request, started)
            except OverflowError:
                return None  # weights of walks hold 64 bits there too
        return outcome_of_tables(total, plan, request)

    def _start_tables(
        self,
        graph: Graph,
        formula: Formula,
        request: Request,
        deadline: float | None,
        search: Callable[[Searched], int],
    ) -> Evaluation:
        return start_tables(self._accelerator, graph, formula, request, deadline, search)

    def _on_host(self, graph: Graph, plan: Plan, request: Request, started: float) -> Outcome:
        """Count numbers that the device has no room for: beyond 128 bits, or of very many sets."""
        with on_host():
            return CpuEngine().count(graph, plan, request, started)

    def count_together(
        self, graph: Graph, plans: Sequence[Plan], request: Request, started: float
    ) -> list[Outcome]:
        """Return the count of each plan; it takes a pass for each."""
        return [self.count(graph, plan, request, started) for plan in plans]

    def rows(self, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float) -> RowSource:
        """Start an enumeration of at most ``request.limit`` rows."""
        deadline = _deadline(request, started)
        goal, source = (Goal.LIST, RingRows) if request.tuning["rows"] == "ring" else (Goal.STORE, StoredRows)
        try:
            search = prepare(self._accelerator, graph, plan, request, goal, None, deadline)
        except OutOfTimeError:
            return NoRows(complete=False)
        return source(search, plan, request, batch_rows, started, deadline)

    def predict(self, graph: Graph, plan: Plan, request: Request) -> Prediction:
        """Return what a count will give and take, without searching."""
        space = None if plan.space is None else candidate_space(graph, plan.space, request.threads)
        narrowed = sum(narrowed_bytes(graph, key) for key in distinct_keys(plan))
        memory = MemoryReport(
            rows=narrowed if space is None else space.nbytes,
            search=0,
            device=device_bytes(self._accelerator.device, graph, plan, request),
        )
        count = expected_count(plan, request.limit)
        if (formula := formula_for(plan, request, DEVICE_SPEEDS)) is not None:
            memory = replace(memory, device=table_bytes(graph, formula))
            return Prediction(count, formula.seconds, request.threads, memory)
        work = host_work(plan, None, request)
        speed = getattr(self._accelerator.device, "speed", 0.0)
        seconds = None if work is None else H100.search(work, speed)
        if (bits := self.bits(graph, plan, request)) is not None:
            seconds = bits.expected
        note = "nothing was sampled" if seconds is None else None
        return Prediction(count, seconds, request.threads, memory, note=note)

    def _counting(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        limit: int | None,
        deadline: float | None,
        devices: int = 1,
        part: Part | None = None,
    ) -> DeviceSearch:
        """Return the search that counts by a plan, set up before or now: cliques have their own kernel.

        One of several devices sets up a new one each time: its share of the work is its own.

        Parameters
        ----------
        part
            The part of a count that this plan is of; None for all of it, by no bits but those of cliques.
        """
        part = part or Part(plan)
        kept = resting(graph, self._accelerator)
        what = part.bits is not None, part.roots
        name = ("count", id(plan), *what, request.gpu_memory, request.switches)
        search = kept.begin(name, DeviceSearch, request) if devices == 1 else None
        if search is not None:
            search.task.limit = task_limit(limit)
            return search
        if part.bits is not None:
            search = prepare_cone(self._accelerator, graph, part.bits, request, limit, deadline, devices)
        elif part.roots is None:
            search = prepare_cliques(self._accelerator, graph, plan, request, limit, deadline, devices)
        search = search or prepare(
            self._accelerator, graph, plan, request, Goal.COUNT, limit, deadline, part.roots
        )
        if devices == 1:
            kept.keep(name, search, plan, request)
        return search

    def _watch(
        self,
        search: Watched,
        multiplier: int,
        request: Request,
        started: float,
        deadline: float | None,
        before: int = 0,
    ) -> bool:
        """Wait for the end of a search; False if time ran out first."""
        next_look = started + _LOOK_SECONDS
        for now in moments():
            if search.done():
                search.tell_time()
                return True
            if request.check is not None:
                request.check()
            if deadline is not None and now >= deadline:
                search.stop_and_wait()
                search.tell_time()
                return False
            if now >= next_look and request.progress is not None:
                next_look = now + _LOOK_SECONDS
                if (seen := search.look()) is not None:
                    done, total, found = seen
                    found = (before + found) * multiplier
                    request.progress(ProgressReport(done, total, found, now - started))
        raise AssertionError


def _deadline(request: Request, started: float) -> float | None:
    return None if request.timeout is None else started + request.timeout
