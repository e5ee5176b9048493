"""Time of formulas of local counts on a GPU, by its own clock, rows resident and kernels compiled.

usage: python benchmarks/micro/gpu_tables.py [--runs 7] [--parts] [--patterns diamond,house] GRAPH.npz ...

Prints for each pattern the median and the least time in milliseconds from the first kernel to the last, the
wall time of a whole call, and the count; with --parts the time of each kernel too (launched one by one).
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_jobs import DfsEngine, open_engine, planned

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.kernels import table_run
from motiflux.gpu.kernels.tables import prepare_tables
from motiflux.gpu.runtime.kernel_times import taking_times
from motiflux.plan.physical import Family, Stage
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request

PATTERNS = {
    "triangle": "(a)--(b)--(c)--(a)",
    "diamond": "(a)--(b)--(c)--(a), (b)--(d)--(c)",
    "tailed triangle": "(a)--(b)--(c)--(a), (a)--(d)",
    "4-cycle": "(a)--(b)--(c)--(d)--(a)",
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "path": "(a)--(b)--(c)--(d)",
    "K23": "(a)--(x)--(b), (a)--(y)--(b), (a)--(z)--(b)",
    "5-cycle": "(a)--(b)--(c)--(d)--(e)--(a)",
}


class Parts:
    """Marks around every launch while it is entered."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, list[Any]]] = []
        self._plain = table_run.TableRun._launch_plain

    def __enter__(self) -> Parts:
        def launch(run: Any, kernel: Any, grid: int, threads: int, shared: int, args: Any) -> None:
            marks: list[Any] = []
            run._launches.add(lambda stream: lambda: marks.append(stream.mark()))
            self._plain(run, kernel, grid, threads, shared, args)
            run._launches.add(lambda stream: lambda: marks.append(stream.mark()))
            self.marks.append((f"{type(args).__name__}[{grid}x{threads},{shared}]", marks))

        table_run.TableRun._launch_plain = launch  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        table_run.TableRun._launch_plain = self._plain  # type: ignore[method-assign]

    def lines(self) -> list[str]:
        return [
            f"    {after.milliseconds_since(before):9.4f}  {name}" for name, (before, after) in self.marks
        ]


def evaluate(engine: DfsEngine, graph: mf.Graph, stage: Stage, request: Any, searched: dict[Any, int]) -> Any:
    """Return the total and the seconds of the kernels of tables."""

    def search(table: Any) -> int:
        if table not in searched:
            searched[table] = engine.count(graph, stage.searched[table], request, Deadline.after(None)).value
        return searched[table]

    with taking_times():
        job = prepare_tables(engine.group.first, graph, stage, request, Deadline.after(None), search)
    with job:
        job.launch()
        while not job.done():
            time.sleep(0)
        assert job.timer is not None
        return job.result().found, job.timer.seconds()


def show(name: str, graph: mf.Graph, runs: int, *, parts: bool) -> None:
    """Time one pattern on one graph."""
    request = make_request(
        semantics="isomorphism", symmetry="embeddings", device="cuda", tuning={"tables": "on"}
    )
    engine = open_engine(("cuda",))
    planning = time.perf_counter()
    pattern = mf.Pattern.parse(PATTERNS[name])
    stage = planned(engine, graph, pattern, request).stages[0]
    planning = time.perf_counter() - planning
    if stage.family is not Family.TABLES:
        print(f"  {name}: no formula", flush=True)
        return
    searched: dict[Any, int] = {}
    seconds = []
    total = 0
    evaluate(engine, graph, stage, request, searched)
    for _ in range(runs):
        total, kernels = evaluate(engine, graph, stage, request, searched)
        seconds.append(kernels)
    walls = []
    for _ in range(9):
        begin = time.perf_counter()
        mf.count(graph, pattern, device="cuda", tuning={"tables": "on"})
        walls.append(time.perf_counter() - begin)
    print(
        f"  {name:16s} {1e3 * statistics.median(seconds):10.4f} ms median {1e3 * min(seconds):10.4f} min"
        f"  call {1e3 * min(walls):9.3f} ms  planned in {1e3 * planning:7.1f}"
        f"  predicted {1e3 * stage.plan.formula.seconds:9.3f}  {total}",
        flush=True,
    )
    if parts:
        anew = replace(request, tuning=private_tuning({**request.tuning, "rest": "off"}))
        with Parts() as seen:
            evaluate(engine, graph, stage, anew, searched)
        print("\n".join(seen.lines()), flush=True)


def main() -> None:
    """Time what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("graphs", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    options = parser.parse_args()
    for path in options.graphs:
        graph = mf.read_graph(path, directed=False)
        print(f"{path.stem}: {graph.num_vertices} vertices, {graph.num_edges} edges", flush=True)
        for name in options.patterns.split(","):
            show(name, graph, options.runs, parts=options.parts)


if __name__ == "__main__":
    main()
