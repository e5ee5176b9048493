"""Updates that are answered one by one: the experiments of DCSM (section 2), in one run on one machine.

``motiflux bench streaming``, on a machine with a GPU (``MOTIFLUX_DEVICE`` names it; default ``cuda``). Graphs
are drawn: *flows* among 2^17 hosts (``MOTIFLUX_FLOWS`` is the scale), directed, with labels of edges, of
which a host has at most 1,000; a *power law*, R-MAT 16 with labels of vertices (``MOTIFLUX_RMAT``); and
*hubs*, eight vertices of 40,000 neighbours (``MOTIFLUX_HUB``), which all updates change: an
insertion copies the row of a hub. Half of the updates are insertions.
They arrive as a Poisson process of 1,000 to two million a second
(``MOTIFLUX_RATES``), for half a second each (``MOTIFLUX_LOAD_SECONDS``), at most 100,000. Times are wall
clock, in microseconds.

``WORLD, rate N, WAY``   the load at a rate, applied in one of these ways:

  ``ring``      the resident kernel, by its rings, with native code at both ends
  ``python``    the same, by Python at both ends
  ``feed``      `Monitor.feed` with ``engine="streaming"``
  ``streaming``, ``changing``, ``cpu``
                adaptive batches: `Monitor.apply` of all that waits, whenever the call before is done; on the
                CPU by all threads, and by one
  ``auto``      the same with ``device="auto"``, which is to take the CPU where that is better
  ``feed of the cpu``
                `Monitor.feed` on the CPU, by all threads
  ``batch of 128``, ``batch of 4096``, and the same of ``changing`` and ``outofcore``
                batches of a fixed size. Their waits follow from the times of batches and from arrivals, so
                they are computed, from the same times for all rates

``WORLD, at once, WAY``  all updates are there at once: updates a second
``soak``                 50 million updates (``MOTIFLUX_SOAK``); after each sixteenth a recount, and memory of
                         versions. Stalls are times of 1 ms and more in which no update was answered; those of
                         the updater, when all that was published had been searched. Not in the quick run

Figures: response (arrival to the begin of work, the measure of DCSM) and answer (arrival to the changes of
matches): median, 99th percentile and greatest; updates a second, and the share that they are of the way's own
at once. The ratio is that of the 99th percentile of adaptive batches of ``changing`` to that of the way.
``streaming_parts/chart.py RESULTS`` draws them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

import motiflux as mf
from motiflux.arguments import resolve_threads
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Probe, Settings, Suite, load_part
from motiflux.device import open_device

PARTS = Path(__file__).resolve().parent / "streaming_parts"
worlds = load_part(PARTS / "worlds.py")
load = load_part(PARTS / "load.py")
DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
FLOWS, SCALE = int(os.environ.get("MOTIFLUX_FLOWS", "17")), int(os.environ.get("MOTIFLUX_RMAT", "16"))
LOAD_SECONDS = float(os.environ.get("MOTIFLUX_LOAD_SECONDS", "0.5"))
SOAK = int(os.environ.get("MOTIFLUX_SOAK", "50000000"))
HUB = int(os.environ.get("MOTIFLUX_HUB", "40000"))
MOST_DEGREE, MOST_UPDATES, LEAST_UPDATES = 1000, 100_000, 256
RATES = tuple(
    int(rate)
    for rate in os.environ.get("MOTIFLUX_RATES", "1000,10000,100000,300000,1000000,2000000").split(",")
)
SIZES = (128, 4096)
FIXED_UPDATES = 8 * 4096
HEAVY_UPDATES, WARMING = 2_000, 256
SOAK_CALL, SOAK_PARTS = 65_536, 16
ALL_AT_ONCE = 1e12
"""A rate at which all updates are there before the first one is answered."""
P50_US, P99_US, LOW_DEGREE_RATE, OVER_CPU, OVER_ADAPTIVE = 12.0, 40.0, 1e6, 2.0, 2.0
OVER_BEST, GROWTH = 1.1, 1.02
"""The time of ``device="auto"`` over the better one, and of memory in use over that of the part before."""
BELOW = 0.8
"""The share of their saturation up to which adaptive batches are compared."""


@dataclass(frozen=True)
class Load:
    """A graph that changes, and a pattern that is watched on it.

    Parameters
    ----------
    most
        The most updates at a rate.
    """

    name: str
    pattern: str
    graph: Literal["flows", "power law", "hubs"]
    most: int = MOST_UPDATES

    def world(self) -> Any:
        """Draw it."""
        if self.graph == "flows":
            return worlds.flows(FLOWS, self.needed(), MOST_DEGREE)
        if self.graph == "hubs":
            return worlds.hubs(SCALE, self.needed(), HUB)
        return worlds.power_law(SCALE, self.needed())

    def count(self, rate: float) -> int:
        """Return the number of updates at a rate."""
        return int(min(max(LEAST_UPDATES, rate * LOAD_SECONDS), self.most, MOST_UPDATES))

    def needed(self) -> int:
        """Return the number of updates at all rates."""
        return sum(map(self.count, (*RATES, ALL_AT_ONCE)))


LOADS = (
    Load("flows triangle", "(a)-->(b)-->(c)-->(a)", "flows"),
    Load("flows path", "(a)-[:0]->(b)-[:1]->(c)-[:2]->(d)", "flows"),
    Load("power law triangle", "(a:0)--(b:1)--(c:2)--(a), (c)--(d:3)", "power law"),
    Load("power law diamond", "(a)--(b)--(c)--(a), (c)--(d)--(b)", "power law", most=HEAVY_UPDATES),
    Load("hubs triangle", "(a)--(b)--(c)--(a)", "hubs", most=HEAVY_UPDATES),
)
HEAVY = "power law diamond"
QUICK, SLOW = (LOADS[0], LOADS[2]), ("python", "cpu, 1 thread")
"""The loads of the quick run, and the ways that are not in it."""
THREADS = resolve_threads(None)
RING, ADAPTIVE, CPU = "ring", "changing", f"cpu, {THREADS} threads"


@dataclass(frozen=True)
class Way:
    """How updates are applied: the arguments of the monitor, and the function that applies a load."""

    name: str
    engine: str
    apply: Callable[[mf.Monitor, mf.Updates, Any], Any]
    threads: int | None = None

    def monitor(self, graph: mf.Graph, pattern: str, warming: mf.Updates) -> mf.Monitor:
        """Make it, with its rows and kernels loaded: it applies some updates, and undoes them."""
        device: Any = self.engine if self.engine in ("cpu", "auto") else DEVICE
        made = mf.Monitor(graph, pattern, device=device, engine=self.engine, threads=self.threads)
        made._hold_engine(on=True)  # as a feed does
        made.apply(warming)  # kernels are compiled, and memory is there
        made.apply(load.undone(warming))
        if self.engine == "streaming":
            self.wait_for_kernel(made)
        if self.engine == "auto":
            self.wait_for_choice(made, warming)
        return made

    @staticmethod
    def wait_for_choice(made: mf.Monitor, warming: mf.Updates) -> None:
        """Have calls chosen as later ones are: the first ones tell how long they take."""
        made.apply(warming)
        made.apply(load.undone(warming))
        engine: Any = None if made._auto is None else made._auto._engine
        while engine is not None and not engine.is_ready():
            time.sleep(0.1)

    @staticmethod
    def wait_for_kernel(made: mf.Monitor) -> None:
        """Have the kernel at full speed run: the first call had one that takes less time to compile."""
        engine: Any = made._engine
        while not engine.is_ready():
            engine.stream.park()
            engine.stream.start()
            time.sleep(0.1)


def _adaptive(monitor: mf.Monitor, updates: mf.Updates, arrive: Any) -> Any:
    return load.adaptive(monitor, updates, arrive(len(updates)), MOST_UPDATES)


def _through_feed(monitor: mf.Monitor, updates: mf.Updates, arrive: Any) -> Any:
    return load.through_feed(monitor, updates, arrive(len(updates)))


def _by_ring(monitor: mf.Monitor, updates: mf.Updates, arrive: Any) -> Any:
    return load.in_kernel(monitor, updates, arrive, load.by_ring)


def _by_python(monitor: mf.Monitor, updates: mf.Updates, arrive: Any) -> Any:
    return load.in_kernel(monitor, updates, arrive, load.pumped)


WAYS = (
    Way(ADAPTIVE, "changing", _adaptive),  # first: the baseline of the others
    Way(RING, "streaming", _by_ring),
    Way("python", "streaming", _by_python),
    Way("feed", "streaming", _through_feed),
    Way("streaming", "streaming", _adaptive),
    Way(CPU, "cpu", _adaptive),
    Way("cpu, 1 thread", "cpu", _adaptive, threads=1),
    Way("auto", "auto", _adaptive),
    Way("feed of the cpu", "cpu", _through_feed),
)


@lru_cache(maxsize=len(LOADS))
def known(one: Load) -> list[tuple[int, int]]:
    """Return what the CPU Monitor finds at each rate, and at once."""
    world = one.world()
    with mf.Monitor(world.graph, one.pattern, device="cpu") as monitor:
        found = []
        for first, last in _slices(one):
            delta = monitor.apply(load.part(world.updates, first, last))[0]
            found.append((delta.positive, delta.negative))
    return found


def _slices(one: Load) -> Iterator[tuple[int, int]]:
    first = 0
    for rate in (*RATES, ALL_AT_ONCE):
        yield first, first + one.count(rate)
        first += one.count(rate)


_baselines: dict[tuple[str, float], float] = {}
"""The 99th percentile of adaptive batches, in microseconds, by load and rate."""


@dataclass(frozen=True)
class Loaded:
    """A load in one way, at all rates, one after another on one monitor."""

    load: Load
    way: Way
    quick: bool = True

    @property
    def name(self) -> str:
        """The load and the way."""
        return f"{self.load.name}, {self.way.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Apply the load at each rate."""
        world, expected = self.load.world(), known(self.load)
        applied = []
        warming = load.part(world.updates, 0, min(WARMING, self.load.count(RATES[0])))
        with self.way.monitor(world.graph, self.load.pattern, warming) as monitor:
            for rate, (first, last) in zip((*RATES, ALL_AT_ONCE), _slices(self.load), strict=True):

                def arrive(count: int, rate: float = rate) -> Any:
                    return load.arrivals(rate, count)

                applied.append(self.way.apply(monitor, load.part(world.updates, first, last), arrive))
        most = applied[-1].rate
        for rate, one, changes in zip((*RATES, ALL_AT_ONCE), applied, expected, strict=True):
            found = (one.positive, one.negative)
            yield _result(self.load, self.way.name, self.way.engine, rate, one.times, most, found, changes)


