"""Rows out of a search, per second: ``python benchmarks/micro/results_out.py``.

The rows are the paths of three vertices of a complete graph: a search that finds them at once, so that giving
them out is what is measured. ``random`` are those of a sparse graph of 2M edges: ids and edges lie far apart.
Each figure is the best of `RUNS`, in CPU time of the process; in brackets, by the clock.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.io import write_matches

RUNS = 5
ROWS = 5_000_000
WAYS: dict[str, Callable[[mf.Matches], object]] = {
    "rows only": lambda matches: drain(matches),
    "numpy batches": lambda matches: sum(len(batch) for batch in matches),
    "to_numpy": lambda matches: matches.to_numpy(),
    "to_arrow": lambda matches: matches.to_arrow(),
}
FILES = (".parquet", ".arrow", ".csv", ".npy")


def main() -> None:
    random = np.random.default_rng(1)
    ends = random.integers(0, 200_000, (2_000_000, 2))
    graphs = {
        "complete": mf.Graph.from_edges([(u, v) for v in range(300) for u in range(v)]),
        "random": mf.Graph.from_edges(ends[ends[:, 0] != ends[:, 1]]),
        "strings": mf.Graph.from_edges([(f"id {u}", f"id {v}") for v in range(300) for u in range(v)]),
    }
    for name, graph in graphs.items():
        for threads in (1, 2):
            for edges in (False, True):
                print(f"{name}, {threads} thread{'s' * (threads > 1)}{', with edges' * edges}")
                measure(graph, threads, edges, files=name != "random")


def measure(graph: mf.Graph, threads: int, edges: bool, *, files: bool) -> None:
    for name, way in WAYS.items():
        report(name, graph, threads, edges, way)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in FILES if files else ():
            path = Path(folder, f"rows{suffix}")
            if suffix == ".npy" and graph.vertex_ids.dtype.kind == "U":
                continue
            report(suffix, graph, threads, edges, lambda matches, path=path: write_matches(matches, path))
            print(f"{'':16}{path.stat().st_size / 1e6:8.1f} MB")


def report(
    name: str, graph: mf.Graph, threads: int, edges: bool, way: Callable[[mf.Matches], object]
) -> None:
    best_cpu = best_wall = float("inf")
    for _ in range(RUNS):
        cpu, wall = time.process_time(), time.perf_counter()
        with mf.match(graph, "(a)--(b)--(c)", limit=ROWS, threads=threads, edges=edges) as matches:
            way(matches)
        best_cpu = min(best_cpu, time.process_time() - cpu)
        best_wall = min(best_wall, time.perf_counter() - wall)
    print(f"  {name:14}{ROWS / best_cpu / 1e6:8.1f} M rows/s  ({ROWS / best_wall / 1e6:.1f})", flush=True)


def drain(matches: mf.Matches) -> None:
    """Take blocks of internal ids: what the search itself costs."""
    for _ in matches._given(lambda block: block):
        pass


if __name__ == "__main__":
    main()
