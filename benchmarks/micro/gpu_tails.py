"""What tails and parts give on a device: kernel times of counts with and without them.

    python benchmarks/micro/gpu_tails.py GRAPH [GRAPH...] [--set key=value] [--only TEXT] [--timeout 2]

Milliseconds by the device's own clock, the median of five; counts are checked against the CPU engine. Graphs
are read as undirected and without labels.
"""

from __future__ import annotations

import argparse
import statistics

from gpu_jobs import DfsEngine, open_engine, planned, search_job

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.request.deadline import Deadline, wait_for
from motiflux.request.request import make_request

PATTERNS = {
    "3-star": "(a)--(b), (a)--(c), (a)--(d)",
    "4-star": "(a)--(b), (a)--(c), (a)--(d), (a)--(e)",
    "4-path": "(a)--(b), (b)--(c), (c)--(d)",
    "tailed triangle": "(a)--(b), (b)--(c), (c)--(a), (a)--(d)",
    "diamond": "(a)--(b), (a)--(c), (b)--(c), (b)--(d), (c)--(d)",
    "bowtie": "(a)--(b), (a)--(c), (b)--(c), (a)--(d), (a)--(e), (d)--(e)",
    "triangle with three tails": "(a)--(b), (b)--(c), (c)--(a), (a)--(d), (b)--(e), (c)--(f)",
}
RUNS = 5
SWITCHES = ({}, {"parts": "off"}, {"tail": "off", "parts": "off"})
"""What is compared, each on top of what is asked for."""


def kernel_times(
    graph: mf.Graph, pattern: mf.Pattern, engine: DfsEngine, tuning: dict[str, str], timeout: float
) -> tuple[int | None, float]:
    """Return the count, None if there was no time for it, and the kernel's milliseconds."""
    request = make_request(
        semantics="isomorphism",
        symmetry="embeddings",
        timeout=timeout,
        tuning=private_tuning({"tables": "off", **tuning}),
    )
    plan = planned(engine, graph, pattern, request).plan
    times: list[float] = []
    found = None
    for _ in range(RUNS):
        with search_job(engine, graph, plan, request) as search:
            search.launch()
            if not wait_for(search, Deadline.after(timeout)):
                return None, 1000 * timeout
            found = search.result().found * plan.multiplier
            times.append(1000 * search.timer.seconds())
    return found, statistics.median(times)


def main() -> None:
    """Print a line for each pattern of each graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="patterns whose name holds this")
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    asked = dict(one.split("=") for one in args.set)
    engine = open_engine((args.device,))
    for name in args.graphs:
        graph = mf.read_graph(name, directed=False)
        for label, text in PATTERNS.items():
            if args.only not in label:
                continue
            pattern = mf.Pattern.parse(text)
            expected = mf.count(graph, pattern, timeout=10 * args.timeout)
            told = []
            for switches in SWITCHES:
                found, milliseconds = kernel_times(
                    graph, pattern, engine, {**asked, **switches}, args.timeout
                )
                what = " ".join(f"{key}={value}" for key, value in switches.items()) or "default"
                right = found is None or not expected.complete or found == expected
                end = "" if found is not None else " not finished"
                told.append(f"{what} {milliseconds:.3f} ms{end}{'' if right else f' WRONG {found}'}")
            print(f"{name} {label} {int(expected)}: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
