"""Streams in sequence and as one batch, on one thread and all; the latency of single updates."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.measure import Clock, Timing, cpu_clock, repeat, wall_clock
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part
from motiflux.units import quantity

PARTS = Path(__file__).resolve().parent
cases = load_part(PARTS / "cases.py")
ENGINE = "cpu"
SINGLES = 2_000
"""Most updates that are applied by a call each."""
SCALE = 20


def all_threads() -> int:
    return len(os.sched_getaffinity(0))


def on_threads(name: str, threads: int) -> str:
    return f"{name}, wall, {quantity(threads, 'thread')}"


def applied(
    loaded: cases.Loaded, runs: int, clock: Clock = cpu_clock, **options: object
) -> tuple[mf.PatternDelta, Timing]:
    """Apply a stream to a fresh Monitor, each time."""
    fresh: list[mf.Monitor] = []

    def before() -> None:
        for monitor in fresh:
            monitor.close()
        fresh[:] = [mf.Monitor(loaded.graph, loaded.pattern, device="cpu", **options)]  # type: ignore[arg-type]

    return repeat(lambda: fresh[0].apply(loaded.updates)[loaded.pattern], clock, runs, before)


@dataclass(frozen=True)
class Modes:
    """A stream as one batch on one thread; by the wall clock, both modes on one thread and on all."""

    case: cases.StreamCase
    quick: bool = False

    @property
    def name(self) -> str:
        return f"modes {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        loaded = self.case.load()
        for listed in (False, True):
            what = f"{'list' if listed else 'count'} {self.case.name}"
            batch, seconds = applied(loaded, settings.runs, mode="batch", threads=1, matches=listed)
            net = batch.positive - batch.negative
            wrong = net != loaded.net
            checked = f"{loaded.net:+d} (net)"
            yield CaseResult(f"batch {what}", ENGINE, net, checked, seconds, disagrees=wrong)
            for mode, name in (("sequence", what), ("batch", f"batch {what}")):
                yield from self.scaled(loaded, settings.runs, name, mode=mode, matches=listed)

    def scaled(self, loaded: cases.Loaded, runs: int, name: str, **options: object) -> Iterator[CaseResult]:
        one: BaselineTime | None = None
        for threads in dict.fromkeys((1, all_threads())):
            found, seconds = applied(loaded, runs, wall_clock, threads=threads, **options)
            net = found.positive - found.negative
            ratio = None if one is None else one.seconds / seconds.min
            wrong = net != loaded.net
            yield CaseResult(
                on_threads(name, threads), ENGINE, net, f"{loaded.net:+d} (net)", seconds, one, ratio, wrong
            )
            one = BaselineTime("motiflux, 1 thread", seconds.min)


@dataclass(frozen=True)
class Latency:
    """A call for each update, by the wall clock: the seconds of all, percentiles of each one's least."""

    case: cases.StreamCase
    quick: bool = False

    @property
    def name(self) -> str:
        return f"apply {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        loaded = self.case.load()
        updates = loaded.updates
        size = min(SINGLES, len(updates))
        singles = [next(updates.rows(np.array([row])).slices(1)) for row in range(size)]
        runs = []
        for _ in range(settings.runs):
            with mf.Monitor(loaded.graph, loaded.pattern, threads=1, device="cpu") as monitor:
                runs.append([timed(monitor, single) for single in singles])
        least = np.min(runs, axis=0)  # of each update: what else runs on the machine takes whole milliseconds
        half, most = np.percentile(least, [50, 99]) * 1e6
        figures = {"p50_microseconds": float(half), "p99_microseconds": float(most)}
        seconds = Timing.of([sum(run) for run in runs])
        yield CaseResult(self.name, ENGINE, size, None, seconds, figures=figures)


def timed(monitor: mf.Monitor, updates: mf.Updates) -> float:
    begun = time.perf_counter()
    monitor.apply(updates)
    return time.perf_counter() - begun


@dataclass(frozen=True)
class LargeBatch:
    """A tenth of the edges of the R-MAT graph as one batch, triangles counted."""

    read: Callable[[], mf.Graph]
    quick: bool = False

    @property
    def name(self) -> str:
        return f"batch R-MAT {SCALE} triangle"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        graph = self.read()
        edges = graph.to_edges()
        late = np.random.default_rng(5).random(len(edges.src)) < 0.1
        first = mf.Graph.from_edges((edges.src[~late], edges.dst[~late]), num_vertices=graph.num_vertices)
        updates = mf.Updates(np.ones(int(late.sum()), bool), edges.src[late], edges.dst[late])
        pattern = mf.Pattern.parse("(a)--(b)--(c)--(a)")
        net = int(mf.count(graph, pattern)) - int(mf.count(first, pattern))
        loaded = cases.Loaded(first, pattern, updates, net, f"{net:+d} by counts before and after")
        one: BaselineTime | None = None
        for threads in dict.fromkeys((1, all_threads())):
            found, seconds = applied(loaded, settings.runs, wall_clock, threads=threads, mode="batch")
            ratio = None if one is None else one.seconds / seconds.min
            yield CaseResult(
                on_threads(self.name, threads),
                ENGINE,
                found.positive,
                loaded.source,
                seconds,
                one,
                ratio,
                loaded.disagrees(found),
            )
            one = BaselineTime("motiflux, 1 thread", seconds.min)
