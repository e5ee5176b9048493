"""Where calls on sharded graphs with small memories spend their time.

    python benchmarks/micro/sharded_calls.py [--scale 13] [--edges 130000] [--memory 1MB] [--only TEXT]

A local Ray cluster of one CPU. For each call a line: the processor time of all tasks, that of the tasks of
each name, the least of `RUNS`, beside one thread on the whole graph, and whether both agree.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

import motiflux as mf

RUNS = 3
TRIANGLE = "(a)--(b)--(c)--(a)"
CYCLE = "(a)--(b)--(c)--(d)--(a)"
SEARCH = {"tables": "off"}
PATTERNS = {
    "triangle": TRIANGLE,
    "4cycle": CYCLE,
    "diamond": f"{CYCLE}, (a)--(c)",
    "4clique": f"{CYCLE}, (a)--(c), (b)--(d)",
    "house": f"{CYCLE}, (a)--(e)--(b)",
    "bowtie": f"{TRIANGLE}, (a)--(d)--(e)--(a)",
    "book of 3": "(a)--(b), (a)--(c)--(b), (a)--(d)--(b), (a)--(e)--(b)",
}


def count(pattern: str) -> tuple[Callable[[Any, Any], int], Callable[[Any], int]]:
    """Return a count on a cluster, and the same without one."""
    return (
        lambda cluster, graph: int(cluster.count(graph, pattern, tuning=SEARCH)),
        lambda graph: int(mf.count(graph, pattern, threads=1, tuning=SEARCH)),
    )


def at_edges(cluster: Any, graph: Any) -> int:
    """Write the triangles at each edge; return their sum."""
    with tempfile.TemporaryDirectory() as folder:
        cluster.count_per_edge(graph, TRIANGLE, by=0, output=f"{folder}/rows")
        return int(sum(parquet.read_table(f"{folder}/rows").column("count").to_pylist()))


CALLS: dict[str, tuple[Callable[[Any, Any], int], Callable[[Any], int]]] = {
    **{f"count {name}": count(pattern) for name, pattern in PATTERNS.items()},
    "triangles at edges": (
        at_edges,
        lambda graph: int(mf.count_per_edge(graph, TRIANGLE, by=0, threads=1).counts.sum()),
    ),
}


def main() -> None:
    """Measure and print all calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=int, default=13)
    parser.add_argument("--edges", type=int, default=130_000)
    parser.add_argument("--memory", default="1MB")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    graph = mf.generate.rmat(scale=given.scale, edges=given.edges, seed=1)
    with tempfile.TemporaryDirectory() as folder, mf.Cluster(cpus=1, object_store="256MB") as cluster:
        mf.write_graph(graph, Path(folder, "edges.npz"))
        made = cluster.shard([Path(folder, "edges.npz")], Path(folder, "g"), shards=4, memory=given.memory)
        for name, (there, here) in CALLS.items():
            if given.only not in name:
                continue
            tasks: list[Counter[str]] = []
            whole = []
            for _ in range(RUNS):
                began = time.process_time()
                expected = here(graph)
                whole.append(time.process_time() - began)
                before = len(cluster.tasks)
                found = there(cluster, made)
                tasks.append(Counter())
                for task in cluster.tasks[before:]:
                    tasks[-1][task.name] += task.cpu_seconds
            least = min(tasks, key=Counter.total)
            parts = ", ".join(f"{part} {seconds:.3f}" for part, seconds in least.items())
            agrees = "same" if found == expected else "DIFFERENT"
            ratio = least.total() / min(whole)
            print(
                f"{name}: {least.total():.3f} s, {ratio:.2f} times the whole graph ({parts}), {agrees}",
                flush=True,
            )


if __name__ == "__main__":
    main()
