"""What the candidate space of a device takes and gives: labelled queries with and without it.

    python benchmarks/micro/gpu_space.py GRAPH QUERIES [--peers CSV] [--device cuda] [--set key=value]

Milliseconds by the device's own clock: the kernels that make the space, and the search. Counts are checked
against the peers' where they are given, and against the CPU engine with ``--check``. The first run of a query
compiles and uploads; the median of the others counts, each of which plans and makes its space anew.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import time
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from gpu_jobs import DfsEngine, open_engine, planned, search_job

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.runtime.kernel_times import taking_times
from motiflux.gpu.storage.candidate_space import DeviceSpace
from motiflux.gpu.storage.device_csr import resident
from motiflux.request.deadline import Deadline, wait_for
from motiflux.request.request import Request, make_request


@dataclass
class Run:
    """One search: what it found, and milliseconds of planning, of the space, of the search, and in all."""

    count: int
    complete: bool
    plan: float
    space: float
    search: float
    wall: float


def run(graph: mf.Graph, pattern: mf.Pattern, engine: DfsEngine, request: Request) -> Run:
    """Plan anew, make the space anew, search."""
    graph.memo.forget_queries()
    resident(graph, engine.group.first.device).forget(DeviceSpace)
    began = time.perf_counter()
    plan = planned(engine, graph, pattern, request).plan
    plan_seconds = time.perf_counter() - began
    with taking_times() as times, search_job(engine, graph, plan, request) as search:
        search.launch()
        complete = wait_for(search, Deadline.after(request.timeout))
        found = search.result().found * plan.multiplier
        seconds = search.timer.seconds()
        wall = time.perf_counter() - began
    spaces = times.spaces
    return Run(found, complete, 1e3 * plan_seconds, 1e3 * spaces, 1e3 * seconds, 1e3 * wall)


def peers_of(path: Path) -> dict[str, tuple[int, float]]:
    """Return the count and the best total of each query."""
    found: dict[str, tuple[int, float]] = {}
    with path.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["embeddings"].isdigit()]
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(row["query"], []).append(int(row["embeddings"]))
    for row in rows:
        agreed = statistics.mode(counts[row["query"]])
        if int(row["embeddings"]) == agreed:
            best = min(float(row["total_ms"]), found.get(row["query"], (0, float("inf")))[1])
            found[row["query"]] = (agreed, best)
    return found


def main() -> None:
    """Print a line for each query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("queries", type=Path)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--counts", type=Path, help="JSON of query: count")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--only", default="", help="queries whose name holds this")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    graph = mf.read_graph(args.graph)
    tuning = dict(one.split("=") for one in args.set)
    request = make_request(
        semantics="isomorphism", symmetry="embeddings", timeout=args.timeout, tuning=private_tuning(tuning)
    )
    engine = open_engine((args.device,))
    peers = {} if args.peers is None else peers_of(args.peers)
    known = {} if args.counts is None else json.loads(args.counts.read_text())
    ratios = []
    for path in sorted(path for path in args.queries.glob("*.graph") if args.only in path.name):
        pattern = mf.read_pattern(path)
        runs = [run(graph, pattern, engine, request) for _ in range(args.runs)]
        rest = runs[1:] or runs
        middle = {
            part: statistics.median(getattr(one, part) for one in rest)
            for part in ("plan", "space", "search", "wall")
        }
        told = f"{path.stem} {runs[-1].count}{'' if runs[-1].complete else ' CUT'}"
        told += "".join(f" {part} {value:.3f}" for part, value in middle.items())
        told += "" if known.get(path.stem) in (None, runs[-1].count) else f" WRONG: {known[path.stem]}"
        if path.name in peers:
            count, best = peers[path.name]
            ratio = (middle["space"] + middle["search"]) / best
            ratios.append(ratio)
            told += f" peer {best:.2f} ratio {ratio:.3f}"
            told += "" if runs[-1].count == count else f" WRONG: {count}"
        if args.check:
            told += f" cpu {mf.count(graph, pattern, timeout=args.timeout)}"
        print(told, flush=True)
    if ratios:
        print(f"geometric mean {exp(sum(map(log, ratios)) / len(ratios)):.3f}, largest {max(ratios):.3f}")


if __name__ == "__main__":
    main()
