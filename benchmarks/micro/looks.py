"""What planning a new query takes: ``python benchmarks/micro/looks.py GRAPH [SIZE...]``.

GRAPH is the name of a shared graph (``MOTIFLUX_SHARED``), read as undirected. For random patterns of each
size (6, 7 and 8 vertices), trees with 0, 1, 2 and 4 more edges, three of each: process CPU milliseconds of
planning, the least of three, by what tables take on the CPU and on a GPU (no GPU is used), and in brackets
the milliseconds that the plan is expected to take there. ``new`` is the first query of the process, ``first``
the first on the graph, ``later`` one after another of its size.

``python benchmarks/micro/looks.py GRAPH SIZE... --device cuda`` counts them there: milliseconds of the wall
clock of a query that is new to the graph, and again with what was planned, beside the CPU's count, where that
is done in ten seconds (else ``-``). GRAPH may be ``tiny``.
"""

from __future__ import annotations

import os
import random
import sys
import time
from itertools import combinations, product
from pathlib import Path

import motiflux as mf
from motiflux.plan import Plan, make_plan
from motiflux.plan.estimate.predict import expected_seconds
from motiflux.plan.local_counts import family, table_search
from motiflux.plan.local_counts.speeds import DEVICE_SPEEDS, HOST_SPEEDS, Speeds

RUNS, EACH, LONGEST = 3, 3, 10.0
BEFORE = mf.Pattern.parse("(a)--(b)--(c)--(d)--(a), (d)--(e)")
"""Planned before each: sizes of the graph are known then."""
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


def told(runs: dict[str, list[tuple[float, Plan]]], speeds: Speeds) -> list[str]:
    least = {when: min(known, key=lambda run: run[0]) for when, known in runs.items()}
    return [f"{when}{taken:7.1f} ({expected(plan, speeds)})" for when, (taken, plan) in least.items()]


def counted(graph: mf.Graph, sizes: list[int], device: str) -> None:
    """Print what new queries take on a device."""
    mf.count(graph, BEFORE, device=device)
    for size, more, seed in product(sizes, (0, 1, 2), range(EACH)):
        pattern, taken, counts = pattern_of(size, more, seed), [], []
        for _ in range(2):
            begin = time.perf_counter()
            counts.append(mf.count(graph, pattern, device=device, timeout=LONGEST))
            taken.append(1e3 * (time.perf_counter() - begin))
        known = mf.count(graph, pattern, device="cpu", timeout=LONGEST)
        whole = [int(one) for one in (*counts, known) if one.complete]
        assert len(set(whole)) <= 1, (pattern, whole)
        checked = "checked" if known.complete else "-"
        print(f"{size} +{more} {seed}  new {taken[0]:8.1f} again {taken[1]:8.1f} {checked}", flush=True)


def main(name: str, *asked: str) -> None:
    sizes = [int(one) for one in asked if one.isdecimal()] or [6, 7, 8]
    if name == "tiny":
        graph = mf.generate.erdos_renyi(60, edges=300, seed=1)
    else:
        graph = mf.read_graph(Path(os.environ["MOTIFLUX_SHARED"]) / f"data/{name}.npz", directed=False)
    if "--device" in asked:
        counted(graph, sizes, asked[asked.index("--device") + 1])
    else:
        planned_all(graph, sizes)


def planned_all(graph: mf.Graph, sizes: list[int]) -> None:
    for size in sizes:
        for more in (0, 1, 2, 4):
            for device, speeds in SPEEDS.items():
                for seed in range(EACH):
                    pattern, other = (pattern_of(size, more, at) for at in (seed, seed + EACH))
                    runs: dict[str, list[tuple[float, Plan]]] = {"new": [], "first": [], "later": []}
                    for _, (when, known) in product(range(RUNS), runs.items()):
                        if when == "new":
                            family._canonical.clear()
                            table_search.table_search_plan.cache_clear()
                        graph.forget()
                        make_plan(graph, BEFORE, tail=True, tables=speeds, tuning={"tables": "on"})
                        if when == "later":
                            make_plan(graph, other, tail=True, tables=speeds)
                        known.append(planned(graph, pattern, speeds))
                    print(f"{size} +{more} {device} {seed}", *told(runs, speeds), sep="  ")


if __name__ == "__main__":
    main(*sys.argv[1:])
