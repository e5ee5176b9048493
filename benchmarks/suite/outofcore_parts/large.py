"""A monitor of a large graph file in a process of its own, beside the CPU Monitor.

``large.py GRAPH.mfg UPDATES BATCH SHARE DEVICE PATTERN...`` prints one JSON object: a count of matches that
came, the median seconds of a batch after the first by both, whether their deltas differ, and figures:

    edges             of the graph
    ready_seconds     until the monitor was made and the first batch was answered, with opening the file
    made_seconds      of these, until it was made
    over_csr          memory without a file behind it that came since the device was opened, after all
                      batches, over that of plain CSR
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from motiflux.bench.suite import load_part

BATCHES = 4


def main(path: str, updates: str, batch: str, share: str, device: str, *patterns: str) -> None:
    """Print what was measured."""
    print(json.dumps(measured(path, int(updates), int(batch), float(share), device, list(patterns))))


def measured(
    path: str, updates: int, batch: int, share: float, device: str, patterns: list[str]
) -> dict[str, Any]:
    """Apply the first batches by both."""
    import motiflux as mf
    from motiflux.device import open_device
    from motiflux.gpu.runtime.accelerator import open_accelerator

    worlds = load_part(Path(__file__).resolve().parent / "worlds.py")
    batches = list(worlds.changes(mf.read_graph(path), updates).slices(batch))[:BATCHES]
    open_device(device).use()
    open_accelerator(device)
    before, begun = anonymous(), time.perf_counter()
    graph = mf.read_graph(path)
    options: dict[str, Any] = {"mode": "batch", "symmetry": "subgraphs"}
    found: dict[str, list[list[tuple[int, int]]]] = {}
    took: dict[str, float] = {}
    figures: dict[str, float] = {}
    for way, own in (
        ("outofcore", {"device": device, "engine": "outofcore"}),
        ("CPU Monitor", {"device": "cpu", "engine": "cpu"}),
    ):
        with mf.Monitor(graph, patterns, **options, **own) as monitor:
            made, seconds = time.perf_counter() - begun, []
            if way == "outofcore":
                engine: Any = monitor._engine
                engine.cache.most_bytes = int(share * 8 * graph.num_edges)
            found[way] = []
            for some in batches:
                started = time.perf_counter()
                delta = monitor.apply(some)
                seconds.append(time.perf_counter() - started)
                found[way].append([(one.positive, one.negative) for one in delta])
            took[way] = statistics.median(seconds[1:] or seconds)
            if way == "outofcore":
                csr = 8 * (graph.num_vertices + 1) + 8 * graph.num_edges
                figures = {
                    "edges": float(graph.num_edges),
                    "made_seconds": made,
                    "ready_seconds": made + seconds[0],
                    "over_csr": (anonymous() - before) / csr,
                    "pinned_over_csr": engine.pinned.nbytes / csr,
                }
    count = sum(positive for one in found["CPU Monitor"] for positive, _ in one)
    differs = found["outofcore"] != found["CPU Monitor"]
    return {"count": count, "differs": differs, "figures": figures, **took}


def anonymous() -> int:
    """Return the bytes of memory of this process without a file behind it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
