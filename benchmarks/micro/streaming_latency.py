"""Latency of answers of a resident kernel: ``streaming_latency.py [DEVICE] [SECONDS] [RATE ...]``.

With MOTIFLUX_STEPS=1 it prints the cycles of each step of a batch, too, which takes some time itself.

Updates arrive at exponential distances, at RATE (by default 1,000 to 1,000,000) updates per second, for
SECONDS each. They insert edges into a graph of many short rows, the longest one of 1,000 entries, and
delete them again 10,000 updates later. For a triangle alone, and for a triangle and an edge, where each
update has an answer, it prints

    written    microseconds from an update's arrival to the input ring, p50 and p99
    answered   microseconds from its arrival to its answer at the host, p50, p99 and max
    per s      answers per second of the time that all of them took

First it checks that counts of a first batch of updates are those of the CPU's monitor.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

VERTICES, EDGES, INSERTED, LONGEST, LAG = 200_000, 1_000_000, 1_300_000, 1_000, 10_000
RATES = 1_000, 10_000, 100_000, 300_000, 1_000_000
PATTERNS = {"triangle": ["(a)--(b)--(c)--(a)"], "triangle, edge": ["(a)--(b)--(c)--(a)", "(a)--(b)"]}


def main(device: str, seconds: float, rates: list[int]) -> None:
    import numpy as np

    import motiflux as mf
    from motiflux.gpu.streaming import INSERTION, JUDGED, UPDATE, StreamSettings
    from tests.device.streaming import StreamedRuns

    random = np.random.default_rng(5)
    scale = 1 if device.startswith("cuda") else 200
    vertices, edges, lag = VERTICES // scale, EDGES // scale, LAG // scale
    weights = (1.0 + np.arange(vertices)) ** -0.6
    weights /= weights.sum()
    weights = np.minimum(weights, LONGEST / (2 * EDGES))
    weights /= weights.sum()

    def pairs(count: int) -> Any:
        ends = random.choice(vertices, (2 * count, 2), p=weights)
        ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
        return ends[random.permutation(len(ends))[:count]]

    drawn = pairs(edges + INSERTED // scale)
    kept, fresh = drawn[:edges], drawn[edges:]
    graph = mf.Graph.from_edges((kept[:, 0], kept[:, 1]), num_vertices=vertices)
    number_of = np.argsort(graph.vertex_ids)
    degrees = np.bincount(kept.ravel(), minlength=vertices)
    print(f"{vertices:,} vertices, {len(kept):,} edges, longest row {degrees.max():,}", flush=True)
    for name, texts in PATTERNS.items():
        patterns = [mf.Pattern.parse(text) for text in texts]
        measures = os.environ.get("MOTIFLUX_STEPS") == "1"
        settings = StreamSettings(memory_share=0.1, measures=measures)
        options: Any = {"mode": "sequence", "matches": False}
        first = [("+", *edge) for edge in fresh[:1000].tolist()]
        runs = StreamedRuns(settings)
        begun = time.perf_counter()
        with (
            runs.answering(),
            mf.Monitor(graph, patterns, device=device, engine="changing", **options) as monitor,
            mf.Monitor(graph, patterns, device="cpu", **options) as expected,
        ):
            found, wanted = monitor.apply(first), expected.apply(first)
            for pattern in patterns:
                assert found[pattern].matches.tolist() == wanted[pattern].matches.tolist()
            stream, table = runs.stream, runs._table
            assert stream is not None
            assert table is not None
            forward, back = runs.classes
            kind = stream.kind(forward, back, tuple(range(len(table.levels))))
            print(f"{name}: checked after {time.perf_counter() - begun:.1f} s", flush=True)
            inserted = number_of[fresh[1000:]]
            at, before = 0, dict[str, int]()
            for rate in rates:
                count = int(min(rate * seconds / 2, 300_000, len(inserted) - at - lag))
                if count < 100:
                    break
                some = inserted[at : at + count]
                updates = np.zeros(2 * count, UPDATE)
                updates["of"] = kind
                updates["source"][0::2], updates["target"][0::2] = some.T
                updates["inserts"][0::2] = JUDGED | INSERTION
                gone = np.roll(some, lag, axis=0)
                updates["source"][1::2], updates["target"][1::2] = gone.T
                updates["inserts"][1::2] = JUDGED
                # Of the first ones nothing is to be deleted yet; at the end, as many are left.
                keeps = np.ones(2 * count, bool)
                keeps[1 : 2 * min(lag, count) : 2] = False
                updates = updates[keeps]
                at += count
                due = np.cumsum(random.exponential(1e9 / rate, len(updates))).astype(np.uint64)
                stream.start()
                begun = time.perf_counter()
                times = stream.pace(updates, due) / 1e3
                took = time.perf_counter() - begun
                stream.park()
                counters = stream.counters()
                written, answered = times[len(times) // 10 :].T
                shown = times[len(times) // 10 :]
                written, answered = (np.percentile(column, (50, 99, 100)) for column in shown.T)
                print(
                    f"  {rate:>9,}/s  written p50 {written[0]:8.1f} p99 {written[1]:8.1f}"
                    f"  answered p50 {answered[0]:8.1f} p99 {answered[1]:8.1f} max {answered[2]:10.1f}"
                    f"  {len(updates) / took:11,.0f} per s  parts given {counters['parts_given']:,}"
                    f"  in use {counters['bytes_in_use']:,}",
                    flush=True,
                )
                if measures:
                    batches = max(1, counters["batches"] - before.get("batches", 0))
                    steps = {
                        name.removeprefix("cycles_"): (of - before.get(name, 0)) // batches
                        for name, of in counters.items()
                        if name.startswith("cycles_")
                    }
                    print(f"    {len(updates) / batches:.1f} updates a batch; cycles: {steps}", flush=True)
                    before = dict(counters)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0] if given else "cuda",
        float(given[1]) if len(given) > 1 else 2.0,
        [int(rate) for rate in given[2:]] or list(RATES),
    )
