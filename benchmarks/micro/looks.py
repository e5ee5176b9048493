"""What planning a new query takes: ``python benchmarks/micro/looks.py GRAPH [SIZE...]``.

GRAPH is the name of a shared graph (``MOTIFLUX_SHARED``), read as undirected. For random patterns of each
size (6, 7 and 8 vertices), trees with 0, 1, 2 and 4 more edges, three of each: process CPU milliseconds of
planning, the least of three, by what tables take on the CPU and on a GPU (no GPU is used), and in brackets
the milliseconds that the plan is expected to take there. ``first`` is the first query on the graph, ``later``
one after another of its size.
"""

from __future__ import annotations

import os
import random
import sys
import time
from itertools import combinations
from pathlib import Path

import motiflux as mf
from motiflux.plan import Plan, make_plan
from motiflux.plan.local.speeds import DEVICE_SPEEDS, HOST_SPEEDS, Speeds
from motiflux.plan.predict import expected_seconds

RUNS, EACH = 3, 3
SPEEDS = {"CPU": HOST_SPEEDS, "GPU": DEVICE_SPEEDS}


def pattern_of(size: int, more: int, seed: int) -> mf.Pattern:
    generator = random.Random(seed)
    tree = {(generator.randrange(v), v) for v in range(1, size)}
    others = [pair for pair in combinations(range(size), 2) if pair not in tree]
    return mf.Pattern.from_edges(sorted(tree | set(generator.sample(others, more))))


def planned(graph: mf.Graph, pattern: mf.Pattern, speeds: Speeds) -> tuple[float, Plan]:
    """Return the milliseconds of planning, and the plan."""
    begin = time.process_time()
    plan = make_plan(graph, pattern, tail=True, tables=speeds)
    return 1e3 * (time.process_time() - begin), plan


def expected(plan: Plan, speeds: Speeds) -> str:
    if plan.formula is not None:
        return f"tables {1e3 * plan.formula.seconds:.3g}"
    seconds = expected_seconds(plan, 1, None)
    return "search" if seconds is None else f"search {1e3 * speeds.of_search(seconds, 1):.3g}"


def main(name: str, *sizes: str) -> None:
    graph = mf.read_graph(Path(os.environ["MOTIFLUX_SHARED"]) / f"data/{name}.npz", directed=False)
    before = mf.Pattern.parse("(a)--(b)--(c)--(d)--(a), (d)--(e)")
    for size in map(int, sizes or ("6", "7", "8")):
        for more in (0, 1, 2, 4):
            for device, speeds in SPEEDS.items():
                for seed in range(EACH):
                    pattern, other = pattern_of(size, more, seed), pattern_of(size, more, seed + EACH)
                    first, later = [], []
                    for _ in range(RUNS):
                        graph.forget()
                        make_plan(graph, before, tail=True, tables=speeds, tuning={"tables": "on"})
                        first.append(planned(graph, pattern, speeds))
                        graph.forget()
                        make_plan(graph, before, tail=True, tables=speeds, tuning={"tables": "on"})
                        make_plan(graph, other, tail=True, tables=speeds)
                        later.append(planned(graph, pattern, speeds))
                    least = [min(runs, key=lambda run: run[0]) for runs in (first, later)]
                    told = [f"{taken:8.1f} ({expected(plan, speeds)})" for taken, plan in least]
                    print(f"{size} +{more} {device} {seed}  first {told[0]:<32} later {told[1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
