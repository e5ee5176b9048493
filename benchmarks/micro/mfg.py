"""How fast a graph file is written, opened, verified: ``python benchmarks/micro/mfg.py [EDGES] [FOLDER]``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.measure import repeat, wall_clock


def main(edges: int = 10_000_000, folder: str | None = None) -> None:
    ends = (edges // 10 * np.random.default_rng(1).random((edges, 2)) ** 2).astype(
        np.int64
    )  # low ids are hubs
    graph = mf.Graph.from_edges(ends, num_vertices=edges // 10, self_loops="drop")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place, "graph.mfg")
        graph.shape_stats()
        graph.label_frequencies()
        report("write", lambda: mf.write_graph(graph, path))
        print(f"{'size':<12} {path.stat().st_size / 1e6:8.1f} MB for {graph.num_edges:,} edges")
        report("open", lambda: mf.read_graph(path))
        report("first look", lambda: mf.read_graph(path).forward.offsets)
        report("verify", lambda: mf.verify_graph(path))


def report(what: str, call: Callable[[], object]) -> None:
    _, seconds = repeat(call, wall_clock)
    print(f"{what:<12} {seconds.median * 1e3:8.1f} ms (least {seconds.min * 1e3:.1f})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
