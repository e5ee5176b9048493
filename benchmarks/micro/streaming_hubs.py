"""Updates of hubs by a resident kernel: ``streaming_hubs.py [DEVICE]``.

Eight vertices have rows of ROW entries (by default 40,000), which all updates change. An insertion makes a
new version of such a row, which is copied. Streams of UPDATES updates (2,000) are applied in these ways in
turns, in one process, to monitors that count triangles:

    cpu             the CPU's monitor, all threads
    team            all rows copied by the updater's team, entry by entry (without "long_strips")
    strips          in strips, by the warps of the updater (without "helpers")
    no sorts        as helpers 1024, but a batch ends at a row that is changed again (without "sorts")
    helpers N       in strips of N entries, which executors copy, too

    inserted        all updates are insertions
    deleted         the same edges are deleted: nothing is copied, and entries of rows have ended
    half            half of each, in an order that is drawn
    undone          the same backwards
    at 1,000/s ...  as half, but updates arrive at such a rate (--rates), for half a second

It prints milliseconds of the whole stream (the least of --rounds) and microseconds an update where all are
there at once, and microseconds from an update's arrival to its answer, p50 and p99, at rates; and how many
strips were copied, and by executors. Counts of each update are compared with the CPU's, but at rates, where
sums are. --stages prints the cycles of each step of a batch, too; measuring takes some time itself.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import motiflux as mf
from motiflux.bench.suite import load_part
from motiflux.codegen.streaming import STEPS
from motiflux.gpu.streaming import UPDATE, StreamSettings
from motiflux.gpu.streaming import engine as streaming_engine

load = load_part(Path(__file__).resolve().parents[1] / "suite" / "streaming_parts" / "load.py")
HUBS, TRIANGLE, CPU = 8, "(a)--(b)--(c)--(a)", "cpu"


class World:
    """A graph with hubs, and streams of updates of their rows."""

    def __init__(self, row: int, updates: int) -> None:
        self.random = np.random.default_rng(13)
        self.others, self.updates = 3 * row, updates
        drawn = [self.random.permutation(self.others) for _ in range(HUBS)]
        hubs = np.repeat(np.arange(HUBS), row)
        ends = HUBS + np.concatenate([other[:row] for other in drawn])
        sparse = np.unique(np.sort(HUBS + self.random.integers(0, self.others, (2 * self.others, 2))), axis=0)
        sparse = sparse[sparse[:, 0] != sparse[:, 1]]
        src, dst = np.concatenate([hubs, sparse[:, 0]]), np.concatenate([ends, sparse[:, 1]])
        self.graph = mf.Graph.from_edges((src, dst), num_vertices=HUBS + self.others)
        self.there = [HUBS + other[:row] for other in drawn]
        self.absent = [HUBS + other[row:] for other in drawn]

    def inserted(self, count: int) -> mf.Updates:
        """Return insertions of edges that are not there."""
        hubs = self.random.integers(0, HUBS, count)
        ends = [self.random.permutation(of)[:count] for of in self.absent]
        return mf.Updates(
            np.ones(count, bool), hubs, np.array([ends[hub][at] for at, hub in enumerate(hubs)])
        )

    def half(self, count: int) -> mf.Updates:
        """Return insertions and deletions."""
        inserts = self.random.permutation(np.arange(count) % 2 == 0)
        hubs = self.random.integers(0, HUBS, count)
        new = [self.random.permutation(of)[:count] for of in self.absent]
        old = [self.random.permutation(of) for of in self.there]
        ends = [
            (new if inserted else old)[hub][at % len(old[hub])]
            for at, (inserted, hub) in enumerate(zip(inserts, hubs, strict=True))
        ]
        return mf.Updates(inserts, hubs, np.array(ends))


@dataclass
class Way:
    """How updates are applied."""

    name: str
    monitor: mf.Monitor
    figures: dict[str, dict[str, float]] = field(default_factory=dict)

    def note(self, stream: str, figures: dict[str, float]) -> None:
        """Keep the figures of a stream; the least times of several rounds."""
        known = self.figures.setdefault(stream, figures)
        if figures.get("ms", 0) < known.get("ms", 0):
            self.figures[stream] = figures


def settings_of(given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the settings of each way on the device."""
    ways: dict[str, dict[str, Any]] = {
        "team": {"without": frozenset({"long_strips"})},
        "strips": {"without": frozenset({"helpers"})},
        "no sorts": {"without": frozenset({"sorts"})},
    }
    return ways | {f"helpers {strip}": {"strip": strip} for strip in given.strip}


def opened(world: World, given: argparse.Namespace, changed: dict[str, Any]) -> mf.Monitor:
    """Return a monitor on the device, whose kernel and rows are loaded."""

    def made(**usual: Any) -> StreamSettings:
        rest: Any = {**usual, "quick_first": False, "memory_share": 0.05, "measures": given.stages, **changed}
        return StreamSettings(**rest)

    with mock.patch.object(streaming_engine, "StreamSettings", made):
        monitor = mf.Monitor(world.graph, TRIANGLE, device=given.device, engine="streaming")
        warm(monitor, world)
    monitor._hold_engine(on=False)
    return monitor


def warm(monitor: mf.Monitor, world: World) -> None:
    """Have the kernel run, and rows loaded."""
    monitor._hold_engine(on=True)
    updates = mf.Updates(np.ones(8, bool), np.arange(8), np.array([of[-1] for of in world.absent]))
    monitor.apply(updates)
    monitor.apply(load.undone(updates))


