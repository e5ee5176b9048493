"""Latency of answers of a resident kernel: ``streaming_latency.py [DEVICE] [SECONDS] [RATE ...]``.

Updates arrive at exponential distances, at RATE (by default 1,000 to 1,000,000) updates per second, for
SECONDS each. They insert edges into a graph of many short rows, the longest one of 1,000 entries, and
delete them again 10,000 updates later. For a triangle alone, and for a triangle and an edge, where each
update has an answer, it prints

    written    microseconds from an update's arrival to its line in the host's memory, p50 and p99
    answered   microseconds from its arrival to its answer at the host, p50, p99 and max
    per s      answers per second of the time that all of them took

With --stages it prints how long an update is at each stage, too, and the cycles of each step of a batch;
measuring takes some time itself. --without leaves shortcuts out (`StreamSettings.without`), separated by
commas; given several times, each is a run of its own. --warps is how many warps write updates. --quick
measures the kernel that serves until the one at full speed is compiled. --output FILE writes everything as
JSON.

First it checks that counts of a first batch of updates are those of the CPU's monitor.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.codegen.streaming import STAMPS
from motiflux.gpu.streaming import INSERTION, JUDGED, UPDATE, StreamSettings
from tests.device.streaming import StreamedRuns

VERTICES, EDGES, INSERTED, LONGEST, LAG = 200_000, 1_000_000, 1_300_000, 1_000, 10_000
RATES = 1_000, 10_000, 100_000, 300_000, 1_000_000
PATTERNS = {"triangle": ["(a)--(b)--(c)--(a)"], "triangle, edge": ["(a)--(b)--(c)--(a)", "(a)--(b)"]}
WRITTEN = "seen", "begun", "published"
SEARCHED = "seen", "issued", "taken", "ready", "searched", "answered", "told"
"""Stages of an update: the first one of a batch is searched before it is published."""
CHECKED = 1000
NEIGHBOURS = 100
"""Updates after each other that share what is known of the difference between the two clocks."""


class Load:
    """A graph and the edges that are inserted into it and deleted again."""

    def __init__(self, scale: int) -> None:
        self.random = np.random.default_rng(5)
        self.vertices, self.lag = VERTICES // scale, LAG // scale
        weights = (1.0 + np.arange(self.vertices)) ** -0.6
        weights /= weights.sum()
        weights = np.minimum(weights, LONGEST / (2 * EDGES))
        self.weights = weights / weights.sum()
        drawn = self._pairs(EDGES // scale + INSERTED // scale)
        kept, fresh = drawn[: EDGES // scale], drawn[EDGES // scale :]
        self.graph = mf.Graph.from_edges((kept[:, 0], kept[:, 1]), num_vertices=self.vertices)
        self.first = [("+", *edge) for edge in fresh[:CHECKED].tolist()]
        self._inserted = np.argsort(self.graph.vertex_ids)[fresh[CHECKED:]]
        self._at = 0
        longest = np.bincount(kept.ravel(), minlength=self.vertices).max()
        print(f"{self.vertices:,} vertices, {len(kept):,} edges, longest row {longest:,}", flush=True)

    def _pairs(self, count: int) -> Any:
        ends = self.random.choice(self.vertices, (2 * count, 2), p=self.weights)
        ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
        return ends[self.random.permutation(len(ends))[:count]]

    def begin(self) -> None:
        """Begin with the first edges again, for another stream."""
        self._at = 0

    def updates(self, rate: int, seconds: float, kind: int) -> tuple[Any, Any] | None:
        """Return updates and when they are due, in nanoseconds; None if too few edges are left."""
        count = int(min(rate * seconds / 2, 300_000, len(self._inserted) - self._at - self.lag))
        if count < 100:
            return None
        some = self._inserted[self._at : self._at + count]
        self._at += count
        updates = np.zeros(2 * count, UPDATE)
        updates["of"] = kind
        updates["source"][0::2], updates["target"][0::2] = some.T
        updates["inserts"][0::2] = JUDGED | INSERTION
        gone = np.roll(some, self.lag, axis=0)
        updates["source"][1::2], updates["target"][1::2] = gone.T
        updates["inserts"][1::2] = JUDGED
        # Of the first ones nothing is to be deleted yet; at the end, as many are left.
        keeps = np.ones(2 * count, bool)
        keeps[1 : 2 * min(self.lag, count) : 2] = False
        updates = updates[keeps]
        due = np.cumsum(self.random.exponential(1e9 / rate, len(updates))).astype(np.uint64)
        return updates, due


def percentiles(values: Any) -> dict[str, float]:
    """Return p50, p99 and the largest of some nanoseconds, in microseconds."""
    p50, p99, most = np.percentile(values, (50, 99, 100)) / 1e3
    return {"p50": float(p50), "p99": float(p99), "max": float(most)}


def stages(stamps: Any, times: Any, due: Any) -> dict[str, dict[str, float]]:
    """Return how long updates are at each stage.

    The clocks of host and device are compared by the fastest of NEIGHBOURS updates after each other: ``seen``
    is how much later than that one the others are seen. ``outside`` is all that is not on the device.
    """
    at = {name: stamps[:, column].astype(np.int64) for column, name in enumerate(STAMPS)}
    searched = at["searched"] > 0
    written, answered = times[searched, 0].astype(np.int64), times[searched, 1].astype(np.int64)
    at = {name: column[searched] for name, column in at.items()}
    ahead = at["seen"] - (due[searched].astype(np.int64) + written)
    for first in range(0, len(ahead), NEIGHBOURS):
        ahead[first : first + NEIGHBOURS] -= ahead[first : first + NEIGHBOURS].min()
    found = {"seen": ahead}
    for before, name in (*pairwise(WRITTEN), *pairwise(SEARCHED)):
        found[name] = at[name] - at[before]
    found["device"] = at["answered"] - at["seen"]
    found["outside"] = answered - written - found["device"]
    return {name: percentiles(column) for name, column in found.items()} if len(ahead) else {}


def run(
    load: Load, device: str, seconds: float, rates: list[int], texts: list[str], settings: StreamSettings
) -> Iterator[dict[str, Any]]:
    """Yield what is measured at each rate."""
    patterns = [mf.Pattern.parse(text) for text in texts]
    options: Any = {"mode": "sequence", "matches": False}
    runs = StreamedRuns(settings)
    begun = time.perf_counter()
    with (
        runs.answering(),
        mf.Monitor(load.graph, patterns, device=device, engine="changing", **options) as monitor,
        mf.Monitor(load.graph, patterns, device="cpu", **options) as expected,
    ):
        found, wanted = monitor.apply(load.first), expected.apply(load.first)
        for pattern in patterns:
            assert found[pattern].matches.tolist() == wanted[pattern].matches.tolist()
        stream, table = runs.stream, runs._table
        assert stream is not None
        assert table is not None
        kind = stream.kind(*runs.classes, tuple(range(len(table.levels))))
        print(f"  checked after {time.perf_counter() - begun:.1f} s", flush=True)
        load.begin()
        before = dict(stream.counters())
        for rate in rates:
            given = load.updates(rate, seconds, kind)
            if given is None:
                return
            updates, due = given
            first = stream.moment + 1
            stream.start()
            begun = time.perf_counter()
            times = stream.pace(updates, due)
            took = time.perf_counter() - begun
            stream.park()
            counters = dict(stream.counters())
            shown = slice(len(times) // 10, None)
            result: dict[str, Any] = {
                "rate": rate,
                "per_second": len(updates) / took,
                "written": percentiles(times[shown, 0]),
                "answered": percentiles(times[shown, 1]),
                "bytes_in_use": counters["bytes_in_use"],
                "parts_given": counters["parts_given"],
            }
            if settings.measures:
                stamps = stream.stamps(range(first, first + len(updates)))
                last = slice(len(times) - len(stamps), None)
                result["stages"] = stages(stamps, times[last], due[last])
                batches = max(1, counters["batches"] - before["batches"])
                result["updates_of_batch"] = len(updates) / batches
                result["cycles"] = {
                    name.removeprefix("cycles_"): (of - before[name]) // batches
                    for name, of in counters.items()
                    if name.startswith("cycles_")
                }
                before = counters
            yield result


def show(result: dict[str, Any]) -> None:
    """Print what was measured at one rate."""
    written, answered = result["written"], result["answered"]
    print(
        f"  {result['rate']:>9,}/s  written p50 {written['p50']:8.1f} p99 {written['p99']:8.1f}"
        f"  answered p50 {answered['p50']:8.1f} p99 {answered['p99']:8.1f} max {answered['max']:10.1f}"
        f"  {result['per_second']:11,.0f} per s  parts given {result['parts_given']:,}",
        flush=True,
    )
    if "stages" in result:
        parts = (f"{name} {of['p50']:.2f}/{of['p99']:.2f}" for name, of in result["stages"].items())
        print(f"    us, p50/p99: {'  '.join(parts)}")
        print(f"    {result['updates_of_batch']:.1f} updates a batch; cycles: {result['cycles']}", flush=True)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("device", nargs="?", default="cuda")
    parser.add_argument("seconds", nargs="?", type=float, default=2.0)
    parser.add_argument("rates", nargs="*", type=int, default=list(RATES))
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--warps", type=int, default=16)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--pattern", action="append", choices=list(PATTERNS), default=[])
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    load = Load(1 if given.device.startswith("cuda") else 200)
    results = []
    for without in given.without or [""]:
        names = frozenset(name for name in without.split(",") if name)
        settings = StreamSettings(
            memory_share=0.1,
            updater_warps=given.warps,
            quick_first=given.quick,
            measures=given.stages,
            without=names,
        )
        for name in given.pattern or PATTERNS:
            print(f"{name}{', without ' + without if names else ''}:", flush=True)
            for result in run(load, given.device, given.seconds, given.rates, PATTERNS[name], settings):
                show(result)
                results.append({"pattern": name, "without": sorted(names), **result})
                if given.output is not None:
                    given.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
