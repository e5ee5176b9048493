"""Kernels of phases alone: ``python benchmarks/micro/pvm_kernels.py [GRAPH:QUERY ...] [--out FILE]``.

Queries of the suite ``pvm`` (``"R-MAT 16, 7 labels:Q12"``), counted one embedding after another with tables
on the device: milliseconds of the kernels by the device's clock, and of the call, the least of some warm
calls, with several vertices a phase and with one. To compare two states of the code, run it for both on one
machine.
``--out`` names a JSON file, ``--label`` what it says of the state.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from motiflux.bench.measure import wall_clock
from motiflux.bench.suite import load_part
from motiflux.gpu.runtime.kernel_times import taking_times

PARTS = Path(__file__).resolve().parents[1] / "suite/pvm_parts"
SHARED = Path(os.environ.get("MOTIFLUX_SHARED", "../shared"))
DEFAULT = (
    "R-MAT 16, 7 labels:Q12",
    "R-MAT 16, 7 labels:Q7",
    "email_enron, 5 labels:Q11",
    "email_enron, 5 labels:Q8",
    "email_enron, 12 labels:Q11",
    "ca_condmat, 3 labels:Q12",
    "wn18rr:Q4",
)
"""Queries with many embeddings, with several tests, and with few embeddings."""
RUNS = 7


def main() -> None:
    """Print a line for each query."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="*", default=DEFAULT)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--label", default="")
    given = parser.parse_args()
    workload, trials = (load_part(PARTS / f"{part}.py") for part in ("workload", "trials"))
    found: dict[str, dict[str, float]] = {}
    wanted = [tuple(one.split(":")) for one in given.queries]
    for source in workload.graphs(SHARED):
        for query in workload.queries(source) if source.case in {graph for graph, _ in wanted} else ():
            if (source.case, query.name) in wanted:
                name = f"{source.case}:{query.name}"
                found[name] = times(trials, workload.read(source), query.pattern)
                line = "  ".join(f"{what} {value:9.3f}" for what, value in found[name].items())
                print(f"{given.label:12} {name:34} {line}", flush=True)
    if given.out is not None:
        given.out.write_text(json.dumps({"label": given.label, "queries": found}, indent=1) + "\n")


def times(trials: Any, graph: Any, pattern: Any) -> dict[str, float]:
    """Return milliseconds by way and clock."""
    ways = {name: trials.Way("pvm", {**trials.ENUMERATE, "pvm": name}) for name in ("pv", "sv")}
    found: dict[str, float] = {}
    for name, way in ways.items():
        trials.warm(graph, pattern, way)
        kernels, calls = [], []
        for _ in range(RUNS):
            with taking_times() as taken:
                trials.ask(graph, pattern, way)
            kernels.append(1e3 * taken.total)
            began = wall_clock()
            trials.ask(graph, pattern, way)
            calls.append(1e3 * (wall_clock() - began))
        found |= {f"{name} kernels": min(kernels), f"{name} call": min(calls)}
    return found


if __name__ == "__main__":
    main()
