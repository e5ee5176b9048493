"""One GPU against several of the same machine: ``python benchmarks/micro/gpu_several.py [--devices 1,2,4]``.

MOTIFLUX_RMAT20 names the graph that ``oracle/rmat20/generate.py`` makes; queries and counts are with shared
graphs (``MOTIFLUX_SHARED``). A case for each kind of kernel. Times are milliseconds of wall clock of the
search, planning left out: the best of so many runs after one that uploads and compiles. After it, how many
times as fast the search is as on one. Counts are compared with those of one device, and with known ones; a
wrong one is marked. ``--kind emulated`` tries it out without a GPU, on a small graph.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import motiflux as mf
from motiflux.config import private_tuning

SHARED = Path(os.environ.get("MOTIFLUX_SHARED", "."))


class Case(NamedTuple):
    """A query, the switches that choose its kernel, and a name of its count in ``counts.json``."""

    kernel: str
    query: str
    tuning: dict[str, str]
    known: str = ""


K4 = "(a)--(b)--(c)--(a), (d)--(a), (d)--(b), (d)--(c)"
K5 = f"{K4}, (e)--(a), (e)--(b), (e)--(c), (e)--(d)"
K6 = f"{K5}, (f)--(a), (f)--(b), (f)--(c), (f)--(d), (f)--(e)"
ENUMERATED = {"tail": "off", "parts": "off", "tables": "off"}
CASES = (
    Case("tail, labels", "q_6_dense_0", {}),
    Case("search, labels", "q_6_dense_0", ENUMERATED),
    Case("search, labels", "q_6_sparse_2", ENUMERATED),
    Case("cliques", K5, {}, "5-clique"),
    Case("cliques", K6, {}),
    Case("tail, labels", "q_6_dense_1", {}),
    Case("cliques", K4, {}, "4-clique"),
    Case("tables", "(a)--(b)--(c)--(d)--(a)", {}, "4-cycle"),
    Case("tables, not shared", "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)", {}, "house"),
    Case("triangles", "(a)--(b)--(c)--(a)", {"tables": "off"}, "triangle"),
)


def pattern_of(query: str) -> mf.Pattern:
    """Return a pattern from its text, or a query of the shared graphs."""
    if "(" in query:
        return mf.Pattern.parse(query)
    return mf.read_pattern(SHARED / f"oracle/rmat20/queries/{query}.graph")


def graph_for(kind: str) -> mf.Graph:
    """Return the graph of 15.7M edges, or a small one for trying out."""
    if kind == "cuda":
        return mf.read_graph(os.environ["MOTIFLUX_RMAT20"], directed=False)
    pairs = np.random.default_rng(1).integers(0, 400, (4000, 2))
    labels = np.random.default_rng(7).integers(0, 16, 400)
    edges = np.concatenate([pairs[pairs[:, 0] != pairs[:, 1]], [[0, 399]]])
    return mf.Graph.from_edges(edges, vertex_labels=labels)


def measure(
    graph: mf.Graph, pattern: mf.Pattern, options: dict[str, Any], runs: int
) -> tuple[float, mf.Count]:
    """Return the least milliseconds of the search, and the count."""
    best = float("inf")
    for run in range(runs + 1):
        count = mf.count(graph, pattern, **options)
        if run:
            best = min(best, 1000 * count.seconds)
    return best, count


def rows_of(graph: mf.Graph, kind: str, devices: int, seconds: float) -> float:
    """Return millions of rows of 4-cliques a second that stay on the devices."""
    pattern = pattern_of(K4)
    rows, began = 0, time.perf_counter()
    with mf.match(graph, pattern, device=kind, devices=devices, timeout=seconds) as matches:
        for batch in matches.device_batches():
            rows += len(batch)
    return rows / (time.perf_counter() - began) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="cuda", help="kind of device")
    parser.add_argument("--devices", default="1,2", help="numbers of devices, by commas, 1 first")
    parser.add_argument("--only", default="", help="cases whose kernel or query has this")
    parser.add_argument("--tuning", default="specialize=on", help="switches, by commas")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds of a call")
    parser.add_argument("--rows", type=float, default=0.0, help="seconds of listing 4-cliques too")
    given = parser.parse_args()
    numbers = [int(number) for number in given.devices.split(",")]
    switches = dict(one.split("=") for one in given.tuning.split(",") if one)
    graph = graph_for(given.kind)
    known = json.loads((SHARED / "oracle/rmat20/counts.json").read_text()) if given.kind == "cuda" else {}
    for case in CASES:
        if given.only not in f"{case.kernel} {case.query}":
            continue
        pattern = pattern_of(case.query)
        line, first, alone = f"{case.kernel:<24}{case.known or case.query:<14}", None, 0.0
        for number in numbers:
            tuning = private_tuning({**case.tuning, **switches})
            options = {"device": given.kind, "devices": number, "tuning": tuning, "timeout": given.timeout}
            best, count = measure(graph, pattern, options, given.runs)
            first, alone = first or count, alone or best
            wrong = "" if count == first and count == known.get(case.known, count) else f" WRONG {count}"
            late = "" if count.complete else " timeout"
            line += f" | {number}: {best:9.2f} {alone / max(best, 1e-6):5.2f}x{wrong}{late}"
        print(f"{line} | {first}", flush=True)
    if given.rows:
        rates = [rows_of(graph, given.kind, number, given.rows) for number in numbers]
        print("rows of 4-cliques:", *(f"{n}: {rate:.0f} M/s" for n, rate in zip(numbers, rates, strict=True)))


if __name__ == "__main__":
    main()
