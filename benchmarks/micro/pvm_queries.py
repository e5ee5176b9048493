"""Finds the queries of ``motiflux bench pvm``, and counts their embeddings.

``python benchmarks/micro/pvm_queries.py [TEXT]`` draws queries of the graphs with TEXT in their names (all)
until the CPU engine, on one thread, counts one with at most a billion embeddings in half a second. After 40
draws the one with the fewest is taken. It adds the numbers of the draws and the counts to
``benchmarks/queries/pvm_counts.json``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import motiflux as mf
from motiflux.bench.suite import load_part

workload = load_part(Path(__file__).resolve().parents[1] / "suite/pvm_parts/workload.py")

SHARED = Path(os.environ["MOTIFLUX_SHARED"])
SECONDS = 0.5
DRAWS = 40


def find(graph: mf.Graph, case: str, vertices: int) -> dict[str, int] | None:
    """Return the first draw with few embeddings, or the one with the fewest; None if none was counted."""
    best: dict[str, int] | None = None
    for draw in range(DRAWS):
        pattern = workload.drawn(graph, case, vertices, draw)
        found = mf.count(graph, pattern, device="cpu", threads=1, timeout=SECONDS)
        if found.complete and (best is None or found < best["count"]):
            best = {"draw": draw, "crc": workload.checksum(pattern), "count": int(found)}
            if found <= workload.MOST:
                break
    return best


def main() -> None:
    """Find them, graph by graph."""
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    for source in workload.graphs(SHARED):
        if chosen not in source.case:
            continue
        graph = workload.read(source)
        for vertices in workload.SIZES:
            name, found = f"{source.case} Q{vertices}", find(graph, source.case, vertices)
            print(name, found, flush=True)
            if found is not None:
                known = {**json.loads(workload.COUNTS.read_text()), name: found}
                lines = ",\n".join(f" {json.dumps(one)}: {json.dumps(known[one])}" for one in sorted(known))
                workload.COUNTS.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