def _result(
    of: Load,
    way: str,
    engine: str,
    rate: float,
    times: Any,
    most: float,
    found: tuple[int, int],
    expected: tuple[int, int],
) -> CaseResult:
    at = "at once" if rate == ALL_AT_ONCE else f"rate {rate}"
    figures = {} if times is None else times.figures()
    if most and rate != ALL_AT_ONCE:
        figures["utilisation"] = rate / most
    p99 = figures.get("answer_p99_us")
    if way == ADAPTIVE and p99 is not None:
        _baselines[of.name, rate] = p99
    base = _baselines.get((of.name, rate))
    return CaseResult(
        f"{of.name}, {at}, {way}",
        engine,
        sum(found),
        "the CPU Monitor",
        None if p99 is None else Timing.of([1e-6 * p99]),
        None if base is None else BaselineTime("adaptive batches, 99th percentile", 1e-6 * base),
        None if base is None or not p99 else base / p99,
        found != expected,
        figures=figures,
    )


@dataclass(frozen=True)
class Fixed:
    """Batches of a fixed size, by the time that each takes."""

    load: Load
    engine: str
    size: int
    quick: bool = True

    @property
    def name(self) -> str:
        """The load, the engine and the size."""
        return f"{self.load.name}, {self.engine}, batches of {self.size}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Time the batches, and compute what updates wait for them."""
        world = self.load.world()
        updates = load.part(world.updates, 0, min(FIXED_UPDATES, self.load.needed(), len(world.updates)))
        with mf.Monitor(world.graph, self.load.pattern, device="cpu", mode="batch") as monitor:
            expected, _ = load.service_times(monitor, updates, self.size)
        device: Any = DEVICE
        with mf.Monitor(
            world.graph, self.load.pattern, device=device, engine=self.engine, mode="batch"
        ) as monitor:
            warming = load.part(updates, 0, min(WARMING, len(updates)))
            monitor.apply(warming)
            monitor.apply(load.undone(warming))
            found, service = load.service_times(monitor, updates, self.size)
        way = f"{self.engine} of {self.size}"
        most = len(updates) / found.seconds
        for rate in (*RATES, ALL_AT_ONCE):
            arrived = load.arrivals(rate, max(2 * self.size, self.load.count(rate)))
            times = load.of_fixed_batches(service, self.size, arrived)
            changes = (found.positive, found.negative), (expected.positive, expected.negative)
            yield _result(self.load, way, self.engine, rate, times, most, *changes)