def by_rings(world: World, monitor: mf.Monitor, updates: mf.Updates, arrived: Any) -> tuple[Any, Any]:
    """Submit updates to the kernel as they arrive, by its rings; return the matches and the times."""
    engine: Any = monitor._engine
    runs: list[Any] = []

    def answered(listed: Any, keeps_going: Any) -> bool:
        base = engine.stream.moment
        arrive = arrived[: len(listed)] if not runs else arrived[-len(listed) :]
        records, times = load.by_ring(engine.stream, listed.updates.view(UPDATE).reshape(-1), arrive)
        listed.take(records, base)
        runs.append(times)
        return bool(keeps_going())

    warm(monitor, world)
    usual, engine._answered = engine._answered, answered
    try:
        delta = monitor.apply(updates)
    finally:
        engine._answered = usual
    monitor._hold_engine(on=False)
    return delta[0], load.together(runs)


def counts_of(found: Any) -> list[Any]:
    """Return what each update gave."""
    return [getattr(found, name).tolist() for name in ("updates", "matches", "signs")]


def apply_at_once(world: World, ways: list[Way], stream: str, updates: mf.Updates) -> None:
    """Have all ways apply a stream whose updates are all there, and compare their counts."""
    wanted = None
    for way in ways:
        if way.name == CPU:
            begun = time.perf_counter()
            found = way.monitor.apply(updates)[0]
            figures = {"ms": 1e3 * (time.perf_counter() - begun)}
        else:
            found, times = by_rings(world, way.monitor, updates, np.zeros(len(updates)))
            figures = {"ms": 1e3 * float(times.answered.max()), **counters_of(way.monitor)}
        figures["us_an_update"] = 1e3 * figures["ms"] / len(updates)
        way.note(stream, figures)
        counts = counts_of(found)
        wanted = counts if wanted is None else wanted
        assert counts == wanted, f"{way.name} differs in {stream}"


def apply_at_rate(world: World, ways: list[Way], stream: str, updates: mf.Updates, rate: int) -> None:
    """Have all ways apply a stream whose updates arrive at a rate, and compare their sums."""
    arrived, wanted = load.arrivals(rate, len(updates)), None
    for way in ways:
        if way.name == CPU:
            done = load.adaptive(way.monitor, updates, arrived, 4096)
            sums, times, more = (done.positive, done.negative), done.times, {}
        else:
            found, times = by_rings(world, way.monitor, updates, arrived)
            sums, more = (found.positive, found.negative), counters_of(way.monitor)
        assert times is not None
        figures = times.figures()
        way.note(stream, {"p50": figures["answer_p50_us"], "p99": figures["answer_p99_us"], **more})
        wanted = sums if wanted is None else wanted
        assert sums == wanted, f"{way.name} differs {stream}"


def counters_of(monitor: mf.Monitor) -> dict[str, float]:
    """Return strips that were copied, and the cycles of steps, since the kernel was started."""
    engine: Any = monitor._engine
    counters = dict(engine.stream.counters())
    found = {name: counters[name] for name in ("strips_copied", "strips_helped")}
    if "batches" in counters:
        found |= {"batches": counters["batches"], **{name: counters[f"cycles_{name}"] for name in STEPS}}
    return found


def show(stream: str, ways: list[Way]) -> None:
    """Print the figures of a stream."""
    for way in ways:
        figures = way.figures[stream]
        if "ms" in figures:
            text = f"{figures['ms']:9.2f} ms {figures['us_an_update']:8.2f} us an update"
        else:
            text = f"p50 {figures['p50']:8.1f} us  p99 {figures['p99']:8.1f} us"
        if figures.get("strips_copied"):
            text += f"  {figures['strips_copied']:>7,} strips, {figures['strips_helped']:,} by executors"
        print(f"  {stream:14} {way.name:14} {text}", flush=True)
        if "batches" in figures:
            cycles = {name: int(figures[name]) for name in STEPS}
            print(f"    since the first batch, cycles of {figures['batches']:,} batches: {cycles}")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("device", nargs="?", default="cuda")
    parser.add_argument("--row", type=int, default=40_000)
    parser.add_argument("--updates", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rates", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--strip", type=int, nargs="*", default=[512, 1024, 2048])
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    begun = time.perf_counter()
    world = World(given.row, given.updates)
    ways = [Way(CPU, mf.Monitor(world.graph, TRIANGLE, device="cpu"))]
    ways += [Way(name, opened(world, given, changed)) for name, changed in settings_of(given).items()]
    print(f"{HUBS} hubs of {given.row:,}, loaded after {time.perf_counter() - begun:.1f} s", flush=True)
    for _ in range(given.rounds):
        for names, updates in (
            (("inserted", "deleted"), world.inserted(given.updates)),
            (("half", "undone"), world.half(given.updates)),
        ):
            apply_at_once(world, ways, names[0], updates)
            apply_at_once(world, ways, names[1], load.undone(updates))
    for rate in given.rates:
        count = max(100, min(given.updates, rate // 2))
        apply_at_rate(world, ways, f"at {rate:,}/s", world.half(count), rate)
    for stream in ways[0].figures:
        show(stream, ways)
    print(f"no count differs from the CPU's; {time.perf_counter() - begun:.1f} s", flush=True)
    if given.output is not None:
        given.output.write_text(json.dumps({way.name: way.figures for way in ways}, indent=1) + "\n")


if __name__ == "__main__":
    main()
