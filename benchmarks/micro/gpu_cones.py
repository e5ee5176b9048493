"""What bits give patterns with a vertex adjacent to all others, on a device: with them and level by level.

    python benchmarks/micro/gpu_cones.py GRAPH [GRAPH...] [--only TEXT] [--timeout 4] [--set key=value]

Milliseconds by the device's own clock, the least of three (one, where it takes over half a second), what was
expected of both, and what `auto` takes. Counts of all ways are held against each other, and against known
ones. Graphs are read as undirected and without labels.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from gpu_jobs import open_engine, planned

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.runtime.kernel_times import taking_times
from motiflux.plan.neighborhood import bits
from motiflux.plan.physical import Family
from motiflux.request.request import make_request


def wheel(spokes: int) -> mf.Pattern:
    """Return a cycle with a vertex that is adjacent to all of it."""
    rim = [(v, v % spokes + 1) for v in range(1, spokes + 1)]
    return mf.Pattern.from_edges([*((0, v) for v in range(1, spokes + 1)), *rim])


def without(size: int, *gone: tuple[int, int]) -> mf.Pattern:
    """Return a clique that lacks some edges."""
    return mf.Pattern.from_edges([edge for edge in combinations(range(size), 2) if edge not in gone])


PATTERNS = {
    "W4": (wheel(4), "isomorphism"),
    "W5": (wheel(5), "isomorphism"),
    "K5-e": (without(5, (3, 4)), "isomorphism"),
    "K6-e": (without(6, (4, 5)), "isomorphism"),
    "W4 induced": (wheel(4), "induced"),
    "K5-e induced": (without(5, (3, 4)), "induced"),
}
KNOWN: dict[tuple[str, str], int] = {
    ("email_enron", "W4"): 1_945_477_904,
    ("email_enron", "W5"): 86_182_046_670,
    ("email_enron", "K5-e"): 1_216_596_504,
    ("email_enron", "K6-e"): 11_817_010_752,
    ("soc_slashdot0902", "W4"): 3_331_492_872,
    ("soc_slashdot0902", "W5"): 229_759_922_480,
    ("soc_slashdot0902", "K5-e"): 2_279_245_812,
    ("soc_slashdot0902", "K6-e"): 55_682_093_760,
    ("email_enron", "W4 induced"): 209_407_616,
    ("email_enron", "K5-e induced"): 519_473_784,
}
"""Embeddings by graph and pattern: from products of matrices of neighbourhoods, and of those that are induced
from the CPU engine."""
WAYS = {
    "bits": {"bitmaps": "on", "specialize": "off"},
    "bits, own kernel": {"bitmaps": "on", "specialize": "on"},
    "level by level": {"bitmaps": "cliques", "specialize": "on"},
}
RUNS, WAITS, LONG = 3, 8, 0.5


@dataclass
class Taken:
    """What a way took and found: None for the count where there was no time for it."""

    count: int | None
    milliseconds: float


def measure(
    graph: mf.Graph, pattern: mf.Pattern, device: str, semantics: str, tuning: dict[str, str], timeout: float
) -> Taken:
    """Count several times."""
    best, found = float("inf"), None
    runs = waits = 0
    while runs < RUNS:
        with taking_times() as times:
            counted = mf.count(
                graph,
                pattern,
                semantics=semantics,
                device=device,
                tuning=private_tuning(tuning),
                timeout=timeout,
            )
        if not counted.complete:
            if times.searches == 0 and waits < WAITS:  # its kernel was being compiled, which goes on
                waits += 1
                continue
            return Taken(None, 1000 * timeout)
        runs += 1
        best, found = min(best, times.total), int(counted)
        if times.total > LONG:
            break
    return Taken(found, 1000 * best)


def expected(
    graph: mf.Graph, pattern: mf.Pattern, device: str, semantics: str, tuning: dict[str, str]
) -> str:
    """Return the way that the engine takes, and the milliseconds expected of it."""
    request = make_request(
        semantics=semantics, symmetry="embeddings", device=device, tuning=private_tuning(tuning)
    )
    started = time.perf_counter()
    physical = planned(open_engine((device,)), graph, pattern, request)
    planning = time.perf_counter() - started
    chosen = "bits" if physical.stages[0].family is Family.UNIVERSAL_VERTEX else "the search"
    seconds = "?" if physical.seconds is None else f"{1000 * physical.seconds:.3g}"
    return f"{seconds} by {chosen}; planned in {1000 * planning:.0f}{physical.notes}"


def main() -> int:
    """Print a line for each pattern of each graph; return how many counts were wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="patterns whose name holds this")
    parser.add_argument("--timeout", type=float, default=4.0)
    parser.add_argument("--most-members", type=int, default=bits.MOST_MEMBERS)
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    bits.MOST_MEMBERS = args.most_members
    asked = dict(one.split("=") for one in args.set)
    wrong = 0
    for name in args.graphs:
        graph = mf.read_graph(name, directed=False)
        for label, (pattern, semantics) in PATTERNS.items():
            if args.only not in label:
                continue
            told = []
            known = KNOWN.get((Path(name).stem, label))
            for way, switches in WAYS.items():
                tuning = {"tables": "off", **asked, **switches}
                taken = measure(graph, pattern, args.device, semantics, tuning, args.timeout)
                known = taken.count if known is None else known
                right = taken.count is None or taken.count == known
                wrong += not right
                end = " not finished" if taken.count is None else "" if right else f" WRONG {taken.count}"
                told.append(f"{way} {taken.milliseconds:.3f} ms{end}")
            auto = expected(graph, pattern, args.device, semantics, asked)
            print(f"{Path(name).stem} {label} {known}: {', '.join(told)} (expected: {auto})", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
