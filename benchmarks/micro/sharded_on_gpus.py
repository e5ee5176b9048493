"""Calls on a sharded graph whose parts are on a GPU, beside the same parts on one thread of a CPU.

    python benchmarks/micro/sharded_on_gpus.py [--scale 16] [--memory 1,0.25] [--device cuda] [--out FILE]

Tasks of a local Ray cluster, one after another, the CPU and the GPU in turns. A line of JSON for each call
and memory: the seconds of all tasks (the least of `RUNS`), the first call on the GPU apart, the processes
that had tasks on it, and whether both agree.
``--device emulated``, with ``MOTIFLUX_DEVICES=tests.simt.register:register PYTHONPATH=.``, needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import ray

import motiflux as mf

RUNS = 3
IDLE_MILLISECONDS = 10**7
"""Ray ends processes that were idle for so long beyond the number of CPUs, such as that of the GPU."""
TRIANGLE = "(a)--(b)--(c)--(a)"
CYCLE = "(a)--(b)--(c)--(d)--(a)"
CLIQUE = f"{CYCLE}, (a)--(c), (b)--(d)"
LABELLED = "(a:0)--(b:1)--(c:2)--(d:0)--(a)"
HOUSE = f"{CYCLE}, (a)--(e)--(b)"
SPARSE, SPARSE_EDGES = 14, 120_000
"""Scale, and edges as they are drawn, of the graph of houses, of which there are many."""
CALLS: dict[str, tuple[str, str, bool]] = {
    "count triangle": ("count", TRIANGLE, False),
    "count 4clique": ("count", CLIQUE, False),
    "count labelled cycle": ("count", LABELLED, False),
    "count house": ("count", HOUSE, True),
    "rows triangle": ("match", TRIANGLE, True),
    "vertices triangle": ("count_per_vertex", TRIANGLE, False),
    "vertices 4clique": ("count_per_vertex", CLIQUE, False),
    "edges triangle": ("count_per_edge", TRIANGLE, False),
    "edges 4clique": ("count_per_edge", CLIQUE, False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--memory", default="1,0.25", help="times the bytes of all rows")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="calls with this text in their names")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    ray.init(
        num_cpus=1,
        num_gpus=1,
        object_store_memory=1 << 30,
        include_dashboard=False,
        log_to_driver=False,
        _system_config={"idle_worker_killing_time_threshold_ms": IDLE_MILLISECONDS},
    )
    lines = []
    for line in measured(given.scale, [float(one) for one in given.memory.split(",")], given):
        print(json.dumps(line), flush=True)
        lines.append(line)
    if given.out is not None:
        given.out.write_text("\n".join(map(json.dumps, lines)) + "\n")


def measured(scale: int, memories: list[float], given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with (
        tempfile.TemporaryDirectory(prefix="motiflux-shards-") as folder,
        mf.Cluster() as cluster,
    ):
        for sparse in (False, True):
            size = (SPARSE, SPARSE_EDGES) if sparse else (scale, 16 << scale)
            path = Path(folder, f"edges-{sparse}.npz")
            mf.write_graph(graph_of(*size), path)
            with closing(cluster.shard([path], path.with_suffix(""), shards=4)) as made:
                nbytes = made.nbytes
            for memory in memories:
                opened = cluster.open_sharded(path.with_suffix(""), memory=int(memory * nbytes))
                with closing(opened) as graph:
                    for name, (method, pattern, is_sparse) in CALLS.items():
                        if is_sparse is sparse and given.only in name:
                            run = called(cluster, graph, method, pattern)
                            figures = compared(cluster, run, given.device)
                            yield {"call": name, "scale": size[0], "memory": memory, **figures}


def graph_of(scale: int, edges: int) -> mf.Graph:
    graph = mf.generate.rmat(scale=scale, edges=edges, seed=1)
    ends = graph.to_edges()
    labels = [vertex % 3 for vertex in range(graph.num_vertices)]
    return mf.Graph.from_edges(
        (ends.src, ends.dst), vertex_ids=range(graph.num_vertices), vertex_labels=labels
    )


def called(cluster: mf.Cluster, graph: mf.ShardedGraph, method: str, pattern: str) -> Callable[[str], Any]:
    """Return what calls the method, for a device."""

    def run(device: str) -> Any:
        options: dict[str, Any] = {"device": device, "threads": 1}
        if method == "count_per_edge":
            with tempfile.TemporaryDirectory(prefix="motiflux-edges-") as folder:
                cluster.count_per_edge(graph, pattern, output=folder, **options)
                table = parquet.read_table(folder)
            rows = np.column_stack([table.column(name) for name in table.column_names])
            return rows[np.lexsort(rows.T)].tobytes()
        found = getattr(cluster, method)(graph, pattern, **options)
        if method == "match":
            rows = found.to_numpy()
            return rows[np.lexsort(rows.T)].tobytes()
        return int(found) if method == "count" else np.asarray(found).tobytes()

    return run


def compared(cluster: mf.Cluster, run: Callable[[str], Any], device: str) -> dict[str, Any]:
    """Return the seconds of tasks on the CPU and on a GPU, and whether results agree."""
    seconds: dict[str, list[float]] = {"cpu": [], device: []}
    expected, agrees, processes = None, True, set[int]()
    for _ in range(RUNS):
        for where, taken in seconds.items():
            before = len(cluster.tasks)
            found = run(where)
            tasks = cluster.tasks[before:]
            taken.append(sum(task.seconds for task in tasks))
            processes |= {task.process for task in tasks} if where == device else set()
            expected = found if expected is None else expected
            agrees &= found == expected
    cpu, gpu = min(seconds["cpu"]), min(seconds[device][1:])
    return {
        "agrees": agrees,
        "cpu_s": round(cpu, 4),
        "gpu_s": round(gpu, 4),
        "gpu_first_s": round(seconds[device][0], 4),
        "gpu_over_cpu": round(gpu / cpu, 3),
        "gpu_processes": len(processes),
    }


if __name__ == "__main__":
    main()
