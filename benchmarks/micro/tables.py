"""Counting from tables of local counts: ``python benchmarks/micro/tables.py GRAPH``.

GRAPH is the name of a shared graph (``MOTIFLUX_SHARED``), read as undirected. Times are process CPU seconds
on one thread, the least of five; ``look`` is the planning, and ``off`` the search without tables where it is
expected to take less than ten seconds.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import motiflux as mf


def cycle(size: int) -> str:
    return ", ".join(f"(v{at})--(v{(at + 1) % size})" for at in range(size))


def path(size: int) -> str:
    return "--".join(f"(v{at})" for at in range(size))


def bipartite(left: int, right: int) -> str:
    return ", ".join(f"(a{a})--(b{b})" for a in range(left) for b in range(right))


PATTERNS = {
    "4-cycle": cycle(4),
    "house": "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "tailed triangle": "(a)--(b)--(c)--(a), (c)--(d)",
    "5-cycle": cycle(5),
    "6-cycle": cycle(6),
    "5-path": path(5),
    "6-path": path(6),
    "7-path": path(7),
    "theta": "(a)--(x)--(b), (a)--(y)--(b), (a)--(p)--(q)--(b)",
    "5-cycle, tail": f"{cycle(5)}, (v0)--(t)",
    "5-cycle, triangle": f"{cycle(5)}, (v0)--(t)--(v1)",
    "K2,4": bipartite(2, 4),
    "K3,3": bipartite(3, 3),
}
LONGEST = 10.0


def least(graph: mf.Graph, pattern: str, tables: str) -> tuple[float, int]:
    seconds = []
    for _ in range(5):
        begin = time.process_time()
        count = mf.count(graph, pattern, tuning={"tables": tables}, threads=1)
        seconds.append(time.process_time() - begin)
    return min(seconds), count


def main(name: str) -> None:
    graph = mf.read_graph(Path(os.environ["MOTIFLUX_SHARED"]) / f"data/{name}.npz", directed=False)
    print(f"{'pattern':<18}{'embeddings':>22}{'tables':>8}{'look':>8}{'expected':>10}{'auto':>9}{'off':>9}")
    for title, pattern in PATTERNS.items():
        begin = time.process_time()
        plan = mf.explain(graph, pattern, threads=1)
        look = time.process_time() - begin
        expected = plan.report.predicted.seconds
        if expected is None or expected > LONGEST:
            print(f"{title:<18}{'':>22}{len(plan.report.tables):>8}{look:>8.3f}{expected or 0:>10.1f}")
            continue
        seconds, count = least(graph, pattern, "auto")
        searched = mf.explain(graph, pattern, tuning={"tables": "off"}, threads=1).report.predicted.seconds
        off = least(graph, pattern, "off")[0] if searched is not None and searched < LONGEST else None
        last = "" if off is None else f"{off:.3f}"
        tables = len(plan.report.tables)
        print(f"{title:<18}{count:>22}{tables:>8}{look:>8.3f}{expected:>10.3f}{seconds:>9.3f}{last:>9}")


if __name__ == "__main__":
    main(sys.argv[1])
