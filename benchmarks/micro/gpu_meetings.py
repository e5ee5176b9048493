"""What counting pieces that meet as a whole gives on a device, and whether parts are chosen where they help.

    python benchmarks/micro/gpu_meetings.py meetings GRAPH [GRAPH...] [--set key=value] [--only TEXT]
    python benchmarks/micro/gpu_meetings.py parts GRAPH QUERIES [--set key=value] [--only TEXT]

`meetings` counts patterns whose pieces meet, in parts, with each switch after the other: lists, meetings,
numbers that are kept, parts. A tail begins as early as it can, and with ``--searchers`` where that many
partial embeddings are. `parts` counts the labelled queries of a folder in parts and without, and says what
the CPU's probe expected of both: the share between the two is what `Speeds.parts` stands for.

Milliseconds by the device's own clock, the median of five after one that compiles; counts are checked against
the CPU engine's, and a wrong one ends the run with 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import motiflux as mf
from motiflux.codegen.kernels import Goal
from motiflux.codegen.tails import device_tail
from motiflux.dispatch.planning import plan_for
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.launch.prepare import prepare
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.plan import Plan
from motiflux.request.request import make_request

PATTERNS = {
    "fork": "(a)--(b), (a)--(c)--(d), (a)--(e)--(f)--(g)",
    "fork with leaves": "(a)--(b), (a)--(c)--(d), (a)--(e), (b)--(f), (b)--(g)",
    "triangle, path, two leaves": "(a)--(b), (b)--(c), (a)--(c), (c)--(d)--(e), (a)--(f), (b)--(g)",
    "labelled legs": "(a:0)--(b:1)--(c:2), (a)--(d:1)--(e:3), (a)--(f:1), (a)--(g:4)",
    "labelled legs on an edge": "(a:0)--(b:1), (a)--(c:2)--(d:3), (a)--(e:2)--(f:4), (b)--(g:2)--(h:5)",
}
MEETINGS: tuple[dict[str, str], ...] = (
    {"parts": "on"},
    {"parts": "on", "remember": "off"},
    {"parts": "on", "lists": "off"},
    {"parts": "on", "meetings": "off"},
    {"parts": "off"},
)
PARTS: tuple[dict[str, str], ...] = (
    {"parts": "auto"},
    {"parts": "off"},
    {"parts": "on"},
    {"parts": "on", "meetings": "off"},
)
RUNS = 5


@dataclass(frozen=True)
class Timed:
    """One way to count: milliseconds, whether it was finished, and by which kernel."""

    count: int
    complete: bool
    milliseconds: float
    kernel: str
    probed: float | None


def kernel_of(plan: Plan) -> str:
    """Return which kernel counts by a plan, and where its tail begins."""
    if plan.tail is None:
        return "search"
    tail = device_tail(plan)
    if tail is None:
        return "host"
    kind = "meetings" if tail.overlaps else "parts" if tail.nested else "tail"
    return f"{kind} from {plan.tail.start}"


def timed(
    graph: mf.Graph, pattern: mf.Pattern, engine: DfsEngine, tuning: dict[str, str], timeout: float
) -> Timed:
    """Count by the search that is planned, and time its kernel."""
    request = make_request(
        semantics="isomorphism", symmetry="embeddings", timeout=timeout, tuning={"tables": "off", **tuning}
    )
    started = time.perf_counter()
    plan = plan_for(graph, pattern, request, engine, started)
    assert plan is not None
    kernel = kernel_of(plan)
    if kernel == "host":
        outcome = engine.count(graph, plan, request, started)
        return Timed(outcome.value, outcome.complete, 1e3 * (time.perf_counter() - started), kernel, None)
    times: list[float] = []
    found, complete, beyond = 0, True, False
    for _ in range(RUNS + 1):
        with prepare(engine._accelerator, graph, plan, request, Goal.COUNT, None) as search:
            search.timed = True
            search.launch()
            began = time.perf_counter()
            complete = engine._watch(search, plan.multiplier, request, began, began + timeout)
            found, beyond = search.found() * plan.multiplier, search.passed_128_bits()
            times.append(1e3 * search.kernel_seconds())
        if not complete or beyond:
            break
    kernel += ", passes 128 bits" if beyond else ""
    return Timed(found, complete and not beyond, statistics.median(times[1:] or times), kernel, plan.probed)


def cases(args: argparse.Namespace) -> Iterator[tuple[str, mf.Graph, mf.Pattern]]:
    """Yield what is counted."""
    if args.what == "parts":
        graph = mf.read_graph(args.graphs[0])
        for path in sorted(Path(args.graphs[1]).glob("*.graph")):
            if args.only in path.name:
                yield path.stem, graph, mf.read_pattern(path)
        return
    for name in args.graphs:
        graph = mf.read_graph(name)
        labelled = graph.vertex_labels is not None and len(set(graph.vertex_labels)) > 1
        for label, text in PATTERNS.items():
            if args.only in label and ("labelled" in label) == labelled:
                yield f"{Path(name).stem} {label}", graph, mf.Pattern.parse(text)


def main() -> int:
    """Print a line for each case and switch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["meetings", "parts"])
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--searchers", type=int, help="partial embeddings that parts begin at")
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    asked = dict(one.split("=") for one in args.set)
    engine = DfsEngine(open_accelerator(args.device))
    if args.searchers is not None:
        engine.searchers = args.searchers
    wrong = 0
    for name, graph, pattern in cases(args):
        expected = mf.count(graph, pattern, device="cpu", timeout=5 * args.timeout)
        print(f"{name}: {int(expected)}{'' if expected.complete else ' or more'}", flush=True)
        for switches in PARTS if args.what == "parts" else MEETINGS:
            one = timed(graph, pattern, engine, {**asked, **switches}, args.timeout)
            told = " ".join(f"{key}={value}" for key, value in switches.items())
            told += f": {one.milliseconds:.3f} ms ({one.kernel})"
            told += "" if one.probed is None else f", probed {one.probed:.3g} s"
            told += "" if one.complete else " not finished"
            if one.complete and expected.complete and one.count != expected:
                told, wrong = f"{told} WRONG {one.count}", wrong + 1
            print(f"  {told}", flush=True)
    print("all counts agree" if wrong == 0 else f"{wrong} counts are WRONG")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