@dataclass(frozen=True)
class Soak:
    """Many updates on one graph: memory, and a recount at the end."""

    quick: bool = False
    name = "soak"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        """Insert and delete edges of a pool at random."""
        one = LOADS[0]
        world = worlds.flows(FLOWS, 2 * SOAK_CALL, MOST_DEGREE)
        pool = world.updates
        random = np.random.default_rng(7)
        in_use: list[Any] = []
        longest, done, drifted = 0.0, 0, 0
        count = int(mf.count(world.graph, one.pattern, device="cpu"))
        with WAYS[1].monitor(world.graph, one.pattern, load.part(pool, 0, 0)) as monitor:
            stalls = Stalls(monitor)
            seconds = 0.0
            while done < SOAK:
                chosen = random.integers(0, len(pool), min(SOAK_CALL, SOAK - done))
                some = pool.rows(chosen)
                some = mf.Updates.of_checked(
                    random.random(len(chosen)) < 0.5, some.sources, some.targets, some.labels
                )
                call = time.perf_counter()
                count += monitor.apply(some)[0].net
                call = time.perf_counter() - call
                longest, seconds, done = max(longest, call), seconds + call, done + len(chosen)
                if done * SOAK_PARTS // SOAK > len(in_use):
                    in_use.append(_memory(monitor))
                    drifted += int(monitor.count(one.pattern, device="cpu")) != count
        figures = {f"bytes_in_use_{number}": float(one["bytes_in_use"]) for number, one in enumerate(in_use)}
        figures |= {name: float(value) for name, value in in_use[-1].items()}
        used = [float(one["bytes_in_use"]) for one in in_use[len(in_use) // 4 :]]
        figures |= {
            "growth": max(used) / used[0],
            "updates_per_second": done / seconds,
            "longest_call_seconds": longest,
            "recounts_that_differ": float(drifted),
            "stalls": float(stalls.all),
            "stalls_of_the_updater": float(stalls.of_updater),
        }
        yield CaseResult(
            "soak",
            "streaming",
            count,
            "recounts",
            Timing.of([seconds]),
            disagrees=drifted > 0,
            figures=figures,
        )


class Stalls:
    """Counts the times in which the host got no answer for a millisecond although updates were under way.

    Attributes
    ----------
    all
        Their number.
    of_updater
        Of them, those in which all that was published had been searched: the updater, or the collector that
        it waits for, was at work.
    """

    def __init__(self, monitor: mf.Monitor) -> None:
        self.all = self.of_updater = 0
        stream: Any = monitor._engine.stream  # type: ignore[union-attr]
        exchange = stream.exchange

        def counted(updates: Any, seconds: float) -> bool:
            is_done: bool = exchange(updates, seconds)
            if not is_done:
                progress = stream.progress()
                self.all += 1
                self.of_updater += progress.finished >= progress.published
            return is_done

        stream.exchange = counted


def _memory(monitor: mf.Monitor) -> Any:
    """Return the counters of the resident kernel's memory."""
    stream: Any = monitor._engine.stream  # type: ignore[union-attr]
    stream.park()
    return stream.counters()


def build(shared: Path) -> Suite:
    """Return the suite; it needs no files."""
    probes: list[Probe] = []
    for one in LOADS:
        probes += [Loaded(one, way, quick=one in QUICK and way.name not in SLOW) for way in WAYS]
        for engine in ("batch", "changing", "outofcore"):
            sizes = SIZES[:1] if one.name == HEAVY else SIZES
            probes += [Fixed(one, engine, size, quick=False) for size in sizes]
    probes.append(Soak())
    return Suite("streaming", (), bars, probes=probes, device=model)


def model() -> str:
    """Return the name of the device, which this process need not have opened yet."""
    return open_device(DEVICE).model


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    """Return the bars that we set ourselves."""
    by_name = {one.case: one for one in results}

    def figure(case: str, name: str) -> float | None:
        return by_name[case].figures.get(name) if case in by_name else None

    light, at = LOADS[0].name, "rate 100000"
    found = [Bar("cases that differ from the CPU Monitor", sum(one.disagrees for one in results), 0, "lower")]
    for name, target in (("answer_p50_us", P50_US), ("answer_p99_us", P99_US)):
        text = f"{light}, 100,000 updates a second, by the rings: {name}"
        found.append(Bar(text, figure(f"{light}, {at}, {RING}", name), target, "lower"))
    low = LOADS[2].name
    text = f"{low}, by the rings: updates a second, all there at once"
    found.append(
        Bar(text, figure(f"{low}, at once, {RING}", "updates_per_second"), LOW_DEGREE_RATE, "higher")
    )
    ours, theirs = (figure(f"{HEAVY}, at once, {way}", "updates_per_second") for way in (RING, CPU))
    ratio = None if ours is None or not theirs else ours / theirs
    found.append(
        Bar(f"{HEAVY}: updates a second over the CPU on {THREADS} threads", ratio, OVER_CPU, "higher")
    )
    found += [
        Bar(
            "soak: memory in use at most, over that after a quarter",
            figure("soak", "growth"),
            GROWTH,
            "lower",
        ),
        Bar("soak: stalls of 1 ms of the updater", figure("soak", "stalls_of_the_updater"), 0, "lower"),
        Bar("soak: recounts that differ", figure("soak", "recounts_that_differ"), 0, "lower"),
    ]
    for one in LOADS:
        ways = ("auto", CPU, ADAPTIVE)
        rates = [figure(f"{one.name}, at once, {way}", "updates_per_second") for way in ways]
        auto, *both = [rate for rate in rates if rate] if all(rates) else [None]
        text = f"{one.name}, at once: time of device='auto' over that of the better one"
        found.append(Bar(text, max(both) / auto if auto else None, OVER_BEST, "lower"))
    for one in LOADS:
        most = figure(f"{one.name}, at once, {ADAPTIVE}", "updates_per_second")
        below = [rate for rate in RATES if most is not None and rate <= BELOW * most]
        ratios = [
            by_name[case].ratio for rate in below if (case := f"{one.name}, rate {rate}, {RING}") in by_name
        ]
        known_ratios = [ratio for ratio in ratios if ratio is not None]
        text = (
            f"{one.name}: 99th percentile of adaptive batches over the rings', least up to 80 % of their most"
        )
        found.append(Bar(text, min(known_ratios, default=None), OVER_ADAPTIVE, "higher"))
    return found
