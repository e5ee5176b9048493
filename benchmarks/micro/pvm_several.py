"""Searches in phases on one GPU and on several: ``python benchmarks/micro/pvm_several.py [--devices 1,2]``.

The queries of R-MAT 20 of the suite ``pvm`` (``--graph`` names another graph of it) are counted one embedding
after another, with tables on the devices: milliseconds, the least of five warm calls, and how many times as
fast they are as on one. The table of the largest graph of the suite (``MOTIFLUX_RMAT``) is counted with an
eighth of its bytes on each device, too. Counts are compared with those of one device; the exit code is 1 if
one differs. ``--kind emulated`` tries it out without a GPU.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.bench.measure import wall_clock
from motiflux.bench.suite import load_part
from motiflux.config import private_tuning

PARTS = Path(__file__).resolve().parents[1] / "suite/pvm_parts"
SHARED = Path(os.environ.get("MOTIFLUX_SHARED", "../shared"))
RUNS, LONGEST = 5, 20.0
SHARE = 8


def cases(name: str) -> Iterator[tuple[str, mf.Graph, mf.Pattern, int | None]]:
    """Yield names, graphs, patterns, and the bytes that may be held on each device."""
    workload, memory, trials = (load_part(PARTS / f"{part}.py") for part in ("workload", "memory", "trials"))
    for source in workload.graphs(SHARED):
        if source.case == name:
            graph = workload.read(source)
            for query in workload.queries(source):
                yield f"{name}, {query.name}", graph, query.pattern, None
    for query in memory.PATTERNS:
        graph, pattern = memory.graph(), memory.pattern(query)
        way = trials.Way("pvm", trials.ENUMERATE)
        trials.ask(graph, pattern, way, LONGEST)
        most = int(trials.breakdown(graph, pattern, way)["copied_bytes"] / SHARE)
        yield f"tables of {SHARE} times the memory, {query}", graph, pattern, most


def counted(graph: mf.Graph, pattern: mf.Pattern, **options: Any) -> tuple[int | None, float]:
    """Return the count, None if it did not end, and the least milliseconds."""
    best, count = float("inf"), None
    for run in range(RUNS + 1):
        began = wall_clock()
        found = mf.count(graph, pattern, engine="pvm", timeout=LONGEST, **options)
        count = int(found) if found.complete else None
        if run:
            best = min(best, 1e3 * (wall_clock() - began))
    return count, best


def main() -> int:
    """Print a line for each case; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", default="cuda", help="kind of device")
    parser.add_argument("--devices", default="1,2", help="numbers of devices, by commas, 1 first")
    parser.add_argument("--graph", default="R-MAT 20, 12 labels")
    given = parser.parse_args()
    os.environ["MOTIFLUX_DEVICE"] = given.kind
    numbers, differ = [int(number) for number in given.devices.split(",")], 0
    for name, graph, pattern, most in cases(given.graph):
        line, first, alone = f"{name:46}", None, 0.0
        for number in numbers:
            options = {"device": given.kind, "devices": number, "gpu_memory": most}
            count, best = counted(graph, pattern, tuning=private_tuning({"tail": "off"}), **options)
            if alone == 0.0:
                first, alone = count, best
            wrong = "" if count == first else f" DIFFERS: {count}"
            differ += bool(wrong)
            line += f" | {number}: {best:9.2f} ms {alone / best:5.2f}x{wrong}"
        print(f"{line} | {first}", flush=True)
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
